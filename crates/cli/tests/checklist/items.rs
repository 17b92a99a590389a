//! Lists the forty items of the security checklist.

/// One row of the checklist.
pub(crate) struct Item {
    pub(crate) holds: &'static str,
    /// Attackers, in the words of docs/security-checklist.md.
    pub(crate) against: &'static str,
    /// Empty: this test itself.
    command: &'static str,
}

impl Item {
    pub(crate) fn command(&self, number: usize) -> String {
        match self.command {
            "" => format!("cargo test -p taintward --test security -- {number}"),
            command => command.to_owned(),
        }
    }
}

const fn here(holds: &'static str, against: &'static str) -> Item {
    Item { holds, against, command: "" }
}

const fn by(command: &'static str, holds: &'static str, against: &'static str) -> Item {
    Item { holds, against, command }
}

const ACCIDENT: &str = "an accident";
const AUTHOR: &str = "a pod's author";
const ADMIN: &str = "a namespace's admin";
const NODE: &str = "a node";
const NETWORK: &str = "the pod network";
const TOKEN: &str = "a stolen token";
const KEY: &str = "a stolen key";
const SUPPLIER: &str = "a dependency's author";

const DELEGATED: &str = "cargo test -p taintward --test metrics_delegated";
const BUDGETS: &str = "cargo test -p taintward-core --test budgets";
const HEALTH: &str = "cargo test -p taintward-core --test node_lifecycle -- silent_on_purpose";
const EVICTION_EVENTS: &str = "cargo test -p taintward-controller --lib -- event_recorder";
const OBSERVE: &str = "cargo test -p taintward --test real_server -- observe_writes_nothing";
const REAL: &str = "cargo test -p taintward --test real_server";
const STARTS: &str = "cargo test -p taintward-core --lib -- taint_start::";
const TWICE: &str = "cargo xtask release --twice";

/// Sorted by their numbers, from 1.
pub(crate) const ITEMS: [Item; 40] = [
    here("each account may do what is written down for it, and nothing else", TOKEN),
    here("no role of ours has a wildcard", TOKEN),
    here("no account of ours can give itself more rights", TOKEN),
    here("an account changes only the fields that its part writes", TOKEN),
    here("the webhook has an account of its own, which only watches and keeps its certificate", TOKEN),
    here("tokens are bound to pods and end within an hour", TOKEN),
    here("our pods keep to the level *restricted* of Pod Security", NETWORK),
    here("only API servers reach the webhook, where install is told where they are", NETWORK),
    here("the webhook can demand certificates of those who ask", NETWORK),
    here("TLS 1.2 or newer, by one library", NETWORK),
    here("a renewed certificate costs no answer", KEY),
    here("files that hold no certificate do not bring the webhook down", ACCIDENT),
    here("the webhook holds up nothing when it is gone, and is asked about little", ACCIDENT),
    here("a cluster whose webhooks are all gone heals by itself", ACCIDENT),
    here("the webhook takes a small part of the 30 s an API server gives all of admission", AUTHOR),
    here("the largest review an API server can send is answered, and larger ones cost nothing", AUTHOR),
    here("thousands of slow, silent and mad clients keep nobody waiting", NETWORK),
    here("what makes no sense gets an error, and what an API server may send an answer", AUTHOR),
    here(
        "an answer is about its question, and changes tolerations, affinity and one annotation of ours only",
        ADMIN,
    ),
    here("nothing that a pod brings is lost, and nothing is let in that a server refuses", ADMIN),
    by(BUDGETS, "a pod with 50,000 tolerations on a node with 5,000 taints costs no time", AUTHOR),
    by(STARTS, "no extreme of tolerationSeconds or timeAdded evicts early", "a node, a pod's author"),
    by(HEALTH, "kubelets that fall silent on purpose have no pods of others evicted", NODE),
    by(DELEGATED, "metrics are for those who may read them", NETWORK),
    here("metrics have no label that others fill, and tell no secret", NETWORK),
    here("there is no port and no page but the ones that are documented", NETWORK),
    here("nothing that others write breaks a line of the log, and no token stands in it", AUTHOR),
    by(EVICTION_EVENTS, "150,000 evictions do not fill etcd with events", ACCIDENT),
    here("others' requests do not crowd out ours, nor the lease's", AUTHOR),
    here("no unsafe code in our crates, and no overflow that goes unseen", AUTHOR),
    by(".ci/run", "dependencies have known licences and sources, and no known hole", SUPPLIER),
    by("cargo vet --locked", "each dependency was reviewed by somebody", SUPPLIER),
    here("there are no more dependencies than were agreed on", SUPPLIER),
    by(TWICE, "whoever builds the same sources gets the same program", SUPPLIER),
    by("cargo xtask release", "the program lists what it is made of", SUPPLIER),
    by("cosign verify; slsa-verifier verify-image", "an image proves where it was built", SUPPLIER),
    here("actions that build are pinned, and may only read", SUPPLIER),
    here("the image holds the program and its C library: no shell, no package manager", NETWORK),
    here("accounts do in a run what they are meant to, by the API server's own record", TOKEN),
    by(OBSERVE, "--mode=observe writes nothing", TOKEN),
];

/// Results of [`REAL`], besides those of this test.
pub(crate) const RECORD: &str = REAL;
