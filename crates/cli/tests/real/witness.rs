//! Reads the audit log of the API server and checks the properties that every run must keep.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};
use taintward_envtest::audit::{AuditEntry, AuditTail};
use taintward_envtest::{Account, Cluster};

/// The maximum age of a node's confirming read when a DELETE arrives: 2 s at its decision, 5 s in any case (S2).
const CONFIRM_AGE_MAX: SignedDuration = SignedDuration::from_secs(5);

/// What a run was allowed to do beyond the usual.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuditExceptions {
    /// Every deleted pod was marked before (TE-30).
    pub(crate) marks: bool,
    /// Nodes may be written: `--stamp-taints` with the permission.
    pub(crate) stamps: bool,
    /// Some permission was missing on purpose.
    pub(crate) forbidden: bool,
    /// The store was restored to an earlier state: pods deleted after that state may be deleted once more.
    pub(crate) restored: bool,
}

impl Default for AuditExceptions {
    fn default() -> Self {
        Self { marks: true, stamps: false, forbidden: false, restored: false }
    }
}

/// Follows the audit log.
#[derive(Debug)]
pub(crate) struct Witness {
    followed: Mutex<Followed>,
}

#[derive(Debug)]
struct Followed {
    tail: AuditTail,
    entries: Vec<AuditEntry>,
    begin: usize,
}

impl Followed {
    fn refresh(&mut self) {
        self.entries.extend(self.tail.read().unwrap());
    }
}

/// Whether Taintward sent this request under its account.
pub(crate) fn is_ours(entry: &AuditEntry) -> bool {
    entry.user == Account::Taintward.user() && entry.agent.starts_with("taintward/")
}

/// Whether this is a pod's DELETE that was carried out.
fn is_deletion(entry: &AuditEntry) -> bool {
    entry.verb == "delete" && entry.resource == "pods" && entry.code == 200
}

/// The UID that a DELETE or a PATCH of the status demands.
fn uid_demanded(entry: &AuditEntry) -> Option<&str> {
    let place = if entry.verb == "delete" { "/preconditions/uid" } else { "/metadata/uid" };
    entry.request.pointer(place).and_then(Value::as_str)
}

impl Witness {
    /// Follows the log from here on; earlier entries are remembered, and not checked again.
    pub(crate) fn from_now(cluster: &Cluster) -> Self {
        let mut followed = Followed { tail: cluster.audit_tail(), entries: Vec::new(), begin: 0 };
        followed.refresh();
        followed.begin = followed.entries.len();
        Self { followed: Mutex::new(followed) }
    }

    fn now(&self) -> MutexGuard<'_, Followed> {
        // A failed scenario must not poison the others' witness.
        let mut followed = self.followed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        followed.refresh();
        followed
    }

    /// All matching requests of Taintward's account, in order.
    pub(crate) fn ours(&self, fits: impl Fn(&AuditEntry) -> bool) -> Vec<AuditEntry> {
        self.all(|entry| is_ours(entry) && fits(entry))
    }

    /// All matching requests, in order.
    pub(crate) fn all(&self, fits: impl Fn(&AuditEntry) -> bool) -> Vec<AuditEntry> {
        let now = self.now();
        now.entries[now.begin..].iter().filter(|entry| fits(entry)).cloned().collect()
    }

    /// When Taintward's DELETE of this pod arrived.
    pub(crate) fn deleted(&self, uid: &str) -> Option<Timestamp> {
        let now = self.now();
        let fits =
            |entry: &&AuditEntry| is_ours(entry) && is_deletion(entry) && uid_demanded(entry) == Some(uid);
        now.entries.iter().find(fits).map(|entry| entry.received)
    }

    /// How often Taintward deleted this pod: more than once only if a restored store brought it back.
    pub(crate) fn deletions_of(&self, uid: &str) -> usize {
        self.ours(|entry| is_deletion(entry) && uid_demanded(entry) == Some(uid)).len()
    }

    /// How many pods Taintward deleted.
    pub(crate) fn deletions(&self) -> usize {
        self.ours(is_deletion).len()
    }

    /// Taintward's writes to the pod of this name.
    pub(crate) fn writes_on_pod(&self, name: &str) -> Vec<AuditEntry> {
        self.ours(|entry| entry.is_write() && entry.resource.starts_with("pods") && entry.name == name)
    }

    /// Taintward's events about the pod with this UID.
    pub(crate) fn events_on(&self, uid: &str) -> Vec<AuditEntry> {
        self.ours(|entry| entry.resource == "events" && entry.request["regarding"]["uid"] == uid)
    }

    /// Checks the properties of `reliability.md` that a server's log can show, over everything recorded since the
    /// start.
    pub(crate) fn check(&self, terms: &AuditExceptions) {
        let now = self.now();
        let nodes = nodes_of_pods(&now.entries);
        let versions = first_versions(&now.entries);
        let (before, run) = now.entries.split_at(now.begin);
        let mut seen = EarlierRequests::default();
        before.iter().filter(|entry| is_ours(entry)).for_each(|entry| seen.take(entry));
        for entry in run.iter().filter(|entry| is_ours(entry)) {
            assert!(terms.forbidden || entry.code != 403, "rejected: {entry:?}");
            let on_node = entry.resource == "nodes" && entry.is_write();
            assert!(!on_node || terms.stamps, "a node was written: {entry:?}");
            // A request that is rejected early has no recorded body.
            if entry.verb == "delete" && !entry.request.is_null() {
                seen.check_request(entry);
            }
            if is_deletion(entry) {
                assert!(
                    !terms.marks || seen.is_marked(entry, &versions),
                    "TE-30: not marked before: {entry:?}"
                );
                seen.check_deletion(entry, terms, &nodes);
            }
            if entry.resource == "events" {
                seen.check_event(entry);
            }
            seen.take(entry);
        }
    }
}

/// The number of conflicts, of the mark or of the DELETE, after which a DELETE no longer has to demand the version
/// (P45).
const CONFLICTS_MAX: u32 = 5;

/// Earlier requests, as far as later ones must refer to them.
#[derive(Default)]
struct EarlierRequests {
    marked: HashMap<String, Timestamp>,
    /// The pods for which the server answered the PATCH of the condition with an error of its own.
    perhaps_marked: HashSet<String>,
    deleted: HashMap<String, Timestamp>,
    confirmed: HashMap<String, Timestamp>,
    conflicts: HashMap<String, u32>,
}

impl EarlierRequests {
    fn take(&mut self, entry: &AuditEntry) {
        if let (409, Some(uid)) = (entry.code, uid_demanded(entry)) {
            *self.conflicts.entry(uid.into()).or_default() += 1;
        }
        if entry.code >= 500 && entry.verb == "patch" && entry.resource == "pods/status" {
            self.perhaps_marked.extend(uid_demanded(entry).map(Into::into));
        }
        if entry.code >= 300 {
            return;
        }
        match (entry.verb.as_str(), entry.resource.as_str()) {
            ("patch", "pods/status") => {
                if let Some(uid) = uid_demanded(entry) {
                    self.marked.insert(uid.into(), entry.received);
                }
            }
            ("delete", "pods") => {
                if let Some(uid) = uid_demanded(entry) {
                    self.deleted.insert(uid.into(), entry.received);
                }
            }
            ("get", "nodes") => drop(self.confirmed.insert(entry.name.clone(), entry.received)),
            _ => {}
        }
    }

    /// Whether the pod that this DELETE deletes had the condition. A store that dies may have carried out a PATCH that
    /// the server answers with an error: then the DELETE demands a later version than the one that was created.
    fn is_marked(&self, deletion: &AuditEntry, first_versions: &HashMap<String, String>) -> bool {
        let uid = uid_demanded(deletion).unwrap_or_default();
        let demanded = deletion.request["preconditions"]["resourceVersion"].as_str();
        let changed = demanded.is_some() && demanded != first_versions.get(uid).map(String::as_str);
        self.marked.contains_key(uid) || self.perhaps_marked.contains(uid) && changed
    }

    /// S1, S10: the UID is demanded, and the pod's own grace period counts.
    fn check_request(&self, entry: &AuditEntry) {
        let uid = uid_demanded(entry).unwrap_or_else(|| panic!("S1: {entry:?}"));
        let excused = self.conflicts.get(uid).is_some_and(|conflicts| *conflicts >= CONFLICTS_MAX);
        assert!(excused || entry.request["preconditions"]["resourceVersion"].is_string(), "S1: {entry:?}");
        assert!(entry.request["gracePeriodSeconds"].is_null(), "S10: {entry:?}");
    }

    fn check_deletion(&self, entry: &AuditEntry, terms: &AuditExceptions, nodes: &HashMap<String, String>) {
        let uid = uid_demanded(entry).unwrap_or_default();
        assert!(terms.restored || !self.deleted.contains_key(uid), "S10: deleted twice: {entry:?}");
        if let Some(node) = nodes.get(uid) {
            let confirmed =
                self.confirmed.get(node).unwrap_or_else(|| panic!("D5: not confirmed: {entry:?}"));
            let age = entry.received.duration_since(*confirmed);
            assert!(age <= CONFIRM_AGE_MAX, "S2: the node was confirmed {age:#} before: {entry:?}");
        }
    }

    /// D8: after the deletion.
    fn check_event(&self, entry: &AuditEntry) {
        let note = entry.request["note"].as_str().unwrap_or_default();
        if let (true, Some(uid)) =
            (note.starts_with("Marking for deletion Pod"), entry.request["regarding"]["uid"].as_str())
        {
            assert!(self.deleted.contains_key(uid), "D8: the event precedes the deletion: {entry:?}");
        }
    }
}

/// The node of each pod that was created with a node.
fn nodes_of_pods(entries: &[AuditEntry]) -> HashMap<String, String> {
    field_of_created_pods(entries, "/spec/nodeName")
}

/// The resourceVersion that each pod was created with.
fn first_versions(entries: &[AuditEntry]) -> HashMap<String, String> {
    field_of_created_pods(entries, "/metadata/resourceVersion")
}

/// A field of each pod that was created, by its UID.
fn field_of_created_pods(entries: &[AuditEntry], pointer: &str) -> HashMap<String, String> {
    let created = entries.iter().filter(|entry| entry.verb == "create" && entry.resource == "pods");
    created
        .filter_map(|entry| {
            let uid = entry.response.pointer("/metadata/uid")?.as_str()?;
            let field = entry.response.pointer(pointer)?.as_str()?;
            Some((uid.into(), field.into()))
        })
        .collect()
}
