//! Measures the shape of the sources and prints it as a table with goals.
//!
//! - Counts the `.rs` files of `crates/*/src` and `xtask/src`; for rule ids all sources and pages.
//! - See `repository/tidy.rs` for rules about single files.

mod banned_words;
mod checkout;
mod import_circles;
mod imports;
mod measure;
mod pod_mirrors;
mod recorded;
mod rule_ids;
mod source;
mod table;
mod test_programs;
mod type_names;
mod visibility;

use self::checkout::Checkout;
use self::measure::Measure;
use self::rule_ids::RuleIds;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Print measures of the code, and their goals
///
/// Needs Rust only.
#[derive(clap::Args)]
pub struct MeasuresArgs {
    /// Also print the production lines of each crate
    #[arg(long)]
    by_crate: bool,
    /// Also list what each value counts
    #[arg(long)]
    list: bool,
    /// Measure another checkout
    #[arg(long, value_name = "FOLDER")]
    checkout: Option<PathBuf>,
}

/// Prints the measures of the checkout in `root`, or of the one that `arguments` name.
///
/// # Errors
///
/// A source cannot be read or parsed. A missed goal is not an error.
pub fn run(arguments: &MeasuresArgs, root: &Path) -> Result<()> {
    let report = MeasuresReport::of(arguments.checkout.as_deref().unwrap_or(root))?;
    print!("{}", table::render(&report.measures));
    if arguments.by_crate {
        print!("\n{}", table::render_lines(&report.lines_by_crate));
    }
    if arguments.list {
        for measure in report.measures.iter().filter(|measure| !measure.findings().is_empty()) {
            println!("\n{}:", measure.name());
            measure.findings().iter().for_each(|finding| println!("  {finding}"));
        }
    }
    Ok(())
}

/// The measures of a checkout.
pub struct MeasuresReport {
    measures: Vec<Measure>,
    lines_by_crate: Vec<(String, usize)>,
}

impl MeasuresReport {
    /// Measures the checkout in `root`.
    ///
    /// # Errors
    ///
    /// A source cannot be read or parsed.
    pub fn of(root: &Path) -> Result<Self> {
        let checkout = Checkout::read(root)?;
        let sources = checkout.sources();
        let (own, fakekube) = checkout.lines_without("fakekube");
        let mut measures = vec![
            Measure::new("production lines without fakekube", own, 88_000.0, Vec::new()),
            Measure::new("production lines of fakekube", fakekube, 16_000.0, Vec::new()),
            test_programs::measure(root)?,
        ];
        measures.push(type_names::shared(root)?);
        measures.push(type_names::twice(sources));
        measures.push(banned_words::measure(root)?);
        measures.push(visibility::measure(sources, checkout.lines()));
        measures.extend(import_circles::measures(sources));
        measures.push(pod_mirrors::measure(sources)?);
        measures.extend(RuleIds::read(root)?.measures());
        Ok(Self { measures, lines_by_crate: checkout.lines_by_crate() })
    }

    /// The values that are worse than recorded: each value may only shrink.
    #[must_use]
    pub fn regressions(&self) -> Vec<String> {
        recorded::regressions(&self.measures, &recorded::RECORDED)
    }

    /// The recorded values that can be lowered.
    #[must_use]
    pub fn improvements(&self) -> Vec<String> {
        recorded::improvements(&self.measures, &recorded::RECORDED)
    }
}
