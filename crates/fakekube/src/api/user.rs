//! Identifies the user of a request: the server's user, controllers, or an impersonated one.
//!
//! - Every authenticated user may impersonate and do anything. See `serve/request_guard.rs` for authentication.

use http::HeaderMap;

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestUser {
    /// Its name.
    pub name: String,
    /// Its groups.
    pub groups: Vec<String>,
}

/// The user of every client that uses the server's kubeconfig.
impl Default for RequestUser {
    fn default() -> Self {
        Self { name: "sandbox".to_owned(), groups: groups(&["system:masters"]) }
    }
}

/// The group of all authenticated users.
const KNOWN: &str = "system:authenticated";

fn groups(names: &[&str]) -> Vec<String> {
    names.iter().copied().chain([KNOWN]).map(str::to_owned).collect()
}

impl RequestUser {
    /// A service account.
    pub fn service(namespace: &str, name: &str) -> Self {
        let all = format!("system:serviceaccounts:{namespace}");
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: groups(&["system:serviceaccounts", &all]),
        }
    }

    /// A control plane component, from the field manager that it writes under, as the user that it stands for.
    pub(super) fn part(manager: &str) -> Self {
        match manager {
            "kubelet" => Self { name: "system:node".to_owned(), groups: groups(&["system:nodes"]) },
            "default-scheduler" => Self { name: "system:kube-scheduler".to_owned(), groups: groups(&[]) },
            "daemonset-controller" => Self::service("kube-system", "daemon-set-controller"),
            "garbage-collector" => Self::service("kube-system", "generic-garbage-collector"),
            controller if controller.ends_with("-controller") => Self::service("kube-system", controller),
            _ => Self::default(),
        }
    }

    /// A controller of a real kube-controller-manager that replaces a component of this cluster. It uses the server's
    /// kubeconfig, as all clients do, and names itself at the end of its user agent.
    fn agent(agent: &str) -> Option<Self> {
        let rest = agent.strip_prefix("kube-controller-manager/")?;
        let controller = rest.rsplit('/').next().filter(|name| name.ends_with("-controller"))?;
        Some(Self::service("kube-system", controller))
    }

    /// The user that a request impersonates: `kubectl --as jane --as-group team-a`.
    pub(crate) fn acting(&self, headers: &HeaderMap) -> Self {
        let all = |name: &str| {
            let values = headers.get_all(name).into_iter();
            values.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect::<Vec<_>>()
        };
        match all("impersonate-user").pop() {
            None => {
                all("user-agent").pop().and_then(|agent| Self::agent(&agent)).unwrap_or_else(|| self.clone())
            }
            Some(name) => match name.split(':').collect::<Vec<_>>()[..] {
                ["system", "serviceaccount", namespace, account] => Self::service(namespace, account),
                _ => {
                    let mut groups = all("impersonate-group");
                    groups.push(KNOWN.to_owned());
                    Self { name, groups }
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RequestUser;
    use http::{HeaderMap, HeaderValue};

    #[test]
    fn an_impersonated_user_is_the_user_of_the_request() {
        let mut headers = HeaderMap::new();
        assert_eq!(RequestUser::default().acting(&headers), RequestUser::default());
        headers.append("impersonate-group", HeaderValue::from_static("team-a"));
        assert_eq!(
            RequestUser::default().acting(&headers),
            RequestUser::default(),
            "a group alone is not a user"
        );
        headers.insert("impersonate-user", HeaderValue::from_static("jane"));
        let jane = RequestUser::default().acting(&headers);
        assert_eq!(
            (jane.name.as_str(), jane.groups),
            ("jane", ["team-a", "system:authenticated"].map(String::from).to_vec())
        );
        headers.insert("impersonate-user", HeaderValue::from_static("system:serviceaccount:ci:runner"));
        assert_eq!(RequestUser::default().acting(&headers), RequestUser::service("ci", "runner"));
    }

    #[test]
    fn a_real_controller_is_identified_by_its_user_agent() {
        let of = |agent: &'static str| {
            let headers = HeaderMap::from_iter([(http::header::USER_AGENT, HeaderValue::from_static(agent))]);
            RequestUser::default().acting(&headers).name
        };
        let agent = "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/1234567/daemon-set-controller";
        assert_eq!(of(agent), "system:serviceaccount:kube-system:daemon-set-controller");
        assert_eq!(of("kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/1234567"), "sandbox");
        assert_eq!(of("kubectl/v1.36.3 (linux/amd64) kubernetes/daemon-set-controller"), "sandbox");
    }

    #[test]
    fn parts_have_the_accounts_of_those_they_stand_for() {
        let name = |part: &str| RequestUser::part(part).name;
        assert_eq!(name("replicaset-controller"), "system:serviceaccount:kube-system:replicaset-controller");
        assert_eq!(name("daemonset-controller"), "system:serviceaccount:kube-system:daemon-set-controller");
        assert_eq!(name("default-scheduler"), "system:kube-scheduler");
        assert_eq!(name("kubectl-create"), "sandbox");
    }
}
