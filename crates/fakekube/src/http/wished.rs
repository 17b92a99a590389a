//! Parses the write options of a query: `dryRun`, `fieldManager`, `fieldValidation`.

use super::read::invalid_options;
use super::request::HttpRequest;
use crate::api::WriteOptions;
use crate::api_status::StatusError;
use serde_json::json;

/// The longest name of an owner of fields.
const MANAGER_MOST: usize = 128;

/// How a write is to be done.
pub(super) fn wish(asked: &HttpRequest, kind: &str) -> Result<WriteOptions, StatusError> {
    dry_run(kind, &asked.query.all("dryRun").collect::<Vec<_>>())?;
    let manager = asked.query.get("fieldManager");
    if manager.len() > MANAGER_MOST {
        let why = format!("fieldManager: Too long: may not be more than {MANAGER_MOST} bytes");
        return Err(invalid_options(kind, "fieldManager", "FieldValueTooLong", &why));
    }
    if let Some((at, wrong)) = manager.char_indices().find(|(_, char)| char.is_control()) {
        let (shown, wrong) = (json!(manager), u32::from(wrong));
        let why = format!(
            "fieldManager: Invalid value: {shown}: invalid character U+{wrong:04X} (at position {at})"
        );
        return Err(invalid_options(kind, "fieldManager", "FieldValueInvalid", &why));
    }
    let validation = asked.query.get("fieldValidation");
    if !["", "Ignore", "Strict", "Warn"].contains(&validation) {
        let known = r#""", "Ignore", "Strict", "Warn""#;
        let why = format!("fieldValidation: Unsupported value: \"{validation}\": supported values: {known}");
        return Err(invalid_options(kind, "fieldValidation", "FieldValueNotSupported", &why));
    }
    Ok(asked.wish())
}

/// Everything, or it is no dry run.
pub(super) fn dry_run(kind: &str, said: &[&str]) -> Result<(), StatusError> {
    if said.iter().all(|one| *one == "All") {
        return Ok(());
    }
    let shown = json!(said);
    let why = format!("dryRun: Unsupported value: {shown}: supported values: \"All\"");
    Err(invalid_options(kind, "dryRun", "FieldValueNotSupported", &why))
}
