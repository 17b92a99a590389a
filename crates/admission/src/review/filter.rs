//! Filters an AdmissionReview of any length while it is received, and keeps the few fields that rules read.
//!
//! - Invariant: memory is bounded for any input. A field beyond the limit becomes `null`, and
//!   [`FilteredReview::left_out`] says so.
//! - See `filter/wanted_fields.rs` for the kept fields.

mod scanner;
mod wanted_fields;

use super::invalid_review::InvalidReview;
use scanner::{JsonScanner, ScanSink, SyntaxError, ValueKind};
use wanted_fields::{NOTHING, REVIEW, WantedFields};

/// The maximum that is kept of a review, in bytes. A pod with a hundred tolerations and as many containers needs a
/// twentieth.
pub const KEPT_MAX: usize = 2 << 20;

/// The maximum number of values that are kept, including lists and objects: decoding each takes up to some hundred
/// bytes and some microseconds.
pub const VALUES_MAX: usize = 1 << 15;

/// Beyond this nothing more is kept, not even `null`: a valid review does not repeat the same few fields so often.
const TEXT_MAX: usize = KEPT_MAX + (64 << 10);

/// The longest key that is compared.
const KEY_MAX: usize = 128;

/// The size of a single read.
const PIECE: usize = 16 << 10;

/// This many objects are open around a field of the request.
const IN_REQUEST: usize = 2;

/// A review that is being received.
#[derive(Debug)]
pub struct ReviewFilter {
    scan: JsonScanner,
    picked: PickedFields,
}

/// A review without unneeded fields.
#[derive(Debug)]
pub struct FilteredReview {
    pub(super) text: Vec<u8>,
    pub(super) left_out: bool,
}

impl FilteredReview {
    /// What is left if there is neither time nor memory to judge it: the uid for the response.
    #[must_use]
    pub fn given_up(self) -> Self {
        Self { left_out: true, ..self }
    }

    /// The number of bytes kept.
    pub fn length(&self) -> usize {
        self.text.len()
    }
}

impl Default for ReviewFilter {
    fn default() -> Self {
        Self { scan: JsonScanner::new(), picked: PickedFields::default() }
    }
}

impl ReviewFilter {
    /// Reads the next piece.
    ///
    /// # Errors
    /// If it is not JSON, or repeats the fields of a review without end.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), InvalidReview> {
        for piece in bytes.chunks(PIECE) {
            self.scan.read(piece, &mut self.picked).map_err(no_json)?;
            self.picked.piece_ends(piece)?;
        }
        Ok(())
    }

    /// The input is complete.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn finish(mut self) -> Result<FilteredReview, InvalidReview> {
        self.scan.finish(&mut self.picked).map_err(no_json)?;
        Ok(FilteredReview { text: self.picked.out, left_out: self.picked.left_out })
    }

    /// Stops waiting for the rest. Returns what has arrived of the review, if that includes the uid for the response.
    pub fn broken_off(self) -> Option<FilteredReview> {
        self.picked.closed().map(|text| FilteredReview { text, left_out: true })
    }

    /// The memory in use, in bytes.
    pub fn memory(&self) -> usize {
        self.scan.memory() + self.picked.out.capacity()
    }
}

fn no_json(SyntaxError(at): SyntaxError) -> InvalidReview {
    InvalidReview::question(format!("no AdmissionReview of admission.k8s.io/v1: no JSON at byte {at}"))
}

/// How input is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterMode {
    /// Selects fields by their names.
    Pick,
    /// Keeps everything until the value that began at this depth ends.
    Keep(usize),
    /// Skips everything until then.
    Skip(usize),
}

/// A list or an object of which a part is kept.
#[derive(Debug)]
struct FilterFrame {
    kind: ValueKind,
    want: &'static WantedFields,
    /// A part of it is kept already.
    filled: bool,
}

#[derive(Debug)]
struct PickedFields {
    mode: FilterMode,
    frames: Vec<FilterFrame>,
    /// The last key of the innermost frame, and the fields wanted under it.
    key: Vec<u8>,
    wanted: &'static WantedFields,
    /// Where the kept part of the current piece begins.
    from: usize,
    out: Vec<u8>,
    values: usize,
    /// Where the current field of the request begins in `out`, and how many values came before it.
    field: Option<(usize, usize)>,
    left_out: bool,
    too_much: bool,
}

impl Default for PickedFields {
    fn default() -> Self {
        Self {
            mode: FilterMode::Pick,
            frames: Vec::new(),
            key: Vec::new(),
            wanted: &REVIEW,
            from: 0,
            out: Vec::new(),
            values: 0,
            field: None,
            left_out: false,
            too_much: false,
        }
    }
}

impl ScanSink for PickedFields {
    fn key_begins(&mut self) {
        if self.mode == FilterMode::Pick {
            self.key.clear();
        }
    }

    fn key(&mut self, bytes: &[u8]) {
        if self.mode == FilterMode::Pick && self.key.len() <= KEY_MAX {
            self.key.extend_from_slice(&bytes[..bytes.len().min(KEY_MAX + 2)]);
        }
    }

    fn key_ends(&mut self) {
        if self.mode != FilterMode::Pick {
            return;
        }
        // The character that ended it was included.
        self.key.pop();
        let fields = match self.frames.last() {
            Some(FilterFrame { want: WantedFields::Fields(fields), .. }) => *fields,
            _ => &[],
        };
        let found = fields.iter().find(|(name, _)| name.as_bytes() == self.key);
        self.wanted = found.map_or(&NOTHING, |(_, want)| want);
    }

    fn begins(&mut self, at: usize, kind: ValueKind, depth: usize) {
        if self.mode == FilterMode::Pick {
            self.pick(at, kind, depth);
        }
        if let FilterMode::Skip(_) = self.mode {
            return;
        }
        self.values += 1;
        if self.values > VALUES_MAX {
            self.leave_out();
        }
    }

    fn ends(&mut self, piece: &[u8], at: usize, depth: usize) {
        match self.mode {
            FilterMode::Keep(until) if until == depth => {
                self.keep(&piece[self.from..at]);
                // Unless that was too much, and more of the field follows.
                if [FilterMode::Keep(until), FilterMode::Skip(until)].contains(&self.mode) {
                    self.mode = FilterMode::Pick;
                }
            }
            FilterMode::Skip(until) if until == depth => self.mode = FilterMode::Pick,
            FilterMode::Pick => {
                if let Some(frame) = self.frames.pop() {
                    self.out.push(if frame.kind == ValueKind::Object { b'}' } else { b']' });
                }
            }
            FilterMode::Keep(_) | FilterMode::Skip(_) => {}
        }
    }
}

impl PickedFields {
    fn pick(&mut self, at: usize, kind: ValueKind, depth: usize) {
        let want = match self.frames.last() {
            Some(FilterFrame { kind: ValueKind::List, want: WantedFields::Each(each), .. }) => each,
            // A list instead of an object, or the other way round, is kept empty: its decoder reports what it should
            // be.
            Some(FilterFrame { kind: ValueKind::List, .. }) => &NOTHING,
            _ => self.wanted,
        };
        if matches!(want, WantedFields::Nothing) {
            self.mode = FilterMode::Skip(depth);
            return;
        }
        if let Some(frame) = self.frames.last_mut() {
            if frame.filled {
                self.out.push(b',');
            }
            frame.filled = true;
            if frame.kind == ValueKind::Object {
                self.out.push(b'"');
                self.out.extend_from_slice(&self.key);
                self.out.extend_from_slice(b"\":");
            }
        }
        if self.frames.len() == IN_REQUEST {
            self.field = Some((self.out.len(), self.values));
        }
        if kind == ValueKind::Plain || matches!(want, WantedFields::All) {
            self.mode = FilterMode::Keep(depth);
            self.from = at;
        } else {
            self.out.push(if kind == ValueKind::Object { b'{' } else { b'[' });
            self.frames.push(FilterFrame { kind, want, filled: false });
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        if self.out.len() > KEPT_MAX {
            self.leave_out();
        }
    }

    /// The current field of the request is too large: it is left out.
    fn leave_out(&mut self) {
        let Some((begin, values)) = self.field.filter(|_| self.frames.len() >= IN_REQUEST) else {
            self.too_much = true;
            return;
        };
        self.out.truncate(begin);
        self.out.extend_from_slice(b"null");
        self.values = values;
        self.frames.truncate(IN_REQUEST);
        self.mode = FilterMode::Skip(IN_REQUEST);
        self.left_out = true;
    }

    fn piece_ends(&mut self, piece: &[u8]) -> Result<(), InvalidReview> {
        if let FilterMode::Keep(_) = self.mode {
            self.keep(&piece[self.from..]);
        }
        self.from = 0;
        if self.too_much || self.out.len() > TEXT_MAX {
            return Err(InvalidReview::question(format!(
                "the AdmissionReview has more than {KEPT_MAX} bytes outside of its objects"
            )));
        }
        Ok(())
    }

    /// Returns what has arrived, with open containers closed; none before the request has begun.
    fn closed(mut self) -> Option<Vec<u8>> {
        if self.frames.len() < IN_REQUEST {
            return None;
        }
        if self.frames.len() > IN_REQUEST || self.mode == FilterMode::Keep(IN_REQUEST) {
            self.leave_out();
        }
        self.out.extend_from_slice(b"}}");
        Some(self.out)
    }
}

#[cfg(test)]
mod tests;
