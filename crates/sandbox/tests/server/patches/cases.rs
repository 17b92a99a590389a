//! Lists the patches that are sent to both servers.

/// How a case is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
    Force,
}

/// One request.
pub(crate) struct PatchCase {
    pub(crate) path: &'static str,
    pub(crate) how: PatchKind,
    pub(crate) manager: &'static str,
    pub(crate) body: &'static str,
}

const fn case(path: &'static str, how: PatchKind, manager: &'static str, body: &'static str) -> PatchCase {
    PatchCase { path, how, manager, body }
}

const NODE: &str = "/api/v1/nodes/n1";
const NODE_STATUS: &str = "/api/v1/nodes/n1/status";
const CONFIG: &str = "/api/v1/namespaces/default/configmaps/c";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const WEB_STATUS: &str = "/apis/apps/v1/namespaces/default/deployments/web/status";
const SERVICE: &str = "/api/v1/namespaces/default/services/s";
const BUDGET: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b";
const APPLIED: &str = "/apis/apps/v1/namespaces/default/deployments/applied";
const APPLIED_CONFIG: &str = "/api/v1/namespaces/default/configmaps/applied";
const CLIENT_SIDE: &str = "/api/v1/namespaces/default/configmaps/client-side";
const FORGOTTEN: &str = "/api/v1/namespaces/default/configmaps/forgotten";

/// The objects before the first case.
pub(crate) const OBJECTS: &[(&str, &str)] = &[
    (
        NODE,
        r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"zone":"a"},"finalizers":["a.b/c"]},
        "spec":{"taints":[{"key":"k","effect":"NoExecute","value":"v"}]}}"#,
    ),
    (
        CONFIG,
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default"},"data":{"a":"1","b":"2"}}"#,
    ),
    (
        WEB,
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","labels":{"app":"web"}},
        "spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
        "spec":{"containers":[
            {"name":"main","image":"main:1","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],
             "ports":[{"containerPort":80,"name":"http"},{"containerPort":80,"protocol":"UDP","name":"quic"}]},
            {"name":"side","image":"side:1","args":["x","y"]}],
        "volumes":[{"name":"tmp","emptyDir":{}},{"name":"cm","configMap":{"name":"c"}}],
        "tolerations":[{"key":"k","operator":"Exists"}],"imagePullSecrets":[{"name":"s1"}],
        "topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}],
        "nodeSelector":{"zone":"a"}}}}}"#,
    ),
    (
        SERVICE,
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"},
        "spec":{"selector":{"app":"web"},"clusterIP":"None","ports":[{"port":80,"name":"t"},{"port":80,"protocol":"UDP","name":"u"}]}}"#,
    ),
    (
        BUDGET,
        r#"{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"default"},
        "spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}}}"#,
    ),
    (
        CLIENT_SIDE,
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"client-side","namespace":"default","annotations":{
        "kubectl.kubernetes.io/last-applied-configuration":
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{},\"name\":\"client-side\",\"namespace\":\"default\"},\"data\":{\"a\":\"1\"}}\n"
        }},"data":{"a":"1"}}"#,
    ),
    (
        FORGOTTEN,
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"forgotten","namespace":"default"},"data":{"a":"1"}}"#,
    ),
    (
        "/api/v1/namespaces/default/pods/p",
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","annotations":{"a":"b"},
        "ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u","controller":true}]},
        "spec":{"nodeName":"n1","terminationGracePeriodSeconds":0,"hostAliases":[{"ip":"1.2.3.4","hostnames":["h"]}],
        "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}},
        "securityContext":{"runAsUser":1},"initContainers":[{"name":"i","image":"i"}],
        "containers":[{"name":"c","image":"c:1","command":["a"],"resources":{"limits":{"cpu":"1"}},
            "envFrom":[{"configMapRef":{"name":"c"}}],"env":[{"name":"X","valueFrom":{"configMapKeyRef":{"name":"c","key":"k"}}}],
            "livenessProbe":{"httpGet":{"port":80}},"volumeMounts":[{"name":"v","mountPath":"/v"}],"lifecycle":{"preStop":{"exec":{"command":["x"]}}}}],
        "volumes":[{"name":"v","projected":{"sources":[{"configMap":{"name":"c","items":[{"key":"k","path":"p"}]}}]}}]}}"#,
    ),
    (
        "/apis/apps/v1/namespaces/default/statefulsets/ss",
        r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"ss","namespace":"default"},
        "spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
        "spec":{"containers":[{"name":"c","image":"c"}]}},"volumeClaimTemplates":[{"metadata":{"name":"d"},
        "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}}"#,
    ),
    (
        "/apis/apps/v1/namespaces/default/daemonsets/ds",
        r#"{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"ds","namespace":"default"},
        "spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
        "spec":{"containers":[{"name":"c","image":"c"}],"tolerations":[{"operator":"Exists"}]}}}}"#,
    ),
    (
        "/apis/batch/v1/namespaces/default/cronjobs/cj",
        r#"{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"cj","namespace":"default"},
        "spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"c"}]}}}}}}"#,
    ),
    (
        "/api/v1/namespaces/default/secrets/sec",
        r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"sec","namespace":"default"},"data":{"a":"eA=="},"immutable":true}"#,
    ),
    (
        "/api/v1/namespaces/default/serviceaccounts/sa",
        r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"sa","namespace":"default"},
        "secrets":[{"name":"x"}],"imagePullSecrets":[{"name":"y"}]}"#,
    ),
    (
        "/api/v1/persistentvolumes/pv",
        r#"{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{"capacity":{"storage":"1Gi"},
        "accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"},"claimRef":{"namespace":"default","name":"q"}}}"#,
    ),
    (
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/crb",
        r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"crb"},
        "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},
        "subjects":[{"kind":"ServiceAccount","name":"x","namespace":"default"}]}"#,
    ),
    (
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/cr",
        r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"cr"},
        "rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}],
        "aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}"#,
    ),
    (
        "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
        r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l","namespace":"default"},
        "spec":{"holderIdentity":"h","leaseDurationSeconds":1,"renewTime":"2026-01-01T00:00:00.000000Z"}}"#,
    ),
    (
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/es",
        r#"{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"es","namespace":"default"},"addressType":"IPv4",
        "endpoints":[{"addresses":["1.2.3.4"],"conditions":{"ready":true}}],"ports":[{"name":"p","port":80}]}"#,
    ),
    (
        "/apis/networking.k8s.io/v1/namespaces/default/ingresses/ing",
        r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"ing","namespace":"default"},
        "spec":{"rules":[{"host":"a.b","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":80}}}}]}}]}}"#,
    ),
    (
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h",
        r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"default"},
        "spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},
        "metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}"#,
    ),
    (
        "/apis/storage.k8s.io/v1/storageclasses/sc",
        r#"{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"sc"},"provisioner":"x","parameters":{"a":"b"}}"#,
    ),
    (
        "/apis/scheduling.k8s.io/v1/priorityclasses/pc",
        r#"{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"pc"},"value":7}"#,
    ),
    (
        "/api/v1/namespaces/default/resourcequotas/rq",
        r#"{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"rq","namespace":"default"},"spec":{"hard":{"services":"99"}}}"#,
    ),
    (
        "/api/v1/namespaces/default/events/e",
        r#"{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"default"},
        "involvedObject":{"kind":"Pod","namespace":"default","name":"p"},"reason":"R","message":"m","type":"Normal","source":{"component":"c"}}"#,
    ),
    (
        "/api/v1/namespaces/other",
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other","labels":{"a":"b"}}}"#,
    ),
];

/// One after the other, each on the result of the previous one.
#[rustfmt::skip]
pub(crate) const CASES: &[PatchCase] = &[
    // JSON patches.
    case(CONFIG, PatchKind::Json, "j", r#"[{"op":"test","path":"/data/a","value":"1"},{"op":"replace","path":"/data/a","value":"3"}]"#),
    case(CONFIG, PatchKind::Json, "j", r#"[{"op":"test","path":"/data/a","value":"nope"},{"op":"replace","path":"/data/a","value":"4"}]"#),
    case(CONFIG, PatchKind::Json, "j", r#"[{"op":"remove","path":"/data/none"}]"#),
    case(CONFIG, PatchKind::Json, "j", r#"[{"op":"add","path":"/none/none","value":"x"}]"#),
    case(CONFIG, PatchKind::Json, "j", r#"{"op":"add"}"#),
    case(CONFIG, PatchKind::Json, "j", r#"["x"]"#),
    case(CONFIG, PatchKind::Json, "j", r#"[{"op":"add","path":7}]"#),
    case(CONFIG, PatchKind::Json, "j", r#"[{"op":"move","from":"/data/b","path":"/data/moved"},{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"/metadata/annotations/x.y~1z","value":"a~1b"},{"op":"copy","from":"/data/a","path":"/data/copy"}]"#),
    case(NODE, PatchKind::Json, "j", r#"[{"op":"add","path":"/spec/taints/-","value":{"key":"k2","effect":"NoSchedule"}}]"#),
    case(NODE, PatchKind::Json, "j", r#"[{"op":"remove","path":"/spec/taints/9"}]"#),
    case(NODE, PatchKind::Json, "j", r#"[{"op":"remove","path":"/spec/taints/0"},{"op":"add","path":"/metadata/labels/x","value":"y"}]"#),
    case(NODE, PatchKind::Json, "j", r#"[]"#),
    // Merge patches.
    case(CONFIG, PatchKind::Merge, "m", r#"{"data":{"whole":null,"n":"1"}}"#),
    case(CONFIG, PatchKind::Merge, "m", r#"["x"]"#),
    case(CONFIG, PatchKind::Merge, "m", r#"null"#),
    case(CONFIG, PatchKind::Merge, "m", r#"{"metadata":{"labels":{"a":"b","c":null}}}"#),
    case(CONFIG, PatchKind::Merge, "m", r#"{"metadata":{"labels":null}}"#),
    case(NODE, PatchKind::Merge, "m", r#"{"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}}"#),
    case(NODE, PatchKind::Merge, "m", r#"{"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}}"#),
    case(NODE, PatchKind::Merge, "other", r#"{"spec":{"taints":null,"unschedulable":true}}"#),
    case(NODE_STATUS, PatchKind::Merge, "kubelet", r#"{"status":{"conditions":[{"type":"Ready","status":"True"}],"allocatable":{"cpu":"2"},"capacity":{"cpu":"2"}}}"#),
    case(NODE_STATUS, PatchKind::Strategic, "kubelet", r#"{"status":{"$setElementOrder/conditions":[{"type":"Disk"},{"type":"Ready"}],"conditions":[{"type":"Disk","status":"False"},{"type":"Ready","status":"False"}]}}"#),
    case(NODE_STATUS, PatchKind::Strategic, "kubelet", r#"{"status":{"addresses":[{"type":"InternalIP","address":"1.2.3.4"}]},"metadata":{"annotations":{"x":"y"}}}"#),
    // Strategic merge patches.
    case(NODE, PatchKind::Strategic, "s", r#"{"metadata":{"finalizers":["x.y/z"]}}"#),
    case(NODE, PatchKind::Strategic, "s", r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["a.b/c"]}}"#),
    case(NODE, PatchKind::Strategic, "s", r#"{"metadata":{"$deleteFromPrimitiveList":["a.b/c"]}}"#),
    case(NODE, PatchKind::Strategic, "s", r#"{"metadata":{"$setElementOrder/finalizers":["q.r/s","x.y/z"],"finalizers":["q.r/s"]}}"#),
    case(NODE, PatchKind::Strategic, "s", r#"{"metadata":{"finalizers":null}}"#),
    case(NODE, PatchKind::Strategic, "s", r#"{"spec":{"taints":[{"key":"a","effect":"NoSchedule"},{"key":"b","effect":"NoSchedule"}],"unschedulable":null}}"#),
    case(NODE, PatchKind::Strategic, "s", r#"{"spec":{"taints":[{"key":"b","effect":"NoSchedule"}]}}"#),
    case(NODE, PatchKind::Strategic, "s", r#"["x"]"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"main:2"}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"containers":[{"name":"new","image":"new:1"},{"name":"side","args":["z"]}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"containers":[{"image":"main:2"}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"containers":[{"name":"new","$patch":"delete"}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"containers":[{"$patch":"delete"}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"containers":[{"name":"main","$patch":"merge"}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"containers":[{"name":"main","$patch":"frob"}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"$patch":"frob"}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"side"},{"name":"main"}],"containers":[{"name":"main","$setElementOrder/env":[{"name":"B"},{"name":"C"},{"name":"A"}],"env":[{"name":"C","value":"3"}]}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"side"},{"name":"main"}],"containers":[{"name":"main","image":"m:3"},{"name":"side","image":"s:3"}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"$setElementOrder/frobs":[{"name":"side"}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"volumes":[{"name":"tmp","$retainKeys":["name","hostPath"],"hostPath":{"path":"/tmp"}}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"volumes":[{"name":"tmp","$retainKeys":["name"],"hostPath":{"path":"/tmp"}}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"tolerations":[{"key":"x","operator":"Exists"}],"nodeSelector":{"disk":"ssd"}}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"containers":[{"$patch":"replace"},{"name":"only","image":"only:1"}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"metadata":{"annotations":{"a":"b","none":null}}}}}"#),
    case(WEB_STATUS, PatchKind::Strategic, "kcm", r#"{"status":{"replicas":1,"conditions":[{"type":"Available","status":"True","reason":"r","message":"m"}]}}"#),
    case(BUDGET, PatchKind::Strategic, "s", r#"{"spec":{"selector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}}}"#),
    case(SERVICE, PatchKind::Strategic, "s", r#"{"spec":{"ports":[{"port":443,"name":"https"},{"port":80,"name":"http"}]}}"#),
    // Server-side apply.
    case(APPLIED_CONFIG, PatchKind::Apply, "one", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied","labels":{"l":"1"}},"data":{"a":"1","b":"2"}}"#),
    case(APPLIED_CONFIG, PatchKind::Apply, "one", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied","labels":{"l":"1"}},"data":{"a":"1","b":"2"}}"#),
    case(APPLIED_CONFIG, PatchKind::Apply, "two", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"a":"1"}}"#),
    case(APPLIED_CONFIG, PatchKind::Apply, "two", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"a":"2"}}"#),
    case(APPLIED_CONFIG, PatchKind::Apply, "three", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"a":"2","b":"3"}}"#),
    case(APPLIED_CONFIG, PatchKind::Force, "two", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"a":"2"}}"#),
    case(APPLIED_CONFIG, PatchKind::Apply, "one", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"b":"2"}}"#),
    case(APPLIED_CONFIG, PatchKind::Merge, "editor", r#"{"data":{"b":"9","e":"1"}}"#),
    case(APPLIED_CONFIG, PatchKind::Apply, "one", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"b":"2","e":"2"}}"#),
    case(APPLIED_CONFIG, PatchKind::Apply, "one", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"}}"#),
    case(APPLIED_CONFIG, PatchKind::Apply, "one", r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"applied"}}"#),
    case(APPLIED_CONFIG, PatchKind::Apply, "one", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied","managedFields":[]}}"#),
    case(APPLIED_CONFIG, PatchKind::Apply, "one", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"dato":{"x":"y"}}"#),
    case(CLIENT_SIDE, PatchKind::Apply, "kubectl", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"client-side"},"data":{"a":"2"}}"#),
    case(CLIENT_SIDE, PatchKind::Apply, "other", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"client-side"},"data":{"a":"3"}}"#),
    case(FORGOTTEN, PatchKind::Merge, "m", r#"{"metadata":{"managedFields":[{}]},"data":{"a":"2"}}"#),
    case(FORGOTTEN, PatchKind::Merge, "m", r#"{"data":{"a":"3"}}"#),
    case(FORGOTTEN, PatchKind::Apply, "one", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"forgotten"},"data":{"a":"4"}}"#),
    case(FORGOTTEN, PatchKind::Apply, "one", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"forgotten"},"data":{"b":"4"}}"#),
    case(APPLIED, PatchKind::Apply, "one", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"x","image":"x:1","ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"}]},{"name":"y","image":"y:1"}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "one", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"y","image":"y:2"},{"name":"x","image":"x:1","ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}]}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "two", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied"},"spec":{"template":{"spec":{"containers":[{"name":"z","image":"z:1"},{"name":"x","image":"x:9"}]}}}}"#),
    case(APPLIED, PatchKind::Force, "two", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied"},"spec":{"template":{"spec":{"tolerations":[{"key":"t","operator":"Exists"}],"containers":[{"name":"z","image":"z:1"},{"name":"x","image":"x:9"}]}}}}"#),
    case(APPLIED, PatchKind::Strategic, "scaler", r#"{"spec":{"replicas":5}}"#),
    case(APPLIED, PatchKind::Apply, "one", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"y","image":"y:2"}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "one", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"y","image":"y:2"}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "two", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied"},"spec":{"template":{"spec":{"containers":[{"name":"z","image":"z:1"}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"containers":[{"name":"z","imige":"z:1"}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"containers":[{"name":"z"},{"name":"z"}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"replicas":"1"}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":"x"}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default","labels":{"a":1}}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default","finalizers":"x"}}"#),
    case(NODE, PatchKind::Apply, "tainter", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","finalizers":["t.t/t"]},"spec":{"taints":[{"key":"z","effect":"NoExecute"}]}}"#),
    case(NODE, PatchKind::Force, "tainter", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","finalizers":["t.t/t"]},"spec":{"taints":[{"key":"z","effect":"NoExecute"}]}}"#),
    case(NODE_STATUS, PatchKind::Apply, "prober", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"conditions":[{"type":"Probe","status":"True"}]}}"#),
    case(NODE_STATUS, PatchKind::Apply, "prober", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#),
    case(NODE, PatchKind::Apply, "tainter", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"containers":["x"]}}}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default","finalizers":[["x"]]}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default","finalizers":[null]}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default","finalizers":["x/y","x/y"]}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"volumes":[{"name":"v","emptyDir":{"sizeLimit":{"x":1}}}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"paused":"yes","minReadySeconds":"x"}}"#),
    case(APPLIED, PatchKind::Apply, "bad", r#"{"apiVersion":"apps/v1beta1","kind":"Deployment","metadata":{"name":"applied"}}"#),
    case(APPLIED, PatchKind::Apply, "three", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"volumes":[{"name":"v","emptyDir":{}}],"imagePullSecrets":[{"name":"p"},{"name":"q"}],"topologySpreadConstraints":[{"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","maxSkew":1},{"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway","maxSkew":2}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "three", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"imagePullSecrets":[{"name":"q"}],"topologySpreadConstraints":[{"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway","maxSkew":3}],"nodeSelector":{"a":"b"}}}}}"#),
    case(APPLIED, PatchKind::Apply, "four", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"nodeSelector":{"a":"c"},"topologySpreadConstraints":[{"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway","maxSkew":4}]}}}}"#),
    case(APPLIED, PatchKind::Force, "four", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"nodeSelector":{"a":"c"},"affinity":null,"containers":[{"name":"y","env":[{"name":"E","value":"1"},{"name":"F","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"resources":{"requests":{"cpu":"1"}}}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "four", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"containers":[{"name":"y","env":[{"name":"F","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"E","value":"1"}],"resources":{"requests":{"cpu":"1"}}}]}}}}"#),
    case(APPLIED, PatchKind::Apply, "five", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"containers":[{"name":"y","resources":{"requests":{"cpu":"1000m"}}}]}}}}"#),
    case(APPLIED, PatchKind::Strategic, "dup", r#"{"spec":{"template":{"spec":{"containers":[{"name":"y","env":[{"name":"G","value":"1"},{"name":"H","value":"1"}]}]}}}}"#),
    case(APPLIED, PatchKind::Json, "dup", r#"[{"op":"add","path":"/spec/template/spec/containers/0/env/-","value":{"name":"G","value":"2"}}]"#),
    case(APPLIED, PatchKind::Apply, "four", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default"},"spec":{"template":{"spec":{"containers":[{"name":"y","env":[{"name":"E","value":"1"}]}]}}}}"#),
    case(APPLIED, PatchKind::Json, "dup", r#"[{"op":"remove","path":"/spec/template/spec/containers/0/env/0"}]"#),
    case(APPLIED, PatchKind::Apply, "owner", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u1"}]}}"#),
    case(APPLIED, PatchKind::Apply, "owner2", r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"applied","namespace":"default","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n2","uid":"u1"},{"apiVersion":"v1","kind":"Node","name":"n3","uid":"u3"}]}}"#),
    case(SERVICE, PatchKind::Apply, "svc", r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":8080,"name":"alt"},{"port":443,"name":"https2"}],"selector":{"x":"y"}}}"#),
    case(SERVICE, PatchKind::Force, "svc", r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":8080,"name":"alt"},{"port":443,"name":"https2"}],"selector":{"x":"y"}}}"#),
    case(SERVICE, PatchKind::Apply, "svc", r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":443,"name":"https2"}]}}"#),
    case(WEB, PatchKind::Merge, "m", r#"{"spec":{"template":{"spec":{"containers":[{"name":"only","image":"only:2","ports":[{"containerPort":1},{"containerPort":2}]}],"nodeSelector":null,"imagePullSecrets":[]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"containers":[{"name":"only","ports":[{"containerPort":2,"name":"two"},{"containerPort":3}]}],"volumes":[{"name":"cm","$patch":"replace","emptyDir":{}}]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"containers":["x"]}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"$setElementOrder/containers":"x"}}}}"#),
    case(WEB, PatchKind::Strategic, "s", r#"{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"only"}],"containers":[{"name":"z","image":"z"}]}}}}"#),
    // More writers than entries may be kept.
    case(CONFIG, PatchKind::Merge, "w01", r#"{"metadata":{"labels":{"w":"1","w1":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w02", r#"{"metadata":{"labels":{"w":"2","w2":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w03", r#"{"metadata":{"labels":{"w":"3","w3":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w04", r#"{"metadata":{"labels":{"w":"4","w4":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w05", r#"{"metadata":{"labels":{"w":"5","w5":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w06", r#"{"metadata":{"labels":{"w":"6","w6":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w07", r#"{"metadata":{"labels":{"w":"7","w7":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w08", r#"{"metadata":{"labels":{"w":"8","w8":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w09", r#"{"metadata":{"labels":{"w":"9","w9":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w10", r#"{"metadata":{"labels":{"w":"10","w10":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w11", r#"{"metadata":{"labels":{"w":"11","w11":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w12", r#"{"metadata":{"labels":{"w":"12","w12":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w13", r#"{"metadata":{"labels":{"w":"13","w13":"x"}}}"#),
    case(CONFIG, PatchKind::Merge, "w05", r#"{"metadata":{"labels":{"w":null,"w5":"y","w6":null}}}"#),
];
