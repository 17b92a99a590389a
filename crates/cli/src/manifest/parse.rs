//! Parses YAML and JSON text into objects with positions, one at a time.
//!
//! - Invariant: memory holds one object besides the text; depth and size are limited; after a broken document the next
//!   one is read.

use super::scalar::plain;
use super::{MapEntry, PIECES_MOST, TextPosition, TextSpan, YamlNode, YamlValue};
use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, StrInput, StructureStyle};
use std::collections::HashMap;
use std::rc::Rc;

/// Deeper nesting is rejected, as by API servers.
const DEPTH_MOST: usize = 128;

/// A fault of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParseError {
    pub(crate) at: TextPosition,
    pub(crate) why: String,
}

/// Passes the objects of a text to `tell`, including those in lists, and also documents of other types, as they are.
/// Returns the errors.
pub(crate) fn each(text: &str, mut tell: impl FnMut(&YamlNode)) -> Vec<ParseError> {
    let mut faults = Vec::new();
    let mut options = granit_parser::options! {
        flow_nesting_limit: DEPTH_MOST,
        block_nesting_limit: DEPTH_MOST,
    };
    options.set_emit_comments(false);
    // A byte order mark is not part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parser = Parser::new_from_str_with_options(text, options);
    let mut reader = YamlReader { parser, anchors: HashMap::new(), pieces: 0 };
    loop {
        match reader.document(&mut tell) {
            Ok(true) => {}
            Ok(false) => return faults,
            Err(fault) => {
                faults.push(fault);
                match reader.parser.proceed_next_document() {
                    Ok(true) => {}
                    Ok(false) => return faults,
                    Err(why) => {
                        faults.push(why.into());
                        return faults;
                    }
                }
            }
        }
    }
}

impl From<ScanError> for ParseError {
    fn from(why: ScanError) -> Self {
        Self { at: mark(why.marker()), why: why.info() }
    }
}

fn mark(marker: &Marker) -> TextPosition {
    TextPosition { line: marker.line(), column: marker.col() + 1 }
}

fn span(span: granit_parser::Span) -> TextSpan {
    TextSpan { from: mark(&span.start), to: mark(&span.end) }
}

struct YamlReader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// The values of this document's aliases.
    anchors: HashMap<usize, YamlNode>,
    /// The number of nodes of the present object.
    pieces: usize,
}

impl<'t> YamlReader<'t> {
    /// `None` at the end of the text.
    fn next(&mut self) -> Result<Option<(Event<'t>, TextSpan)>, ParseError> {
        match self.parser.next_event() {
            None => Ok(None),
            Some(Err(why)) => Err(why.into()),
            Some(Ok((event, at))) => Ok(Some((event, span(at)))),
        }
    }

    /// The next event; its absence is an error.
    fn within(&mut self) -> Result<(Event<'t>, TextSpan), ParseError> {
        let cut_off =
            || ParseError { at: TextPosition::default(), why: "the text ends too early".to_owned() };
        self.next()?.ok_or_else(cut_off)
    }

    /// Reads up to the end of a document. Returns whether there was one.
    fn document(&mut self, tell: &mut dyn FnMut(&YamlNode)) -> Result<bool, ParseError> {
        self.anchors.clear();
        self.pieces = 0;
        loop {
            match self.next()? {
                None | Some((Event::StreamEnd, _)) => return Ok(false),
                Some((Event::DocumentEnd, _)) => return Ok(true),
                Some((Event::StreamStart | Event::DocumentStart(..), _)) => {}
                Some((Event::MappingStart(style, ..), at)) => self.top(style, at, tell)?,
                Some((event, at)) => {
                    let tree = self.tree(event, at)?;
                    if tree.value != YamlValue::Null {
                        tell(&tree);
                    }
                }
            }
        }
    }

    /// Reads a document's map: an object, or a list whose items are passed on one by one.
    fn top(
        &mut self,
        style: StructureStyle,
        at: TextSpan,
        tell: &mut dyn FnMut(&YamlNode),
    ) -> Result<(), ParseError> {
        let (mut entries, mut listed) = (Vec::new(), false);
        let end = loop {
            let (event, at) = self.within()?;
            if matches!(event, Event::MappingEnd) {
                break at;
            }
            let key = self.key(event, at)?;
            let (event, at) = self.within()?;
            if key.as_text() == "items" && matches!(event, Event::SequenceStart(..)) {
                listed = true;
                self.list(&entries, tell)?;
            } else {
                entries.push(MapEntry {
                    key: text_of(&key),
                    key_span: key.span,
                    value: self.tree(event, at)?,
                });
            }
        };
        if !listed {
            tell(&whole(style, at, end, entries));
        }
        Ok(())
    }

    /// Items of a list such as PodList have a kind of their own only if the list has none.
    fn list(&mut self, list: &[MapEntry], tell: &mut dyn FnMut(&YamlNode)) -> Result<(), ParseError> {
        let said = |name: &str| {
            let entry = list.iter().find(|entry| *entry.key == *name);
            entry.map(|entry| entry.value.as_text()).unwrap_or_default()
        };
        let kind = said("kind").strip_suffix("List").unwrap_or_default();
        loop {
            self.pieces = 0;
            let (event, at) = self.within()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(());
            }
            let item = self.tree(event, at)?;
            tell(&if kind.is_empty() { item } else { item.called(said("apiVersion"), kind) });
        }
    }

    fn tree(&mut self, event: Event<'t>, at: TextSpan) -> Result<YamlNode, ParseError> {
        self.pieces += 1;
        if self.pieces > PIECES_MOST {
            let why = "an object has more elements than any API server accepts; remove the elements that you do not need"
                .to_owned();
            return Err(ParseError { at: at.from, why });
        }
        let (tree, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let asked = tag.as_ref().and_then(|tag| tag.core_suffix().map(str::to_owned));
                let value = match (style, asked.as_deref()) {
                    (ScalarStyle::Plain, None | Some("int" | "float" | "bool" | "null")) => plain(&text),
                    _ => YamlValue::Text(text.into()),
                };
                (YamlNode { span: at, value }, anchor)
            }
            Event::SequenceStart(style, anchor, _) => (self.sequence(style, at)?, anchor),
            Event::MappingStart(style, anchor, _) => (self.mapping(style, at)?, anchor),
            // The value's nodes have the position of the anchor; the alias itself is here.
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).map(|tree| tree.value.clone()).unwrap_or_default();
                return Ok(YamlNode { span: at, value });
            }
            _ => (YamlNode::default(), 0),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, tree.clone());
        }
        Ok(tree)
    }

    /// An unfilled template looks like a map in the place of a key: `{{ .Values.x }}`.
    fn key(&mut self, event: Event<'t>, at: TextSpan) -> Result<YamlNode, ParseError> {
        let key = self.tree(event, at)?;
        match key.value {
            YamlValue::Map(_) | YamlValue::List(_) => Err(ParseError {
                at: at.from,
                why: "a map or a list cannot be the name of a field".to_owned(),
            }),
            _ => Ok(key),
        }
    }

    fn sequence(&mut self, style: StructureStyle, at: TextSpan) -> Result<YamlNode, ParseError> {
        let mut items = Vec::new();
        loop {
            let (event, here) = self.within()?;
            if matches!(event, Event::SequenceEnd) {
                let to = end(style, here, items.last());
                return Ok(YamlNode {
                    span: TextSpan { from: at.from, to },
                    value: YamlValue::List(items.into()),
                });
            }
            items.push(self.tree(event, here)?);
        }
    }

    fn mapping(&mut self, style: StructureStyle, at: TextSpan) -> Result<YamlNode, ParseError> {
        let mut entries = Vec::new();
        loop {
            let (event, here) = self.within()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(whole(style, at, here, entries));
            }
            let key = self.key(event, here)?;
            let (event, here) = self.within()?;
            entries.push(MapEntry { key: text_of(&key), key_span: key.span, value: self.tree(event, here)? });
        }
    }
}

fn whole(style: StructureStyle, at: TextSpan, closing: TextSpan, entries: Vec<MapEntry>) -> YamlNode {
    let to = end(style, closing, entries.last().map(|entry| &entry.value));
    YamlNode { span: TextSpan { from: at.from, to }, value: YamlValue::Map(entries.into()) }
}

/// The end of a block collection is known only further on, so the end of its last node is taken.
fn end(style: StructureStyle, closing: TextSpan, last: Option<&YamlNode>) -> TextPosition {
    match (style, last) {
        (StructureStyle::Block, Some(last)) => last.span.to,
        _ => closing.to,
    }
}

fn text_of(key: &YamlNode) -> Rc<str> {
    match &key.value {
        YamlValue::Text(text) | YamlValue::Number(text, _) => Rc::clone(text),
        _ => key.as_text().into(),
    }
}
