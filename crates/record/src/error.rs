//! Defines why a record cannot be read.

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
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
