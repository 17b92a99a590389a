//! Defines the flags that several commands share, and what reads their values.
//!
//! - See `cli.rs` for the whole command line, each command's folder for its own flags.

pub(crate) mod bool_flag;
pub(crate) mod choice;
pub(crate) mod cluster_state;
pub(crate) mod controllers;
pub(crate) mod default_seconds;
pub(crate) mod dry_run;
pub(crate) mod duration;
pub(crate) mod feature_gates;
pub(crate) mod flag_values;
pub(crate) mod kube_args;
pub(crate) mod logging;
pub(crate) mod node_limit;
pub(crate) mod object_names;
pub(crate) mod parsed_as;
pub(crate) mod restriction_config;
