//! Tests that pages, the reference and the examples show what the program prints.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../cli"]
mod cli {
    pub(crate) mod document;
    pub(crate) mod running;
    pub(crate) mod terminal;
    pub(crate) mod timeout;
}
#[allow(dead_code, reason = "each test program uses some of it")]
#[path = "../install"]
mod install {
    pub(crate) mod document;
    pub(crate) mod objects;
    pub(crate) mod operator;
}

mod examples;
mod golden;
mod monitoring_page;
mod pages;
mod reference;
