//! Creates what every API server has from the beginning: namespaces, priority classes, ClusterRoles.
//!
//! - `bootstrap/roles.json` is generated from the Go code (`cargo xtask schema`). No account is ever denied by a role.

use crate::api::{ApiServer, ResourcePath, WriteOptions};
use crate::custom;
use crate::resource::known;
use serde_json::{Value, json};

/// One object per line.
const ROLES: &str = include_str!("bootstrap/roles.json");

impl ApiServer {
    /// Creates what nothing works without: namespaces, priority classes, the API server's own Service. Keeps objects
    /// that exist already.
    pub fn bootstrap(&self) {
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            self.put_in("", "namespaces", "", namespace);
        }
        // The address at which pods and conformance tests expect the API server; nothing listens there.
        self.put_in(
            "",
            "services",
            "default",
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
                "spec": {
                    "type": "ClusterIP", "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"],
                    "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
                },
            }),
        );
        // The API server creates it for the controller that cleans up old tokens.
        let name = "kube-apiserver-legacy-service-account-token-tracking";
        let since = self.clock().now().strftime("%Y-%m-%d").to_string();
        let tracking = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"since": since},
        });
        self.put_in("", "configmaps", "kube-system", tracking);
        for (name, value) in
            [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)]
        {
            self.put_in(
                "scheduling.k8s.io",
                "priorityclasses",
                "",
                json!({
                    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                    "value": value, "preemptionPolicy": "PreemptLowerPriority",
                }),
            );
        }
    }

    /// Creates what tools expect besides: the ClusterRoles of every cluster, and the definitions of the custom kinds
    /// that this process serves.
    ///
    /// # Panics
    /// If the embedded file is not JSON.
    pub fn bootstrap_roles(&self) {
        for line in ROLES.lines() {
            let object: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("a role: {why}"));
            let plural = if object["kind"] == "ClusterRole" { "clusterroles" } else { "clusterrolebindings" };
            self.put_in("rbac.authorization.k8s.io", plural, "", object);
        }
        for definition in custom::definitions() {
            let plural = "customresourcedefinitions";
            self.put_in("apiextensions.k8s.io", plural, "", definition.object.clone());
        }
    }

    fn put_in(&self, group: &str, plural: &str, namespace: &str, object: Value) {
        let on = ResourcePath::object(known(group, plural), namespace, "");
        // An object that exists already stays as it is.
        let _ = self.create(&on, object, &WriteOptions::by("kube-apiserver"));
    }
}

#[cfg(test)]
mod tests {
    use super::ROLES;
    use crate::api::{ApiServer, ApiServerSettings};
    use crate::resource::known;

    #[tokio::test]
    async fn roles_that_people_bind_are_there_with_their_rules() {
        let server = ApiServer::new(ApiServerSettings::default());
        server.bootstrap_roles();
        let get = |plural, name| {
            let found = server.get(known("rbac.authorization.k8s.io", plural), "", name);
            found.unwrap_or_else(|| panic!("{plural} {name} is not there"))
        };
        let role = |name| get("clusterroles", name);
        let count = |name| role(name)["rules"].as_array().map_or(0, Vec::len);
        assert_eq!(role("cluster-admin")["rules"][0]["verbs"][0], "*");
        assert!(count("view") > 5 && count("view") < count("edit") && count("edit") < count("admin"));
        let binding = get("clusterrolebindings", "cluster-admin");
        assert_eq!(binding["subjects"][0]["name"], "system:masters");
        let all =
            ["clusterroles", "clusterrolebindings"].map(|plural| known("rbac.authorization.k8s.io", plural));
        assert_eq!(
            all.map(|number| server.store().count(number)).iter().sum::<usize>(),
            ROLES.lines().count()
        );
    }
}
