//! Classifies the complaints in the logs of kube-scheduler and kube-controller-manager.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A usual complaint: its source file, words in it, and why it appears on a real server.
struct Usual {
    file: &'static str,
    contains: &'static str,
    #[allow(dead_code, reason = "for readers of the list")]
    why: &'static str,
}

/// All but the last two appear on a real server under the same work; those two are races that are possible on any
/// server.
const USUAL: [Usual; 7] = [
    Usual {
        file: "options.go",
        contains: "The manifest file is empty, ignoring.",
        why: "said at every start without --allow-metric-labels-manifest, before any server is asked",
    },
    Usual {
        file: "replica_set.go",
        contains: "is not as new as written version",
        why: "its own write was answered before the watch reported it; it waits for the watch",
    },
    Usual {
        file: "daemon_controller.go",
        contains: "is not as new as written version",
        why: "its own write was answered before the watch reported it; it waits for the watch",
    },
    Usual {
        file: "disruption.go",
        contains: "Operation cannot be fulfilled on poddisruptionbudgets.policy",
        why: "an eviction, or a status of its own that the watch has not reported yet, came in between; it tries again",
    },
    Usual {
        file: "namespace_controller.go",
        contains: "unexpected items still remain in namespace",
        why: "pods take longer to stop than their grace period counted from the namespace's deletion, five seconds before",
    },
    Usual {
        file: "replica_set.go",
        contains: "failed with replicasets.apps",
        why: "the ReplicaSet was collected while its status was on its way: a matter of milliseconds, on any server",
    },
    Usual {
        file: "replica_set.go",
        contains: "failed with Operation cannot be fulfilled on replicasets.apps",
        why: "the Deployment's controller scaled it twice while its status was on its way; it is tried twice, then later",
    },
];

/// The classification of the logs.
pub(crate) struct Judged {
    /// Each kind of line above level info, with its count.
    pub(crate) reported: String,
    /// The lines that no real server causes, the first of each kind.
    pub(crate) unusual: Vec<String>,
}

struct LogLine<'a> {
    severity: char,
    file: &'a str,
    contains: &'a str,
}

/// Parses `E0102 15:04:05.123456   12345 file.go:12] words`; `None` for a continuation line.
fn parse(line: &str) -> Option<LogLine<'_>> {
    let severity = line.chars().next().filter(|one| "IWEF".contains(*one))?;
    let (head, contains) = line.split_once("] ")?;
    let (file, _) = head.split_whitespace().nth(3)?.split_once(':')?;
    Some(LogLine { severity, file, contains })
}

/// The message without its variable parts.
fn kind(line: &LogLine<'_>) -> String {
    let varies = |word: &str| word.chars().any(|one| one.is_ascii_digit()) || word.len() > 60;
    let words = line.contains.split_whitespace().map(|word| if varies(word) { "…" } else { word });
    let words = words.collect::<Vec<_>>().join(" ");
    format!("{} {}: {}", line.severity, line.file, words.chars().take(200).collect::<String>())
}

pub(crate) fn judge(logs: &[(&str, String)]) -> Judged {
    let mut judged = Judged { reported: String::new(), unusual: Vec::new() };
    for (program, log) in logs {
        let lines: Vec<(&str, LogLine<'_>)> =
            log.lines().filter_map(|line| Some((line, parse(line)?))).collect();
        assert!(!lines.is_empty(), "{program} has written nothing that looks like klog");
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for (text, line) in lines.iter().filter(|(_, line)| line.severity != 'I') {
            let count = kinds.entry(kind(line)).or_default();
            *count += 1;
            let usual =
                USUAL.iter().any(|usual| usual.file == line.file && line.contains.contains(usual.contains));
            if !usual && *count == 1 {
                judged.unusual.push(format!("{program}: {text}"));
            }
        }
        let _ = writeln!(judged.reported, "{program}: {} lines", lines.len());
        for (kind, count) in kinds {
            let _ = writeln!(judged.reported, "  {count:>5} {kind}");
        }
    }
    judged
}

#[test]
fn lines_are_understood() {
    let line = "E1121 15:02:42.123456   12345 replica_set.go:577] \"Unhandled\" err=\"x 17\"";
    let parsed = parse(line).unwrap();
    assert_eq!(
        (parsed.severity, parsed.file, parsed.contains),
        ('E', "replica_set.go", "\"Unhandled\" err=\"x 17\"")
    );
    assert_eq!(kind(&parsed), "E replica_set.go: \"Unhandled\" err=\"x …");
    assert!(parse("\tgoroutine 1 [running]:").is_none());
    assert!(parse("E] too short").is_none());
}
