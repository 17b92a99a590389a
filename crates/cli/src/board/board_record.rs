//! Where a board reads what happened before it was opened: a record on this machine, or that of a running controller.

use crate::args::kube_args::ServerOptions;
use crate::history::{History, HistoryEntry, HistoryError, HistoryFilter};
use crate::running_record::{self, RunningRecordArgs};
use std::path::PathBuf;
use std::time::Duration;

/// How far back the decisions go that a board shows at first.
const PAST_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BoardRecord {
    /// A file, or the folder of --record-dir.
    Files(PathBuf),
    /// That of the controller at this address.
    Running(http::Uri),
}

impl BoardRecord {
    /// An address begins with `https://` and is on this machine; all else is a path.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if !text.starts_with("https://") {
            return Ok(Self::Files(text.into()));
        }
        let url = running_record::url(text)?;
        match running_record::is_this_machine(&url) {
            true => Ok(Self::Running(url)),
            false => Err(
                "a board reads a running controller through a port-forward, on this machine; from elsewhere, \
                 fetch a file with taintward record, and give that",
            ),
        }
    }

    /// The decisions of the last day, the newest last.
    pub(crate) fn past(
        &self,
        namespace: Option<&str>,
        server: &ServerOptions,
    ) -> Result<Vec<HistoryEntry>, HistoryError> {
        let filter =
            HistoryFilter { namespace: namespace.map(str::to_owned), ..HistoryFilter::since(PAST_MAX) };
        let history = match self {
            Self::Files(path) => History::read(path, filter)?,
            Self::Running(url) => {
                History::fetch(&RunningRecordArgs::at(url.clone(), server.clone()), filter)?
            }
        };
        Ok(history.entries)
    }

    /// The flag of `taintward history` that names it.
    pub(crate) fn flag(&self) -> String {
        match self {
            Self::Files(path) => format!("--filename={}", path.display()),
            Self::Running(url) => format!("--url={url}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_that_of_a_controller_and_all_else_is_a_path() {
        let flag = |text| BoardRecord::parse(text).map(|record| record.flag());
        assert_eq!(flag("https://127.0.0.1:10358").as_deref(), Ok("--url=https://127.0.0.1:10358/"));
        assert_eq!(flag("/var/lib/taintward").as_deref(), Ok("--filename=/var/lib/taintward"));
        assert!(flag("https://").is_err());
        assert!(flag("https://controller.example.com").unwrap_err().contains("taintward record"));
    }
}
