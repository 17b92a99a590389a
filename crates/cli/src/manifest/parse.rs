//! Parses YAML and JSON text into objects with positions, one at a time.
//!
//! - Invariant: memory holds one object besides the text, and those items of a list that need its kind, if that follows
//!   them; the meaning of a map does not depend on the order of its fields; depth and size are limited; after a broken
//!   document the next one is read.

use super::documents::{TextPart, parts};
use super::scalar::plain;
use super::{MERGE, MapEntry, PIECES_MAX, TextPosition, TextSpan, YamlNode, YamlValue, sum};
use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, StrInput, StructureStyle};
use std::collections::HashMap;
use std::rc::Rc;

/// Deeper nesting is rejected, as by API servers.
const DEPTH_MAX: usize = 128;

/// The fields that make a document a list, and that items of a list may lack.
const ITEMS: &str = "items";
const KIND: &str = "kind";
const VERSION: &str = "apiVersion";

/// A fault of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParseError {
    pub(crate) at: TextPosition,
    pub(crate) why: String,
}

/// Passes the objects of a text to `visit`, including those in lists, and also documents of other types, as they are.
/// Returns the errors.
pub(crate) fn each(text: &str, visit: impl FnMut(&YamlNode)) -> Vec<ParseError> {
    each_from(text, TextPosition::FIRST, visit)
}

/// The same for a text that begins at a position of a longer one.
pub(crate) fn each_from(text: &str, from: TextPosition, mut visit: impl FnMut(&YamlNode)) -> Vec<ParseError> {
    let mut faults = Vec::new();
    parts(text, from).into_iter().for_each(|part| part_of(&part, &mut faults, &mut visit));
    faults
}

fn part_of(part: &TextPart<'_>, faults: &mut Vec<ParseError>, visit: &mut dyn FnMut(&YamlNode)) {
    let mut options = granit_parser::options! {
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    options.set_emit_comments(false);
    let parser = Parser::new_from_str_with_options(part.text, options);
    let mut reader = YamlReader { parser, from: part.from, anchors: HashMap::new(), pieces: 0 };
    loop {
        match reader.document(visit) {
            Ok(true) => {}
            Ok(false) => return,
            Err(fault) => {
                faults.push(fault);
                match reader.parser.proceed_next_document() {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(why) => return faults.push(reader.fault(&why)),
                }
            }
        }
    }
}

struct YamlReader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// Where the parser's text begins.
    from: TextPosition,
    /// The values of this document's aliases, and the number of nodes of each.
    anchors: HashMap<usize, (YamlNode, usize)>,
    /// The number of nodes of the present object.
    pieces: usize,
}

impl<'t> YamlReader<'t> {
    fn position(&self, marker: &Marker) -> TextPosition {
        let lines = marker.line().saturating_sub(1);
        let column = if lines == 0 { self.from.column } else { TextPosition::FIRST.column };
        TextPosition { line: sum(self.from.line, lines), column: sum(column, marker.col()) }
    }

    fn fault(&self, why: &ScanError) -> ParseError {
        ParseError { at: self.position(why.marker()), why: why.info() }
    }

    /// `None` at the end of the text.
    fn next(&mut self) -> Result<Option<(Event<'t>, TextSpan)>, ParseError> {
        match self.parser.next_event() {
            None => Ok(None),
            Some(Err(why)) => Err(self.fault(&why)),
            Some(Ok((event, at))) => {
                let span = TextSpan { from: self.position(&at.start), to: self.position(&at.end) };
                Ok(Some((event, span)))
            }
        }
    }

    /// The next event; its absence is an error.
    fn within(&mut self) -> Result<(Event<'t>, TextSpan), ParseError> {
        let cut_off =
            || ParseError { at: TextPosition::default(), why: "the text ends too early".to_owned() };
        self.next()?.ok_or_else(cut_off)
    }

    /// Reads up to the end of a document. Returns whether there was one.
    fn document(&mut self, visit: &mut dyn FnMut(&YamlNode)) -> Result<bool, ParseError> {
        self.anchors.clear();
        self.pieces = 0;
        loop {
            match self.next()? {
                None | Some((Event::StreamEnd, _)) => return Ok(false),
                Some((Event::DocumentEnd, _)) => return Ok(true),
                Some((Event::StreamStart | Event::DocumentStart(..), _)) => {}
                Some((Event::MappingStart(style, ..), at)) => self.top(style, at, visit)?,
                Some((event, at)) => {
                    let tree = self.tree(event, at)?;
                    if tree.value != YamlValue::Null {
                        visit(&tree);
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
        visit: &mut dyn FnMut(&YamlNode),
    ) -> Result<(), ParseError> {
        let mut entries = Vec::new();
        // Items that need the list's kind, which may follow them, and those after them.
        let mut waiting: Option<Vec<YamlNode>> = None;
        let end = loop {
            let (event, at) = self.within()?;
            if matches!(event, Event::MappingEnd) {
                break at;
            }
            let key = self.key(event, at)?;
            let (event, at) = self.within()?;
            if key.as_text() == ITEMS && matches!(event, Event::SequenceStart(..)) {
                self.list(&entries, waiting.get_or_insert_default(), visit)?;
            } else {
                entries.push(entry(&key, self.tree(event, at)?));
            }
        };
        let list = whole(style, at, end, entries);
        match waiting {
            None => visit(&list),
            Some(items) => {
                if list.names().any(|entry| entry.earlier.is_some()) {
                    visit(&list);
                }
                items.into_iter().for_each(|item| visit_item(item, &list, visit));
            }
        }
        Ok(())
    }

    /// Passes on the items of a list, up to the first one that needs the kind of the list and does not have it yet.
    fn list(
        &mut self,
        before: &[MapEntry],
        waiting: &mut Vec<YamlNode>,
        visit: &mut dyn FnMut(&YamlNode),
    ) -> Result<(), ParseError> {
        let list = YamlNode { value: YamlValue::Map(before.to_vec().into()), ..YamlNode::default() };
        let is_known = list.get(KIND).is_some() && list.get(VERSION).is_some();
        loop {
            self.pieces = 0;
            let (event, at) = self.within()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(());
            }
            let item = self.tree(event, at)?;
            let is_complete = item.get(KIND).is_some() && item.get(VERSION).is_some();
            match waiting.is_empty() && (is_known || is_complete) {
                true => visit_item(item, &list, visit),
                false => waiting.push(item),
            }
        }
    }

    fn tree(&mut self, event: Event<'t>, at: TextSpan) -> Result<YamlNode, ParseError> {
        let before = self.pieces;
        self.pieces += 1;
        self.check_size(at)?;
        let (tree, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let core_tag = tag.as_ref().and_then(|tag| tag.core_suffix().map(str::to_owned));
                let value = match (style, core_tag.as_deref()) {
                    (ScalarStyle::Plain, None | Some("int" | "float" | "bool" | "null")) => plain(&text),
                    _ => YamlValue::Text(text.into()),
                };
                (YamlNode { span: at, value }, anchor)
            }
            Event::SequenceStart(style, anchor, _) => (self.sequence(style, at)?, anchor),
            Event::MappingStart(style, anchor, _) => (self.mapping(style, at)?, anchor),
            // The value's nodes have the position of the anchor; the alias itself is here.
            Event::Alias(anchor) => {
                let (value, pieces) = match self.anchors.get(&anchor) {
                    Some((tree, pieces)) => (tree.value.clone(), *pieces),
                    None => (YamlValue::Null, 0),
                };
                self.pieces = self.pieces.saturating_add(pieces);
                self.check_size(at)?;
                return Ok(YamlNode { span: at, value });
            }
            _ => (YamlNode::default(), 0),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, (tree.clone(), self.pieces - before));
        }
        Ok(tree)
    }

    /// Aliases count with all that they stand for, as in an API server.
    fn check_size(&self, at: TextSpan) -> Result<(), ParseError> {
        if self.pieces <= PIECES_MAX {
            return Ok(());
        }
        let why = "an object has more elements than any API server accepts; remove the elements that you do not need"
            .to_owned();
        Err(ParseError { at: at.from, why })
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
            entries.push(entry(&key, self.tree(event, here)?));
        }
    }
}

/// Passes on an item with the kind of its list, if it has none; of an item that is a list, its items.
fn visit_item(item: YamlNode, list: &YamlNode, visit: &mut dyn FnMut(&YamlNode)) {
    let kind = list.text(KIND).strip_suffix("List").unwrap_or_default();
    let item = if kind.is_empty() { item } else { item.called(list.text(VERSION), kind) };
    match item.get(ITEMS) {
        Some(YamlNode { value: YamlValue::List(items), .. }) => {
            items.iter().for_each(|inner| visit_item(inner.clone(), &item, visit));
        }
        _ => visit(&item),
    }
}

fn whole(style: StructureStyle, at: TextSpan, closing: TextSpan, mut entries: Vec<MapEntry>) -> YamlNode {
    let to = end(style, closing, entries.last().map(|entry| &entry.value));
    mark_repeated(&mut entries);
    YamlNode { span: TextSpan { from: at.from, to }, value: YamlValue::Map(entries.into()) }
}

/// So many fields are compared faster one by one.
const FEW: usize = 16;

/// Sets the position of the earlier field of the same name.
fn mark_repeated(entries: &mut [MapEntry]) {
    if entries.len() <= FEW {
        for at in 1..entries.len() {
            let (before, entry) = entries.split_at_mut(at);
            let same = before.iter().rev().find(|before| before.key == entry[0].key);
            entry[0].earlier = same.filter(|same| *same.key != *MERGE).map(|same| same.key_span.from);
        }
        return;
    }
    let mut seen: HashMap<Rc<str>, TextPosition> = HashMap::with_capacity(entries.len());
    for entry in entries.iter_mut().filter(|entry| *entry.key != *MERGE) {
        entry.earlier = seen.insert(Rc::clone(&entry.key), entry.key_span.from);
    }
}

fn entry(key: &YamlNode, value: YamlNode) -> MapEntry {
    MapEntry { key: text_of(key), key_span: key.span, value, earlier: None }
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
