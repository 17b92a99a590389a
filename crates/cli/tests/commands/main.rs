//! Runs commands against the sandbox, a fake server or no server.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../cli"]
mod cli {
    pub(crate) mod reluctant;
    pub(crate) mod running;
    pub(crate) mod screen;
    pub(crate) mod terminal;
    pub(crate) mod timeout;
}
#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../install"]
mod install {
    pub(crate) mod objects;
}
#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../../src/described.rs"]
mod described;

mod explain;
mod explain_policies;
mod hold;
mod hostile_text;
mod install_chart;
mod k9s_plugin;
mod kubeconfigs;
mod lint;
mod new_user;
mod plan;
mod program;
mod replay;
mod run;
mod sandbox;
mod sandbox_files;
mod sandbox_node;
mod sandbox_terminal;
mod status;
mod taint;
mod uninstall;
