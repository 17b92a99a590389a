//! Computes a hash of a text that never changes and is the same on every platform, unlike the standard library's.

/// FNV-1a.
pub fn fnv1a(text: &str) -> u64 {
    let (offset, prime) = (0xcbf2_9ce4_8422_2325, 0x0000_0100_0000_01b3);
    text.bytes().fold(offset, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(prime))
}
