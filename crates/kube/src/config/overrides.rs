//! Applies flags such as `--cluster`, `--user`, `--server` and `--as` to a kubeconfig.
//!
//! - Invariant: an unknown name is an error, never another cluster or user.

use super::{ConnectError, names, server_address};
use crate::error_text::{redacted_url, sanitized};
use kube::Config;
use kube::config::{Cluster, Context, Kubeconfig, NamedCluster, NamedContext};
use std::path::PathBuf;

/// Values that override the kubeconfig, as with kubectl's flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigOverrides {
    /// `--cluster`: an entry of `clusters`.
    pub cluster: Option<String>,
    /// `--user`: an entry of `users`.
    pub user: Option<String>,
    /// `--server`: an address, for the chosen cluster.
    pub server: Option<String>,
    /// Which certificates that server may have; `None`: those of the cluster's CA.
    pub trust: Option<ServerTrust>,
    /// `--as`: the user to impersonate.
    pub acting: Option<Impersonation>,
}

/// Which certificates a server may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerTrust {
    /// Any: something else says that it is the right server.
    Any,
    /// Those that this CA has signed: a file in PEM.
    Authority(PathBuf),
}

/// The identity to impersonate, if the server permits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// `--as`.
    pub user: String,
    /// `--as-group`.
    pub groups: Vec<String>,
    /// `--as-uid`.
    pub uid: Option<String>,
}

impl ConfigOverrides {
    /// Whether any of them selects entries of a kubeconfig.
    pub(super) fn choose(&self) -> bool {
        self.cluster.is_some() || self.user.is_some()
    }

    /// Changes the context of this name, and its cluster. As with kubectl, no context is needed if a cluster or a
    /// server is named: then one is created.
    pub(super) fn apply(&self, to: &mut Kubeconfig, context: &str, place: &str) -> Result<(), ConnectError> {
        let index = match to.contexts.iter().position(|one| one.name == context) {
            Some(index) => index,
            None => {
                to.contexts.push(NamedContext { name: context.to_owned(), ..NamedContext::default() });
                to.contexts.len() - 1
            }
        };
        let meant = to.contexts[index].context.get_or_insert_with(Context::default);
        if let Some(cluster) = &self.cluster {
            if !to.clusters.iter().any(|one| one.name == *cluster) {
                let known = names(to.clusters.iter().map(|one| &one.name));
                return Err(unknown("cluster", cluster, place, known));
            }
            meant.cluster.clone_from(cluster);
        }
        if let Some(user) = &self.user {
            if !to.auth_infos.iter().any(|one| one.name == *user) {
                let known = names(to.auth_infos.iter().map(|one| &one.name));
                return Err(unknown("user", user, place, known));
            }
            meant.user = Some(user.clone());
        }
        let Some(server) = &self.server else { return Ok(()) };
        check(server)?;
        let name = meant.cluster.clone();
        if !to.clusters.iter().any(|one| one.name == name) {
            to.clusters.push(NamedCluster { name: name.clone(), ..NamedCluster::default() });
        }
        for one in to.clusters.iter_mut().filter(|one| one.name == name) {
            let cluster = one.cluster.get_or_insert_with(Cluster::default);
            cluster.server = Some(server.clone());
            // It is the name of another server.
            cluster.tls_server_name = None;
            if let Some(trust) = &self.trust {
                trust.apply(cluster);
            }
        }
        Ok(())
    }

    /// Replaces the kubeconfig's impersonation completely: a given user does not get another user's groups.
    pub(super) fn act(&self, config: &mut Config) {
        let Some(Impersonation { user, groups, uid }) = self.acting.clone() else { return };
        config.auth_info.impersonate = Some(user);
        config.auth_info.impersonate_uid = uid;
        config.auth_info.impersonate_groups = Some(groups);
        config.auth_info.impersonate_user_extra = None;
    }

    /// A description, to follow the name of a context.
    pub(super) fn description(&self) -> String {
        let kinds = [("cluster", &self.cluster), ("user", &self.user)];
        let description = kinds.into_iter().filter_map(|(kind, name)| Some((kind, name.as_ref()?)));
        description.map(|(kind, name)| format!(", {kind} \"{}\"", sanitized(name))).collect()
    }
}

impl ServerTrust {
    fn apply(&self, cluster: &mut Cluster) {
        let authority = match self {
            Self::Any => None,
            Self::Authority(path) => Some(path.display().to_string()),
        };
        cluster.insecure_skip_tls_verify = Some(authority.is_none());
        cluster.certificate_authority_data = None;
        cluster.certificate_authority = authority;
    }
}

fn unknown(kind: &'static str, name: &str, place: &str, known: String) -> ConnectError {
    ConnectError::Unknown { kind, name: sanitized(name), place: place.to_owned(), known }
}

fn check(server: &str) -> Result<(), ConnectError> {
    match server_address::parse(server, false) {
        Some(_) => Ok(()),
        None => Err(ConnectError::Server(sanitized(&redacted_url(server)))),
    }
}
