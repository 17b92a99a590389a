//! Generates UIDs and name suffixes from a seed, reproducibly; nothing here is secret.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// The letters of generated names: no vowels, nothing that looks like something else.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A source of identities.
#[derive(Debug)]
pub struct IdGenerator {
    seed: u64,
    state: Mutex<u64>,
    /// How many names each prefix has got.
    named: Mutex<BTreeMap<String, u64>>,
}

impl IdGenerator {
    /// Creates a generator from a seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed, state: Mutex::new(seed), named: Mutex::new(BTreeMap::new()) }
    }

    /// A number (splitmix64).
    pub fn number(&self) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(STEP);
        mix(*state)
    }

    /// A number for a text: for the same seed it is the same, whatever else was generated before.
    pub fn number_of(&self, text: &str) -> u64 {
        // FNV-1a
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        mix(self.seed.wrapping_mul(STEP) ^ hash)
    }

    /// A UID in the form of a random UUID.
    pub fn uid(&self) -> String {
        let bits = (u128::from(self.number()) << 64) | u128::from(self.number());
        let bits = bits & !(0xf000_u128 << 64) | (0x4000_u128 << 64);
        let bits = bits & !(0xc000_u128 << 48) | (0x8000_u128 << 48);
        let mut text = format!("{bits:032x}");
        for at in [20, 16, 12, 8] {
            text.insert(at, '-');
        }
        text
    }

    /// The suffix of the next generated name with this prefix in this namespace: five letters. It does not depend on
    /// the other names, because the order in which objects are created differs from run to run.
    pub fn suffix(&self, place: &str, base: &str) -> String {
        let beginning = format!("{place}/{base}");
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let count = named.entry(beginning).or_insert(0);
        *count += 1;
        let mut number = self.number_of(&format!("{place}/{base}{count}"));
        let mut text = String::with_capacity(5);
        for _ in 0..5 {
            let letter = LETTERS[(number % LETTERS.len() as u64) as usize];
            number /= LETTERS.len() as u64;
            let _ = text.write_char(letter.into());
        }
        text
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of splitmix64.
const fn mix(mut mixed: u64) -> u64 {
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::IdGenerator;

    #[test]
    fn a_seed_repeats_itself_and_uids_look_like_uids() {
        let (one, same, other) = (IdGenerator::new(7), IdGenerator::new(7), IdGenerator::new(8));
        let uid = one.uid();
        assert_eq!(uid, same.uid());
        assert_ne!(uid, other.uid());
        assert_ne!(uid, one.uid());
        let parts: Vec<usize> = uid.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!((&uid[14..15], "89ab".contains(&uid[19..20])), ("4", true));
    }

    #[test]
    fn generated_names_do_not_depend_on_the_order_of_creation() {
        let (one, same, other) = (IdGenerator::new(7), IdGenerator::new(7), IdGenerator::new(8));
        let web = [one.suffix("pods/shop", "web-"), one.suffix("pods/shop", "web-")];
        assert_ne!(web[0], web[1]);
        assert_eq!(web[0].len(), 5);
        let db = one.suffix("pods/shop", "db-");
        same.number();
        assert_eq!(same.suffix("pods/shop", "db-"), db);
        assert_eq!([same.suffix("pods/shop", "web-"), same.suffix("pods/shop", "web-")], web);
        assert_ne!(other.suffix("pods/shop", "web-"), web[0]);
    }
}
