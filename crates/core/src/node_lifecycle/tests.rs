//! Tests tables and arithmetic of node lifecycle.

mod flags;
mod rates;
mod tables;
