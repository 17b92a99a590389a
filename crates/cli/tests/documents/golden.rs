//! Compares what commands print with the files in `tests/cmd`.
//!
//! - `TRYCMD=overwrite cargo test -p taintward --test documents golden` writes them; read the difference before committing it.

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
