//! Prints the list of all rules (`--rules`).

use crate::output::{API_VERSION, PrintOptions, Printable, Table, TableColumn};
use serde_json::{Value, json};
use taintward_core::lint::Rule;

/// All of them.
pub(super) struct RuleTable;

impl Printable for RuleTable {
    fn object(&self) -> Value {
        let one = |rule: &Rule| {
            let (id, name, severity) = (rule.id(), rule.name(), rule.severity().as_str());
            json!({ "id": id, "name": name, "severity": severity, "summary": rule.summary() })
        };
        json!({
            "apiVersion": API_VERSION,
            "kind": "LintRuleList",
            "items": Rule::ALL.iter().map(one).collect::<Vec<_>>(),
        })
    }

    fn names(&self) -> Vec<String> {
        Rule::ALL.iter().map(|rule| rule.id().to_owned()).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let columns = ["RULE", "NAME", "SEVERITY", "MEANING"].map(TableColumn::new);
        let mut table = Table::new(columns.into());
        for rule in view.in_order(Rule::ALL) {
            let cells = [rule.id(), rule.name(), rule.severity().as_str(), rule.summary()];
            table.push(cells.map(Into::into).into());
        }
        table.print(view)
    }
}
