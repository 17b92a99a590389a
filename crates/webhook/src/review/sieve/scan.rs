//! # Scan: JSON, piece by piece
//! Room:     the grammar of RFC 8259, as far as it tells where a value begins and ends.
//! Comes in: bytes, cut anywhere.
//! Goes out: keys, beginnings and ends of values, to a [`Sink`].
//! Keeps:    nothing recurses, and nothing of a value is kept: a level of nesting costs one bit. Bytes above 127 are not
//!           looked at: an API server passes on what clients wrote into `managedFields`, UTF-8 or not.
//! Not here: what a value says; which ones matter (`sieve`).

/// Somebody who is told what is read. Places are counted in the piece that is read.
pub(super) trait Sink {
    /// A key begins.
    fn key_begins(&mut self);
    /// More of a key, as it is written.
    fn key(&mut self, bytes: &[u8]);
    /// The key is complete.
    fn key_ends(&mut self);
    /// A value begins at `at`; so many lists and objects are open around it.
    fn begins(&mut self, at: usize, kind: Kind, depth: usize);
    /// The value that began at this depth ends before `at`.
    fn ends(&mut self, piece: &[u8], at: usize, depth: usize);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    List,
    Plain,
}

/// No JSON: so many bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrong(pub(super) usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A value has to come.
    Value,
    /// A value, or the end of a list.
    FirstItem,
    /// A key, or the end of an object.
    FirstKey,
    Key,
    Colon,
    /// A comma, or the end of what is open.
    After,
    /// Nothing may come.
    Done,
    Text,
    Escape,
    /// So many hexadecimal digits.
    Hex(u8),
    /// The rest of `true`, `false` or `null`.
    Word(&'static [u8]),
    Number(Number),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Digits,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Number {
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

/// One text of JSON, as far as it has come.
#[derive(Debug)]
pub(super) struct Scan {
    state: State,
    in_key: bool,
    open: Open,
    /// Bytes of earlier pieces.
    before: usize,
}

impl Scan {
    pub(super) fn new() -> Self {
        Self { state: State::Value, in_key: false, open: Open::default(), before: 0 }
    }

    /// Reads on.
    pub(super) fn read(&mut self, piece: &[u8], sink: &mut impl Sink) -> Result<(), Wrong> {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            let taken = match self.state {
                State::Text => self.text(piece, at, sink),
                State::Number(number) => match number.and(byte) {
                    Some(number) => self.goes_on(State::Number(number)),
                    None if number.may_end() => {
                        self.end(piece, at, sink);
                        Some(0)
                    }
                    None => None,
                },
                State::Escape => match byte {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.goes_on(State::Text),
                    b'u' => self.goes_on(State::Hex(4)),
                    _ => None,
                },
                State::Hex(left) if byte.is_ascii_hexdigit() => {
                    self.goes_on(if left == 1 { State::Text } else { State::Hex(left - 1) })
                }
                State::Word(word) => match word.split_first() {
                    Some((wanted, [])) if *wanted == byte => {
                        self.end(piece, at + 1, sink);
                        Some(1)
                    }
                    Some((wanted, rest)) if *wanted == byte => self.goes_on(State::Word(rest)),
                    _ => None,
                },
                _ if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => Some(1),
                state => self.sign(state, piece, at, sink),
            };
            at += taken.ok_or(Wrong(self.before + at))?;
        }
        self.before += piece.len();
        Ok(())
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) -> Result<(), Wrong> {
        if let State::Number(number) = self.state
            && number.may_end()
        {
            self.end(&[], 0, sink);
        }
        if self.state == State::Done { Ok(()) } else { Err(Wrong(self.before)) }
    }

    /// The memory that it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.open.bits.capacity() * size_of::<u64>()
    }

    fn goes_on(&mut self, state: State) -> Option<usize> {
        self.state = state;
        Some(1)
    }

    /// The plain part of a text, and the sign after it.
    fn text(&mut self, piece: &[u8], at: usize, sink: &mut impl Sink) -> Option<usize> {
        let rest = &piece[at..];
        let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
        let length = plain.unwrap_or(rest.len());
        if self.in_key {
            // An escape goes along: none of the keys that matter has one.
            sink.key(&rest[..rest.len().min(length + 1)]);
        }
        match plain.map(|plain| rest[plain]) {
            None => return Some(length),
            Some(b'\\') => self.state = State::Escape,
            Some(b'"') if self.in_key => {
                sink.key_ends();
                self.state = State::Colon;
            }
            Some(b'"') => self.end(piece, at + length + 1, sink),
            Some(_) => return None,
        }
        Some(length + 1)
    }

    fn sign(&mut self, state: State, piece: &[u8], at: usize, sink: &mut impl Sink) -> Option<usize> {
        let in_object = self.open.is_object();
        match (state, piece[at]) {
            (State::FirstKey | State::Key, b'"') => {
                self.in_key = true;
                sink.key_begins();
                self.goes_on(State::Text)
            }
            (State::Colon, b':') => self.goes_on(State::Value),
            (State::After, b',') => self.goes_on(if in_object { State::Key } else { State::Value }),
            (State::After, b'}') if in_object => self.close(piece, at, sink),
            (State::After, b']') if !in_object => self.close(piece, at, sink),
            (State::FirstKey, b'}') | (State::FirstItem, b']') => self.close(piece, at, sink),
            (State::Value | State::FirstItem, byte) => self.begin(byte, at, sink),
            _ => None,
        }
    }

    fn begin(&mut self, byte: u8, at: usize, sink: &mut impl Sink) -> Option<usize> {
        let (kind, state) = match byte {
            b'{' => (Kind::Object, State::FirstKey),
            b'[' => (Kind::List, State::FirstItem),
            b'"' => (Kind::Plain, State::Text),
            b't' => (Kind::Plain, State::Word(b"rue")),
            b'f' => (Kind::Plain, State::Word(b"alse")),
            b'n' => (Kind::Plain, State::Word(b"ull")),
            b'-' => (Kind::Plain, State::Number(Number::Minus)),
            b'0' => (Kind::Plain, State::Number(Number::Zero)),
            b'1'..=b'9' => (Kind::Plain, State::Number(Number::Digits)),
            _ => return None,
        };
        sink.begins(at, kind, self.open.depth);
        if kind != Kind::Plain {
            self.open.push(kind == Kind::Object);
        }
        self.in_key = false;
        self.goes_on(state)
    }

    fn close(&mut self, piece: &[u8], at: usize, sink: &mut impl Sink) -> Option<usize> {
        self.open.pop();
        self.end(piece, at + 1, sink);
        Some(1)
    }

    fn end(&mut self, piece: &[u8], at: usize, sink: &mut impl Sink) {
        sink.ends(piece, at, self.open.depth);
        self.state = if self.open.depth == 0 { State::Done } else { State::After };
    }
}

/// What is open, outermost first: a bit for each, set for an object.
#[derive(Debug, Default)]
struct Open {
    bits: Vec<u64>,
    depth: usize,
}

impl Open {
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
