//! # By key: answering thousands of taints with tens of thousands of tolerations
//! Room:     the same answers as `matching::answer`, found by one pass over the tolerations.
//! Comes in: tolerations and taints too many to compare each with each.
//! Goes out: one answer per taint.
//! Keeps:    a taint settled by an earlier toleration is not looked at again.
//! Not here: what a match is; every single comparison is `matching::tolerates`.

use super::{Answer, Match, NumericOperators, tolerates};
use crate::taint::Taint;
use crate::toleration::{Operator, Toleration};
use alloc::vec;
use alloc::vec::Vec;

/// Where the taints of a given key, key and value, or value are. Hashes are deterministic and only find candidates;
/// what they find is compared in full, so a collision costs time and nothing else.
struct Places {
    by_key: Vec<(u64, u32)>,
    by_key_and_value: Vec<(u64, u32)>,
    by_value: Vec<(u64, u32)>,
}

impl Places {
    fn new(taints: &[&Taint]) -> Self {
        let sorted = |hash: fn(&Taint) -> u64| {
            let mut places: Vec<_> = (0u32..).zip(taints).map(|(at, taint)| (hash(taint), at)).collect();
            places.sort_unstable();
            places
        };
        Self {
            by_key: sorted(|taint| hash(&taint.key, "")),
            by_key_and_value: sorted(|taint| hash(&taint.key, &taint.value)),
            by_value: sorted(|taint| hash("", &taint.value)),
        }
    }

    /// The taints this toleration could match, apart from its effect; `None` means: any of them.
    fn candidates(&self, toleration: &Toleration) -> Option<&[(u64, u32)]> {
        let equal = matches!(toleration.operator, Operator::Unset | Operator::Equal);
        let (places, hash) = match (&toleration.operator, toleration.key.is_empty()) {
            (Operator::Unknown(_), _) => return None,
            (_, true) if equal => (&self.by_value, hash("", &toleration.value)),
            (_, true) => return None,
            _ if equal => (&self.by_key_and_value, hash(&toleration.key, &toleration.value)),
            _ => (&self.by_key, hash(&toleration.key, "")),
        };
        let from = places.partition_point(|place| place.0 < hash);
        let to = from + places[from..].partition_point(|place| place.0 == hash);
        Some(&places[from..to])
    }
}

/// 64-bit FNV-1a over both texts with a separator that no UTF-8 text contains.
fn hash(key: &str, value: &str) -> u64 {
    let bytes = key.bytes().chain([0xff]).chain(value.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What is known of one taint so far.
#[derive(Clone, Copy)]
enum Settled {
    No { unclear: Option<usize> },
    Yes(Answer),
}

struct Pass<'t> {
    taints: Vec<&'t Taint>,
    numeric: NumericOperators,
    settled: Vec<Settled>,
    open: Vec<u32>,
}

impl Pass<'_> {
    fn offer(&mut self, position: usize, toleration: &Toleration, at: u32) {
        let at = at as usize;
        let Settled::No { unclear } = self.settled[at] else { return };
        match tolerates(toleration, self.taints[at], self.numeric) {
            Match::No => {}
            Match::Yes => {
                let answer = unclear.map_or(Answer::Tolerated(position), Answer::NotUnderstood);
                self.settled[at] = Settled::Yes(answer);
            }
            Match::NotUnderstood => self.settled[at] = Settled::No { unclear: unclear.or(Some(position)) },
        }
    }

    /// Offers a toleration that may match any taint to those still open, and forgets the settled ones.
    fn offer_to_all(&mut self, position: usize, toleration: &Toleration) {
        let open = core::mem::take(&mut self.open);
        for &at in &open {
            self.offer(position, toleration, at);
        }
        self.open = open;
        let settled = &self.settled;
        self.open.retain(|&at| matches!(settled[at as usize], Settled::No { .. }));
    }
}

pub(super) fn answers(
    tolerations: &[Toleration],
    taints: Vec<&Taint>,
    numeric: NumericOperators,
) -> Vec<Answer> {
    let places = Places::new(&taints);
    let settled = vec![Settled::No { unclear: None }; taints.len()];
    let open = (0u32..).take(taints.len()).collect();
    let mut pass = Pass { taints, numeric, settled, open };
    // Two unknown operators of one effect say the same of every taint: the first of each kind is enough.
    let mut unclear_seen: Vec<&Toleration> = Vec::new();
    for (position, toleration) in tolerations.iter().enumerate() {
        if pass.open.is_empty() {
            break;
        }
        if matches!(toleration.operator, Operator::Unknown(_)) {
            if unclear_seen.iter().any(|seen| seen.effect == toleration.effect) {
                continue;
            }
            unclear_seen.push(toleration);
        }
        match places.candidates(toleration) {
            Some(candidates) => candidates.iter().for_each(|&(_, at)| pass.offer(position, toleration, at)),
            None => pass.offer_to_all(position, toleration),
        }
    }
    let answer = |settled| match settled {
        Settled::Yes(answer) => answer,
        Settled::No { unclear } => unclear.map_or(Answer::Untolerated, Answer::NotUnderstood),
    };
    pass.settled.into_iter().map(answer).collect()
}
