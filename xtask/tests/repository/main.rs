//! Tests the repository itself: its sources, texts, pages, links, commits, workflows and the book.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

mod architecture;
mod book;
mod commits;
mod community;
mod image;
mod links;
mod measures;
mod orphans;
mod prose;
mod test_code;
mod tidy;
mod translations;
mod workflows;
