//! Mirrors `Toleration`, and converts it to the core's.
//!
//! - See `decode/tolerations.rs` for lists of tolerations in annotations.

use super::Text;
use serde::Deserialize;
use taintward_core::taint::TaintEffect;
use taintward_core::toleration::{Toleration, TolerationOperator};

/// `Toleration`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TolerationJson<'a> {
    #[serde(borrow, default)]
    pub key: Text<'a>,
    #[serde(borrow, default)]
    pub operator: Text<'a>,
    #[serde(borrow, default)]
    pub value: Text<'a>,
    #[serde(borrow, default)]
    pub effect: Text<'a>,
    pub toleration_seconds: Option<i64>,
}

impl From<&TolerationJson<'_>> for Toleration {
    fn from(json: &TolerationJson<'_>) -> Self {
        Self {
            key: (&json.key).into(),
            operator: TolerationOperator::new(&json.operator),
            value: (&json.value).into(),
            effect: (!json.effect.is_empty()).then(|| TaintEffect::new(&json.effect)),
            seconds: json.toleration_seconds,
        }
    }
}
