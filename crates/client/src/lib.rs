//! Placeholder until the room is built in the next commits.
