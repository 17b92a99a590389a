//! Writes the page of each command in `docs/cli`: usage, example, flags, exit codes.
//!
//! - Invariant: examples are what the program prints; golden tests run the same text.

use super::program_description::ProgramDescription;
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

/// Run in a sandbox by `tests/cli_examples.rs`, as docs/taint.md is.
const COMMANDS: &str = include_str!("../../tests/examples/commands.md");

const PAGES: [CommandPage; 18] = [
    CommandPage {
        verb: "run",
        example: Some((COMMANDS, "taintward taint node n3 power:NoExecute --yes --no-preview")),
        besides: "Every flag stands with its environment variable in [the reference](../reference.md).",
    },
    CommandPage {
        verb: "webhook",
        example: Some((
            COMMANDS,
            "taintward webhook --self-signed --namespace default --bind-address 127.0.0.1",
        )),
        besides: "What each rule does, and what to do when something is wrong: [docs/admission.md](../admission.md). Environment \
            variables and metrics: [the reference](../reference.md).",
    },
    CommandPage {
        verb: "install",
        example: Some((
            include_str!("../../tests/cmd/install.trycmd"),
            "taintward install --uninstall --parts webhook",
        )),
        besides: "From nothing to a pool, what each part may do, and the way back: [docs/install.md](../install.md). The \
            same as a Helm chart: [deploy/chart](../../deploy/chart/README.md).",
    },
    CommandPage {
        verb: "sandbox",
        example: None,
        besides: "What it can do, what it is not: [docs/sandbox.md](../sandbox.md). What `--tour` shows:\n\n\
            ![The tour: taints, countdowns, a taint taken back in time, a drain under a budget](../tour.svg)",
    },
    CommandPage {
        verb: "plan",
        example: Some((
            include_str!("../../tests/cmd/plan.trycmd"),
            "taintward plan -f cluster.yaml --as-of 2026-11-21T14:00:00Z --taint n1 dedicated=db:NoExecute",
        )),
        besides: "What it knows, what it does not, and how it reads files: [docs/plan.md](../plan.md).",
    },
    CommandPage {
        verb: "explain",
        example: Some((
            include_str!("../../tests/cmd/explain.trycmd"),
            "taintward explain pod/web-7d4b9c6f5d-2xkqp -f cluster.yaml --as-of 2026-11-21T14:00:00Z",
        )),
        besides: "What it knows and what it does not: [docs/explain.md](../explain.md).",
    },
    CommandPage {
        verb: "pending",
        example: Some((
            include_str!("../../tests/cmd/explain.trycmd"),
            "taintward pending -f cluster.yaml --as-of 2026-11-21T14:00:00Z",
        )),
        besides: "What `-w` shows, and what is known of who evicts: [docs/explain.md](../explain.md).",
    },
    CommandPage {
        verb: "board",
        example: None,
        besides: "What the page shows, what it may, and how it is kept from others: [docs/board.md](../board.md).\n\n\
            ![The board: nodes by zone with taints and pods, and the pods that leave next](../board-light.png)",
    },
    CommandPage {
        verb: "taint",
        example: Some((
            include_str!("../../../../docs/taint.md"),
            "taintward taint node n1 dedicated=db:NoSchedule",
        )),
        besides: "More, and where it differs from `kubectl taint`: [docs/taint.md](../taint.md).",
    },
    CommandPage {
        verb: "lint",
        example: Some((include_str!("../../tests/cmd/lint.trycmd"), "taintward lint -f shop/web.yaml")),
        besides: "Every rule, with examples: [docs/lint.md](../lint.md).",
    },
    CommandPage {
        verb: "backfill",
        example: None,
        besides: "What backfill does, and what it leaves alone: [docs/managed-clusters.md](../managed-clusters.md).",
    },
    CommandPage {
        verb: "guard",
        example: None,
        besides: "What a ceiling does, what it takes, and what it cannot cover: [docs/managed-clusters.md](../managed-clusters.md).",
    },
    CommandPage {
        verb: "hold",
        example: None,
        besides: "What a hold does, what it takes, and what it cannot do: [docs/managed-clusters.md](../managed-clusters.md).",
    },
    CommandPage {
        verb: "release",
        example: None,
        besides: "What pods get back: [docs/managed-clusters.md](../managed-clusters.md).",
    },
    CommandPage {
        verb: "doctor",
        example: Some((
            include_str!("../../tests/cmd/doctor.trycmd"),
            "taintward doctor --pre -f kubeadm.yaml",
        )),
        besides: "Every check, and what it needs: [docs/doctor.md](../doctor.md).",
    },
    CommandPage {
        verb: "version",
        example: Some((include_str!("../../tests/cmd/version.trycmd"), "taintward version --client")),
        besides: "",
    },
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

Made from the program itself by `taintward docs --cli docs/cli`, examples included; a test fails when a page differs.

| command | what it does |
|---|---|
";

fn index(description: &Command, questions: &[(&str, &str)]) -> String {
    let mut text = INDEX.to_owned();
    for command in description.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        line(&mut text, format_args!("| [`taintward {name}`]({name}.md) | {} |", about(command)));
    }
    text.push_str("\n| question | what answers it |\n|---|---|\n");
    for (question, answer) in questions {
        line(&mut text, format_args!("| {question} | `taintward {}` |", cell(answer)));
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
    text.push_str("\n## Commands\n\n| command | what it does |\n|---|---|\n");
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
            assert!(verbs.contains(&page.verb), "there is no command {}", page.verb);
        }
        let help = description.clone().render_help().to_string();
        for (question, answer) in program.questions {
            let verb = answer.split(' ').next().unwrap();
            assert!(verbs.contains(&verb), "{question} {answer}");
            assert!(help.contains(&format!("{question}\n      taintward {answer}")), "{help}");
        }
    }
}
