//! Writes the page of each command in `docs/cli`: usage, example, flags, exit codes.
//!
//! - Invariant: examples are the program's output; golden tests run the same text.

use super::ProgramDescription;
use super::{cell, default, line, meaning, names};
use clap::Command;

/// The contents of a page besides the description of the command line.
struct CommandPage {
    verb: &'static str,
    /// The golden file of an example, and the command in it.
    example: Option<(&'static str, &'static str)>,
    /// Related pages.
    besides: &'static str,
}

/// Examples that `documents/examples.rs` runs in a sandbox, as it does with docs/taint.md.
const COMMANDS: &str = include_str!("../../tests/documents/examples/commands.md");

const PAGES: [CommandPage; 23] = [
    CommandPage {
        verb: "run",
        example: Some((COMMANDS, "taintward taint node n3 power:NoExecute --yes --no-preview")),
        besides: "[The reference](../reference.md) has each flag with its environment variable.",
    },
    CommandPage {
        verb: "webhook",
        example: Some((
            COMMANDS,
            "taintward webhook --self-signed --namespace default --bind-address 127.0.0.1",
        )),
        besides: "[docs/admission.md](../admission.md) describes each rule and the remedies of problems. \
            [The reference](../reference.md) has the environment variables and metrics.",
    },
    CommandPage {
        verb: "install",
        example: Some((
            include_str!("../../tests/cmd/install.trycmd"),
            "taintward install --uninstall --parts webhook",
        )),
        besides: "[docs/install.md](../install.md) describes the installation, the permissions of each part, and the \
            uninstallation. [deploy/chart](../../deploy/chart/README.md) is a Helm chart of the same objects.",
    },
    CommandPage {
        verb: "sandbox",
        example: None,
        besides: "[docs/sandbox.md](../sandbox.md) describes its features and limits. The output of `--tour`:\n\n\
            ![The tour: taints, countdowns, a taint removed before the deadline, a drain under a budget](../tour.svg)",
    },
    CommandPage {
        verb: "plan",
        example: Some((
            include_str!("../../tests/cmd/plan.trycmd"),
            "taintward plan -f cluster.yaml --as-of 2026-11-21T14:00:00Z --taint n1 dedicated=db:NoExecute",
        )),
        besides: "[docs/plan.md](../plan.md) describes the forecast, its limits, and the format of files.",
    },
    CommandPage {
        verb: "explain",
        example: Some((
            include_str!("../../tests/cmd/explain.trycmd"),
            "taintward explain pod/web-7d4b9c6f5d-2xkqp -f cluster.yaml --as-of 2026-11-21T14:00:00Z",
        )),
        besides: "[docs/explain.md](../explain.md) describes the explanations and their limits.",
    },
    CommandPage {
        verb: "pending",
        example: Some((
            include_str!("../../tests/cmd/explain.trycmd"),
            "taintward pending -f cluster.yaml --as-of 2026-11-21T14:00:00Z",
        )),
        besides: "[docs/explain.md](../explain.md) describes the output of `-w`, and how the command finds the controllers that evict.",
    },
    CommandPage {
        verb: "status",
        example: None,
        besides: "[docs/eviction-policy.md](../eviction-policy.md) and [docs/eviction-brake.md](../eviction-brake.md) describe what \
            delays pods; [status.schema.json](../status.schema.json) describes the object of `-o json`.",
    },
    CommandPage {
        verb: "board",
        example: None,
        besides: "[docs/board.md](../board.md) describes the page, its permissions and its access control.\n\n\
            ![The board: nodes by zone with taints and pods, and the next evictions](../board-light.png)",
    },
    CommandPage {
        verb: "taint",
        example: Some((
            include_str!("../../../../docs/taint.md"),
            "taintward taint node n1 dedicated=db:NoSchedule",
        )),
        besides: "[docs/taint.md](../taint.md) has more examples, and the differences from `kubectl taint`.",
    },
    CommandPage {
        verb: "lint",
        example: Some((include_str!("../../tests/cmd/lint.trycmd"), "taintward lint -f shop/web.yaml")),
        besides: "[docs/lint.md](../lint.md) has every rule with examples.",
    },
    CommandPage {
        verb: "backfill",
        example: None,
        besides: "[docs/managed-clusters.md](../managed-clusters.md) describes which pods backfill changes, and which it skips.",
    },
    CommandPage {
        verb: "guard",
        example: None,
        besides: "[docs/managed-clusters.md](../managed-clusters.md) describes ceilings, their requirements, and the pods that they \
            cannot cover.",
    },
    CommandPage {
        verb: "hold",
        example: None,
        besides: "[docs/managed-clusters.md](../managed-clusters.md) describes holds, their requirements and their limits.",
    },
    CommandPage {
        verb: "release",
        example: None,
        besides: "[docs/managed-clusters.md](../managed-clusters.md) describes which seconds a release restores.",
    },
    CommandPage {
        verb: "doctor",
        example: Some((
            include_str!("../../tests/cmd/doctor.trycmd"),
            "taintward doctor --pre -f kubeadm.yaml",
        )),
        besides: "[docs/doctor.md](../doctor.md) describes every check and its permissions.",
    },
    CommandPage {
        verb: "history",
        example: None,
        besides: "[docs/record.md](../record.md) describes records, and what a history shows.",
    },
    CommandPage {
        verb: "record",
        example: None,
        besides: "[docs/record.md](../record.md) describes records, and which permission this needs.",
    },
    CommandPage {
        verb: "replay",
        example: None,
        besides: "[docs/record.md](../record.md) describes records, and what a replay shows.",
    },
    CommandPage {
        verb: "version",
        example: Some((include_str!("../../tests/cmd/version.trycmd"), "taintward version --client")),
        besides: "",
    },
    CommandPage { verb: "options", example: None, besides: "" },
    CommandPage {
        verb: "completion",
        example: Some((include_str!("../../tests/cmd/completion.trycmd"), "taintward completion fish")),
        besides: "",
    },
    CommandPage { verb: "docs", example: Some((COMMANDS, "taintward docs --man man")), besides: "" },
];

/// Each file with its text.
pub(super) fn pages(program: &ProgramDescription) -> Vec<(String, String)> {
    let mut description = program.command.clone();
    description.build();
    let index = ("README.md".to_owned(), index(&description, program.questions));
    let pages = description.get_subcommands().filter(|command| !command.is_hide_set()).map(|command| {
        let page = PAGES.iter().find(|page| page.verb == command.get_name());
        (format!("{}.md", command.get_name()), text(command, page, (program.exit_codes)(command.get_name())))
    });
    std::iter::once(index).chain(pages).collect()
}

const INDEX: &str = "# Commands

`taintward docs --cli docs/cli` generates these pages and their examples from the program; a test fails if a page differs.

| command | description |
|---|---|
";

fn index(description: &Command, questions: &[(&str, &str)]) -> String {
    let mut text = INDEX.to_owned();
    for command in description.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        line(&mut text, format_args!("| [`taintward {name}`]({name}.md) | {} |", about(command)));
    }
    text.push_str("\n| question | command |\n|---|---|\n");
    for (question, commands) in questions {
        let commands: Vec<String> =
            commands.split(", ").map(|command| format!("`taintward {}`", cell(command))).collect();
        line(&mut text, format_args!("| {question} | {} |", commands.join(", ")));
    }
    text
}

fn about(command: &Command) -> String {
    cell(&command.get_about().map(ToString::to_string).unwrap_or_default())
}

fn text(command: &Command, page: Option<&CommandPage>, exit_codes: &[(u8, &str)]) -> String {
    let name = command.get_name();
    let mut text = format!("# taintward {name}\n\n{}.\n\n", about(command));
    let usage = command.clone().render_usage().to_string();
    for usage in usage.trim_start_matches("Usage:").lines().map(str::trim).filter(|usage| !usage.is_empty()) {
        line(&mut text, format_args!("    {usage}"));
    }
    if let Some(example) = page.and_then(|page| page.example) {
        text += &format!("\n## Example\n\n{}", shown(example));
    }
    verbs(&mut text, command);
    flags(&mut text, command);
    if let Some(page) = page {
        text.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
        for (code, meaning) in exit_codes {
            line(&mut text, format_args!("| {code} | {} |", cell(meaning)));
        }
        if !page.besides.is_empty() {
            line(&mut text, format_args!("\n{}", page.besides));
        }
    }
    text
}

/// A command and its output, from a golden test, in which the exit code is written as tests do it.
fn shown((golden, typed): (&str, &str)) -> String {
    let blocks = golden.split("```").skip(1).step_by(2);
    let block = blocks
        .map(str::trim_start)
        .find(|block| block.trim_start_matches("console\n").starts_with(&format!("$ {typed}\n")));
    let block = block.expect("the golden tests have this example").trim_end();
    let lines = block.trim_start_matches("console\n").lines().filter(|line| !line.starts_with("? "));
    let text = lines.collect::<Vec<_>>().join("\n").replace("[VERSION]", env!("CARGO_PKG_VERSION"));
    format!("```console\n{text}\n```\n")
}

fn verbs(text: &mut String, command: &Command) {
    let verbs: Vec<&Command> = command.get_subcommands().filter(|verb| verb.get_name() != "help").collect();
    if verbs.is_empty() {
        return;
    }
    text.push_str("\n## Commands\n\n| command | description |\n|---|---|\n");
    for verb in verbs {
        let name = format!("{} {}", command.get_name(), verb.get_name());
        line(text, format_args!("| `taintward {name}` | {} |", about(verb)));
        for lesser in verb.get_subcommands().filter(|lesser| lesser.get_name() != "help") {
            line(text, format_args!("| `taintward {name} {}` | {} |", lesser.get_name(), about(lesser)));
        }
    }
}

fn flags(text: &mut String, command: &Command) {
    let shown = |arg: &&clap::Arg| !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version";
    let mut headings: Vec<&str> = Vec::new();
    let heading = |arg: &clap::Arg| arg.get_help_heading().map(str::to_owned);
    for arg in command.get_arguments().filter(shown) {
        let heading = arg.get_help_heading().unwrap_or_default();
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for title in headings {
        line(text, format_args!("\n## {}\n", if title.is_empty() { "Flags" } else { title }));
        text.push_str("| flag | default | meaning |\n|---|---|---|\n");
        let mine = |arg: &&clap::Arg| heading(arg).as_deref().unwrap_or_default() == title;
        for arg in command.get_arguments().filter(shown).filter(mine) {
            line(text, format_args!("| {} | {} | {} |", names(arg), default(arg), meaning(arg)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn every_command_has_a_page_and_every_question_an_answer() {
        let program = cli::program();
        let description = &program.command;
        let verbs: Vec<&str> = description
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        for verb in &verbs {
            assert!(PAGES.iter().any(|page| page.verb == *verb), "{verb} has no page in docs/pages.rs");
        }
        for page in &PAGES {
            assert!(verbs.contains(&page.verb), "the program has no command {}", page.verb);
        }
        let help = description.clone().render_help().to_string();
        for (question, commands) in program.questions {
            let verb = commands.split(' ').next().unwrap();
            assert!(verbs.contains(&verb), "{question} {commands}");
            let commands: String =
                commands.split(", ").map(|command| format!("\n      taintward {command}")).collect();
            assert!(help.contains(&format!("{question}{commands}")), "{help}");
        }
    }
}
