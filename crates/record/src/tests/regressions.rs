//! Replays the records of past bugs: the engine of today decides as the text beside each record says, and no decision
//! violates a property.
//!
//! - `cargo xtask regress FILE` adds one. `REGRESSIONS=overwrite` writes the texts again: read the difference.

use crate::call::EngineCall;
use crate::check::{CheckSummary, RecordCheck};
use crate::follower::{CallVisitor, EngineFollower};
use crate::{RecordError, RecordReader, RecordedCall, RecordedController};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};
use taintward_core::engine::Engine as _;
use taintward_core::eviction::EvictionEngine;
use taintward_core::eviction_monitor::EvictionMonitor;
use taintward_core::time::{Mono, Now};

/// What the engine decides from the inputs of a record, whatever was decided then.
#[derive(Default)]
struct Decisions {
    check: RecordCheck<EvictionMonitor>,
    since: Option<Mono>,
    text: String,
}

impl CallVisitor<EvictionEngine> for Decisions {
    type Error = RecordError;

    fn begin(&mut self, engine: &EvictionEngine, followed: Option<&EvictionEngine>) {
        self.check.begin(engine, followed);
    }

    fn call(
        &mut self,
        engine: &mut EvictionEngine,
        call: RecordedCall<EvictionEngine>,
        now: Now,
    ) -> Result<(), RecordError> {
        let since = *self.since.get_or_insert(now.mono);
        match call {
            EngineCall::Handle(input) => {
                self.check.call(&EngineCall::Handle(input.clone()), now);
                engine.handle(input, now);
            }
            EngineCall::Tick => engine.tick(now.mono),
            EngineCall::Pull(lane, _) => {
                let effect = engine.next_effect(lane, now);
                self.check.call(&EngineCall::Pull(lane, effect.clone()), now);
                if let Some(effect) = effect {
                    let seconds = now.mono.since(since).as_secs_f64();
                    writeln!(self.text, "{seconds:.6} s: {effect:?}").unwrap();
                }
            }
            EngineCall::Notices(_) => drop(engine.take_notices()),
        }
        Ok(())
    }
}

/// The decisions in all segments. Each begins with the state that the engine had then.
fn decisions(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let mut reader =
        RecordReader::open(&bytes[..]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut follower, mut decisions) = (EngineFollower::new(), Decisions::default());
    while let Some(frame) = reader.next_frame().unwrap() {
        if frame.controller == RecordedController::TaintEviction {
            follower.read(&frame, &mut decisions).unwrap();
        }
    }
    let mut summary = CheckSummary::default();
    decisions.check.add_to(&mut summary);
    let violations = summary.violations;
    assert!(violations.is_empty(), "{}: {violations:?}", path.display());
    decisions.text
}

fn records() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut records: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "record")).collect();
    records.sort();
    records
}

#[test]
fn the_engine_decides_as_it_should_in_each_record_of_a_bug() {
    let records = records();
    assert!(!records.is_empty());
    for record in records {
        let (decided, expected) = (decisions(&record), record.with_extension("txt"));
        if env::var("REGRESSIONS").as_deref() == Ok("overwrite") {
            fs::write(&expected, &decided).unwrap();
        }
        let expected = fs::read_to_string(expected).unwrap_or_default();
        assert_eq!(decided, expected, "{}: REGRESSIONS=overwrite writes the text again", record.display());
    }
}
