//! Replaces the names in a record, so that people can give it away: of nodes, pods, namespaces, workloads, labels and
//! taints.
//!
//! - Invariant: equal names stay equal, and the order of all names stays: controllers sort by names, and a replay of the
//!   redacted record must decide the same.
//! - Names of Kubernetes and of Taintward stay, and so do UIDs, versions, numbers and times.

mod replaced_text;
mod replacement;

use crate::call::{CallDecoder, CallEncoder, EngineCall, RecordedEngine};
use crate::error::RecordError;
use crate::frame::{Frame, FrameContent, RecordedController};
use replaced_text::ReplacedText;
use replacement::Replacements;
use std::cell::RefCell;
use std::collections::BTreeSet;
use taintward_core::eviction::EvictionEngine;
use taintward_core::node_lifecycle::NodeLifecycleEngine;
use taintward_core::toleration_seconds::TolerationSecondsEngine;

/// The names of records that are read before they are redacted.
#[derive(Debug, Default)]
pub struct RecordedNames(RefCell<BTreeSet<String>>);

/// Redacts frames. The names of all of them were read before.
#[derive(Debug)]
pub struct Redaction(Replacements);

impl RecordedNames {
    /// Reads the names in a frame.
    ///
    /// # Errors
    /// If the frame cannot be decoded.
    pub fn read(&self, frame: &Frame) -> Result<(), RecordError> {
        let read = |text: &str| {
            if !self.0.borrow().contains(text) {
                self.0.borrow_mut().insert(text.to_owned());
            }
            text.to_owned()
        };
        replace(frame, &read).map(drop)
    }

    /// Chooses what replaces each name.
    pub fn redaction(self) -> Redaction {
        Redaction(Replacements::new(&self.0.into_inner()))
    }
}

impl Redaction {
    /// Returns the frame with the names replaced.
    ///
    /// # Errors
    /// If the frame cannot be decoded.
    pub fn redact(&self, frame: &Frame) -> Result<Frame, RecordError> {
        replace(frame, &|text| self.0.of(text))
    }
}

fn replace(frame: &Frame, by: &dyn Fn(&str) -> String) -> Result<Frame, RecordError> {
    let bytes = match frame.controller {
        RecordedController::TaintEviction => replaced::<EvictionEngine>(frame, by),
        RecordedController::NodeLifecycle => replaced::<NodeLifecycleEngine>(frame, by),
        RecordedController::TolerationSeconds => replaced::<TolerationSecondsEngine>(frame, by),
    };
    Ok(Frame { bytes: bytes?, ..*frame })
}

fn replaced<E: RecordedEngine>(frame: &Frame, by: &dyn Fn(&str) -> String) -> Result<Vec<u8>, RecordError> {
    let undecodable =
        |what| move |error: postcard::Error| RecordError::Undecodable { what, reason: error.to_string() };
    match frame.content {
        FrameContent::State => {
            let what = "the state of an engine";
            let engine: E = postcard::from_bytes(&frame.bytes).map_err(undecodable(what))?;
            postcard::to_allocvec(&ReplacedText::new(&engine, by)).map_err(undecodable(what))
        }
        FrameContent::Calls => {
            let (mut calls, mut block) = (CallDecoder::new(&frame.bytes), CallEncoder::new());
            while let Some((now, call)) = calls.next::<E>()? {
                let call = match &call {
                    EngineCall::Handle(input) => EngineCall::Handle(ReplacedText::new(input, by)),
                    EngineCall::Tick => EngineCall::Tick,
                    EngineCall::Pull(lane, effect) => {
                        EngineCall::Pull(*lane, effect.as_ref().map(|effect| ReplacedText::new(effect, by)))
                    }
                    EngineCall::Notices(notices) => EngineCall::Notices(ReplacedText::new(notices, by)),
                };
                block.push(&call, now).map_err(undecodable("a call"))?;
            }
            Ok(block.take())
        }
    }
}
