//! Tests the tables and deadlines of node lifecycle.

mod silence;
mod tables;
