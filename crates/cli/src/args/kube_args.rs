//! Defines the flags that select a cluster and its objects as kubectl's do: `--context`, `--as`, `-n`, `-l` and others.

use crate::completion_kind::CompletionKind;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use taintward_kube::api::RequestBudget;
use taintward_kube::config::{self, ConfigOverrides, Connected, Impersonation};

/// The heading of these flags in help.
const HEADING: &str = "The cluster";

/// How long all requests of a command may take without --request-timeout.
const REQUESTS_MAX: Duration = Duration::from_secs(600);

/// The IDs of the flags that select a cluster, for commands that can also read files.
pub(crate) const WHICH: [&str; 8] =
    ["kubeconfig", "context", "cluster_name", "user", "server_address", "as_user", "as_group", "as_uid"];

/// Whether it is the ID of a flag about the connection, which all commands that connect have.
pub(crate) fn is_of_server(id: &str) -> bool {
    WHICH.contains(&id) || id == "request_timeout"
}

/// Flags of commands that send requests to a server.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct ServerArgs {
    /// The kubeconfig file. The default is $KUBECONFIG, then ~/.kube/config, then the in-cluster service account
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig. The default is its current context
    #[arg(long, value_name = "NAME", add = CompletionKind::Context.completer())]
    context: Option<String>,
    /// The cluster in the kubeconfig. The default is that of the context
    #[arg(long = "cluster", id = "cluster_name", value_name = "NAME", add = CompletionKind::Cluster.completer())]
    cluster: Option<String>,
    /// The user in the kubeconfig. The default is that of the context
    #[arg(long, value_name = "NAME", add = CompletionKind::User.completer())]
    user: Option<String>,
    /// The address of the API server, such as https://10.0.0.1:6443. The default is that of the cluster. Credentials
    /// and the trusted CA stay those of the kubeconfig
    #[arg(short = 's', long = "server", id = "server_address", value_name = "URL")]
    server: Option<String>,
    /// The user to impersonate, such as jane or system:serviceaccount:shop:ci; your own user needs the permission to
    /// impersonate
    #[arg(long = "as", value_name = "USER", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    as_user: Option<String>,
    /// The group to impersonate, with --as; may be repeated
    #[arg(long, value_name = "GROUP", requires = "as_user", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    as_group: Vec<String>,
    /// The UID to impersonate, with --as
    #[arg(long, value_name = "UID", requires = "as_user")]
    as_uid: Option<String>,
    /// How long the requests of the command may take together, as in 10s or 1m30s; each request, while the command
    /// writes, waits or watches. The default is 10m, and 30s for each request
    #[arg(long, value_name = "DURATION", value_parser = crate::args::duration::positive)]
    request_timeout: Option<Duration>,
}

/// Flags of commands that read a cluster.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct KubeArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The namespace. The default is that of the context
    #[arg(short, long, value_name = "NAME", conflicts_with = "all_namespaces", add = CompletionKind::Namespace.completer())]
    namespace: Option<String>,
    /// All namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Only objects with these labels, as in app=web,tier!=cache
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    /// Only objects whose fields match, as in spec.nodeName=n1
    #[arg(long, value_name = "FIELDS")]
    field_selector: Option<String>,
}

/// A server and its timeout.
#[derive(Clone, Debug)]
pub(crate) struct ServerOptions {
    pub(crate) settings: config::ConnectSettings,
    pub(crate) timeout: RequestBudget,
}

/// A cluster, and the selection of its objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterOptions {
    pub(crate) settings: config::ConnectSettings,
    /// Whether a flag names the cluster: its file, its context or another one.
    pub(crate) is_named: bool,
    namespace: Option<String>,
    all_namespaces: bool,
    pub(crate) selector: String,
    pub(crate) fields: String,
    pub(crate) timeout: RequestBudget,
}

impl ServerArgs {
    /// These flags as arguments, for another command about the same cluster.
    pub(crate) fn flags(&self) -> Vec<String> {
        let kubeconfig = self.kubeconfig.as_ref().map(|path| path.display().to_string());
        let once = [
            ("kubeconfig", kubeconfig.as_ref()),
            ("context", self.context.as_ref()),
            ("cluster", self.cluster.as_ref()),
            ("user", self.user.as_ref()),
            ("server", self.server.as_ref()),
            ("as", self.as_user.as_ref()),
            ("as-uid", self.as_uid.as_ref()),
        ];
        let groups = self.as_group.iter().map(|group| ("as-group", Some(group)));
        let given = once.into_iter().chain(groups).filter_map(|(name, value)| Some((name, value?)));
        given.map(|(name, value)| format!("--{name}={value}")).collect()
    }

    pub(crate) fn resolve(self) -> ServerOptions {
        let (groups, uid) = (self.as_group, self.as_uid);
        let acting = self.as_user.map(|user| Impersonation { user, groups, uid });
        let settings = config::ConnectSettings {
            kubeconfig: self.kubeconfig,
            context: self.context,
            overrides: ConfigOverrides {
                cluster: self.cluster,
                user: self.user,
                server: self.server,
                acting,
            },
            interactive: true,
            keep_alive: config::KeepAlive::PATIENT,
            // As with kubectl; doctor and the controllers warn.
            warn: |_| {},
            ..config::ConnectSettings::default()
        };
        let each = self.request_timeout.map_or_else(RequestBudget::default, RequestBudget::from);
        let timeout = each.and_all(self.request_timeout.unwrap_or(REQUESTS_MAX));
        ServerOptions { settings, timeout }
    }
}

impl KubeArgs {
    /// Whether a flag names a cluster.
    pub(crate) fn names_a_cluster(&self) -> bool {
        let ServerArgs { kubeconfig, context, cluster, user, server, as_user, .. } = &self.server;
        let names = [context, cluster, user, server, as_user];
        kubeconfig.is_some() || names.into_iter().any(Option::is_some)
    }

    /// Whether flags other than names select objects.
    pub(crate) fn chooses(&self) -> bool {
        self.all_namespaces || self.selector.is_some() || self.field_selector.is_some()
    }

    pub(crate) fn resolve(self) -> ClusterOptions {
        let is_named = self.names_a_cluster();
        let ServerOptions { settings, timeout } = self.server.resolve();
        ClusterOptions {
            settings,
            is_named,
            namespace: self.namespace,
            all_namespaces: self.all_namespaces,
            selector: self.selector.unwrap_or_default(),
            fields: self.field_selector.unwrap_or_default(),
            timeout,
        }
    }
}

impl ClusterOptions {
    /// All objects in the cluster of a server.
    pub(crate) fn all_of(server: ServerOptions) -> Self {
        let ServerOptions { settings, timeout } = server;
        Self { settings, timeout, all_namespaces: true, ..Self::default() }
    }

    /// The selected namespace; all if empty.
    pub(crate) fn namespace<'a>(&'a self, connected: &'a Connected) -> &'a str {
        match &self.namespace {
            _ if self.all_namespaces => "",
            Some(named) => named,
            None => &connected.default_namespace,
        }
    }

    /// The same cluster with all its objects.
    pub(crate) fn whole(&self) -> Self {
        let (settings, timeout) = (self.settings.clone(), self.timeout);
        let (selector, fields) = (String::new(), String::new());
        let is_named = self.is_named;
        Self { settings, is_named, namespace: None, all_namespaces: true, selector, fields, timeout }
    }

    /// The namespace in the flags; all if empty, which is also the default.
    pub(crate) fn named_namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
}
