//! Tests the list and watch loop against a scripted server, in virtual time.

mod behaviour;
mod beside;
mod fake;
mod interleaved;
mod leases;
mod lists;
mod objects;
mod outages;
mod quiet;
mod relists;
mod restored;
mod troubles;
mod watches;
