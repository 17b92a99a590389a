//! Matches thousands of taints with tens of thousands of tolerations in one pass over the tolerations.
//!
//! - Invariant: the result equals that of `toleration_matching::match_taint`; `toleration_matching::tolerates` makes
//!   every comparison.

use super::{NumericOperators, TaintMatch, TolerationMatch, tolerates};
use crate::taint::{Taint, TaintEffect};
use crate::toleration::{Toleration, TolerationOperator};
use alloc::vec;
use alloc::vec::Vec;

/// Taints by the hash of one of their properties. Hashes are deterministic and only find candidates; candidates are
/// compared in full, so a collision only costs time.
struct HashIndex {
    /// Sorted by hash.
    places: Vec<(u64, u32)>,
    /// Where the hashes with the same leading bits begin in `places`.
    starts: Vec<u32>,
    shift: u32,
}

impl HashIndex {
    fn new(taints: &[&Taint], hash: impl Fn(&Taint) -> u64) -> Self {
        let mut places: Vec<_> = (0u32..).zip(taints).map(|(at, taint)| (hash(taint), at)).collect();
        places.sort_unstable();
        let bits = usize::BITS - taints.len().leading_zeros() + 1;
        let shift = u64::BITS - bits;
        let mut starts = vec![0; (1 << bits) + 1];
        for (hash, _) in &places {
            starts[(hash >> shift) as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Self { places, starts, shift }
    }

    fn find(&self, hash: u64) -> &[(u64, u32)] {
        let bucket = (hash >> self.shift) as usize;
        let bucket = &self.places[self.starts[bucket] as usize..self.starts[bucket + 1] as usize];
        let from = bucket.iter().take_while(|place| place.0 < hash).count();
        let found = bucket[from..].iter().take_while(|place| place.0 == hash).count();
        &bucket[from..from + found]
    }
}

/// The taints by key, by key and value, and by value.
struct TaintIndexes {
    by_key: HashIndex,
    by_key_and_value: HashIndex,
    by_value: HashIndex,
}

impl TaintIndexes {
    fn new(taints: &[&Taint]) -> Self {
        Self {
            by_key: HashIndex::new(taints, |taint| hash(&taint.key, "")),
            by_key_and_value: HashIndex::new(taints, |taint| hash(&taint.key, &taint.value)),
            by_value: HashIndex::new(taints, |taint| hash("", &taint.value)),
        }
    }

    /// Returns the taints that this toleration could match, apart from its effect; `None` means any of them.
    fn candidates(&self, toleration: &Toleration) -> Option<&[(u64, u32)]> {
        let equal = matches!(toleration.operator, TolerationOperator::Unset | TolerationOperator::Equal);
        let (index, hash) = match (&toleration.operator, toleration.key.is_empty()) {
            (TolerationOperator::Unknown(_), _) => return None,
            (_, true) if equal => (&self.by_value, hash("", &toleration.value)),
            (_, true) => return None,
            _ if equal => (&self.by_key_and_value, hash(&toleration.key, &toleration.value)),
            _ => (&self.by_key, hash(&toleration.key, "")),
        };
        Some(index.find(hash))
    }
}

/// Returns a hash of both texts, eight bytes at a time; their lengths separate them.
fn hash(key: &str, value: &str) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let product = (hash ^ word).wrapping_mul(FACTOR);
        product ^ product >> 29
    };
    let text = |hash: u64, text: &str| {
        let words = text.as_bytes().chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        words.fold(mix(hash, text.len() as u64), mix)
    };
    mix(text(text(FACTOR, key), value), 0)
}

/// The number of kinds of effects: the three, and all unknown ones.
const EFFECTS: usize = 4;

fn effect_index(effect: &TaintEffect) -> usize {
    match effect {
        TaintEffect::NoSchedule => 0,
        TaintEffect::PreferNoSchedule => 1,
        TaintEffect::NoExecute => 2,
        TaintEffect::Unknown(_) => 3,
    }
}

struct MatchPass<'t> {
    taints: Vec<&'t Taint>,
    numeric: NumericOperators,
    /// The first toleration that matches, or might, settles a taint: if it only might, no later one changes that (D11).
    settled: Vec<Option<TaintMatch>>,
    /// How many taints are not settled.
    unsettled: usize,
    /// The taints of each effect that were not yet compared with a toleration for any taint of that effect, settled or
    /// not.
    open: [Vec<u32>; EFFECTS],
}

impl<'t> MatchPass<'t> {
    fn new(taints: Vec<&'t Taint>, numeric: NumericOperators) -> Self {
        let mut open: [Vec<u32>; EFFECTS] = Default::default();
        for (at, taint) in (0u32..).zip(&taints) {
            open[effect_index(&taint.effect)].push(at);
        }
        Self { numeric, settled: vec![None; taints.len()], unsettled: taints.len(), open, taints }
    }

    fn offer(&mut self, position: usize, toleration: &Toleration, at: u32) {
        let at = at as usize;
        if self.settled[at].is_some() {
            return;
        }
        let matched = match tolerates(toleration, self.taints[at], self.numeric) {
            TolerationMatch::No => return,
            TolerationMatch::Yes => TaintMatch::Tolerated(position),
            TolerationMatch::NotUnderstood => TaintMatch::Unsupported(position),
        };
        self.settled[at] = Some(matched);
        self.unsettled -= 1;
    }

    /// Compares a toleration that may match any taint of its effect with those still open, and removes the settled
    /// ones: all of them, unless it compares values without a key, which no API server accepts. So a taint is compared
    /// with at most one such toleration, however many there are.
    fn offer_to_all(&mut self, position: usize, toleration: &Toleration) {
        let effects = match &toleration.effect {
            None | Some(TaintEffect::Unknown(_)) => 0..EFFECTS,
            Some(effect) => effect_index(effect)..effect_index(effect) + 1,
        };
        for effect in effects {
            let mut open = core::mem::take(&mut self.open[effect]);
            open.iter().for_each(|&at| self.offer(position, toleration, at));
            open.retain(|&at| self.settled[at as usize].is_none());
            self.open[effect] = open;
        }
    }
}

pub(super) fn match_taints(
    tolerations: &[Toleration],
    taints: Vec<&Taint>,
    numeric: NumericOperators,
) -> Vec<TaintMatch> {
    let places = TaintIndexes::new(&taints);
    let mut pass = MatchPass::new(taints, numeric);
    for (position, toleration) in tolerations.iter().enumerate() {
        if pass.unsettled == 0 {
            break;
        }
        match places.candidates(toleration) {
            Some(candidates) => candidates.iter().for_each(|&(_, at)| pass.offer(position, toleration, at)),
            None => pass.offer_to_all(position, toleration),
        }
    }
    pass.settled.into_iter().map(|settled| settled.unwrap_or(TaintMatch::Untolerated)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::taint;
    use alloc::format;

    /// Also where many hashes begin with the same bits.
    #[test]
    fn every_taint_is_found_by_its_hash() {
        let taints: Vec<Taint> = (0..40).map(|at| taint(&format!("k{at}:NoExecute"))).collect();
        let all: Vec<&Taint> = taints.iter().collect();
        let half = |one: &Taint| one.key[1..].parse::<u64>().expect("a number") / 2;
        let index = HashIndex::new(&all, half);
        for hash in 0..20 {
            let found: Vec<u64> = index.find(hash).iter().map(|place| u64::from(place.1)).collect();
            assert_eq!(found, [2 * hash, 2 * hash + 1]);
        }
        assert!(index.find(20).is_empty() && index.find(u64::MAX).is_empty());
    }
}
