//! Parses the targets of `explain` as kubectl names objects: `pod/web-1`, `pod web-1 web-2`, `no/n1`.

use crate::cluster_state::details::WorkloadOwner;

/// The kind of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TargetKind {
    Pod,
    Node,
    Workload(WorkloadOwner),
}

/// A target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub(crate) kind: TargetKind,
    pub(crate) name: String,
}

/// Why the arguments are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetError {
    #[error("name an object, as in taintward explain pod/web-1 node/n1")]
    Nothing,
    #[error("cannot explain {0:?}; expected pod/NAME, node/NAME, or deploy, sts, ds, rs or job and /NAME")]
    Kind(String),
    #[error("{0:?} needs a name: {0} NAME or {0}/NAME")]
    NoName(String),
    #[error("{0:?} is not a valid name; choose a namespace with -n")]
    Name(String),
    #[error("{name:?} is not a valid name of a {}: valid characters are a-z, 0-9, - and .", kind.as_str())]
    Letters { kind: TargetKind, name: String },
    #[error("{0:?} needs a type: pod/{0} or node/{0}")]
    Bare(String),
}

impl TargetKind {
    fn of(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "pod" | "pods" | "po" => Some(Self::Pod),
            "node" | "nodes" | "no" => Some(Self::Node),
            word => maker(word).map(Self::Workload),
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "pod",
            Self::Node => "node",
            Self::Workload(WorkloadOwner::Deployment) => "deployment",
            Self::Workload(WorkloadOwner::StatefulSet) => "statefulset",
            Self::Workload(WorkloadOwner::DaemonSet) => "daemonset",
            Self::Workload(WorkloadOwner::ReplicaSet) => "replicaset",
            Self::Workload(WorkloadOwner::Job) => "job",
        }
    }
}

/// `deploy`, and `deployment.apps` as `kubectl -o name` prints it.
fn maker(word: &str) -> Option<WorkloadOwner> {
    let (word, group) = word.split_once('.').map_or((word, None), |(word, group)| (word, Some(group)));
    let maker = match word {
        "deployment" | "deployments" | "deploy" => WorkloadOwner::Deployment,
        "statefulset" | "statefulsets" | "sts" => WorkloadOwner::StatefulSet,
        "daemonset" | "daemonsets" | "ds" => WorkloadOwner::DaemonSet,
        "replicaset" | "replicasets" | "rs" => WorkloadOwner::ReplicaSet,
        "job" | "jobs" => WorkloadOwner::Job,
        _ => return None,
    };
    let (_, own, _) = maker.of_api();
    group.is_none_or(|group| group == own || group == format!("v1.{own}")).then_some(maker)
}

/// Parses the arguments; each object once, in the order of the arguments.
pub(crate) fn parse(words: &[String]) -> Result<Vec<Target>, TargetError> {
    let mut targets: Vec<Target> = Vec::new();
    let mut put = |kind, name: &str| {
        if name.is_empty() || name.contains(['/', ',', ' ']) || name.starts_with('.') {
            return Err(TargetError::Name(name.to_owned()));
        }
        let fits =
            |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || ['-', '.'].contains(&sign);
        if !name.chars().all(fits) {
            return Err(TargetError::Letters { kind, name: name.to_owned() });
        }
        let target = Target { kind, name: name.to_owned() };
        if !targets.contains(&target) {
            targets.push(target);
        }
        Ok(())
    };
    // The type of the names that follow, as in `pod web-1 web-2`.
    let (mut kind, mut open) = (None, None);
    for word in words {
        match (word.split_once('/'), kind) {
            (Some((prefix, name)), _) => {
                let kind = TargetKind::of(prefix).ok_or_else(|| TargetError::Kind(prefix.to_owned()))?;
                put(kind, name)?;
            }
            (None, Some(kind)) => {
                put(kind, word)?;
                open = None;
            }
            (None, None) => match TargetKind::of(word) {
                Some(named) if words.len() > 1 => (kind, open) = (Some(named), Some(word)),
                Some(_) => return Err(TargetError::NoName(word.clone())),
                None if words.len() > 1 => return Err(TargetError::Kind(word.clone())),
                None => return Err(TargetError::Bare(word.clone())),
            },
        }
    }
    match (open, targets.is_empty()) {
        (Some(word), _) => Err(TargetError::NoName(word.clone())),
        (None, true) => Err(TargetError::Nothing),
        (None, false) => Ok(targets),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<String, TargetError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let targets = parse(&words)?;
        let parsed = targets.iter().map(|target| format!("{}/{}", target.kind.as_str(), target.name));
        Ok(parsed.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn objects_are_named_as_for_kubectl() {
        for (line, expected) in [
            ("pod/web-1", "pod/web-1"),
            ("po/web-1 no/n1", "pod/web-1 node/n1"),
            ("pod web-1 web-2", "pod/web-1 pod/web-2"),
            ("Nodes n1", "node/n1"),
            ("pod/a pod/a node/a", "pod/a node/a"),
            ("node n1 pod/a", "node/n1 pod/a"),
            ("pod pod", "pod/pod"),
            ("deploy/web deployments web", "deployment/web"),
            ("deployment.apps/web", "deployment/web"),
            ("sts/db statefulsets.v1.apps/log", "statefulset/db statefulset/log"),
            ("ds a b", "daemonset/a daemonset/b"),
            ("rs/web-1 Job/x pod/y", "replicaset/web-1 job/x pod/y"),
        ] {
            assert_eq!(parsed(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn invalid_targets_are_rejected() {
        use TargetError::{Bare, Kind, Letters, Name, NoName, Nothing};
        for (line, expected) in [
            ("", Nothing),
            ("pod", NoName("pod".into())),
            ("web-1", Bare("web-1".into())),
            ("service/web", Kind("service".into())),
            ("service web", Kind("service".into())),
            ("job.batch.volcano.sh/web", Kind("job.batch.volcano.sh".into())),
            ("deploy", NoName("deploy".into())),
            ("pod/", Name(String::new())),
            ("pod/shop/web", Name("shop/web".into())),
            ("pod a,b", Name("a,b".into())),
            ("pod pod/a", NoName("pod".into())),
            ("pod/a_b", Letters { kind: TargetKind::Pod, name: "a_b".into() }),
            ("node/N1", Letters { kind: TargetKind::Node, name: "N1".into() }),
        ] {
            assert_eq!(parsed(line), Err(expected), "{line}");
        }
    }
}
