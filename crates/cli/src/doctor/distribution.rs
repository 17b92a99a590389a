//! Recognizes the distribution of a cluster, and lists where each one sets kube-controller-manager's `--controllers`.
//!
//! - Invariant: the table of `docs/switch-off.md` is generated from [`GUIDES`].
//! - See `docs/switch-off.md` for the sources of the values.

use super::controllers_flag::{ControllersFlag, UpstreamController};
use super::facts::{ClusterFacts, DoctorNode};
use crate::args::flag_values::flag_values;

/// A distribution or provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    Kubeadm,
    ClusterApi,
    K3s,
    Rke2,
    Talos,
    Kops,
    K0s,
    /// A Kamaji tenant, or another control plane that runs outside of the cluster and does not identify itself.
    Hosted,
    VCluster,
    OpenShift,
    Gardener,
    Eks,
    Gke,
    Aks,
    Unknown,
}

impl Distribution {
    /// For people and for programs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Kubeadm => "kubeadm",
            Self::ClusterApi => "Cluster API",
            Self::K3s => "k3s",
            Self::Rke2 => "RKE2",
            Self::Talos => "Talos",
            Self::Kops => "kOps",
            Self::K0s => "k0s",
            Self::Hosted => "a hosted control plane such as Kamaji",
            Self::VCluster => "vCluster",
            Self::OpenShift => "OpenShift",
            Self::Gardener => "Gardener",
            Self::Eks => "Amazon EKS",
            Self::Gke => "Google GKE",
            Self::Aks => "Azure AKS",
            Self::Unknown => "unknown",
        }
    }

    /// Whether only the provider can change the flag.
    pub(crate) const fn is_managed(self) -> bool {
        matches!(self, Self::OpenShift | Self::Gardener | Self::Eks | Self::Gke | Self::Aks)
    }

    /// How to change the flag; `None` if that is impossible or unknown.
    pub(crate) fn guide(self) -> Option<&'static SwitchOffGuide> {
        GUIDES.iter().find(|guide| guide.distribution == self)
    }
}

/// How the written value relates to the distribution's own value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagForm {
    /// The whole value, which replaces the distribution's.
    Whole,
    /// The whole value as a YAML list.
    WholeList,
    /// `controllers+=`: the distribution appends it to its own value.
    PlusEquals,
    /// The distribution appends it to its own value.
    Behind,
}

/// Where a distribution sets the flag, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SwitchOffGuide {
    pub(crate) distribution: Distribution,
    /// The distribution's own value.
    pub(crate) own_value: &'static str,
    /// Other values of the distribution: when, and which.
    pub(crate) variants: &'static [(&'static str, &'static str)],
    pub(crate) form: FlagForm,
    /// The file or object, and the field in it.
    pub(crate) place: &'static str,
    /// How to apply the change, one command or step each.
    pub(crate) apply: &'static [&'static str],
    /// The section of `docs/switch-off.md`.
    pub(crate) section: &'static str,
}

const KUBEADM: &str = "*,bootstrapsigner,tokencleaner";
const K3S: &str = "*,tokencleaner,-service,-route,-cloud-node-lifecycle";
const K3S_WITHOUT_CLOUD: &str = "*,tokencleaner";

/// One guide for each distribution in which the flag can be changed.
pub(crate) const GUIDES: [SwitchOffGuide; 9] = [
    SwitchOffGuide {
        distribution: Distribution::Kubeadm,
        own_value: KUBEADM,
        variants: &[],
        form: FlagForm::Whole,
        place: "ConfigMap kube-system/kubeadm-config, controllerManager.extraArgs, controllers (kubespray: \
                kube_kubeadm_controller_extra_args)",
        apply: &[
            "kubectl --namespace kube-system get configmap kubeadm-config --output \
             jsonpath='{.data.ClusterConfiguration}' > kubeadm.yaml",
            "on every control-plane node: kubeadm init phase control-plane controller-manager --config kubeadm.yaml",
        ],
        section: "kubeadm",
    },
    SwitchOffGuide {
        distribution: Distribution::ClusterApi,
        own_value: KUBEADM,
        variants: &[],
        form: FlagForm::Whole,
        place: "KubeadmControlPlane in the management cluster, \
                spec.kubeadmConfigSpec.clusterConfiguration.controllerManager.extraArgs, controllers",
        apply: &["Cluster API then replaces the control-plane machines, one by one"],
        section: "kubeadm",
    },
    SwitchOffGuide {
        distribution: Distribution::K3s,
        own_value: K3S,
        variants: &[("without its cloud controller (`disable-cloud-controller`)", K3S_WITHOUT_CLOUD)],
        form: FlagForm::PlusEquals,
        place: "/etc/rancher/k3s/config.yaml of every server, kube-controller-manager-arg",
        apply: &["on every server: systemctl restart k3s"],
        section: "k3s-and-rke2",
    },
    SwitchOffGuide {
        distribution: Distribution::Rke2,
        own_value: K3S,
        variants: &[("without its cloud controller (`disable-cloud-controller`)", K3S_WITHOUT_CLOUD)],
        form: FlagForm::PlusEquals,
        place: "/etc/rancher/rke2/config.yaml of every server, kube-controller-manager-arg",
        apply: &["on every server: systemctl restart rke2-server"],
        section: "k3s-and-rke2",
    },
    SwitchOffGuide {
        distribution: Distribution::Talos,
        own_value: "*",
        variants: &[("older releases", "*,tokencleaner")],
        form: FlagForm::Behind,
        place: "machine configuration of control-plane nodes, cluster.controllerManager.extraArgs.controllers (from \
                Talos 1.14 on: extraArgs.controllers of the document KubeControllerManagerConfig)",
        apply: &["talosctl patch machineconfig, or talosctl apply-config, for every control-plane node"],
        section: "talos",
    },
    SwitchOffGuide {
        distribution: Distribution::Kops,
        own_value: "*",
        variants: &[(
            "with addresses from kops-controller (IPAM, IPv6); without `-nodeipam` two controllers would assign addresses",
            "*,-nodeipam",
        )],
        form: FlagForm::WholeList,
        place: "the cluster's spec (kops edit cluster), spec.kubeControllerManager.controllers",
        apply: &[
            "kops update cluster --yes",
            "kops rolling-update cluster --instance-group-roles=ControlPlane --yes",
        ],
        section: "kops",
    },
    SwitchOffGuide {
        distribution: Distribution::K0s,
        own_value: KUBEADM,
        variants: &[],
        form: FlagForm::Whole,
        place: "the ClusterConfig (k0s.yaml) of every controller, spec.controllerManager.extraArgs.controllers",
        apply: &["on every controller: k0s stop, then k0s start"],
        section: "kubeadm",
    },
    SwitchOffGuide {
        distribution: Distribution::Hosted,
        own_value: KUBEADM,
        variants: &[],
        form: FlagForm::Whole,
        place: "with Kamaji: TenantControlPlane in the management cluster, \
                spec.controlPlane.deployment.extraArgs.controllerManager, --controllers=",
        apply: &["Kamaji then replaces the pods of the control plane"],
        section: "kubeadm",
    },
    SwitchOffGuide {
        distribution: Distribution::VCluster,
        own_value: KUBEADM,
        variants: &[],
        form: FlagForm::Whole,
        place: "vcluster.yaml of a vCluster with nodes of its own, \
                controlPlane.distro.k8s.controllerManager.extraArgs, --controllers=",
        apply: &["vcluster create NAME --upgrade --values vcluster.yaml"],
        section: "kubeadm",
    },
];

/// What to write, and how to undo it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlagEdit {
    pub(crate) write: String,
    pub(crate) undo: String,
}

impl SwitchOffGuide {
    /// The edit that disables controllers if `now` is the present value. It restores controllers that the distribution
    /// enables and that an earlier edit has lost; everything else stays as it is.
    pub(crate) fn edit(&self, now: &ControllersFlag, off: &[UpstreamController]) -> FlagEdit {
        let now = self.mended(now);
        let without = off.iter().fold(now.clone(), |flag, one| flag.without(*one));
        let with = off.iter().fold(now, |flag, one| flag.with(*one));
        let added: Vec<String> = off.iter().map(|one| format!("-{}", one.name())).collect();
        let added = added.join(",");
        let (write, undo) = match self.form {
            FlagForm::Whole if with == self.own() => {
                (without.to_string(), format!("remove it: {} sets {with} itself", self.distribution.name()))
            }
            FlagForm::Whole => (without.to_string(), format!("write {with}")),
            FlagForm::WholeList => (without.list(), format!("write {}", with.list())),
            FlagForm::PlusEquals => (format!("controllers+={added}"), "remove that line".to_owned()),
            FlagForm::Behind => (added, "remove it".to_owned()),
        };
        FlagEdit { write, undo }
    }

    /// What to write if a value replaced the distribution's own and thereby disabled controllers.
    pub(crate) fn repair(&self, now: &ControllersFlag) -> String {
        match self.form {
            FlagForm::Whole => self.mended(now).to_string(),
            FlagForm::WholeList => self.mended(now).list(),
            FlagForm::PlusEquals => "controllers+= instead of controllers=".to_owned(),
            FlagForm::Behind => "only the entries to append to the distribution's value".to_owned(),
        }
    }

    /// The same, with those controllers enabled that only run if named and that the distribution names.
    fn mended(&self, now: &ControllersFlag) -> ControllersFlag {
        let own = self.own();
        let named = [UpstreamController::BootstrapSigner, UpstreamController::TokenCleaner];
        let named = named.into_iter().filter(|controller| own.enables(*controller));
        named.fold(now.clone(), |flag, controller| flag.with(controller))
    }

    /// The distribution's own value.
    pub(crate) fn own(&self) -> ControllersFlag {
        ControllersFlag::parse(self.own_value)
    }
}

/// A distribution, and how it was recognized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecognizedDistribution {
    pub(crate) distribution: Distribution,
    pub(crate) evidence: String,
}

/// A sign of a distribution.
enum Mark {
    /// In the version of the API server or a kubelet.
    Version(&'static str),
    /// The start of the key of a node's label or annotation.
    NodeKey(&'static str),
    /// The start of a node's provider id.
    Provider(&'static str),
    /// The start of the name of a node's operating system.
    OsImage(&'static str),
    /// A namespace of control-plane pods.
    Namespace(&'static str),
}

/// The more specific first: a Cluster API cluster is a kubeadm cluster too.
const MARKS: [(Distribution, Mark); 25] = [
    (Distribution::VCluster, Mark::NodeKey("vcluster.loft.sh/")),
    (Distribution::OpenShift, Mark::NodeKey("node.openshift.io/")),
    (Distribution::OpenShift, Mark::NodeKey("hypershift.openshift.io/")),
    (Distribution::OpenShift, Mark::NodeKey("machineconfiguration.openshift.io/")),
    (Distribution::OpenShift, Mark::Namespace("openshift-kube-controller-manager")),
    (Distribution::Gardener, Mark::NodeKey("worker.gardener.cloud/")),
    (Distribution::Gardener, Mark::NodeKey("node.gardener.cloud/")),
    (Distribution::Rke2, Mark::Version("+rke2")),
    (Distribution::Rke2, Mark::NodeKey("rke2.io/")),
    (Distribution::K3s, Mark::Version("+k3s")),
    (Distribution::K3s, Mark::NodeKey("k3s.io/")),
    (Distribution::K0s, Mark::Version("+k0s")),
    (Distribution::K0s, Mark::NodeKey("node.k0sproject.io/")),
    (Distribution::Eks, Mark::Version("-eks-")),
    (Distribution::Eks, Mark::NodeKey("eks.amazonaws.com/")),
    (Distribution::Gke, Mark::Version("-gke.")),
    (Distribution::Gke, Mark::NodeKey("cloud.google.com/gke-")),
    (Distribution::Aks, Mark::NodeKey("kubernetes.azure.com/")),
    (Distribution::Talos, Mark::OsImage("Talos")),
    (Distribution::Talos, Mark::NodeKey("talos.dev/")),
    (Distribution::Kops, Mark::NodeKey("kops.k8s.io/")),
    (Distribution::ClusterApi, Mark::NodeKey("cluster.x-k8s.io/")),
    (Distribution::Kubeadm, Mark::NodeKey("kubeadm.alpha.kubernetes.io/")),
    (Distribution::Kubeadm, Mark::Provider("kind://")),
    (Distribution::Kubeadm, Mark::NodeKey("minikube.k8s.io/")),
];

impl RecognizedDistribution {
    /// The distribution of the first sign in the facts.
    pub(crate) fn of(facts: &ClusterFacts) -> Self {
        let found = MARKS.iter().find_map(|(distribution, mark)| Some((*distribution, mark.seen(facts)?)));
        let (distribution, evidence) = found.unwrap_or_else(|| Self::without_mark(facts));
        // Kamaji's tenants join their nodes with kubeadm, and have none for the control plane.
        let hides = !facts.nodes.is_empty()
            && facts.controller_managers.is_empty()
            && !facts.nodes.iter().any(DoctorNode::is_control_plane);
        if distribution == Distribution::Kubeadm && hides {
            let evidence = format!("{evidence}, without control-plane nodes");
            return Self { distribution: Distribution::Hosted, evidence };
        }
        Self { distribution, evidence }
    }

    fn without_mark(facts: &ClusterFacts) -> (Distribution, String) {
        let manifest = facts.controller_managers.iter().find(|program| program.is_static_pod);
        match (&facts.kubeadm_config, manifest) {
            (Some(_), _) => (Distribution::Kubeadm, "ConfigMap kube-system/kubeadm-config".to_owned()),
            (None, Some(program)) => {
                (Distribution::Unknown, format!("it has no known sign; {} shows the flags", program.place))
            }
            (None, None) => (Distribution::Unknown, "it has no known sign".to_owned()),
        }
    }
}

impl Mark {
    fn seen(&self, facts: &ClusterFacts) -> Option<String> {
        let of_node = |node: &DoctorNode| match self {
            Self::Version(part) => node
                .kubelet_version
                .contains(part)
                .then(|| format!("kubelet {} of node {}", node.kubelet_version, node.name)),
            Self::NodeKey(start) => node
                .keys
                .iter()
                .find(|key| key.starts_with(start))
                .map(|key| format!("{key} on node {}", node.name)),
            Self::Provider(start) => node
                .provider_id
                .starts_with(start)
                .then(|| format!("provider id {} of node {}", node.provider_id, node.name)),
            Self::OsImage(start) => node
                .os_image
                .starts_with(start)
                .then(|| format!("operating system {} of node {}", node.os_image, node.name)),
            Self::Namespace(_) => None,
        };
        match self {
            Self::Version(part) if facts.server_version.contains(part) => {
                Some(format!("API server {}", facts.server_version))
            }
            Self::Namespace(name) => facts
                .controller_managers
                .iter()
                .find(|program| program.namespace == *name)
                .map(|program| program.place.clone()),
            _ => facts.nodes.iter().find_map(of_node),
        }
    }
}

/// The value with which a k3s or RKE2 server starts kube-controller-manager, from the server's own command line.
pub(crate) fn k3s_flag(arguments: &[String]) -> ControllersFlag {
    let has_no_cloud = arguments.iter().any(|argument| {
        matches!(argument.as_str(), "--disable-cloud-controller" | "--disable-cloud-controller=true")
    });
    let mut value = if has_no_cloud { K3S_WITHOUT_CLOUD } else { K3S }.to_owned();
    for argument in flag_values(arguments, "kube-controller-manager-arg") {
        if let Some(added) = argument.strip_prefix("controllers+=") {
            value = format!("{value},{added}");
        } else if let Some(whole) = argument.strip_prefix("controllers=") {
            whole.clone_into(&mut value);
        }
    }
    ControllersFlag::parse(&value)
}
