//! Tables and arithmetic of node health.

mod flags;
mod rates;
mod tables;
