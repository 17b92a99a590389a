//! Renders templates of the Helm chart in `deploy/chart`, in the part of Helm's language that they use.
//!
//! - Invariant: a template outside that part is an error, never rendered differently; the tests render every file of
//!   the chart, and `install_chart` compares the objects with those that Helm itself renders.
//! - `quote` adds quotes only where YAML needs them.

use super::quoted;
use serde_json::Value;
use std::collections::BTreeMap;

/// Why a template cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chart's templates cannot be rendered: {0}")]
pub(super) struct HelmTemplateError(String);

type Parsed<T> = Result<T, HelmTemplateError>;

fn error<T>(what: impl Into<String>) -> Parsed<T> {
    Err(HelmTemplateError(what.into()))
}

/// The function that returns the text of a file of the chart.
const FILE: &str = "$.Files.Get";

/// Text with actions in it.
#[derive(Clone, Debug)]
enum TemplateNode {
    Text(String),
    Output(TemplateExpression),
    If { condition: TemplateExpression, then: Vec<Self>, otherwise: Vec<Self> },
    Range { over: TemplateExpression, body: Vec<Self> },
}

#[derive(Clone, Debug)]
enum TemplateExpression {
    Literal(Value),
    /// Fields from `$`, or from `.`.
    Path {
        from_root: bool,
        fields: Vec<String>,
    },
    Call {
        function: String,
        arguments: Vec<Self>,
    },
}

/// Definitions that templates include.
#[derive(Debug, Default)]
pub(super) struct HelmTemplates {
    definitions: BTreeMap<String, Vec<TemplateNode>>,
}

impl HelmTemplates {
    /// The definitions of a file, some of which are replaced by a text.
    pub(super) fn new(definitions: &str, replaced: &[(&str, &str)]) -> Parsed<Self> {
        let mut parser = TemplateParser { pieces: pieces(definitions)?.into_iter() };
        let mut templates = Self::default();
        while let Some(piece) = parser.pieces.next() {
            match piece {
                TemplatePiece::Text(text) if text.trim().is_empty() => {}
                TemplatePiece::Action(action) => match action.split_once(' ') {
                    Some(("define", name)) => {
                        let (body, _) = parser.nodes(&["end"])?;
                        templates.definitions.insert(name.trim_matches('"').to_owned(), body);
                    }
                    _ => return error(format!("the action {action} is outside of a definition")),
                },
                TemplatePiece::Text(text) => {
                    return error(format!("the text {text} is outside of a definition"));
                }
            }
        }
        for (name, text) in replaced {
            let body = vec![TemplateNode::Text((*text).to_owned())];
            templates.definitions.insert((*name).to_owned(), body);
        }
        Ok(templates)
    }

    /// Renders a template with these values: `Values`, `Release` and `Chart`.
    pub(super) fn render(&self, template: &str, root: &Value) -> Parsed<String> {
        let (nodes, _) = TemplateParser { pieces: pieces(template)?.into_iter() }.nodes(&[])?;
        let mut text = String::new();
        TemplateScope { templates: self, root, dot: root }.nodes(&nodes, &mut text)?;
        Ok(text)
    }
}

enum TemplatePiece {
    Text(String),
    Action(String),
}

/// Splits a template at its actions; a dash inside the braces removes the white space next to them.
fn pieces(template: &str) -> Parsed<Vec<TemplatePiece>> {
    let (mut pieces, mut rest, mut trims) = (Vec::new(), template, false);
    loop {
        let (text, action) = rest.split_once("{{").map_or((rest, None), |(text, rest)| (text, Some(rest)));
        let text = if trims { text.trim_start() } else { text };
        let Some(action) = action else {
            pieces.push(TemplatePiece::Text(text.to_owned()));
            return Ok(pieces);
        };
        let Some((action, after)) = action.split_once("}}") else { return error("an action does not end") };
        let (trims_before, action) =
            action.strip_prefix('-').map_or((false, action), |action| (true, action));
        let text = if trims_before { text.trim_end() } else { text };
        pieces.push(TemplatePiece::Text(text.to_owned()));
        let action = action.strip_suffix('-').inspect(|_| trims = true).unwrap_or_else(|| {
            trims = false;
            action
        });
        pieces.push(TemplatePiece::Action(action.trim().to_owned()));
        rest = after;
    }
}

struct TemplateParser {
    pieces: std::vec::IntoIter<TemplatePiece>,
}

impl TemplateParser {
    /// Everything up to one of these actions, and which; without any, up to the end.
    fn nodes(&mut self, ends: &[&str]) -> Parsed<(Vec<TemplateNode>, String)> {
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.next() {
            let action = match piece {
                TemplatePiece::Text(text) => {
                    nodes.push(TemplateNode::Text(text));
                    continue;
                }
                TemplatePiece::Action(action) if ends.contains(&action.as_str()) => {
                    return Ok((nodes, action));
                }
                TemplatePiece::Action(action) => action,
            };
            nodes.push(match action.split_once(' ') {
                Some(("if", condition)) => {
                    let (then, end) = self.nodes(&["else", "end"])?;
                    let otherwise = if end == "else" { self.nodes(&["end"])?.0 } else { Vec::new() };
                    TemplateNode::If { condition: expression(condition)?, then, otherwise }
                }
                Some(("range", over)) => {
                    TemplateNode::Range { over: expression(over)?, body: self.nodes(&["end"])?.0 }
                }
                _ => TemplateNode::Output(expression(&action)?),
            });
        }
        if ends.is_empty() { Ok((nodes, String::new())) } else { error("an end is missing") }
    }
}

fn expression(text: &str) -> Parsed<TemplateExpression> {
    let mut tokens = tokens(text)?.into_iter().peekable();
    let parsed = pipeline(&mut tokens)?;
    tokens.next().map_or(Ok(parsed), |token| error(format!("{token} is not expected in {text}")))
}

type TemplateTokens = std::iter::Peekable<std::vec::IntoIter<String>>;

/// Brackets, bars, texts with their quotes, and words.
fn tokens(text: &str) -> Parsed<Vec<String>> {
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' | '|' => 1,
            '"' => match rest[1..].find('"') {
                Some(end) => end + 2,
                None => return error(format!("a text does not end in {text}")),
            },
            _ => rest.find([' ', '(', ')', '|']).unwrap_or(rest.len()),
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// Calls, each with the one before as its last argument.
fn pipeline(tokens: &mut TemplateTokens) -> Parsed<TemplateExpression> {
    let mut piped = call(tokens)?;
    while tokens.next_if(|token| token == "|").is_some() {
        piped = match call(tokens)? {
            TemplateExpression::Call { function, mut arguments } => {
                arguments.push(piped);
                TemplateExpression::Call { function, arguments }
            }
            other => return error(format!("{other:?} is not a function")),
        };
    }
    Ok(piped)
}

/// A function with its arguments, or a value.
fn call(tokens: &mut TemplateTokens) -> Parsed<TemplateExpression> {
    let Some(function) = tokens.next_if(|token| is_function(token)) else { return operand(tokens) };
    let mut arguments = Vec::new();
    while tokens.peek().is_some_and(|token| token != ")" && token != "|") {
        arguments.push(operand(tokens)?);
    }
    Ok(TemplateExpression::Call { function, arguments })
}

fn is_function(token: &str) -> bool {
    token == FILE || token.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// A value, or an expression in brackets.
fn operand(tokens: &mut TemplateTokens) -> Parsed<TemplateExpression> {
    let Some(token) = tokens.next() else { return error("an expression is missing") };
    if token == "(" {
        let inner = pipeline(tokens)?;
        return match tokens.next().as_deref() {
            Some(")") => Ok(inner),
            _ => error("a bracket is not closed"),
        };
    }
    if let Some(text) = token.strip_prefix('"') {
        return Ok(TemplateExpression::Literal(text.trim_end_matches('"').into()));
    }
    if let Ok(number) = token.parse::<i64>() {
        return Ok(TemplateExpression::Literal(number.into()));
    }
    let from_root = token.starts_with('$');
    if from_root || token.starts_with('.') {
        let fields = token.trim_start_matches('$').split('.').filter(|field| !field.is_empty());
        return Ok(TemplateExpression::Path { from_root, fields: fields.map(str::to_owned).collect() });
    }
    error(format!("expected a value, not {token}"))
}

/// The values of names.
#[derive(Clone, Copy)]
struct TemplateScope<'t> {
    templates: &'t HelmTemplates,
    root: &'t Value,
    dot: &'t Value,
}

impl TemplateScope<'_> {
    fn nodes(self, nodes: &[TemplateNode], text: &mut String) -> Parsed<()> {
        nodes.iter().try_for_each(|node| match node {
            TemplateNode::Text(plain) => {
                text.push_str(plain);
                Ok(())
            }
            TemplateNode::Output(expression) => {
                text.push_str(&printed(&self.value(expression)?));
                Ok(())
            }
            TemplateNode::If { condition, then, otherwise } => {
                self.nodes(if is_true(&self.value(condition)?) { then } else { otherwise }, text)
            }
            TemplateNode::Range { over, body } => match self.value(over)? {
                Value::Array(items) => {
                    items.iter().try_for_each(|dot| TemplateScope { dot, ..self }.nodes(body, text))
                }
                other => error(format!("{other} is not a list")),
            },
        })
    }

    fn value(self, expression: &TemplateExpression) -> Parsed<Value> {
        match expression {
            TemplateExpression::Literal(value) => Ok(value.clone()),
            TemplateExpression::Path { from_root, fields } => {
                let start = if *from_root { self.root } else { self.dot };
                let end = fields.iter().try_fold(start, |value, field| value.get(field));
                end.cloned().map_or_else(|| error(format!("there is no {}", fields.join("."))), Ok)
            }
            TemplateExpression::Call { function, arguments } => {
                let arguments: Vec<Value> =
                    arguments.iter().map(|argument| self.value(argument)).collect::<Parsed<_>>()?;
                self.call(function, &arguments)
            }
        }
    }

    fn call(self, function: &str, arguments: &[Value]) -> Parsed<Value> {
        Ok(match (function, arguments) {
            ("and", [.., last]) => arguments.iter().find(|one| !is_true(one)).unwrap_or(last).clone(),
            ("or", [.., last]) => arguments.iter().find(|one| is_true(one)).unwrap_or(last).clone(),
            ("not", [one]) => (!is_true(one)).into(),
            ("eq", [one, other]) => (one == other).into(),
            ("gt", [one, other]) => (one.as_i64() > other.as_i64()).into(),
            ("default", [by_default, value]) => if is_true(value) { value } else { by_default }.clone(),
            ("has", [item, Value::Array(list)]) => list.contains(item).into(),
            ("int", [value @ Value::Number(_)]) => value.clone(),
            ("splitList", [Value::String(between), Value::String(text)]) => {
                text.split(between.as_str()).collect::<Vec<_>>().into()
            }
            ("join", [Value::String(between), Value::Array(list)]) => {
                list.iter().map(printed).collect::<Vec<_>>().join(between).into()
            }
            ("printf", [Value::String(form), rest @ ..]) => {
                rest.iter().fold(form.clone(), |text, one| text.replacen("%s", &printed(one), 1)).into()
            }
            ("quote", [value]) => quoted(&printed(value)).into(),
            ("toYaml", [Value::Object(fields)]) => {
                let line =
                    |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), quoted(&printed(value)));
                fields.iter().map(line).collect::<Vec<_>>().join("\n").into()
            }
            ("nindent", [Value::Number(columns), Value::String(text)]) => {
                let margin = " ".repeat(
                    columns.as_u64().and_then(|columns| usize::try_from(columns).ok()).unwrap_or_default(),
                );
                text.lines().map(|line| format!("\n{margin}{line}")).collect::<String>().into()
            }
            (FILE, [Value::String(path)]) => match self.root["Files"].get(path) {
                Some(text) => text.clone(),
                None => return error(format!("there is no file {path}")),
            },
            ("include", [Value::String(name), dot]) => {
                let Some(body) = self.templates.definitions.get(name) else {
                    return error(format!("{name} is not defined"));
                };
                let mut text = String::new();
                TemplateScope { root: dot, dot, ..self }.nodes(body, &mut text)?;
                text.into()
            }
            _ => return error(format!("{function} with {} arguments is not supported", arguments.len())),
        })
    }
}

/// The text that a template prints for a value.
fn printed(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Neither empty nor zero.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

#[cfg(test)]
#[path = "helm_template/tests.rs"]
mod tests;
