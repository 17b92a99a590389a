//! Runs what people use beside the program: browsers, shells, kubectl, official clients and the components of Kubernetes.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod board {
    pub(crate) mod client;
    pub(crate) mod page_server;
    pub(crate) mod scripts;
    pub(crate) mod states;
    pub(crate) mod viewers;
}
#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../cli"]
mod cli {
    pub(crate) mod reluctant;
    pub(crate) mod running;
    pub(crate) mod timeout;
}
#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../parts"]
mod parts {
    pub(crate) mod check;
    pub(crate) mod ledger;
    pub(crate) mod logs;
    pub(crate) mod place;
    pub(crate) mod programs;
    pub(crate) mod work;
}
#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../real"]
mod real {
    pub(crate) mod proxy;
}

mod board_delays;
mod board_layout;
mod board_page;
mod board_record;
mod board_sandbox;
mod board_server;
mod completion;
mod kubectl;
mod official_clients;
mod sandbox_parts;
