//! Defines why a record cannot be read.

use taintward_core::time::Wall;

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is something else.
    #[error("this is no record of Taintward: its first line is not the header of a record")]
    NotARecord,
    /// Another version wrote it.
    #[error(
        "taintward {program} wrote this record in format {format}, and this program reads format {own}: replay it with that version"
    )]
    OtherFormat {
        /// The version of the program that wrote it.
        program: String,
        /// The format of the record.
        format: u32,
        /// The format of this program.
        own: u32,
    },
    /// A part of it was changed, or does not belong there.
    #[error("the record is damaged at byte {at}: {reason}")]
    Damaged {
        /// The position of the frame.
        at: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The bytes are those that were written, and are not what this program expects.
    #[error("{what} of the record cannot be decoded: {reason}")]
    Undecodable {
        /// What it is.
        what: &'static str,
        /// The decoder's error.
        reason: String,
    },
    /// The engine of this program panics: a bug, or a state that no engine was in.
    #[error(
        "the {controller} of this program stops because of a bug at {} of the record: {reason}; report it with the record, unless someone \
         has edited the record",
        utc(*at)
    )]
    Panicked {
        /// The name of the controller.
        controller: &'static str,
        /// The time of the call.
        at: Wall,
        /// The message of the panic.
        reason: String,
    },
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

fn utc(at: Wall) -> String {
    let at = jiff::Timestamp::from_microsecond(at.as_micros());
    at.map_or_else(|_| "an unknown time".to_owned(), |at| format!("{at:.3}"))
}
