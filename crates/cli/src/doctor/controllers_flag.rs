//! Parses and edits the value of kube-controller-manager's flag `--controllers`.
//!
//! - The rules are those of `IsControllerEnabled` in `k8s.io/controller-manager`: the first entry that names a
//!   controller decides; without one, `*` enables every controller that is not off by default.
//! - Invariant: an edit changes the state of the named controller only.

use crate::args::flag_values::flag_values;
use std::fmt;

/// A controller of kube-controller-manager whose state matters to Taintward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamController {
    TaintEviction,
    NodeLifecycle,
    BootstrapSigner,
    TokenCleaner,
}

impl UpstreamController {
    /// Its name in the flag since Kubernetes 1.28.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TaintEviction => "taint-eviction-controller",
            Self::NodeLifecycle => "node-lifecycle-controller",
            Self::BootstrapSigner => "bootstrap-signer-controller",
            Self::TokenCleaner => "token-cleaner-controller",
        }
    }

    /// The older name, which the flag still accepts.
    const fn alias(self) -> Option<&'static str> {
        match self {
            Self::TaintEviction => None,
            Self::NodeLifecycle => Some("nodelifecycle"),
            Self::BootstrapSigner => Some("bootstrapsigner"),
            Self::TokenCleaner => Some("tokencleaner"),
        }
    }

    /// Whether `*` excludes it.
    const fn is_off_by_default(self) -> bool {
        matches!(self, Self::BootstrapSigner | Self::TokenCleaner)
    }

    fn is_named_by(self, entry: &str) -> bool {
        entry == self.name() || Some(entry) == self.alias()
    }
}

/// A value of the flag: its entries in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ControllersFlag {
    entries: Vec<Box<str>>,
}

impl Default for ControllersFlag {
    /// The value if the flag is absent.
    fn default() -> Self {
        Self::parse("*")
    }
}

impl ControllersFlag {
    pub(crate) fn parse(value: &str) -> Self {
        let entries = value.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        Self { entries: entries.map(Box::from).collect() }
    }

    /// The value on a command line; a repeated flag appends to the previous one. `None`: the flag is absent.
    pub(crate) fn of_arguments(arguments: &[String]) -> Option<Self> {
        let values = flag_values(arguments, "controllers");
        (!values.is_empty()).then(|| Self::parse(&values.join(",")))
    }

    pub(crate) fn enables(&self, controller: UpstreamController) -> bool {
        let explicit = self.entries.iter().find_map(|entry| match entry.strip_prefix('-') {
            Some(name) if controller.is_named_by(name) => Some(false),
            None if controller.is_named_by(entry) => Some(true),
            _ => None,
        });
        explicit.unwrap_or_else(|| {
            !controller.is_off_by_default() && self.entries.iter().any(|entry| **entry == *"*")
        })
    }

    /// The same with a controller off; the others keep their state.
    #[must_use]
    pub(crate) fn without(&self, controller: UpstreamController) -> Self {
        if !self.enables(controller) {
            return self.clone();
        }
        let mut off = self.forgetting(controller);
        off.entries.push(format!("-{}", controller.name()).into());
        off
    }

    /// The same with a controller on; the others keep their state.
    #[must_use]
    pub(crate) fn with(&self, controller: UpstreamController) -> Self {
        if self.enables(controller) {
            return self.clone();
        }
        let mut on = self.forgetting(controller);
        if !on.enables(controller) {
            on.entries.push(controller.alias().unwrap_or(controller.name()).into());
        }
        on
    }

    /// Without the entries that name a controller.
    fn forgetting(&self, controller: UpstreamController) -> Self {
        let names = |entry: &str| controller.is_named_by(entry.strip_prefix('-').unwrap_or(entry));
        Self { entries: self.entries.iter().filter(|entry| !names(entry)).cloned().collect() }
    }

    /// As a list in YAML or JSON.
    pub(crate) fn list(&self) -> String {
        let quoted: Vec<String> = self.entries.iter().map(|entry| format!("{entry:?}")).collect();
        format!("[{}]", quoted.join(", "))
    }
}

/// The form on a command line: entries separated by commas.
impl fmt::Display for ControllersFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.entries.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use UpstreamController::{BootstrapSigner, NodeLifecycle, TaintEviction, TokenCleaner};

    const ALL: [UpstreamController; 4] = [TaintEviction, NodeLifecycle, BootstrapSigner, TokenCleaner];

    #[test]
    fn the_first_entry_that_names_a_controller_decides() {
        for (value, on) in [
            ("*", [true, true, false, false]),
            ("*,bootstrapsigner,tokencleaner", [true, true, true, true]),
            ("*,-taint-eviction-controller", [false, true, false, false]),
            ("*,taint-eviction-controller,-taint-eviction-controller", [true, true, false, false]),
            ("-nodelifecycle,*", [true, false, false, false]),
            ("bootstrap-signer-controller", [false, false, true, false]),
            ("", [false; 4]),
        ] {
            let flag = ControllersFlag::parse(value);
            assert_eq!(ALL.map(|controller| flag.enables(controller)), on, "{value}");
        }
    }

    #[test]
    fn the_opposite_edit_restores_the_value() {
        let kubeadm = ControllersFlag::parse("*,bootstrapsigner,tokencleaner");
        let off = kubeadm.without(TaintEviction);
        assert_eq!(off.to_string(), "*,bootstrapsigner,tokencleaner,-taint-eviction-controller");
        assert_eq!(off.with(TaintEviction), kubeadm);
        assert_eq!(off.without(TaintEviction), off, "a disabled controller keeps its entry");
        let named = ControllersFlag::parse("*,taint-eviction-controller");
        assert_eq!(named.without(TaintEviction).to_string(), "*,-taint-eviction-controller");
        assert_eq!(ControllersFlag::default().with(TokenCleaner).to_string(), "*,tokencleaner");
        assert_eq!(off.list(), r#"["*", "bootstrapsigner", "tokencleaner", "-taint-eviction-controller"]"#);
    }

    /// All values of up to three entries: an edit changes one controller and no other.
    #[test]
    fn an_edit_changes_nothing_else() {
        let entries = [
            "*",
            "taint-eviction-controller",
            "-taint-eviction-controller",
            "nodelifecycle",
            "-node-lifecycle-controller",
            "tokencleaner",
            "-bootstrapsigner",
            "other",
        ];
        for a in entries {
            for b in entries {
                for c in entries {
                    let flag = ControllersFlag::parse(&format!("{a},{b},{c}"));
                    for edited in ALL {
                        for (changed, on) in [(flag.without(edited), false), (flag.with(edited), true)] {
                            for controller in ALL {
                                let wanted = if controller == edited { on } else { flag.enables(controller) };
                                assert_eq!(changed.enables(controller), wanted, "{flag} -> {changed}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn command_lines_give_the_flag_in_several_ways() {
        let of = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
            ControllersFlag::of_arguments(&arguments).map(|flag| flag.to_string())
        };
        assert_eq!(of(&["kube-controller-manager", "--v=2"]), None);
        assert_eq!(of(&["--controllers=*,a", "--controllers=-b"]).as_deref(), Some("*,a,-b"));
        assert_eq!(of(&["--controllers", "*,a", "--v", "2"]).as_deref(), Some("*,a"));
        assert_eq!(of(&["exec kcm --v=2 --controllers='*,-a' 2>&1"]).as_deref(), Some("*,-a"));
        assert_eq!(of(&["--controllers-of-others=x"]), None);
    }
}
