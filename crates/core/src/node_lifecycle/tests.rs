//! Tests the tables of node lifecycle.

mod tables;
