//! The `taintward` program.
fn main() {}
