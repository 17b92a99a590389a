//! # Workload: the pods
//! Room:     a Deployment and a PodDisruptionBudget for each part.
//! Comes in: image, replicas, flags.
//! Goes out: [`Planned`] objects.
//! Keeps:    Pod Security *restricted*; a token that ends within the hour; replicas on different nodes where there are
//!           any; tolerations with an end: what evicts others must not stay for ever on a node that is gone (P43).
//! Not here: what the flags mean (`args`).

use super::super::sheet::{Entry, Item, Sheet, field, item, line, list, map, maps, texts};
use super::super::values::{Knob, Many, When};
use super::{NAME, Planned, WEBHOOK, labels, object, within};

/// Where client libraries look for a pod's account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const TLS: &str = "/etc/taintward/tls";
const LISTS: &str = "/etc/taintward/lists";
const CLIENTS: &str = "/etc/taintward/clients";
/// The port of probes and of readers of metrics.
const METRICS: &str = "metrics";
const GIVEN: When = When::Not(&When::SelfSigned);

/// One of the two.
struct Part {
    name: &'static str,
    component: &'static str,
    when: When,
    arguments: Sheet,
    /// Metrics and health are the last, over plain HTTP.
    ports: Vec<(&'static str, i64)>,
    memory: &'static str,
    /// Annotations of the pods.
    notes: Option<Entry>,
    /// Mounts and volumes besides the token.
    files: Vec<(Item, Item)>,
}

pub(super) fn deployments() -> [Planned; 2] {
    [controller(), webhook()].map(|part| {
        let when = part.when;
        Planned { file: "deployment.yaml", note: "", when, sheet: deployment(part) }
    })
}

pub(super) fn budgets() -> [Planned; 2] {
    const CONTROLLERS: When = When::All(&[When::Controller, When::Several]);
    const WEBHOOKS: When = When::All(&[When::Webhook, When::Several]);
    [(NAME, "controller", CONTROLLERS), (WEBHOOK, "webhook", WEBHOOKS)].map(|(name, component, when)| {
        let selector = map([field("matchLabels", labels(component))]);
        let spec = map([field("minAvailable", 1), field("selector", selector)]);
        let sheet =
            object(within("policy/v1", "PodDisruptionBudget", name, component), [field("spec", spec)]);
        Planned { file: "poddisruptionbudget.yaml", note: "", when, sheet }
    })
}

fn controller() -> Part {
    let arguments = list([
        item("run"),
        item(line("--controllers=", Knob::Controllers)),
        item(line("--mode=", Knob::Mode)),
        item("--stamp-taints=true").when(When::Stamps),
        item(line("--leader-elect-resource-namespace=", Knob::Namespace)),
        // Probes and readers of metrics come from outside the pod.
        item("--bind-address=0.0.0.0"),
        item("--metrics-port=10357"),
        item(line("--exempt-namespaces=", Knob::This)).each(Many::ExemptNamespaces),
        item(Knob::This).each(Many::ControllerArgs),
    ]);
    Part {
        name: NAME,
        component: "controller",
        when: When::Controller,
        arguments,
        ports: vec![(METRICS, 10357)],
        memory: "256Mi",
        notes: None,
        files: Vec::new(),
    }
}

fn webhook() -> Part {
    let arguments = list([
        item("webhook"),
        item("--bind-address=0.0.0.0"),
        item("--secure-port=9443"),
        // Not where questions come in: whoever floods that port keeps no kubelet from hearing that the pod is alive.
        item("--metrics-port=10358"),
        item(line("--rules=", Knob::Rules)),
        item("--self-signed").when(When::SelfSigned),
        item(line("--namespace=", Knob::Namespace)).when(When::SelfSigned),
        item("--service=taintward-webhook").when(When::SelfSigned),
        item("--secret=taintward-webhook-certificate").when(When::SelfSigned),
        item("--webhook-configuration=taintward").when(When::SelfSigned),
        item("--tls-cert-file=/etc/taintward/tls/tls.crt").when(GIVEN),
        item("--tls-private-key-file=/etc/taintward/tls/tls.key").when(GIVEN),
        item("--restriction-config=/etc/taintward/lists/config.yaml").when(When::Lists),
        item("--client-ca-file=/etc/taintward/clients/ca.crt").when(When::Clients),
        item(line("--client-allowed-names=", Knob::ClientNames)).when(When::ClientNames),
        item(line("--exempt-namespaces=", Knob::This)).each(Many::ExemptNamespaces),
        item(Knob::This).each(Many::WebhookArgs),
    ]);
    let mount = |name, path| map([field("name", name), field("mountPath", path), field("readOnly", true)]);
    let secret = map([field("secretName", Knob::CertificateSecret)]);
    let volume = map([field("name", "tls"), field("secret", secret)]);
    let certificate = (item(mount("tls", TLS)).when(GIVEN), item(volume).when(GIVEN));
    let (reference, secret) =
        (map([field("name", Knob::ClientConfigMap)]), map([field("secretName", Knob::ClientSecret)]));
    let volume = map([
        field("name", "clients"),
        field("configMap", reference).when(When::Not(&When::ClientSecret)),
        field("secret", secret).when(When::ClientSecret),
    ]);
    let clients = (item(mount("clients", CLIENTS)).when(When::Clients), item(volume).when(When::Clients));
    let lists = (item(mount("lists", LISTS)).when(When::Lists), item(lists()).when(When::Lists));
    let text = map([field("taintward.io/restriction-config", Knob::Lists)]);
    Part {
        name: WEBHOOK,
        component: "webhook",
        when: When::Webhook,
        arguments,
        ports: vec![("https", 9443), (METRICS, 10358)],
        memory: "128Mi",
        notes: Some(field("annotations", text).when(When::Lists)),
        files: vec![certificate, lists, clients],
    }
}

/// The file is an annotation of the pods: other lists are another pod, which reads them at its start.
fn lists() -> Sheet {
    let text = said_of_pod("config.yaml", "metadata.annotations['taintward.io/restriction-config']");
    map([field("name", "lists"), field("downwardAPI", text)])
}

fn deployment(part: Part) -> Sheet {
    let beginning = within("apps/v1", "Deployment", part.name, part.component);
    let selector = map([field("matchLabels", labels(part.component))]);
    let metadata = map([field("labels", labels(part.component))].into_iter().chain(part.notes.clone()));
    let template = map([field("metadata", metadata), field("spec", pod(&part))]);
    let spec =
        map([field("replicas", Knob::Replicas), field("selector", selector), field("template", template)]);
    object(beginning, [field("spec", spec)])
}

fn pod(part: &Part) -> Sheet {
    let further = part.files.iter().map(|(_, volume)| volume.clone());
    let volumes = list([item(token())].into_iter().chain(further));
    let secret = item(map([field("name", Knob::This)])).each(Many::PullSecrets);
    map([
        field("serviceAccountName", part.name),
        field("automountServiceAccountToken", false),
        field("priorityClassName", Knob::PriorityClass),
        field("terminationGracePeriodSeconds", 30),
        field("affinity", map([field("nodeAffinity", at_the_control_plane())])),
        field("tolerations", tolerations()),
        field("topologySpreadConstraints", spread(part.component)),
        field(
            "securityContext",
            map([
                field("runAsNonRoot", true),
                field("runAsUser", 65532),
                field("runAsGroup", 65532),
                field("fsGroup", 65532),
                field("seccompProfile", map([field("type", "RuntimeDefault")])),
            ]),
        ),
        field("imagePullSecrets", list([secret])).when(When::PullSecrets),
        field("containers", list([item(container(part))])),
        field("volumes", volumes),
    ])
}

fn container(part: &Part) -> Sheet {
    let further = part.files.iter().map(|(mount, _)| mount.clone());
    let account = map([field("name", "account"), field("mountPath", ACCOUNT), field("readOnly", true)]);
    let probe = |path: &'static str, more: Vec<Entry>| {
        let get = [field("path", path), field("port", METRICS), field("scheme", "HTTP")];
        map([field("httpGet", map(get))].into_iter().chain(more))
    };
    let alive =
        vec![field("initialDelaySeconds", 15), field("periodSeconds", 10), field("failureThreshold", 3)];
    let ports = part.ports.iter().map(|(name, number)| {
        item(map([field("name", *name), field("containerPort", *number), field("protocol", "TCP")]))
    });
    let resources = map([
        field("requests", map([field("cpu", "10m"), field("memory", "32Mi")])),
        field("limits", map([field("memory", part.memory)])),
    ]);
    map([
        field("name", NAME),
        field("image", Knob::Image),
        field("args", part.arguments.clone()),
        field("ports", list(ports)),
        field("livenessProbe", probe("/livez", alive)),
        field("readinessProbe", probe("/readyz", vec![field("periodSeconds", 5)])),
        field("resources", resources),
        field(
            "securityContext",
            map([
                field("allowPrivilegeEscalation", false),
                field("readOnlyRootFilesystem", true),
                field("capabilities", map([field("drop", texts(["ALL"]))])),
            ]),
        ),
        field("volumeMounts", list([item(account)].into_iter().chain(further))),
    ])
}

/// The account, as client libraries look for it; the kubelet renews the token before its hour is over.
fn token() -> Sheet {
    let token = map([field("path", "token"), field("expirationSeconds", 3600)]);
    let files = |key, path| list([item(map([field("key", key), field("path", path)]))]);
    let authority = map([field("name", "kube-root-ca.crt"), field("items", files("ca.crt", "ca.crt"))]);
    let sources = list([
        item(map([field("serviceAccountToken", token)])),
        item(map([field("configMap", authority)])),
        item(map([field("downwardAPI", said_of_pod("namespace", "metadata.namespace"))])),
    ]);
    map([field("name", "account"), field("projected", map([field("sources", sources)]))])
}

/// What is said of the pod, as a file.
fn said_of_pod(path: &'static str, which: &'static str) -> Sheet {
    let reference = map([field("apiVersion", "v1"), field("fieldPath", which)]);
    map([field("items", maps([[field("path", path), field("fieldRef", reference)]]))])
}

fn tolerations() -> Sheet {
    let gone = |key: &'static str| {
        let fields = [
            field("key", key),
            field("operator", "Exists"),
            field("effect", "NoExecute"),
            field("tolerationSeconds", 60),
        ];
        item(map(fields))
    };
    let control_plane = map([
        field("key", "node-role.kubernetes.io/control-plane"),
        field("operator", "Exists"),
        field("effect", "NoSchedule"),
    ]);
    list([item(control_plane), gone("node.kubernetes.io/not-ready"), gone("node.kubernetes.io/unreachable")])
}

/// Whoever is root on a node has the tokens of the pods there: nodes that run the control plane are to be trusted anyway.
/// Where there are none to be seen, as on managed clusters, any other will do.
fn at_the_control_plane() -> Sheet {
    let role = [field("key", "node-role.kubernetes.io/control-plane"), field("operator", "Exists")];
    let preference = map([field("matchExpressions", maps([role]))]);
    let term = [field("weight", 100), field("preference", preference)];
    map([field("preferredDuringSchedulingIgnoredDuringExecution", maps([term]))])
}

/// Nodes whose taints keep the pods away do not count; where there is one node, both are on it.
fn spread(component: &'static str) -> Sheet {
    let over = |key: &'static str, otherwise: &'static str| {
        [
            field("maxSkew", 1),
            field("topologyKey", key),
            field("whenUnsatisfiable", otherwise),
            field("nodeTaintsPolicy", "Honor"),
            field("labelSelector", map([field("matchLabels", labels(component))])),
        ]
    };
    maps([
        over("kubernetes.io/hostname", "DoNotSchedule"),
        over("topology.kubernetes.io/zone", "ScheduleAnyway"),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::CERTIFICATE;
    use super::*;

    #[test]
    fn flags_name_what_the_other_objects_are_called() {
        let Sheet::List(items) = webhook().arguments else { panic!("a list") };
        let has =
            |text: String| items.iter().any(|one| matches!(one.value, Sheet::Text(flag) if flag == text));
        assert!(has(format!("--service={WEBHOOK}")) && has(format!("--secret={CERTIFICATE}")));
        assert!(has(format!("--webhook-configuration={NAME}")));
        assert!(
            has(format!("--tls-cert-file={TLS}/tls.crt"))
                && has(format!("--tls-private-key-file={TLS}/tls.key"))
                && has(format!("--client-ca-file={CLIENTS}/ca.crt"))
        );
    }
}
