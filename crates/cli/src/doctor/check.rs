//! Defines the result of one check.

use std::fmt;

/// The part of a cluster that a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DoctorGroup {
    ApiServer,
    ControlPlane,
    Taintward,
    Evictions,
    Workloads,
}

impl DoctorGroup {
    /// For people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::ApiServer => "API server",
            Self::ControlPlane => "Control plane",
            Self::Taintward => "Taintward",
            Self::Evictions => "Evictions",
            Self::Workloads => "Nodes and workloads",
        }
    }

    /// For programs.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::ApiServer => "api-server",
            Self::ControlPlane => "control-plane",
            Self::Taintward => "taintward",
            Self::Evictions => "evictions",
            Self::Workloads => "workloads",
        }
    }
}

/// The result of a check; a later one is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CheckVerdict {
    /// The check found no problem.
    Passed,
    /// Information that needs no action.
    Note,
    /// The cluster works, with a risk or a cost.
    Warning,
    /// Unknown, because a read failed.
    Unknown,
    /// The user must change something.
    Failed,
}

impl CheckVerdict {
    pub(crate) const ALL: [Self; 5] = [Self::Passed, Self::Note, Self::Warning, Self::Unknown, Self::Failed];

    /// One word, for people and for programs.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
        }
    }
}

/// Padded for people: `ok     `, `warning`.
impl fmt::Display for CheckVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A check: its part of the cluster, and a stable ID with which programs and exclusions refer to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckId(pub(crate) DoctorGroup, pub(crate) &'static str);

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DoctorCheck {
    pub(crate) group: DoctorGroup,
    /// A stable ID with which programs and exclusions refer to the check.
    pub(crate) id: &'static str,
    pub(crate) verdict: CheckVerdict,
    /// One or two sentences.
    pub(crate) finding: String,
    /// The steps of the remedy; commands and file contents are on separate lines.
    pub(crate) fix: Vec<String>,
    /// A page of the documentation, with its section.
    pub(crate) page: Option<String>,
}

impl CheckId {
    /// The result with this verdict and finding.
    pub(crate) fn result(self, verdict: CheckVerdict, finding: impl Into<String>) -> DoctorCheck {
        let Self(group, id) = self;
        DoctorCheck { group, id, verdict, finding: finding.into(), fix: Vec::new(), page: None }
    }

    pub(crate) fn passed(self, finding: impl Into<String>) -> DoctorCheck {
        self.result(CheckVerdict::Passed, finding)
    }

    pub(crate) fn note(self, finding: impl Into<String>) -> DoctorCheck {
        self.result(CheckVerdict::Note, finding)
    }

    pub(crate) fn warning(self, finding: impl Into<String>) -> DoctorCheck {
        self.result(CheckVerdict::Warning, finding)
    }

    pub(crate) fn unknown(self, finding: impl Into<String>) -> DoctorCheck {
        self.result(CheckVerdict::Unknown, finding)
    }

    pub(crate) fn failed(self, finding: impl Into<String>) -> DoctorCheck {
        self.result(CheckVerdict::Failed, finding)
    }
}

impl DoctorCheck {
    /// Adds a step of the fix.
    #[must_use]
    pub(crate) fn fix(mut self, step: impl Into<String>) -> Self {
        self.fix.push(step.into());
        self
    }

    /// Adds the page that explains it.
    #[must_use]
    pub(crate) fn page(self, page: impl Into<String>) -> Self {
        Self { page: Some(page.into()), ..self }
    }
}
