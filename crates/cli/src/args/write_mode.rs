//! Parses `--mode` of `run`, which `install` passes on.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    Enforce,
    Observe,
}
