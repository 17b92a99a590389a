//! Tests the help of the command line.

use super::*;

#[test]
fn every_flag_has_its_variable_its_help_and_its_place() {
    let description = description();
    description.clone().debug_assert();
    let run = description.find_subcommand("run").unwrap();
    let mut flags = 0;
    for arg in run.get_arguments().filter(|arg| arg.get_id() != "help") {
        let long = arg.get_long().unwrap();
        let variable = format!("TAINTWARD_{}", long.to_uppercase().replace('-', "_"));
        assert_eq!(arg.get_env().and_then(|name| name.to_str()), Some(variable.as_str()), "{long}");
        assert!(arg.get_help().is_some() && arg.get_help_heading().is_some(), "{long}");
        flags += 1;
    }
    assert_eq!(flags, 47);
}

#[test]
fn the_help_has_headings_and_values() {
    let error = parse("--help").unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), (ErrorKind::DisplayHelp, 0));
    let help = error.to_string();
    let headings = ["The cluster:", "Behavior:", "Leader election:", "Metrics and health:", "Logging:"];
    let places: Vec<usize> = headings.iter().map(|heading| help.find(heading).expect(heading)).collect();
    assert!(places.is_sorted());
    // Words may be split across two lines.
    let running: String = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["[default: 15s]", "[default: 10357]", "[possible values: always, jobs, never]", "(deprecated):"]
    {
        assert!(running.contains(words), "{words}");
    }
    for line in help.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn alone_it_explains_itself() {
    assert!(parse_from(["taintward"]).unwrap().is_none());
    let text = help();
    assert!(text.contains("Usage: taintward [COMMAND]") && text.contains("run") && text.contains("version"));
    let text = format!("taintward {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(parse_from(["taintward", "--version"]).unwrap_err().to_string(), text);
    assert_eq!(parse_from(["taintward", "walk"]).unwrap_err().exit_code(), 2);
}

/// Of an 80-column terminal.
#[test]
fn the_short_help_fits_a_screen() {
    let mut program = command().term_width(80);
    program.build();
    let mut long = Vec::new();
    for command in program.get_subcommands_mut() {
        let verb = command.get_name().to_owned();
        let short = command.render_help().to_string();
        if short.lines().count() > 50 {
            long.push(format!("{verb}: {} lines\n{short}", short.lines().count()));
        }
        assert!(!short.contains("--as-uid"), "{verb}: {short}");
        if command.get_arguments().any(|arg| arg.get_id() == "as_uid") {
            assert!(command.render_long_help().to_string().contains("--as-uid"), "{verb}");
            assert!(short.contains("taintward options"), "{verb}: {short}");
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n\n"));
    for short in ["run", "webhook", "install", "plan", "taint"] {
        let command = program.find_subcommand_mut(short).unwrap();
        let (brief, long) = (command.render_help().to_string(), command.render_long_help().to_string());
        let flags = |text: &str| text.lines().filter(|line| line.trim_start().starts_with("--")).count();
        assert!(flags(&brief) >= 4 && flags(&brief) < flags(&long), "{short}: {brief}");
        let more: String = brief.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(more.contains(&format!("taintward {short} --help shows every flag")), "{brief}");
    }
}

#[test]
fn the_flags_of_the_connection_have_a_command() {
    let Ok(Some(ProgramCommand::Options)) = parse_from(["taintward", "options"]) else {
        panic!("no command")
    };
    let text = connection_flags();
    for flag in ["--kubeconfig", "--context", "--server", "--as-group", "--request-timeout"] {
        assert!(text.contains(flag), "{flag}: {text}");
    }
}

#[test]
fn commands_that_only_read_come_first() {
    let program = command();
    let verbs: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    assert_eq!(verbs[..3], ["plan", "explain", "pending"]);
    let at = |verb: &str| verbs.iter().position(|one| *one == verb).unwrap();
    assert!(at("doctor") < at("run"), "run evicts");
}
