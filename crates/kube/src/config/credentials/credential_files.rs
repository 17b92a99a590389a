//! Reads token, client certificate, key and CA of a kubeconfig, from data or from files that may be replaced.
//!
//! - Invariant: a file that is missing or unreadable for a while leaves the last contents in use.

use super::{ClientIdentity, LoadedCredentials, bearer, header};
use crate::config::TlsProblem;
use crate::error_text::one_line;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use kube::Config;
use serde::Deserialize;
use std::path::PathBuf;

/// A user of a kubeconfig, without exec plugins.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct KubeconfigUser {
    username: Option<String>,
    password: Option<String>,
    token: Option<String>,
    #[serde(rename = "tokenFile")]
    token_file: Option<PathBuf>,
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<String>,
    client_key: Option<PathBuf>,
    client_key_data: Option<String>,
    auth_provider: Option<AuthProvider>,
}

#[derive(Deserialize)]
struct AuthProvider {
    name: String,
    #[serde(default)]
    config: AuthProviderConfig,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct AuthProviderConfig {
    id_token: Option<String>,
}

enum DataSource {
    Data(Vec<u8>),
    File(PathBuf),
}

/// The sources of credentials.
pub(super) struct CredentialFiles {
    basic: Option<HeaderValue>,
    token: Option<DataSource>,
    identity: Option<(DataSource, DataSource)>,
    authority: Option<PathBuf>,
}

impl CredentialFiles {
    /// Chooses as client-go: a token file before a token, data before a file.
    pub(super) fn of(config: &Config) -> Result<Self, TlsProblem> {
        let user = serde_json::to_value(&config.auth_info).and_then(serde_json::from_value);
        // The reason could quote a secret.
        let user: KubeconfigUser =
            user.map_err(|_| TlsProblem::credentials("the user's fields cannot be read"))?;
        let token = user.token.filter(|token| !token.is_empty());
        let mut token = token.map(|token| DataSource::Data(token.into_bytes()));
        let token_file = user.token_file.filter(|path| !path.as_os_str().is_empty());
        if let Some(provider) = user.auth_provider {
            let Some(id_token) = provider.config.id_token.filter(|_| provider.name == "oidc") else {
                return Err(TlsProblem::credentials(match provider.name.as_str() {
                    "oidc" => {
                        "the auth-provider oidc has no id-token; log in again, or use an exec plugin".into()
                    }
                    other => format!(
                        "Kubernetes no longer supports the auth-provider \"{}\"; use its exec plugin",
                        one_line(other)
                    ),
                }));
            };
            token = token.or(Some(DataSource::Data(id_token.into_bytes())));
        }
        let certificate =
            either("client-certificate", user.client_certificate_data, user.client_certificate)?;
        let key = either("client-key", user.client_key_data, user.client_key)?;
        let identity = match (certificate, key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (Some(_), None) => return Err(TlsProblem::certificate("client-certificate has no client-key")),
            (None, Some(_)) => return Err(TlsProblem::certificate("client-key has no client-certificate")),
        };
        let basic = match (user.username, user.password) {
            (Some(name), Some(password)) if token.is_none() && token_file.is_none() => {
                let pair = STANDARD.encode(format!("{name}:{password}"));
                Some(header(&format!("Basic {pair}")).map_err(TlsProblem::credentials)?)
            }
            _ => None,
        };
        let token = token_file.map(DataSource::File).or(token);
        Ok(Self { basic, token, identity, authority: config.root_cert_file.clone() })
    }

    /// Whether any of them can be replaced.
    pub(super) fn may_change(&self) -> bool {
        let is_file = |origin: &DataSource| matches!(origin, DataSource::File(_));
        self.authority.is_some()
            || self.token.as_ref().is_some_and(is_file)
            || self.identity.as_ref().is_some_and(|(certificate, key)| is_file(certificate) || is_file(key))
    }

    /// Whether requests are authorized without a plugin.
    pub(super) fn authorize(&self) -> bool {
        self.basic.is_some() || self.token.is_some()
    }

    /// Reads everything; `loaded` keeps the last contents of what cannot be read. Blocks.
    pub(super) fn read(&self, loaded: &mut LoadedCredentials) -> Result<(), TlsProblem> {
        let token = self.read_authorization(loaded).map_err(|why| TlsProblem::credentials(why.0));
        let certificates = self.read_certificates(loaded).map_err(|why| TlsProblem::certificate(why.0));
        token.and(certificates)
    }

    fn read_authorization(&self, loaded: &mut LoadedCredentials) -> Result<(), UnreadableSource> {
        loaded.authorization = match &self.token {
            Some(token) => Some(bearer(&token.read()?).map_err(|why| token.blame(why))?),
            None => self.basic.clone(),
        };
        Ok(())
    }

    fn read_certificates(&self, loaded: &mut LoadedCredentials) -> Result<(), UnreadableSource> {
        let identity =
            self.identity.as_ref().map(|(certificate, key)| ClientIdentity::read(certificate, key));
        let authority = self.authority.as_ref().map(|path| DataSource::File(path.clone()).read());
        if let Some(Ok(identity)) = &identity {
            loaded.identity = Some(identity.clone());
        }
        if let Some(Ok(authority)) = &authority {
            loaded.authority = Some(authority.clone());
        }
        identity.transpose().and(authority.transpose()).map(drop)
    }
}

/// Where the source is, and why it cannot be used.
struct UnreadableSource(String);

impl ClientIdentity {
    fn read(certificate: &DataSource, key: &DataSource) -> Result<Self, UnreadableSource> {
        Ok(Self { certificate: certificate.read()?, key: key.read()? })
    }
}

impl DataSource {
    fn read(&self) -> Result<Vec<u8>, UnreadableSource> {
        match self {
            Self::Data(bytes) => Ok(bytes.clone()),
            Self::File(path) => std::fs::read(path).map_err(|why| self.blame(&why.to_string())),
        }
    }

    fn blame(&self, why: &str) -> UnreadableSource {
        UnreadableSource(match self {
            Self::Data(_) => format!("the token in the configuration: {why}"),
            Self::File(path) => format!("{}: {}", one_line(&path.to_string_lossy()), one_line(why)),
        })
    }
}

fn either(
    field: &str,
    data: Option<String>,
    path: Option<PathBuf>,
) -> Result<Option<DataSource>, TlsProblem> {
    match data.filter(|data| !data.is_empty()) {
        Some(data) => match STANDARD.decode(data) {
            Ok(bytes) => Ok(Some(DataSource::Data(bytes))),
            Err(_) => Err(TlsProblem::certificate(format!("{field}-data is not base64"))),
        },
        None => Ok(path.filter(|path| !path.as_os_str().is_empty()).map(DataSource::File)),
    }
}
