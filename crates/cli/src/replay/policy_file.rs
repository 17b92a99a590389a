//! Reads the eviction policies of a file for `taintward replay --with-policy`.

use crate::cluster_state::FileObjects;
use crate::manifest::files::{ManifestFile, ManifestFileError, each};
use std::path::Path;
use taintward_core::eviction_policy::{EvictionPolicyFact, PolicyProblem};
use taintward_kube::decode::{Decoded, Encoding, WatchedObject as _};

/// Why no policies were read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PolicyFileError {
    #[error("{path} {error}")]
    Read { path: String, error: ManifestFileError },
    #[error("{path}: line {line}: {reason}")]
    Syntax { path: String, line: u32, reason: String },
    #[error("{0} contains no EvictionPolicy of taintward.io/v1alpha1; name a file with one")]
    Empty(String),
    #[error("{path}: the eviction policy {name} is invalid: {reason}; taintward lint -f {path} explains it")]
    Invalid { path: String, name: String, reason: String },
}

/// Reads the policies of a file, or of the files of a folder.
pub(crate) fn read(path: &Path) -> Result<Vec<EvictionPolicyFact>, PolicyFileError> {
    let mut policies = Ok(Vec::new());
    each(&[path.to_owned()], &mut |file| {
        if let Ok(all) = &mut policies
            && let Err(error) = add(file, all)
        {
            policies = Err(error);
        }
    });
    match policies?.as_slice() {
        [] => Err(PolicyFileError::Empty(path.display().to_string())),
        all => Ok(all.to_vec()),
    }
}

fn add(file: ManifestFile, all: &mut Vec<EvictionPolicyFact>) -> Result<(), PolicyFileError> {
    let path = file.name;
    let text = file.text.map_err(|error| PolicyFileError::Read { path: path.clone(), error })?;
    let objects = FileObjects::of_text(&text).map_err(|error| PolicyFileError::Syntax {
        path: path.clone(),
        line: error.at.line,
        reason: error.why,
    })?;
    let mut invalid = None;
    objects.each(("taintward.io", "evictionpolicies"), &mut |json| {
        let (name, reason) = match EvictionPolicyFact::decode(Encoding::Json, json) {
            Decoded::Object(fact) => {
                let error = fact.policy.problems().into_iter().find(PolicyProblem::is_error);
                let Some(error) = error else { return all.push(fact) };
                (fact.policy.name.to_string(), error.to_string())
            }
            Decoded::Unbound(identity) => (identity.name, "it cannot be decoded".to_owned()),
            Decoded::Undecodable(object) => {
                (object.identity.map_or_else(String::new, |one| one.name), "it cannot be decoded".to_owned())
            }
        };
        invalid.get_or_insert(PolicyFileError::Invalid { path: path.clone(), name, reason });
    });
    invalid.map_or(Ok(()), Err)
}
