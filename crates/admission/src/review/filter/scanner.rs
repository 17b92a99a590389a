//! Scans JSON (RFC 8259) in pieces and reports keys and the beginnings and ends of values to a [`ScanSink`].
//!
//! - Invariant: nothing recurses; a level of nesting costs one bit. Bytes above 127 are not checked, because API
//!   servers pass on invalid UTF-8 in `managedFields`.

/// Receives what is scanned. Positions are relative to the current piece.
pub(super) trait ScanSink {
    /// A key begins.
    fn key_begins(&mut self);
    /// More of a key, as written.
    fn key(&mut self, bytes: &[u8]);
    /// The key is complete.
    fn key_ends(&mut self);
    /// A value begins at `at`; `depth` is the number of lists and objects open around it.
    fn begins(&mut self, at: usize, kind: ValueKind, depth: usize);
    /// The value that began at this depth ends before `at`.
    fn ends(&mut self, piece: &[u8], at: usize, depth: usize);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Object,
    List,
    Plain,
}

/// Invalid JSON, after this many valid bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError(pub(super) usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanState {
    /// Expects a value.
    Value,
    /// Expects a value, or the end of a list.
    FirstItem,
    /// Expects a key, or the end of an object.
    FirstKey,
    Key,
    Colon,
    /// Expects a comma, or the end of the innermost container.
    After,
    /// Expects nothing.
    Done,
    Text,
    Escape,
    /// Expects this many hexadecimal digits.
    Hex(u8),
    /// The rest of `true`, `false` or `null`.
    Word(&'static [u8]),
    Number(NumberState),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberState {
    Minus,
    Zero,
    Digits,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl NumberState {
    fn and(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus | Self::Digits, b'0'..=b'9') => Self::Digits,
            (Self::Zero | Self::Digits, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Digits | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::E, b'+' | b'-') => Self::Sign,
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    fn may_end(self) -> bool {
        matches!(self, Self::Zero | Self::Digits | Self::Fraction | Self::Exponent)
    }
}

/// One JSON text, as far as it has arrived.
#[derive(Debug)]
pub(super) struct JsonScanner {
    state: ScanState,
    in_key: bool,
    open: OpenContainers,
    /// The length of earlier pieces.
    before: usize,
}

impl JsonScanner {
    pub(super) fn new() -> Self {
        Self { state: ScanState::Value, in_key: false, open: OpenContainers::default(), before: 0 }
    }

    /// Scans the next piece.
    pub(super) fn read(&mut self, piece: &[u8], sink: &mut impl ScanSink) -> Result<(), SyntaxError> {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            let taken = match self.state {
                ScanState::Text => self.text(piece, at, sink),
                ScanState::Number(number) => match number.and(byte) {
                    Some(number) => self.goes_on(ScanState::Number(number)),
                    None if number.may_end() => {
                        self.end(piece, at, sink);
                        Some(0)
                    }
                    None => None,
                },
                ScanState::Escape => match byte {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.goes_on(ScanState::Text),
                    b'u' => self.goes_on(ScanState::Hex(4)),
                    _ => None,
                },
                ScanState::Hex(left) if byte.is_ascii_hexdigit() => {
                    self.goes_on(if left == 1 { ScanState::Text } else { ScanState::Hex(left - 1) })
                }
                ScanState::Word(word) => match word.split_first() {
                    Some((wanted, [])) if *wanted == byte => {
                        self.end(piece, at + 1, sink);
                        Some(1)
                    }
                    Some((wanted, rest)) if *wanted == byte => self.goes_on(ScanState::Word(rest)),
                    _ => None,
                },
                _ if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => Some(1),
                state => self.sign(state, piece, at, sink),
            };
            at += taken.ok_or(SyntaxError(self.before + at))?;
        }
        self.before += piece.len();
        Ok(())
    }

    /// The input is complete.
    pub(super) fn finish(&mut self, sink: &mut impl ScanSink) -> Result<(), SyntaxError> {
        if let ScanState::Number(number) = self.state
            && number.may_end()
        {
            self.end(&[], 0, sink);
        }
        if self.state == ScanState::Done { Ok(()) } else { Err(SyntaxError(self.before)) }
    }

    /// The memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.open.bits.capacity() * size_of::<u64>()
    }

    fn goes_on(&mut self, state: ScanState) -> Option<usize> {
        self.state = state;
        Some(1)
    }

    /// The plain part of a text, and the character after it.
    fn text(&mut self, piece: &[u8], at: usize, sink: &mut impl ScanSink) -> Option<usize> {
        let rest = &piece[at..];
        let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
        let length = plain.unwrap_or(rest.len());
        if self.in_key {
            // An escape is included: none of the wanted keys has one.
            sink.key(&rest[..rest.len().min(length + 1)]);
        }
        match plain.map(|plain| rest[plain]) {
            None => return Some(length),
            Some(b'\\') => self.state = ScanState::Escape,
            Some(b'"') if self.in_key => {
                sink.key_ends();
                self.state = ScanState::Colon;
            }
            Some(b'"') => self.end(piece, at + length + 1, sink),
            Some(_) => return None,
        }
        Some(length + 1)
    }

    fn sign(&mut self, state: ScanState, piece: &[u8], at: usize, sink: &mut impl ScanSink) -> Option<usize> {
        let in_object = self.open.is_object();
        match (state, piece[at]) {
            (ScanState::FirstKey | ScanState::Key, b'"') => {
                self.in_key = true;
                sink.key_begins();
                self.goes_on(ScanState::Text)
            }
            (ScanState::Colon, b':') => self.goes_on(ScanState::Value),
            (ScanState::After, b',') => {
                self.goes_on(if in_object { ScanState::Key } else { ScanState::Value })
            }
            (ScanState::After, b'}') if in_object => self.close(piece, at, sink),
            (ScanState::After, b']') if !in_object => self.close(piece, at, sink),
            (ScanState::FirstKey, b'}') | (ScanState::FirstItem, b']') => self.close(piece, at, sink),
            (ScanState::Value | ScanState::FirstItem, byte) => self.begin(byte, at, sink),
            _ => None,
        }
    }

    fn begin(&mut self, byte: u8, at: usize, sink: &mut impl ScanSink) -> Option<usize> {
        let (kind, state) = match byte {
            b'{' => (ValueKind::Object, ScanState::FirstKey),
            b'[' => (ValueKind::List, ScanState::FirstItem),
            b'"' => (ValueKind::Plain, ScanState::Text),
            b't' => (ValueKind::Plain, ScanState::Word(b"rue")),
            b'f' => (ValueKind::Plain, ScanState::Word(b"alse")),
            b'n' => (ValueKind::Plain, ScanState::Word(b"ull")),
            b'-' => (ValueKind::Plain, ScanState::Number(NumberState::Minus)),
            b'0' => (ValueKind::Plain, ScanState::Number(NumberState::Zero)),
            b'1'..=b'9' => (ValueKind::Plain, ScanState::Number(NumberState::Digits)),
            _ => return None,
        };
        sink.begins(at, kind, self.open.depth);
        if kind != ValueKind::Plain {
            self.open.push(kind == ValueKind::Object);
        }
        self.in_key = false;
        self.goes_on(state)
    }

    fn close(&mut self, piece: &[u8], at: usize, sink: &mut impl ScanSink) -> Option<usize> {
        self.open.pop();
        self.end(piece, at + 1, sink);
        Some(1)
    }

    fn end(&mut self, piece: &[u8], at: usize, sink: &mut impl ScanSink) {
        sink.ends(piece, at, self.open.depth);
        self.state = if self.open.depth == 0 { ScanState::Done } else { ScanState::After };
    }
}

/// The open containers, outermost first: a bit for each, set for an object.
#[derive(Debug, Default)]
struct OpenContainers {
    bits: Vec<u64>,
    depth: usize,
}

impl OpenContainers {
    fn push(&mut self, is_object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.bits.len() {
            self.bits.push(0);
        }
        self.bits[word] = self.bits[word] & !(1 << bit) | u64::from(is_object) << bit;
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn is_object(&self) -> bool {
        self.depth.checked_sub(1).is_some_and(|at| self.bits[at / 64] >> (at % 64) & 1 == 1)
    }
}
