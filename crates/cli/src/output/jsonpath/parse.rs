//! Parses a template with kubectl's grammar and kubectl's errors.

use super::{FilterStep, PathStep, SliceEnd, SliceStep, TemplatePart};
use serde_json::{Number, Value};

pub(super) fn parse(text: &str) -> Result<Vec<TemplatePart>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        if !before.is_empty() {
            parts.push(TemplatePart::Text(before.to_owned()));
        }
        let mut action = ActionParser { rest: after, steps: Vec::new() };
        action.read()?;
        parts.push(TemplatePart::Action(action.steps));
        rest = action.rest;
    }
    if !rest.is_empty() {
        parts.push(TemplatePart::Text(rest.to_owned()));
    }
    Ok(parts)
}

/// Parses the steps between braces.
fn steps(text: &str) -> Result<Vec<PathStep>, String> {
    let text = format!("{text}}}");
    let mut action = ActionParser { rest: &text, steps: Vec::new() };
    action.read()?;
    Ok(action.steps)
}

/// Parses from after the opening brace to after the closing one.
struct ActionParser<'t> {
    rest: &'t str,
    steps: Vec<PathStep>,
}

impl<'t> ActionParser<'t> {
    fn read(&mut self) -> Result<(), String> {
        loop {
            if let Some(rest) = self.rest.strip_prefix("[?(") {
                self.rest = rest;
                self.filter()?;
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix("..") {
                self.rest = rest;
                self.descent()?;
                continue;
            }
            let Some(sign) = self.rest.chars().next() else { return Err("unclosed action".to_owned()) };
            match sign {
                '}' => {
                    self.rest = &self.rest[1..];
                    return Ok(());
                }
                '\r' | '\n' => return Err("unclosed action".to_owned()),
                ' ' | '@' | '$' => self.rest = &self.rest[1..],
                '[' => self.bracket()?,
                '"' | '\'' => self.quote(sign)?,
                '.' => {
                    self.rest = &self.rest[1..];
                    self.field();
                }
                '+' | '-' | '0'..='9' => self.number()?,
                sign if is_word(sign) => self.word(),
                sign => return Err(format!("unrecognized character in action: {}", named(sign))),
            }
        }
    }

    /// Consumes everything before `at`.
    fn take(&mut self, at: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(at);
        self.rest = rest;
        taken
    }

    fn descent(&mut self) -> Result<(), String> {
        if self.steps.last() == Some(&PathStep::Descent) {
            return Err("invalid multiple recursive descent".to_owned());
        }
        self.steps.push(PathStep::Descent);
        if self.rest.starts_with(is_word) {
            self.field();
        }
        Ok(())
    }

    /// Parses a name, in which `\` escapes a terminating character.
    fn field(&mut self) {
        let mut escaped = false;
        let end = self.rest.find(|sign| {
            let ends = !escaped && is_terminator(sign);
            escaped = !escaped && sign == '\\';
            ends
        });
        let name = self.take(end.unwrap_or(self.rest.len()));
        let step = if name == "*" { PathStep::Wildcard } else { PathStep::Field(name.replace('\\', "")) };
        self.steps.push(step);
    }

    fn word(&mut self) {
        let word = self.take(self.rest.find(is_terminator).unwrap_or(self.rest.len()));
        self.steps.push(match word {
            "true" => PathStep::Literal(true.into()),
            "false" => PathStep::Literal(false.into()),
            "range" => PathStep::Range,
            "end" => PathStep::End,
            other => PathStep::Unknown(other.to_owned()),
        });
    }

    fn number(&mut self) -> Result<(), String> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest[sign..].find(|sign: char| sign != '.' && !sign.is_ascii_digit());
        let text = self.take(digits.map_or(self.rest.len(), |digits| sign + digits));
        let float = || text.parse().ok().and_then(Number::from_f64);
        let number = text.parse::<i64>().ok().map(Number::from).or_else(float);
        let number = number.ok_or_else(|| format!("cannot parse number {text}"))?;
        self.steps.push(PathStep::Literal(Value::Number(number)));
        Ok(())
    }

    fn quote(&mut self, quote: char) -> Result<(), String> {
        let unterminated = || "unterminated quoted string".to_owned();
        let mut from = 1;
        let end = loop {
            let at = from + self.rest[from..].find([quote, '\n']).ok_or_else(unterminated)?;
            if self.rest[at..].starts_with('\n') {
                return Err(unterminated());
            }
            if !self.rest[..at].ends_with('\\') {
                break at;
            }
            from = at + 1;
        };
        let whole = self.take(end + 1);
        let text = unquoted(&whole[1..end], quote);
        self.steps.push(PathStep::Quoted(
            text.ok_or_else(|| format!("unquote string {whole} error invalid syntax"))?,
        ));
        Ok(())
    }

    fn bracket(&mut self) -> Result<(), String> {
        let end = self.rest.find([']', '\n']).filter(|end| self.rest[*end..].starts_with(']'));
        let whole = self.take(end.ok_or("unterminated array")? + 1);
        let text = &whole[1..whole.len() - 1];
        let step = if text.contains(',') {
            let each = text.split(',').map(|one| steps(&format!("[{}]", one.trim_matches(' '))));
            PathStep::Union(each.collect::<Result<_, _>>()?)
        } else if let Some(key) = text.strip_prefix('\'').and_then(|key| key.strip_suffix('\''))
            && !key.contains('\'')
        {
            self.steps.extend(steps(&format!(".{key}"))?);
            return Ok(());
        } else {
            PathStep::Slice(slice(if text == "*" { ":" } else { text })?)
        };
        self.steps.push(step);
        Ok(())
    }

    fn filter(&mut self) -> Result<(), String> {
        let text = self.take(filter_end(self.rest)?);
        self.rest = self.rest[1..].strip_prefix(']').ok_or("unclosed array expect ]")?;
        let filter = match compared(text) {
            None => FilterStep { left: steps(text)?, compared: None },
            Some((left, operator, right)) => {
                FilterStep { left: steps(left)?, compared: Some((operator.to_owned(), steps(right)?)) }
            }
        };
        self.steps.push(PathStep::Filter(Box::new(filter)));
        Ok(())
    }
}

/// The index of the closing bracket, outside of the one pair of quotes that there may be.
fn filter_end(text: &str) -> Result<usize, String> {
    let (mut pair, mut closed, mut before) = (None, false, '(');
    for (at, sign) in text.char_indices() {
        match sign {
            '\n' => break,
            '"' | '\'' if pair.is_none() => pair = Some(sign),
            '"' | '\'' if before != '\\' && pair == Some(sign) => closed = true,
            ')' if pair.is_some() == closed => return Ok(at),
            _ => {}
        }
        before = sign;
    }
    Err("unterminated filter".to_owned())
}

/// The left side, the operator and the right side of a comparison.
fn compared(text: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |sign| matches!(sign, '!' | '<' | '>' | '=');
    let from = text.find(is_operator).filter(|from| *from > 0)?;
    let length = text[from..].find(|sign| !is_operator(sign)).unwrap_or(text.len() - from);
    // The right side must not be empty.
    let length = if from + length == text.len() { length - 1 } else { length };
    (length > 0).then(|| (&text[..from], &text[from..from + length], &text[from + length..]))
}

/// `1`, `-1`, `1:3`, `:3`, `1:`, `::2`; empty is the first element.
fn slice(text: &str) -> Result<SliceStep, String> {
    let wrong = || format!("invalid array index {text}");
    let mut numbers = text.split(':').map(|number| match number {
        "" => Ok(None),
        number => {
            let digits = number.strip_prefix('-').unwrap_or(number);
            if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
                return Err(wrong());
            }
            number.parse().map(Some).map_err(|_| format!("array index {number} is not a number"))
        }
    });
    let from = numbers.next().transpose()?.flatten();
    let to = match numbers.next().transpose()? {
        None => SliceEnd::One,
        Some(None) => SliceEnd::Length,
        Some(Some(to)) => SliceEnd::Before(to),
    };
    let step = numbers.next().transpose()?.flatten();
    if numbers.next().is_some() { Err(wrong()) } else { Ok(SliceStep { from, to, step }) }
}

fn is_terminator(sign: char) -> bool {
    matches!(sign, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_word(sign: char) -> bool {
    sign == '_' || sign.is_alphanumeric()
}

/// `U+0023 '#'`
fn named(sign: char) -> String {
    let number = format!("U+{:04X}", u32::from(sign));
    if sign.is_control() { number } else { format!("{number} '{sign}'") }
}

/// The content of quotes, with Go's escapes; `None` if they are invalid.
fn unquoted(text: &str, quote: char) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(sign) = rest.next() {
        if sign != '\\' {
            let mut room = [0; 4];
            bytes.extend_from_slice(sign.encode_utf8(&mut room).as_bytes());
            continue;
        }
        match rest.next()? {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            't' => bytes.push(b'\t'),
            'n' => bytes.push(b'\n'),
            'v' => bytes.push(11),
            'f' => bytes.push(12),
            'r' => bytes.push(b'\r'),
            '\\' => bytes.push(b'\\'),
            'x' => bytes.push(u8::try_from(digits(&mut rest, 2, 16)?).ok()?),
            'u' => push(&mut bytes, digits(&mut rest, 4, 16)?)?,
            'U' => push(&mut bytes, digits(&mut rest, 8, 16)?)?,
            first @ '0'..='7' => {
                let more = digits(&mut rest, 2, 8)?;
                bytes.push(u8::try_from(first.to_digit(8)? * 64 + more).ok()?);
            }
            sign if sign == quote => bytes.push(u8::try_from(sign).ok()?),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn digits(rest: &mut std::str::Chars<'_>, count: usize, base: u32) -> Option<u32> {
    (0..count)
        .try_fold(0_u32, |number, _| number.checked_mul(base)?.checked_add(rest.next()?.to_digit(base)?))
}

fn push(bytes: &mut Vec<u8>, number: u32) -> Option<()> {
    let mut room = [0; 4];
    bytes.extend_from_slice(char::from_u32(number)?.encode_utf8(&mut room).as_bytes());
    Some(())
}
