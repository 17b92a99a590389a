//! # Fuzz target: from an AdmissionReview to its answer
//! Room:     bytes in; no panic, no hang; whatever is answered is JSON and echoes the question's uid.
//! Comes in: from libFuzzer (`cargo +nightly fuzz run admission --features libfuzzer`), or from files named as arguments
//!           (`cargo run --manifest-path fuzz/Cargo.toml --bin admission -- FILE...`, on the stable compiler).
//! Goes out: nothing; a crash is the finding.
//! Not here: what is asked of it: `taintward_webhook::review::fuzz_entry`.
#![cfg_attr(feature = "libfuzzer", no_main)]

#[cfg(feature = "libfuzzer")]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    taintward_webhook::review::fuzz_entry(bytes);
});

#[cfg(not(feature = "libfuzzer"))]
fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        let patches = taintward_webhook::review::fuzz_entry(&std::fs::read(&path)?);
        println!("{}: {patches} patches", path.display());
    }
    Ok(())
}
