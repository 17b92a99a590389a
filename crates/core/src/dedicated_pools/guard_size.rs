//! Computes how many bytes the PoolGuard has, as an API server encodes it for etcd.
//!
//! - Invariant: never less than the object that `kube::pools` writes; a test there compares them.
//! - See `pool_guard.rs` for the size of a pool.

/// What all pools and nodes may take. etcd rejects a request of more than 1.5 MiB, and of that, 256 KiB are for
/// annotations, which any account that may patch the PoolGuard can add.
pub const GUARD_BUDGET: usize = 1 << 20;

/// The largest content that is ever written: pools that are left out stay until their label is gone.
pub const GUARD_MAX: usize = GUARD_BUDGET + (1 << 18);

/// The object's metadata, and the names of fields.
pub(super) const GUARD_FRAME: usize = 1_024;

/// Braces and names of the fields of a pool, and the longest of their enumerated values.
pub(super) const POOL_FRAME: usize = 400;

/// A text with its quotes. Go's encoder escapes the characters of HTML, too.
pub(super) fn text(text: &str) -> usize {
    let len = |one: char| match one {
        '"' | '\\' => 2,
        '<' | '>' | '&' | '\u{0}'..='\u{1f}' | '\u{2028}' | '\u{2029}' => 6,
        other => other.len_utf8(),
    };
    text.chars().map(len).sum::<usize>() + "\"\",".len()
}

/// A name among those of nodes or keys.
pub(super) fn entry(name: &str) -> usize {
    text(name) + ":\"\"".len()
}
