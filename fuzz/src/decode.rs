//! # Fuzz target: the decoders and splitters
//! Room:     bytes in, no panic, no hang, no unbounded memory.
//! Comes in: from libFuzzer (`cargo +nightly fuzz run decode --features libfuzzer`), or from files named as arguments
//!           (`cargo run --manifest-path fuzz/Cargo.toml -- FILE...`, on the stable compiler).
//! Goes out: nothing; a crash is the finding.
//! Not here: what is decoded: `taintward_kube::decode::fuzz_entry`. Mangled bytes on stable: the client's own tests.
#![cfg_attr(feature = "libfuzzer", no_main)]

#[cfg(feature = "libfuzzer")]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    taintward_kube::decode::fuzz_entry(bytes);
});

#[cfg(not(feature = "libfuzzer"))]
fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        let understood = taintward_kube::decode::fuzz_entry(&std::fs::read(&path)?);
        println!("{}: {understood} pieces understood", path.display());
    }
    Ok(())
}
