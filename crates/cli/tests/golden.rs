//! # Golden: what commands for people print, word by word
//! Room:     `tests/cmd`: commands, their input in `*.in` folders, their output and exit codes.
//! Comes in: the built program.
//! Goes out: differences. `TRYCMD=overwrite cargo test -p taintward --test golden` writes the output down anew; read
//!           the difference before it is committed.
//! Not here: what is in the documents (`lint/tests/documents.rs`); clusters (`cli_lint.rs`).

#[test]
fn commands_print_what_is_written_down() {
    trycmd::TestCases::new()
        .env("NO_COLOR", "")
        .env("KUBECONFIG", "")
        .env("TZ", "UTC")
        .insert_var("[VERSION]", env!("CARGO_PKG_VERSION"))
        .expect("the version is a word")
        .case("tests/cmd/*.toml")
        .case("tests/cmd/*.trycmd");
}
