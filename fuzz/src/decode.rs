//! Fuzzes the decoders (`taintward_kube::decode::fuzz_entry`): no panic, no hang, bounded memory.
//!
//! - Run with libFuzzer (`cargo xtask fuzz decode`), or on files
//!   (`cargo run --manifest-path fuzz/Cargo.toml --bin decode -- FILE...`).

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
