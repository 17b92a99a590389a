//! Decides whether output is colored (`--color`, `NO_COLOR`, terminals), and colors text.

pub(crate) use clap::builder::styling::AnsiColor as Color;

use std::io::IsTerminal as _;

/// When there is color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// Whether standard output gets colors.
    pub(crate) fn paints(self) -> bool {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => !set("NO_COLOR") && !dumb && std::io::stdout().is_terminal(),
        }
    }
}

/// The text in a color, if `paints`.
pub(crate) fn colored(text: &str, color: Color, paints: bool) -> String {
    let style = color.on_default();
    if paints { format!("{style}{text}{style:#}") } else { text.to_owned() }
}
