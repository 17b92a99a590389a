//! Gives a contender a client certificate and a kubeconfig of its own.

use anyhow::Result;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use taintward_envtest::certificates::SignedIdentity;
use taintward_envtest::{Account, Cluster};

/// Files that one contender uses in one run.
pub(crate) struct ContenderCredentials {
    pub(crate) account: Account,
    pub(crate) kubeconfig: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl ContenderCredentials {
    /// Writes a certificate that is valid for this long, and a kubeconfig for a port.
    pub(crate) fn write(
        cluster: &Cluster,
        account: Account,
        identity: &SignedIdentity,
        port: u16,
    ) -> Result<Self> {
        let file = |name: &str| cluster.folder().join(name);
        let (certificate, key) = (file("contender.crt"), file("contender.key"));
        let user = json!({"client-certificate": certificate, "client-key": key});
        let server =
            json!({"server": format!("https://127.0.0.1:{port}"), "certificate-authority": file("ca.crt")});
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": server}],
            "users": [{"name": "c", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        });
        let kubeconfig = file("contender.kubeconfig");
        fs::write(&kubeconfig, text.to_string())?;
        let credentials = Self { account, kubeconfig, certificate, key };
        credentials.replace(identity)?;
        Ok(credentials)
    }

    /// Renews the certificate: after this, the files have a valid one.
    pub(crate) fn renew(&self, cluster: &Cluster) -> Result<()> {
        self.replace(&cluster.identity(self.account, Duration::from_secs(86_400))?)
    }

    /// Replaces each file atomically.
    fn replace(&self, identity: &SignedIdentity) -> Result<()> {
        for (file, text) in [(&self.key, &identity.key), (&self.certificate, &identity.certificate)] {
            let new = file.with_extension("new");
            fs::write(&new, text)?;
            fs::rename(new, file)?;
        }
        Ok(())
    }
}
