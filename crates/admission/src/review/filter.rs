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

/// The most that is kept of a question, in bytes. A pod with a hundred tolerations and as many containers needs a twentieth.
pub const KEPT_MAX: usize = 2 << 20;

/// The most values that are kept, lists and objects among them: what is made of each when it is read takes up to some hundred
/// bytes and some microseconds.
pub const VALUES_MAX: usize = 1 << 15;

/// Beyond this nothing is kept any more, `null` neither: nobody names the same few fields so often.
const TEXT_MAX: usize = KEPT_MAX + (64 << 10);

/// The longest key that is looked at.
const KEY_MAX: usize = 128;

/// What is read at once.
const PIECE: usize = 16 << 10;

/// So many objects are open around a field of the request.
const IN_REQUEST: usize = 2;

/// A question on its way in.
#[derive(Debug)]
pub struct ReviewFilter {
    scan: JsonScanner,
    picked: PickedFields,
}

/// A question without what does not matter.
#[derive(Debug)]
pub struct FilteredReview {
    pub(super) text: Vec<u8>,
    pub(super) left_out: bool,
}

impl FilteredReview {
    /// What is left of it where there is neither time nor memory to judge it: whose answer is awaited.
    #[must_use]
    pub fn given_up(self) -> Self {
        Self { left_out: true, ..self }
    }

    /// How much was kept, in bytes.
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
    /// Reads on.
    ///
    /// # Errors
    /// If it is no JSON, or names the fields of a question without end.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), InvalidReview> {
        for piece in bytes.chunks(PIECE) {
            self.scan.read(piece, &mut self.picked).map_err(no_json)?;
            self.picked.piece_ends(piece)?;
        }
        Ok(())
    }

    /// Nothing more comes.
    ///
    /// # Errors
    /// If it is no JSON.
    pub fn finish(mut self) -> Result<FilteredReview, InvalidReview> {
        self.scan.finish(&mut self.picked).map_err(no_json)?;
        Ok(FilteredReview { text: self.picked.out, left_out: self.picked.left_out })
    }

    /// Whoever sends the rest is not waited for: what has come of the question, if that says whose answer is awaited.
    pub fn broken_off(self) -> Option<FilteredReview> {
        self.picked.closed().map(|text| FilteredReview { text, left_out: true })
    }

    /// The memory that it takes, in bytes.
    pub fn memory(&self) -> usize {
        self.scan.memory() + self.picked.out.capacity()
    }
}

fn no_json(SyntaxError(at): SyntaxError) -> InvalidReview {
    InvalidReview::question(format!("no AdmissionReview of admission.k8s.io/v1: no JSON at byte {at}"))
}

/// What is done with what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterMode {
    /// Fields are picked by their names.
    Pick,
    /// All is kept until the value that began at this depth ends.
    Keep(usize),
    /// Nothing is.
    Skip(usize),
}

/// A list or an object of which some is kept.
#[derive(Debug)]
struct FilterFrame {
    kind: ValueKind,
    want: &'static WantedFields,
    /// Something of it is kept already.
    filled: bool,
}

#[derive(Debug)]
struct PickedFields {
    mode: FilterMode,
    frames: Vec<FilterFrame>,
    /// The last key of the innermost frame, and what is wanted under it.
    key: Vec<u8>,
    wanted: &'static WantedFields,
    /// From where on the present piece is kept.
    from: usize,
    out: Vec<u8>,
    values: usize,
    /// Where the present field of the request begins in `out`, and how many values came before it.
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
        // The sign that ended it came along.
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
                // Unless that was too much, and more of the field is to come.
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
            // A list where an object should be, or the other way round, is kept empty: its reader says what it should be.
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

    /// The field of the request that is coming in is too much: it is left out.
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
                "more than {KEPT_MAX} bytes of what a question needs, beside its objects"
            )));
        }
        Ok(())
    }

    /// What has come, with what is open closed; nothing before the request has begun.
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
