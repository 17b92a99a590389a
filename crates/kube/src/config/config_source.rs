//! Finds the configuration: flag, `$KUBECONFIG`, home folder, or the service account of a pod.

use super::{ConfigSource, ConnectError, ConnectSettings, KubeconfigSection, names, server_address};
use crate::error_text::{one_line, redacted_url, sanitized};
use http::Uri;
use http::uri::InvalidUri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::Config;
use kube::config::{Cluster, Context, KubeConfigOptions, Kubeconfig, KubeconfigError};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The environment of the process.
struct ConfigEnvironment {
    /// `$KUBECONFIG`.
    kubeconfig: Option<OsString>,
    home: Option<PathBuf>,
    /// The variables that every container in a cluster has.
    in_cluster: bool,
    proxies: ProxyEnvironment,
}

impl ConfigEnvironment {
    fn here() -> Self {
        Self {
            kubeconfig: std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty()),
            home: std::env::home_dir(),
            in_cluster: std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
            proxies: ProxyEnvironment::here(),
        }
    }
}

/// The environment's settings of proxies.
#[derive(Clone, Default)]
struct ProxyEnvironment {
    https_proxy: Option<String>,
    no_proxy: Option<String>,
}

impl ProxyEnvironment {
    fn here() -> Self {
        let variable = |name: &str| {
            let either = [name.to_uppercase(), name.to_owned()].into_iter();
            either.filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty())
        };
        Self { https_proxy: variable("https_proxy"), no_proxy: variable("no_proxy") }
    }

    /// Returns the proxy for a server, by Go's rules: none for this machine, none for hosts that `$NO_PROXY` names.
    fn proxy_to(&self, server: &Uri) -> Option<String> {
        let proxy = self.https_proxy.as_deref()?;
        let host = server.host()?.trim_matches(['[', ']']);
        if host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()) {
            return None;
        }
        let matcher =
            Matcher::builder().https(proxy).no(self.no_proxy.as_deref().unwrap_or_default()).build();
        matcher.intercept(server)?;
        Some(if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") })
    }
}

impl ConfigSource {
    /// Finds the configuration: the flag, `$KUBECONFIG`, `~/.kube/config`, the pod's account, in this order.
    pub(super) async fn find(settings: &ConnectSettings) -> Result<Self, ConnectError> {
        find(settings, &ConfigEnvironment::here()).await
    }
}

async fn find(
    settings: &ConnectSettings,
    environment: &ConfigEnvironment,
) -> Result<ConfigSource, ConnectError> {
    let mut found = find_source(settings, environment).await?;
    settings.overrides.act(&mut found.config);
    if let Some(acting) = &settings.overrides.acting {
        let _ = write!(found.place, ", as \"{}\"", sanitized(&acting.user));
    }
    Ok(found)
}

async fn find_source(
    settings: &ConnectSettings,
    environment: &ConfigEnvironment,
) -> Result<ConfigSource, ConnectError> {
    if let Some(path) = &settings.kubeconfig {
        return from_files(std::slice::from_ref(path), settings, &environment.proxies).await;
    }
    if let Some(list) = &environment.kubeconfig {
        let paths = listed(list);
        if !paths.is_empty() {
            return from_files(&paths, settings, &environment.proxies).await;
        }
    }
    let home = environment.home.as_ref().map(|home| home.join(".kube/config"));
    if let Some(path) = home.as_ref().filter(|path| path.exists()) {
        match from_files(std::slice::from_ref(path), settings, &environment.proxies).await {
            // An empty file in the home folder of a container does not count.
            Err(ConnectError::Empty { .. }) if environment.in_cluster => {}
            other => return other,
        }
    }
    if settings.overrides.server.is_some() && !settings.overrides.choose() {
        return from_files(&[], settings, &environment.proxies).await;
    }
    if environment.in_cluster && settings.overrides.choose() {
        let reason = "--cluster and --user choose entries of a kubeconfig".to_owned();
        return Err(ConnectError::InCluster { reason });
    }
    if environment.in_cluster {
        let place = "the pod's account".to_owned();
        return match Config::incluster() {
            Ok(config) => Ok(ConfigSource { config, place, warning: None }),
            Err(why) => Err(ConnectError::InCluster { reason: one_line(&why.to_string()) }),
        };
    }
    let home = home.map_or_else(|| "~/.kube/config".to_owned(), |path| name(&path));
    Err(ConnectError::Nowhere { home })
}

/// As kubectl does: of a list of files, the existing ones count.
fn listed(list: &OsStr) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect();
    if paths.iter().any(|path| path.exists()) {
        paths.retain(|path| path.exists());
    }
    paths
}

/// Returns the names of these entries in the configuration, in the order of its files; none if they cannot be read.
pub fn entries(kind: KubeconfigSection, settings: &ConnectSettings) -> Vec<String> {
    let environment = ConfigEnvironment::here();
    let paths = match (&settings.kubeconfig, &environment.kubeconfig, &environment.home) {
        (Some(path), _, _) => vec![path.clone()],
        (None, Some(list), _) => listed(list),
        (None, None, Some(home)) => vec![home.join(".kube/config")],
        (None, None, None) => Vec::new(),
    };
    let read = paths.iter().filter_map(|path| Kubeconfig::read_from(path).ok());
    let names = |config: Kubeconfig| -> Vec<String> {
        match kind {
            KubeconfigSection::Contexts => config.contexts.into_iter().map(|one| one.name).collect(),
            KubeconfigSection::Clusters => config.clusters.into_iter().map(|one| one.name).collect(),
            KubeconfigSection::Users => config.auth_infos.into_iter().map(|one| one.name).collect(),
        }
    };
    read.flat_map(names).collect()
}

async fn from_files(
    paths: &[PathBuf],
    settings: &ConnectSettings,
    proxies: &ProxyEnvironment,
) -> Result<ConfigSource, ConnectError> {
    let mut merged = Kubeconfig::default();
    for path in paths {
        let unreadable = |why: KubeconfigError| ConnectError::Unreadable {
            place: name(path),
            reason: reason(&why),
            remedy: remedy(&why),
        };
        merged =
            Kubeconfig::read_from(path).and_then(|next| merged.clone().merge(next)).map_err(unreadable)?;
    }
    let files = match paths {
        [] => "no kubeconfig".to_owned(),
        paths => paths.iter().map(|path| name(path)).collect::<Vec<_>>().join(", "),
    };
    let overrides = &settings.overrides;
    let is_empty = merged.clusters.is_empty() && merged.contexts.is_empty() && merged.auth_infos.is_empty();
    if is_empty && overrides.server.is_none() {
        return Err(ConnectError::Empty { place: files });
    }
    let known = names(merged.contexts.iter().map(|context| &context.name));
    let context_name =
        settings.context.clone().or_else(|| merged.current_context.clone()).unwrap_or_default();
    let place = match context_name.as_str() {
        // As with kubectl, a cluster can be named without a context.
        "" if overrides.cluster.is_some() || overrides.server.is_some() => {
            format!("{files}{}", overrides.description())
        }
        "" => return Err(ConnectError::NoContext { place: files, known }),
        name if !merged.contexts.iter().any(|context| context.name == name) => {
            let (kind, name) = ("context", sanitized(name));
            return Err(ConnectError::Unknown { kind, name, place: files, known });
        }
        name => format!("context \"{}\"{} of {files}", sanitized(name), overrides.description()),
    };
    overrides.apply(&mut merged, &context_name, &files)?;
    resolve_server(&mut merged, &context_name, &files)?;
    let (used, cluster) = cluster_of(&merged, &context_name).unwrap_or_default();
    let options = KubeConfigOptions { context: Some(context_name), ..KubeConfigOptions::default() };
    let mut config = match Config::from_custom_kubeconfig(merged, &options).await {
        Ok(config) => config,
        Err(why) => return Err(sort(&why, files)),
    };
    // Data take precedence over a file.
    let authority = cluster.certificate_authority.filter(|_| cluster.certificate_authority_data.is_none());
    config.root_cert_file = authority.map(PathBuf::from);
    // The library compares $NO_PROXY with the proxy's own address.
    let named = cluster.proxy_url.filter(|url| !url.is_empty());
    let proxy = named.or_else(|| proxies.proxy_to(&config.cluster_url)).map(|url| url.parse()).transpose();
    let unusable =
        |why: InvalidUri| ConnectError::Proxy { place: files.clone(), reason: one_line(&why.to_string()) };
    config.proxy_url = proxy.map_err(unusable)?;
    let in_vain = config.accept_invalid_certs && config.cluster_url.scheme_str() == Some("https");
    let warning = in_vain.then(|| unverified(&used, &files));
    Ok(ConfigSource { config, place, warning })
}

/// Replaces the address of the context's server by its URL, without user information: no request sends it, so no message
/// and no metric can show it either. A server that is absent is reported by the library.
fn resolve_server(config: &mut Kubeconfig, context: &str, place: &str) -> Result<(), ConnectError> {
    let context = config.contexts.iter().find(|one| one.name == context).and_then(|one| one.context.clone());
    let Some(Context { cluster: name, user, .. }) = context else { return Ok(()) };
    let user = config.auth_infos.iter().find(|one| Some(&one.name) == user.as_ref());
    let has_client_certificate = user
        .and_then(|one| one.auth_info.as_ref())
        .is_some_and(|user| user.client_certificate.is_some() || user.client_certificate_data.is_some());
    let named = config.clusters.iter_mut().find(|one| one.name == name);
    let Some(cluster) = named.and_then(|one| one.cluster.as_mut()) else { return Ok(()) };
    let Some(server) = &cluster.server else { return Ok(()) };
    let has_certificates = has_client_certificate
        || cluster.certificate_authority.is_some()
        || cluster.certificate_authority_data.is_some()
        || cluster.insecure_skip_tls_verify == Some(true);
    match server_address::parse(server, has_certificates) {
        // As it is usually written; exec plugins get this text.
        Some(url) if url.path() == "/" => {
            cluster.server = Some(url.to_string().trim_end_matches('/').to_owned())
        }
        Some(url) => cluster.server = Some(url.to_string()),
        None => {
            let server = sanitized(&redacted_url(server));
            let (place, cluster) = (place.to_owned(), sanitized(&name));
            return Err(ConnectError::ClusterServer { place, cluster, server });
        }
    }
    Ok(())
}

/// The warning about `insecure-skip-tls-verify`, and where it is set.
fn unverified(cluster: &str, files: &str) -> String {
    format!(
        "the API server's certificate is not verified, because insecure-skip-tls-verify of cluster \"{}\" in \
         kubeconfig {files} is set: an attacker on the network path can read the credentials and \
         impersonate the server; set certificate-authority instead",
        sanitized(cluster)
    )
}

/// The cluster of a context, and its name.
fn cluster_of(config: &Kubeconfig, context: &str) -> Option<(String, Cluster)> {
    let context = config.contexts.iter().find(|one| one.name == context)?.context.as_ref()?;
    let named = config.clusters.iter().find(|one| one.name == context.cluster)?;
    Some((named.name.clone(), named.cluster.clone()?))
}

fn sort(why: &KubeconfigError, place: String) -> ConnectError {
    match why {
        KubeconfigError::LoadCertificateAuthority(_)
        | KubeconfigError::LoadClientCertificate(_)
        | KubeconfigError::LoadClientKey(_)
        | KubeconfigError::ParseCertificates(_) => {
            ConnectError::BadCertificate { place, reason: reason(why) }
        }
        KubeconfigError::ParseProxyUrl(_) | KubeconfigError::ParseNoProxy(_) => {
            ConnectError::Proxy { place, reason: reason(why) }
        }
        other => ConnectError::Incomplete { place, reason: reason(other) },
    }
}

fn reason(why: &KubeconfigError) -> String {
    match why {
        // The message has the path already.
        KubeconfigError::ReadConfig(why, _) => one_line(&why.to_string()),
        other => one_line(&other.to_string()),
    }
}

/// What the user can do about a kubeconfig that cannot be read.
fn remedy(why: &KubeconfigError) -> &'static str {
    match why {
        KubeconfigError::ReadConfig(why, _) => match why.kind() {
            io::ErrorKind::PermissionDenied => "fix its mode, or name another file with --kubeconfig",
            io::ErrorKind::InvalidData => "correct the file, or name another with --kubeconfig",
            _ => "name an existing file with --kubeconfig or KUBECONFIG",
        },
        _ => "correct the file, or name another with --kubeconfig",
    }
}

fn name(path: &Path) -> String {
    sanitized(&path.to_string_lossy())
}

#[cfg(test)]
mod tests;
