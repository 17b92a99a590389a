//! Defines the flags that select a cluster and its objects as kubectl's do: `--context`, `--as`, `-n`, `-l` and others.

use super::parsed_as::parsed_as;
use crate::completion_kind::CompletionKind;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use taintward_kube::api::RequestBudget;
use taintward_kube::config::{ConfigOverrides, ConnectSettings, Connected, Impersonation, KeepAlive};

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

#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
struct ServerFlags {
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

/// The flags of commands that send requests to a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerOptions {
    pub(crate) settings: ConnectSettings,
    pub(crate) timeout: RequestBudget,
}

/// The flags of commands that read a cluster: the cluster, and the selection of its objects.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct ClusterOptions {
    #[command(flatten)]
    pub(crate) server: ServerOptions,
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

parsed_as!(ServerOptions, ServerFlags);

impl From<ServerFlags> for ServerOptions {
    fn from(args: ServerFlags) -> Self {
        let (groups, uid) = (args.as_group, args.as_uid);
        let acting = args.as_user.map(|user| Impersonation { user, groups, uid });
        let settings = ConnectSettings {
            kubeconfig: args.kubeconfig,
            context: args.context,
            overrides: ConfigOverrides {
                cluster: args.cluster,
                user: args.user,
                server: args.server,
                trust: None,
                acting,
            },
            interactive: true,
            keep_alive: KeepAlive::PATIENT,
            // As with kubectl; doctor and the controllers warn.
            warn: |_| {},
            ..ConnectSettings::default()
        };
        let each = args.request_timeout.map_or_else(RequestBudget::default, RequestBudget::from);
        let timeout = each.and_all(args.request_timeout.unwrap_or(REQUESTS_MAX));
        Self { settings, timeout }
    }
}

/// All objects in the cluster of a server.
impl From<ServerOptions> for ClusterOptions {
    fn from(server: ServerOptions) -> Self {
        Self { server, all_namespaces: true, ..Self::default() }
    }
}

impl ServerOptions {
    /// These flags as arguments, for another command about the same cluster.
    pub(crate) fn flags(&self) -> Vec<String> {
        let ConnectSettings { kubeconfig, context, overrides, .. } = &self.settings;
        let ConfigOverrides { cluster, user, server, acting, .. } = overrides;
        let kubeconfig = kubeconfig.as_ref().map(|path| path.display().to_string());
        let once = [
            ("kubeconfig", kubeconfig.as_ref()),
            ("context", context.as_ref()),
            ("cluster", cluster.as_ref()),
            ("user", user.as_ref()),
            ("server", server.as_ref()),
            ("as", acting.as_ref().map(|acting| &acting.user)),
            ("as-uid", acting.as_ref().and_then(|acting| acting.uid.as_ref())),
        ];
        let groups = acting.iter().flat_map(|acting| &acting.groups);
        let groups = groups.map(|group| ("as-group", Some(group)));
        let given = once.into_iter().chain(groups).filter_map(|(name, value)| Some((name, value?)));
        given.map(|(name, value)| format!("--{name}={value}")).collect()
    }
}

impl ClusterOptions {
    /// Whether a flag names a cluster.
    pub(crate) fn names_a_cluster(&self) -> bool {
        let ConnectSettings { kubeconfig, context, overrides, .. } = &self.server.settings;
        kubeconfig.is_some() || context.is_some() || *overrides != ConfigOverrides::default()
    }

    /// Whether flags other than names select objects.
    pub(crate) fn selects(&self) -> bool {
        self.all_namespaces || !self.selector().is_empty() || !self.fields().is_empty()
    }

    /// The selected labels; all if empty.
    pub(crate) fn selector(&self) -> &str {
        self.selector.as_deref().unwrap_or_default()
    }

    /// The selected fields; all if empty.
    pub(crate) fn fields(&self) -> &str {
        self.field_selector.as_deref().unwrap_or_default()
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
        self.server.clone().into()
    }

    /// The namespace in the flags; all if empty, which is also the default.
    pub(crate) fn named_namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
}
