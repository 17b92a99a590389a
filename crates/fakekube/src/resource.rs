//! Defines the resources that are served: names, scope, subresources.

mod table;

use serde_json::Value;
use std::sync::OnceLock;
use table::RESOURCES;

/// Custom resources, which come after the table.
static CUSTOM: OnceLock<Vec<ResourceType>> = OnceLock::new();

/// A resource's index in [`ResourceType::all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(u16);

/// A subresource of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// `status`: the half of an object that controllers write.
    Status,
    /// `scale`: the number of replicas in a common form.
    Scale,
    /// `binding`: binds a pod to a node.
    Binding,
    /// `eviction`: deletes a pod if its budgets allow it.
    Eviction,
    /// `finalize`: a namespace's finalizers.
    Finalize,
    /// `ephemeralcontainers` of a pod.
    EphemeralContainers,
    /// `log` of a pod.
    Log,
    /// `token` of a service account.
    Token,
}

impl Subresource {
    /// The name in paths.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Binding => "binding",
            Self::Eviction => "eviction",
            Self::Finalize => "finalize",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Log => "log",
            Self::Token => "token",
        }
    }

    /// The group, version and kind of the objects sent to it; `None` if they are the resource's own.
    pub const fn kind(self) -> Option<(&'static str, &'static str, &'static str)> {
        match self {
            Self::Scale => Some(("autoscaling", "v1", "Scale")),
            Self::Binding => Some(("", "v1", "Binding")),
            Self::Eviction => Some(("policy", "v1", "Eviction")),
            Self::Token => Some(("authentication.k8s.io", "v1", "TokenRequest")),
            Self::Status | Self::Finalize | Self::EphemeralContainers | Self::Log => None,
        }
    }
}

/// A resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceType {
    /// API group; empty is core.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// The name in paths.
    pub plural: &'static str,
    /// The singular name, which commands accept too.
    pub singular: &'static str,
    /// The kind of the objects.
    pub kind: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Abbreviations kubectl understands.
    pub short: &'static [&'static str],
    /// Categories such as `all`.
    pub categories: &'static [&'static str],
    /// Its subresources.
    pub subs: &'static [Subresource],
    /// Whether objects are stored; otherwise a POST is a query (access reviews).
    pub kept: bool,
}

impl ResourceType {
    /// `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The name in messages: `pods`, `deployments.apps`.
    pub fn qualified(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// The kind in messages: `Pod`, `Deployment.apps`.
    pub fn qualified_kind(&self) -> String {
        match self.group {
            "" => self.kind.to_owned(),
            group => format!("{}.{group}", self.kind),
        }
    }

    /// All resources in the order of discovery, with this process' custom resources last.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        RESOURCES.iter().chain(custom())
    }

    /// Adds custom resources; only the first call counts.
    pub(crate) fn add(custom: Vec<Self>) {
        CUSTOM.get_or_init(|| custom);
    }

    /// The resource of a definition's `spec`. Its strings live as long as the process.
    pub(crate) fn of_definition(spec: &Value) -> Self {
        let text = |value: &Value| &*value.as_str().unwrap_or_default().to_owned().leak();
        let texts =
            |value: &Value| &*value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().leak();
        let (names, version) = (&spec["names"], &spec["versions"][0]);
        let subs = [("status", Subresource::Status), ("scale", Subresource::Scale)];
        let subs = subs.into_iter().filter(|(name, _)| version["subresources"].get(name).is_some());
        Self {
            group: text(&spec["group"]),
            version: text(&version["name"]),
            plural: text(&names["plural"]),
            singular: text(&names["singular"]),
            kind: text(&names["kind"]),
            namespaced: spec["scope"] == "Namespaced",
            short: texts(&names["shortNames"]),
            categories: texts(&names["categories"]),
            subs: subs.map(|(_, sub)| sub).collect::<Vec<_>>().leak(),
            kept: true,
        }
    }

    /// The resource at a path.
    pub fn find(group: &str, version: &str, plural: &str) -> Option<ResourceId> {
        Self::all()
            .position(|one| (one.group, one.version, one.plural) == (group, version, plural))
            .and_then(ResourceId::at)
    }

    /// The resource of an object.
    pub fn of_kind(api_version: &str, kind: &str) -> Option<ResourceId> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::all()
            .position(|one| (one.group, one.version, one.kind) == (group, version, kind))
            .and_then(ResourceId::at)
    }

    /// The resource under which the objects are stored.
    pub(crate) fn home(&'static self) -> &'static Self {
        Self::find(self.group, self.version, self.plural).map_or(self, |number| number.home().get())
    }

    /// Whether `deletecollection` is supported for a namespace, or for the cluster.
    pub fn has_collections_deleted(&self, namespace: &str) -> bool {
        self.kept && self.kind != "Namespace" && (!self.namespaced || !namespace.is_empty())
    }

    /// A subresource by its name in paths.
    pub fn sub(&self, name: &str) -> Option<Subresource> {
        self.subs.iter().copied().find(|sub| sub.name() == name)
    }
}

fn custom() -> &'static [ResourceType] {
    CUSTOM.get().map_or(&[], Vec::as_slice)
}

impl ResourceId {
    fn at(position: usize) -> Option<Self> {
        u16::try_from(position).ok().map(Self)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..ResourceType::all().count()).filter_map(Self::at)
    }

    /// The resource itself.
    pub fn get(self) -> &'static ResourceType {
        let position = self.position();
        RESOURCES.get(position).unwrap_or_else(|| &custom()[position - RESOURCES.len()])
    }

    /// The index in the table.
    pub fn position(self) -> usize {
        usize::from(self.0)
    }

    /// The resource under which the objects are stored: two groups or versions may serve the same objects.
    pub fn home(self) -> Self {
        match self.get().kind {
            "Event" => ResourceType::find("", "v1", "events").unwrap_or(self),
            "HorizontalPodAutoscaler" => known("autoscaling", "horizontalpodautoscalers"),
            _ => self,
        }
    }
}

/// A resource that the table is known to have.
///
/// # Panics
/// If it does not have it.
pub fn known(group: &str, plural: &str) -> ResourceId {
    let position = ResourceType::all().position(|one| (one.group, one.plural) == (group, plural));
    position.and_then(ResourceId::at).unwrap_or_else(|| panic!("no resource {plural} in group {group:?}"))
}
