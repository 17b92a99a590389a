//! Prints `-o custom-columns` and `custom-columns-file`.

use super::jsonpath::{JsonPathTemplate, TemplateError, shown};
use super::table::{Table, TableCell, TableColumn};
use serde_json::Value;
use std::str::FromStr;

/// The text for a missing value, as in kubectl.
const NONE: &str = "<none>";

/// The columns of a custom table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CustomColumns(Vec<(String, JsonPathTemplate)>);

impl FromStr for CustomColumns {
    type Err = String;

    /// `NAME:.metadata.name,NODE:.spec.node`
    fn from_str(text: &str) -> Result<Self, String> {
        let column = |part: &str| match part.split_once(':') {
            Some((title, path)) if !path.is_empty() => {
                Ok((title.to_owned(), JsonPathTemplate::field(path).map_err(|why| why.to_string())?))
            }
            _ => Err(format!(
                "unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>, as in NAME:.metadata.name"
            )),
        };
        text.split(',').map(column).collect::<Result<_, _>>().map(Self)
    }
}

impl CustomColumns {
    /// Parses a file with titles on the first line and fields on the second.
    pub(crate) fn parse_file(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let mut words = |what: &str| match lines.next() {
            Some(line) => Ok(line.split_whitespace().collect::<Vec<&str>>()),
            None => Err(format!(
                "the line of {what} is missing; write a line of titles and a line of fields, in columns separated by spaces"
            )),
        };
        let (titles, fields) = (words("titles")?, words("fields")?);
        if titles.len() != fields.len() || titles.is_empty() {
            return Err(format!(
                "it has {} titles and {} fields; write a field for each title",
                titles.len(),
                fields.len()
            ));
        }
        let column = |(title, field): (&str, &str)| Ok((title.to_owned(), JsonPathTemplate::field(field)?));
        let columns = titles.into_iter().zip(fields).map(column);
        columns.collect::<Result<_, TemplateError>>().map(Self).map_err(|why| why.to_string())
    }

    /// A row for each item, or for the object itself if it is not a list.
    pub(crate) fn table(&self, object: &Value, items: &str) -> Result<Table, TemplateError> {
        let mut table = Table::new(self.0.iter().map(|(title, _)| TableColumn::new(title)).collect());
        let rows = match object.get(items) {
            Some(Value::Array(items)) => items.as_slice(),
            _ => std::slice::from_ref(object),
        };
        for item in rows {
            let cells = self.0.iter().map(|(_, path)| {
                let found = path.find(item)?;
                let mut words: Vec<String> = found.iter().flatten().map(|value| shown(value)).collect();
                if words.is_empty() {
                    words.push(NONE.to_owned());
                }
                Ok(TableCell::new(words.join(",")))
            });
            table.push(cells.collect::<Result<_, TemplateError>>()?);
        }
        Ok(table)
    }
}
