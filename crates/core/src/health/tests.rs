//! Tables and arithmetic of node health.
