//! Writes kubeconfigs for accounts, or for the admin impersonating a user.

use crate::certificates::SignedIdentity;
use crate::cluster_config::Account;
use anyhow::{Context as _, Result};
use kube::config::Kubeconfig;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The name of the files of an account for one of the API servers.
pub(crate) fn name(account: Account, server: usize) -> String {
    format!("{}-{server}", account.file())
}

/// The path of the kubeconfig of an account for one of the API servers.
pub(crate) fn path(folder: &Path, account: Account, server: usize) -> PathBuf {
    folder.join(name(account, server) + ".kubeconfig")
}

/// Writes a kubeconfig for the first API server, in which the admin impersonates this user with these groups.
pub(crate) fn write_impersonating(folder: &Path, user: &str, groups: &[&str]) -> Result<PathBuf> {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let mut kubeconfig = Kubeconfig::read_from(path(folder, Account::Admin, 0))?;
    let named = kubeconfig.auth_infos.first_mut().and_then(|named| named.auth_info.as_mut());
    let admin = named.context("a kubeconfig without user")?;
    admin.impersonate = Some(user.into());
    admin.impersonate_groups = Some(groups.iter().map(|&group| group.into()).collect());
    let path = folder.join(format!("as-{}.kubeconfig", MADE.fetch_add(1, Ordering::Relaxed)));
    fs::write(&path, serde_json::to_string(&kubeconfig)?)?;
    Ok(path)
}

/// Writes a kubeconfig with a client certificate. Replaces each file atomically: a program may read them meanwhile.
pub(crate) fn write(folder: &Path, name: &str, identity: &SignedIdentity, port: u16) -> Result<PathBuf> {
    let file = |end: &str| folder.join(format!("{name}.{end}"));
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: taintward\n\
         clusters:\n- name: taintward\n  cluster:\n    server: https://127.0.0.1:{port}\n    \
         certificate-authority: {}\n\
         users:\n- name: taintward\n  user:\n    client-certificate: {}\n    client-key: {}\n\
         contexts:\n- name: taintward\n  context:\n    cluster: taintward\n    user: taintward\n",
        folder.join("ca.crt").display(),
        file("crt").display(),
        file("key").display(),
    );
    for (end, text) in [("key", &identity.key), ("crt", &identity.certificate), ("kubeconfig", &text)] {
        fs::write(file("new"), text)?;
        fs::rename(file("new"), file(end))?;
    }
    Ok(file("kubeconfig"))
}
