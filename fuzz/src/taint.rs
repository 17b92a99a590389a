//! Fuzzes the grammar of taint edits: no panic, errors point into their argument, a parsed edit prints as it was
//! written.
//!
//! - Run with libFuzzer (`cargo xtask fuzz taint`), or on files, one argument a line
//!   (`cargo run --manifest-path fuzz/Cargo.toml --bin taint -- FILE...`).

#![cfg_attr(feature = "libfuzzer", no_main)]

use taintward_core::taint_edit::{TaintEdit, parse};

/// The parsed edit, if there is one.
fn run(bytes: &[u8]) -> Option<TaintEdit> {
    let text = String::from_utf8_lossy(bytes);
    let arguments: Vec<&str> = text.lines().collect();
    match parse(&arguments) {
        Err(error) => {
            let argument = arguments[error.argument];
            assert!(
                argument.is_char_boundary(error.at),
                "{error:?} points into no character of {argument:?}"
            );
            assert!(!error.to_string().is_empty());
            None
        }
        Ok(change) => {
            let written = change.to_string();
            let again = parse(&written.split_whitespace().collect::<Vec<_>>());
            assert_eq!(again.as_ref(), Ok(&change), "{written}");
            for overwrite in [false, true] {
                // Applied to what it adds itself, it may be rejected but must not panic.
                let _ = change.apply(&change.add, overwrite);
            }
            Some(change)
        }
    }
}

#[cfg(feature = "libfuzzer")]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    run(bytes);
});

#[cfg(not(feature = "libfuzzer"))]
fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        let change = run(&std::fs::read(&path)?);
        println!(
            "{}: {}",
            path.display(),
            change.map_or("no change".to_owned(), |change| change.to_string())
        );
    }
    Ok(())
}
