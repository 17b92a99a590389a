//! Reads the `RestrictionConfigFile` of PodTolerationRestriction strictly (AD-8).

use serde::Deserialize;
use std::path::{Path, PathBuf};
use taintward_core::admission::pod_toleration_restriction::PodTolerationRestriction;
use taintward_core::taint::TaintEffect;
use taintward_core::toleration::{Toleration, TolerationOperator};

const API_VERSION: &str = "podtolerationrestriction.admission.k8s.io/v1alpha1";
const KIND: &str = "Configuration";

/// The maximum size: larger files are mistakes.
const BYTES_MAX: u64 = 1 << 20;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the file of --restriction-config, {}: {reason}", file.display())]
pub(crate) struct RestrictionConfigError {
    file: PathBuf,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RestrictionConfigFile {
    api_version: String,
    kind: String,
    #[serde(default)]
    default: Option<Vec<RestrictedToleration>>,
    #[serde(default)]
    whitelist: Option<Vec<RestrictedToleration>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[derive(Default)]
struct RestrictedToleration {
    key: String,
    operator: String,
    value: String,
    effect: String,
    toleration_seconds: Option<i64>,
}

impl From<RestrictedToleration> for Toleration {
    fn from(entry: RestrictedToleration) -> Self {
        Self {
            key: entry.key.into(),
            operator: TolerationOperator::new(&entry.operator),
            value: entry.value.into(),
            effect: (!entry.effect.is_empty()).then(|| TaintEffect::new(&entry.effect)),
            seconds: entry.toleration_seconds,
        }
    }
}

/// Reads the file.
///
/// # Errors
/// If it cannot be read, or is invalid.
pub(crate) fn lists(file: &Path) -> Result<PodTolerationRestriction, RestrictionConfigError> {
    both(file).map(|(_, lists)| lists)
}

/// The text of a file that [`lists`] can parse.
///
/// # Errors
/// If it cannot be read, or is invalid.
pub(crate) fn checked(file: &Path) -> Result<String, RestrictionConfigError> {
    both(file).map(|(text, _)| text)
}

fn both(file: &Path) -> Result<(String, PodTolerationRestriction), RestrictionConfigError> {
    let error = |reason: String| RestrictionConfigError { file: file.to_owned(), reason };
    let size = std::fs::metadata(file).map_err(|why| error(why.to_string()))?.len();
    if size > BYTES_MAX {
        return Err(error(format!("it has {size} bytes, and the limit is {BYTES_MAX}")));
    }
    let text = std::fs::read_to_string(file).map_err(|why| error(why.to_string()))?;
    let lists = read(&text).map_err(error)?;
    Ok((text, lists))
}

fn read(text: &str) -> Result<PodTolerationRestriction, String> {
    let read: RestrictionConfigFile =
        serde_saphyr::from_str(text).map_err(|why| first_line(&why.to_string()))?;
    for (what, is, wanted) in [("apiVersion", &read.api_version, API_VERSION), ("kind", &read.kind, KIND)] {
        if is != wanted {
            return Err(format!("{what} must be {wanted}, not {is:?}"));
        }
    }
    let all = |list: Option<Vec<RestrictedToleration>>| {
        list.unwrap_or_default().into_iter().map(Into::into).collect()
    };
    let (cluster_defaults, cluster_whitelist): (Vec<Toleration>, Vec<Toleration>) =
        (all(read.default), all(read.whitelist));
    for (list, of) in [("default", &cluster_defaults), ("whitelist", &cluster_whitelist)] {
        for (at, one) in of.iter().enumerate() {
            if let TolerationOperator::Unknown(text) = &one.operator {
                return Err(format!(
                    "{list}[{at}].operator: {text:?} is not an operator; expected Exists or Equal"
                ));
            }
            if let Some(TaintEffect::Unknown(text)) = &one.effect {
                let effects = "NoSchedule, PreferNoSchedule, NoExecute, or none for all";
                return Err(format!("{list}[{at}].effect: {text:?} is not an effect; expected {effects}"));
            }
        }
    }
    Ok(PodTolerationRestriction {
        cluster_defaults,
        cluster_whitelist,
        ..PodTolerationRestriction::default()
    })
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\n";

    #[test]
    fn ad_8_the_plugins_own_file_can_be_parsed() {
        let text = format!(
            "{HEAD}default:\n- {{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 60}}\nwhitelist:\n- operator: Exists\n"
        );
        let read = read(&text).unwrap();
        assert_eq!(read.cluster_defaults[0].seconds, Some(60));
        assert_eq!((read.cluster_defaults.len(), read.cluster_whitelist.len()), (1, 1));
        assert_eq!(super::read(HEAD).unwrap(), PodTolerationRestriction::default());
    }

    #[test]
    fn invalid_contents_are_reported() {
        for (text, part) in [
            ("kind: Configuration\napiVersion: v1\n", "apiVersion must be podtolerationrestriction"),
            ("", ""),
            (&*format!("{HEAD}defaults: []\n"), "defaults"),
            (
                &*format!("{HEAD}whitelist: [{{operator: Like}}]\n"),
                "whitelist[0].operator: \"Like\" is not an operator",
            ),
            (
                &*format!("{HEAD}default: [{{effect: Noexecute}}]\n"),
                "default[0].effect: \"Noexecute\" is not an effect",
            ),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
