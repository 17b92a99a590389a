//! # Ids: names and identities by chance, but repeatable
//! Room:     UIDs and the ends of generated names.
//! Comes in: a seed.
//! Goes out: the same sequence for the same seed.
//! Not here: secrets; nothing here is unguessable.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// The letters of generated names: no vowels, nothing that looks like something else.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A source of identities.
#[derive(Debug)]
pub struct Ids(Mutex<u64>);

impl Ids {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    /// A number (splitmix64).
    pub fn number(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
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

    /// The end of a generated name: five letters.
    pub fn suffix(&self) -> String {
        let mut number = self.number();
        let mut text = String::with_capacity(5);
        for _ in 0..5 {
            let letter = LETTERS[(number % LETTERS.len() as u64) as usize];
            number /= LETTERS.len() as u64;
            let _ = text.write_char(letter.into());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Ids;

    #[test]
    fn a_seed_repeats_itself_and_uids_look_like_uids() {
        let (one, same, other) = (Ids::new(7), Ids::new(7), Ids::new(8));
        let uid = one.uid();
        assert_eq!(uid, same.uid());
        assert_ne!(uid, other.uid());
        assert_ne!(uid, one.uid());
        let parts: Vec<usize> = uid.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!((&uid[14..15], "89ab".contains(&uid[19..20])), ("4", true));
        assert_eq!(one.suffix().len(), 5);
    }
}
