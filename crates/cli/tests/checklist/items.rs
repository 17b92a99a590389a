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

const DELEGATED: &str = "cargo test -p taintward --test cluster metrics_delegated";
const BUDGETS: &str = "cargo test -p taintward-core --test budgets";
const HEALTH: &str = "cargo test -p taintward-core --test engines -- silent_on_purpose";
const EVICTION_EVENTS: &str = "cargo test -p taintward-controller --lib -- event_recorder";
const OBSERVE: &str = "cargo test -p taintward --test real_server -- observe_writes_nothing";
const REAL: &str = "cargo test -p taintward --test real_server";
const STARTS: &str = "cargo test -p taintward-core --lib -- taint_start::";
const TWICE: &str = "cargo xtask release --twice";

/// Sorted by their numbers, from 1.
pub(crate) const ITEMS: [Item; 40] = [
    here("each account has exactly the documented permissions", TOKEN),
    here("no role of Taintward has a wildcard", TOKEN),
    here("no account of Taintward can give itself more permissions", TOKEN),
    here("an account changes only the fields that its part writes", TOKEN),
    here("the webhook has its own account, which only watches objects and maintains its certificate", TOKEN),
    here("tokens are bound to pods and expire within an hour", TOKEN),
    here("Taintward's pods satisfy the level *restricted* of Pod Security", NETWORK),
    here("only API servers reach the webhook, if install has their addresses", NETWORK),
    here("the webhook can require client certificates", NETWORK),
    here("the webhook accepts only TLS 1.2 or newer, with one library", NETWORK),
    here("no request fails when a certificate is renewed", KEY),
    here("invalid certificate files do not stop the webhook", ACCIDENT),
    here("a stopped webhook blocks nothing, and API servers call it for few requests", ACCIDENT),
    here("a cluster recovers by itself after all webhooks have stopped", ACCIDENT),
    here("the webhook uses a small part of the 30 s that an API server allows for all of admission", AUTHOR),
    here(
        "the webhook answers the largest review that an API server can send, and larger ones take little memory",
        AUTHOR,
    ),
    here("thousands of slow, silent and hostile clients do not delay other clients", NETWORK),
    here(
        "invalid requests get an error, and every request that an API server may send gets an answer",
        AUTHOR,
    ),
    here(
        "an answer belongs to its request, and changes only tolerations, affinity and one annotation of Taintward",
        ADMIN,
    ),
    here("the webhook removes nothing from a pod, and admits nothing that an API server rejects", ADMIN),
    by(
        BUDGETS,
        "judging a pod with 50,000 tolerations on a node with 5,000 taints takes little time",
        AUTHOR,
    ),
    by(
        STARTS,
        "no extreme value of tolerationSeconds or timeAdded causes an early eviction",
        "a node, a pod's author",
    ),
    by(HEALTH, "kubelets that become silent on purpose cause no evictions from other nodes", NODE),
    by(DELEGATED, "only authorized accounts can read metrics", NETWORK),
    here("metrics have no label with values that users choose, and contain no secret", NETWORK),
    here("Taintward serves only the documented ports and pages", NETWORK),
    here("no input breaks a line of the log, and the log contains no token", AUTHOR),
    by(EVICTION_EVENTS, "150,000 evictions do not fill etcd with events", ACCIDENT),
    here("requests of other clients do not displace Taintward's requests or lease renewals", AUTHOR),
    here("Taintward's crates have no unsafe code, and no overflow stays unnoticed", AUTHOR),
    by(".ci/run", "dependencies have known licenses and sources, and no known vulnerability", SUPPLIER),
    by("cargo vet --locked", "each dependency has a recorded review", SUPPLIER),
    here("the number of dependencies stays within its limit", SUPPLIER),
    by(TWICE, "two builds of the same sources produce the same program", SUPPLIER),
    by("cargo xtask release", "the program contains the list of its dependencies", SUPPLIER),
    by("cosign verify; slsa-verifier verify-image", "an image has a proof of where it was built", SUPPLIER),
    here("the actions of workflows are pinned, and may only read", SUPPLIER),
    here("the image contains only the program and its C library: no shell, no package manager", NETWORK),
    here(
        "during a run, accounts send only the expected requests, according to the API server's audit log",
        TOKEN,
    ),
    by(OBSERVE, "--mode=observe writes nothing", TOKEN),
];

/// Results of [`REAL`], besides those of this test.
pub(crate) const RECORD: &str = REAL;
