//! Tests the list and watch loop against a scripted server, in virtual time.

mod behaviour;
mod concurrent_lists;
mod failures;
mod fake;
mod idle;
mod interleaved;
mod leases;
mod lists;
mod objects;
mod outages;
mod positions;
mod relists;
mod reported;
mod restored;
mod watches;
