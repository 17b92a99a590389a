//! Lists, in the help, questions and the commands that answer them.

/// Questions, and the command that answers each.
pub(crate) const QUESTIONS: [(&str, &str); 15] = [
    (
        "Which pods does this taint evict, when, and where can they run next?",
        "plan --taint NODE KEY=VALUE:NoExecute",
    ),
    (
        "How do I add that taint, and remove it again?",
        "taint node NODE KEY=VALUE:NoExecute, taint node NODE KEY-",
    ),
    ("Why is this pod evicted, why does it stay, or why was it deleted?", "explain pod/NAME -n NAMESPACE"),
    ("What does this taint mean, and what happens to the node's pods?", "explain node/NAME"),
    ("Which pods are evicted next, and when?", "pending -A, pending -w"),
    ("Which replica leads, and what delays due pods?", "status"),
    ("What happens in the cluster right now, in a browser?", "board"),
    ("What happened to this pod last night?", "history pod/NAME -f RECORD"),
    ("Would this version decide as the one of last night did?", "replay FOLDER"),
    ("Does this toleration do what its author intends?", "lint -f FILE"),
    ("Is this cluster ready, and does exactly one controller evict pods?", "doctor --pre, doctor"),
    ("Which running pods have other tolerationSeconds than new ones get?", "backfill"),
    (
        "How do I stop evictions of silent nodes on a managed cluster?",
        "hold --zone ZONE, release --zone ZONE",
    ),
    ("How do I install Taintward, and uninstall it?", "install --image IMAGE, install --uninstall"),
    ("How can I try taints without a cluster?", "sandbox --tour"),
];

/// The questions with their commands, with the name under which the user called the program.
pub(super) fn questions(called: &str) -> String {
    let mut text = "Questions and the commands that answer them:\n".to_owned();
    for (question, commands) in QUESTIONS {
        text += &format!("  {question}\n");
        // One on a line, so that it can be pasted.
        for command in commands.split(", ") {
            text += &format!("      {called} {command}\n");
        }
    }
    text + &format!("\n{called} COMMAND --help has more about each command.")
}
