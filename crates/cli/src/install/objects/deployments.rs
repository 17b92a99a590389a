//! Builds a Deployment and a PodDisruptionBudget for each component.
//!
//! - Invariant: Pod Security *restricted*, short-lived tokens, replicas spread over nodes, and tolerations that expire
//!   (P43).

use super::super::template::{
    Template, TemplateEntry, TemplateItem, field, item, line, list, map, maps, texts,
};
use super::super::values::{Condition, InstallValue, Repeat};
use super::{InstalledObject, NAME, WEBHOOK, labels, object, within};

/// Where client libraries look for a pod's account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const TLS: &str = "/etc/taintward/tls";
const LISTS: &str = "/etc/taintward/lists";
const CLIENTS: &str = "/etc/taintward/clients";
/// The port of probes and of readers of metrics.
const METRICS: &str = "metrics";
const GIVEN: Condition = Condition::Not(&Condition::SelfSigned);

/// One of the two.
struct ComponentSpec {
    name: &'static str,
    component: &'static str,
    when: Condition,
    arguments: Template,
    /// Metrics and health are the last, over plain HTTP.
    ports: Vec<(&'static str, i64)>,
    memory: &'static str,
    /// Annotations of the pods.
    notes: Option<TemplateEntry>,
    /// Mounts and volumes besides the token.
    files: Vec<(TemplateItem, TemplateItem)>,
}

pub(super) fn deployments() -> [InstalledObject; 2] {
    [controller(), webhook()].map(|part| {
        let when = part.when;
        InstalledObject { file: "deployment.yaml", note: "", when, sheet: deployment(part) }
    })
}

pub(super) fn budgets() -> [InstalledObject; 2] {
    const CONTROLLERS: Condition = Condition::All(&[Condition::Controller, Condition::Several]);
    const WEBHOOKS: Condition = Condition::All(&[Condition::Webhook, Condition::Several]);
    [(NAME, "controller", CONTROLLERS), (WEBHOOK, "webhook", WEBHOOKS)].map(|(name, component, when)| {
        let selector = map([field("matchLabels", labels(component))]);
        let spec = map([field("minAvailable", 1), field("selector", selector)]);
        let sheet =
            object(within("policy/v1", "PodDisruptionBudget", name, component), [field("spec", spec)]);
        InstalledObject { file: "poddisruptionbudget.yaml", note: "", when, sheet }
    })
}

fn controller() -> ComponentSpec {
    let arguments = list([
        item("run"),
        item(line("--controllers=", InstallValue::Controllers)),
        item(line("--mode=", InstallValue::Mode)),
        item("--stamp-taints=true").when(Condition::Stamps),
        item(line("--leader-elect-resource-namespace=", InstallValue::Namespace)),
        // Probes and readers of metrics come from outside the pod.
        item("--bind-address=0.0.0.0"),
        item("--metrics-port=10357"),
        item(line("--exempt-namespaces=", InstallValue::This)).each(Repeat::ExemptNamespaces),
        item(InstallValue::This).each(Repeat::ControllerArgs),
    ]);
    ComponentSpec {
        name: NAME,
        component: "controller",
        when: Condition::Controller,
        arguments,
        ports: vec![(METRICS, 10357)],
        memory: "256Mi",
        notes: None,
        files: Vec::new(),
    }
}

fn webhook() -> ComponentSpec {
    let arguments = list([
        item("webhook"),
        item("--bind-address=0.0.0.0"),
        item("--secure-port=9443"),
        // Not where questions come in: whoever floods that port keeps no kubelet from hearing that the pod is alive.
        item("--metrics-port=10358"),
        item(line("--rules=", InstallValue::Rules)),
        item("--self-signed").when(Condition::SelfSigned),
        item(line("--namespace=", InstallValue::Namespace)).when(Condition::SelfSigned),
        item("--service=taintward-webhook").when(Condition::SelfSigned),
        item("--secret=taintward-webhook-certificate").when(Condition::SelfSigned),
        item("--webhook-configuration=taintward").when(Condition::SelfSigned),
        item("--tls-cert-file=/etc/taintward/tls/tls.crt").when(GIVEN),
        item("--tls-private-key-file=/etc/taintward/tls/tls.key").when(GIVEN),
        item("--restriction-config=/etc/taintward/lists/config.yaml").when(Condition::Lists),
        item("--client-ca-file=/etc/taintward/clients/ca.crt").when(Condition::Clients),
        item(line("--client-allowed-names=", InstallValue::ClientNames)).when(Condition::ClientNames),
        item(line("--exempt-namespaces=", InstallValue::This)).each(Repeat::ExemptNamespaces),
        item(InstallValue::This).each(Repeat::WebhookArgs),
    ]);
    let mount = |name, path| map([field("name", name), field("mountPath", path), field("readOnly", true)]);
    let secret = map([field("secretName", InstallValue::CertificateSecret)]);
    let volume = map([field("name", "tls"), field("secret", secret)]);
    let certificate = (item(mount("tls", TLS)).when(GIVEN), item(volume).when(GIVEN));
    let (reference, secret) = (
        map([field("name", InstallValue::ClientConfigMap)]),
        map([field("secretName", InstallValue::ClientSecret)]),
    );
    let volume = map([
        field("name", "clients"),
        field("configMap", reference).when(Condition::Not(&Condition::ClientSecret)),
        field("secret", secret).when(Condition::ClientSecret),
    ]);
    let clients =
        (item(mount("clients", CLIENTS)).when(Condition::Clients), item(volume).when(Condition::Clients));
    let lists = (item(mount("lists", LISTS)).when(Condition::Lists), item(lists()).when(Condition::Lists));
    let text = map([field("taintward.io/restriction-config", InstallValue::Lists)]);
    ComponentSpec {
        name: WEBHOOK,
        component: "webhook",
        when: Condition::Webhook,
        arguments,
        ports: vec![("https", 9443), (METRICS, 10358)],
        memory: "128Mi",
        notes: Some(field("annotations", text).when(Condition::Lists)),
        files: vec![certificate, lists, clients],
    }
}

/// The file is an annotation of the pods: other lists are another pod, which reads them at its start.
fn lists() -> Template {
    let text = said_of_pod("config.yaml", "metadata.annotations['taintward.io/restriction-config']");
    map([field("name", "lists"), field("downwardAPI", text)])
}

fn deployment(part: ComponentSpec) -> Template {
    let beginning = within("apps/v1", "Deployment", part.name, part.component);
    let selector = map([field("matchLabels", labels(part.component))]);
    let metadata = map([field("labels", labels(part.component))].into_iter().chain(part.notes.clone()));
    let template = map([field("metadata", metadata), field("spec", pod(&part))]);
    let spec = map([
        field("replicas", InstallValue::Replicas),
        field("selector", selector),
        field("template", template),
    ]);
    object(beginning, [field("spec", spec)])
}

fn pod(part: &ComponentSpec) -> Template {
    let further = part.files.iter().map(|(_, volume)| volume.clone());
    let volumes = list([item(token())].into_iter().chain(further));
    let secret = item(map([field("name", InstallValue::This)])).each(Repeat::PullSecrets);
    map([
        field("serviceAccountName", part.name),
        field("automountServiceAccountToken", false),
        field("priorityClassName", InstallValue::PriorityClass),
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
        field("imagePullSecrets", list([secret])).when(Condition::PullSecrets),
        field("containers", list([item(container(part))])),
        field("volumes", volumes),
    ])
}

fn container(part: &ComponentSpec) -> Template {
    let further = part.files.iter().map(|(mount, _)| mount.clone());
    let account = map([field("name", "account"), field("mountPath", ACCOUNT), field("readOnly", true)]);
    let probe = |path: &'static str, more: Vec<TemplateEntry>| {
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
        field("image", InstallValue::Image),
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
fn token() -> Template {
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
fn said_of_pod(path: &'static str, which: &'static str) -> Template {
    let reference = map([field("apiVersion", "v1"), field("fieldPath", which)]);
    map([field("items", maps([[field("path", path), field("fieldRef", reference)]]))])
}

fn tolerations() -> Template {
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
fn at_the_control_plane() -> Template {
    let role = [field("key", "node-role.kubernetes.io/control-plane"), field("operator", "Exists")];
    let preference = map([field("matchExpressions", maps([role]))]);
    let term = [field("weight", 100), field("preference", preference)];
    map([field("preferredDuringSchedulingIgnoredDuringExecution", maps([term]))])
}

/// Nodes whose taints keep the pods away do not count; where there is one node, both are on it.
fn spread(component: &'static str) -> Template {
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
        let Template::List(items) = webhook().arguments else { panic!("a list") };
        let has =
            |text: String| items.iter().any(|one| matches!(one.value, Template::Text(flag) if flag == text));
        assert!(has(format!("--service={WEBHOOK}")) && has(format!("--secret={CERTIFICATE}")));
        assert!(has(format!("--webhook-configuration={NAME}")));
        assert!(
            has(format!("--tls-cert-file={TLS}/tls.crt"))
                && has(format!("--tls-private-key-file={TLS}/tls.key"))
                && has(format!("--client-ca-file={CLIENTS}/ca.crt"))
        );
    }
}
