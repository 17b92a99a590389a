//! Runs all decoders over arbitrary bytes, for fuzzing.

use super::frames::FrameDecoder;
use super::list::ListBody;
use super::{
    Decoded, DecodedPod, DeploymentObject, Encoding, NamespaceObject, NodeForAllControllers, ObjectBody,
    PolicyObject, ReplicaSetObject, TemplatedPod, TerminatingPod, WatchedObject, object_from_body,
    status_from_body, watch_event,
};
use taintward_core::dedicated_pools::{PoolFact, PoolNodeFact};
use taintward_core::eviction_policy::{BudgetFact, EvictionPolicyFact};
use taintward_core::fact::PodFact;
use taintward_core::node_lifecycle::LeaseFact;

/// The longest event or item.
const LIMIT: usize = 1 << 16;

/// Runs every decoder and splitter of this module over `bytes`, whole and cut at two places. Returns how many pieces
/// were understood, so that no call can be optimised away. For fuzzing: it must return, whatever the bytes.
pub fn fuzz_entry(bytes: &[u8]) -> usize {
    let mut understood = 0;
    for encoding in [Encoding::Protobuf, Encoding::Json] {
        let content_type = match encoding {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf",
            Encoding::Json => "application/json",
        };
        understood += object::<DecodedPod>(encoding, bytes)
            + object::<NodeForAllControllers>(encoding, bytes)
            + object::<TerminatingPod>(encoding, bytes)
            + object::<LeaseFact>(encoding, bytes)
            + object::<PoolFact>(encoding, bytes)
            + object::<PolicyObject>(encoding, bytes)
            + object::<NamespaceObject>(encoding, bytes)
            + object::<PoolNodeFact>(encoding, bytes)
            + object::<EvictionPolicyFact>(encoding, bytes)
            + object::<BudgetFact>(encoding, bytes)
            + object::<DeploymentObject>(encoding, bytes)
            + object::<ReplicaSetObject>(encoding, bytes)
            + object::<TemplatedPod>(encoding, bytes);
        understood +=
            usize::from(matches!(object_from_body::<DecodedPod>(content_type, bytes), ObjectBody::Object(_)));
        understood += usize::from(status_from_body(content_type, bytes).is_some());
        let first = bytes.first().map_or(0, |&byte| usize::from(byte)).min(bytes.len());
        for cut in [0, first, bytes.len() / 2] {
            let (head, tail) = bytes.split_at(cut);
            understood += events(encoding, [head, tail]) + pieces(encoding, [head, tail]);
        }
    }
    understood
}

fn object<F: WatchedObject>(encoding: Encoding, bytes: &[u8]) -> usize {
    usize::from(matches!(F::decode(encoding, bytes), Decoded::Object(_)))
}

/// How many events these chunks contain before the end or the first error.
fn events(encoding: Encoding, chunks: [&[u8]; 2]) -> usize {
    let mut frames = FrameDecoder::new(encoding, LIMIT);
    let mut count = 0;
    for chunk in chunks {
        frames.push(chunk);
        while let Ok(Some(frame)) = frames.next() {
            count += 1 + usize::from(watch_event::read::<PodFact>(encoding, frame).is_ok());
        }
    }
    count
}

/// How many pieces of a list these chunks contain before the end or the first error.
fn pieces(encoding: Encoding, chunks: [&[u8]; 2]) -> usize {
    let mut body = ListBody::new(encoding, "Pod", LIMIT);
    let mut count = 0;
    for chunk in chunks {
        body.push(chunk);
        while let Ok(Some(_)) = body.next() {
            count += 1;
        }
    }
    count + usize::from(body.finish().is_ok())
}
