//! Tests random interleavings of watches and lists: no object goes back in time, and the final state is right.

use super::fake::{WatchHarness, WatchReply, WatchRequest};
use super::objects::{WireFormat, bookmark, event, pod_json, rejection, stream};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use taintward_core::fact::PodFact;
use taintward_core::object_event::ObjectEvent;
use taintward_kube::watch::WatchSettings;
use tokio::time::Instant;

const WIRE: WireFormat = WireFormat::Json;
/// Nothing changes, breaks or is lost later.
const STORM: u64 = 300_000;
/// Time enough for another list.
const END: u64 = 480_000;

/// Pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// A change of a pod, in milliseconds since the start. A pod lives once.
#[derive(Clone, Copy)]
struct InterleavedChange {
    at: u64,
    version: u64,
    pod: u64,
    kind: &'static str,
}

struct InterleavedHistory(Vec<InterleavedChange>);

impl InterleavedHistory {
    fn new(random: &mut Random) -> Self {
        let (mut changes, mut alive, mut next) = (Vec::new(), Vec::new(), 0);
        let (mut at, mut version) = (0, 100);
        while at < STORM {
            let grown = next >= 12;
            let (pod, kind) = match random.below(4) {
                _ if !grown || alive.is_empty() => (next, "ADDED"),
                0 => (next, "ADDED"),
                1 => (alive.swap_remove(random.below(alive.len() as u64) as usize), "DELETED"),
                _ => (alive[random.below(alive.len() as u64) as usize], "MODIFIED"),
            };
            if kind == "ADDED" {
                alive.push(pod);
                next += 1;
            }
            changes.push(InterleavedChange { at, version, pod, kind });
            version += 1 + random.below(3);
            at += if grown { random.below(1500) } else { 0 };
        }
        Self(changes)
    }

    fn version_at(&self, now: u64) -> u64 {
        self.0.iter().take_while(|change| change.at <= now).last().map_or(1, |change| change.version)
    }

    /// The version in which a pod was deleted, if it was by now.
    fn deletion_of(&self, pod: u64, now: u64) -> Option<u64> {
        let mut deletions = self.0.iter().filter(|change| change.pod == pod && change.kind == "DELETED");
        deletions.find(|change| change.at <= now).map(|change| change.version)
    }

    /// The pods that exist at a version, with their versions.
    fn state(&self, version: u64) -> BTreeMap<u64, u64> {
        let mut state = BTreeMap::new();
        for change in self.0.iter().take_while(|change| change.version <= version) {
            match change.kind {
                "DELETED" => _ = state.remove(&change.pod),
                _ => _ = state.insert(change.pod, change.version),
            }
        }
        state
    }
}

struct InterleavedServer {
    history: Arc<InterleavedHistory>,
    random: Random,
    streams_lists: bool,
    loses: bool,
    start: Instant,
}

impl InterleavedServer {
    fn response(&mut self, requested: &WatchRequest) -> WatchReply {
        let now = self.start.elapsed().as_millis() as u64;
        if now < STORM && self.random.one_in(12) {
            let (code, reason) = [(503, "ServiceUnavailable"), (410, "Expired"), (429, "TooManyRequests")]
                [self.random.below(3) as usize];
            return rejection(WIRE, code, reason, None);
        }
        let delay = self.random.below(2000);
        let seen = now + self.random.below(delay + 1);
        let reply = match (requested.is_watch_list(), requested.is_watch()) {
            (true, _) if !self.streams_lists => rejection(WIRE, 422, "Invalid", None),
            (true, _) => self.stream_list(seen, now + delay),
            (_, true) => {
                let since = requested.parameter("resourceVersion").unwrap().parse().unwrap();
                self.changes(stream(WIRE), since, now + delay)
            }
            _ => self.page(requested, seen),
        };
        reply.delay(Duration::from_millis(delay))
    }

    /// Shows the state at `seen`; sent from `now` on.
    fn stream_list(&mut self, seen: u64, mut now: u64) -> WatchReply {
        let version = self.history.version_at(seen);
        let mut reply = stream(WIRE);
        for (pod, version) in self.history.state(version) {
            let pause = if self.random.one_in(3) { self.random.below(2000) } else { 0 };
            now += pause;
            reply = reply.pause(Duration::from_millis(pause)).bytes(event(WIRE, "ADDED", pod, version));
        }
        if now < STORM && self.random.one_in(8) {
            return reply.reset();
        }
        self.changes(reply.bytes(bookmark(WIRE, version, true)), version, now)
    }

    /// The changes after a version, each at its time or late; the watch ends, or breaks.
    fn changes(&mut self, mut reply: WatchReply, since: u64, mut now: u64) -> WatchReply {
        let late = self.random.below(4000);
        let end = now + 5_000 + self.random.below(80_000);
        let history = self.history.clone();
        for change in history.0.iter().filter(|change| change.version > since) {
            let at = (change.at + late).max(now);
            if at > end {
                break;
            }
            reply = reply.pause(Duration::from_millis(at - now));
            now = at;
            if self.loses && self.random.one_in(25) {
                continue;
            }
            reply = reply.bytes(event(WIRE, change.kind, change.pod, change.version));
            if self.random.one_in(10) {
                reply = reply.bytes(bookmark(WIRE, change.version, false));
            }
        }
        reply = reply.pause(Duration::from_millis(end - now));
        if end < STORM && self.random.one_in(3) { reply.reset() } else { reply }
    }

    /// A few pods of the state at the first page's request.
    fn page(&mut self, requested: &WatchRequest, seen: u64) -> WatchReply {
        let token = requested.parameter("continue").and_then(|token| token.split_once('.'));
        let (version, offset) = match token {
            Some((version, offset)) => (version.parse().unwrap(), offset.parse().unwrap()),
            None => (self.history.version_at(seen), 0),
        };
        let size = requested.parameter("limit").map_or(usize::MAX, |limit| limit.parse().unwrap());
        let state = self.history.state(version);
        let items: Vec<_> =
            state.iter().skip(offset).take(size).map(|(pod, version)| pod_json(*pod, *version)).collect();
        let next = offset + items.len();
        let onward = if next < state.len() { format!("{version}.{next}") } else { String::new() };
        let metadata = serde_json::json!({"resourceVersion": version.to_string(), "continue": onward});
        let body =
            serde_json::json!({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items});
        let mut body = body.to_string().into_bytes();
        let rest = body.split_off(self.random.below(body.len() as u64) as usize);
        let pause = Duration::from_millis(self.random.below(1500));
        WatchReply::new(200, "application/json").bytes(body).pause(pause).bytes(rest)
    }
}

/// A consumer that stores the objects, as every consumer does: marks them while a list runs, and sweeps at its end.
struct Follower {
    history: Arc<InterleavedHistory>,
    known: BTreeMap<u64, u64>,
    /// The latest version of each, and whether it was deleted.
    reported: BTreeMap<u64, (u64, bool)>,
    marked: BTreeSet<u64>,
    listing: bool,
    /// Lists that were completed, and changes that arrived during one.
    lists: u64,
    changes_beside: u64,
}

impl Follower {
    fn receive(&mut self, received: ObjectEvent<PodFact>, now: u64) {
        match received {
            ObjectEvent::ListStarted { .. } => {
                self.marked.clear();
                self.listing = true;
            }
            ObjectEvent::Applied { fact, listed } => {
                let pod: u64 = fact.id.name().name()[1..].parse().unwrap();
                let version = fact.version.unwrap().0;
                let before = self.reported.insert(pod, (version, false)).unwrap_or((0, false));
                assert!(
                    version >= before.0,
                    "p{pod} went from {before:?} back to {version}, listed: {listed}"
                );
                assert!(
                    !before.1,
                    "p{pod} was deleted at {before:?} and came back in {version}, listed: {listed}"
                );
                self.known.insert(pod, version);
                self.marked.insert(pod);
                self.changes_beside += u64::from(self.listing && !listed);
            }
            ObjectEvent::Deleted(object) => {
                let pod: u64 = object.name[1..].parse().unwrap();
                let version = self.history.deletion_of(pod, now).expect("the pod was deleted");
                let before = self.reported.insert(pod, (version, true)).unwrap_or((0, false));
                assert!(version >= before.0, "p{pod} was deleted at {version} after {before:?}");
                self.known.remove(&pod);
            }
            ObjectEvent::ListCompleted => {
                let there = self.history.state(self.history.version_at(now));
                let marked = std::mem::take(&mut self.marked);
                for pod in self.known.keys().filter(|pod| !marked.contains(pod)).copied().collect::<Vec<_>>()
                {
                    assert!(!there.contains_key(&pod), "p{pod} exists and was swept");
                    self.known.remove(&pod);
                    self.reported.entry(pod).or_default().1 = true;
                }
                self.lists += 1;
                self.listing = false;
            }
            ObjectEvent::ListAborted => self.listing = false,
            ObjectEvent::Undecodable(unreadable) => panic!("{unreadable:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_object_goes_back_in_time_in_any_order_of_events() {
    let (mut lists, mut changes_beside) = (0, 0);
    for seed in 0..60 {
        let mut random = Random(seed);
        let history = Arc::new(InterleavedHistory::new(&mut random));
        let (streams_lists, loses) = (seed % 2 == 0, seed % 4 < 2);
        let start = Instant::now();
        let mut server = InterleavedServer { history: history.clone(), random, streams_lists, loses, start };
        let settings = WatchSettings {
            seed,
            page_limit: 3,
            relist_every: Some(Duration::from_secs(40)),
            ..WatchSettings::default()
        };
        let mut rig =
            WatchHarness::<PodFact>::with(settings, 16, move |requested, _| server.response(requested));
        let mut follower = Follower {
            history: history.clone(),
            known: BTreeMap::new(),
            reported: BTreeMap::new(),
            marked: BTreeSet::new(),
            listing: false,
            lists: 0,
            changes_beside: 0,
        };
        while start.elapsed() < Duration::from_millis(END) {
            let received = rig.run_for(Duration::from_millis(50)).await;
            let now = start.elapsed().as_millis() as u64;
            received.into_iter().for_each(|received| follower.receive(received, now));
        }
        assert_eq!(follower.known, history.state(u64::MAX), "seed {seed}, {streams_lists} {loses}");
        lists += follower.lists;
        changes_beside += follower.changes_beside;
    }
    assert!(lists > 400 && changes_beside > 1000, "{lists} {changes_beside}: the case was had");
}
