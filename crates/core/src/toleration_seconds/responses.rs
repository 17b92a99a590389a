//! Takes the responses to patches: into the cache, the queue of retries, and notices.

use super::objects::HeldPodFact;
use super::{SecondsPatch, TolerationSecondsEngine, TolerationSecondsNotice};
use crate::api_error::ApiFailure;
use crate::time::Now;
use crate::toleration_hold::OBSERVATION_PAUSE;

impl TolerationSecondsEngine {
    pub(super) fn patch_done(
        &mut self,
        patch: SecondsPatch,
        result: Result<HeldPodFact, ApiFailure>,
        now: Now,
    ) {
        let key = patch.key();
        if !self.queue.end(&key) {
            return;
        }
        match result {
            Ok(fact) => {
                if patch.is_contested {
                    // The other writer may change it again: so the next patch waits for a pause (D3).
                    let pause = ApiFailure::Throttled(Some(OBSERVATION_PAUSE));
                    self.queue.fail(key.clone(), pause, now.mono);
                    let (pod, node) = (patch.pod.clone(), patch.node.clone());
                    self.notices.push(TolerationSecondsNotice::SecondsContested { pod, node });
                } else {
                    self.queue.succeed(&key);
                }
                self.notices.extend(patch.notice());
                self.cache.put_response(fact);
            }
            Err(ApiFailure::NotFound) => {
                self.queue.succeed(&key);
                self.cache.remove_pod(&key.uid, Some(&key.node));
            }
            Err(failure) => self.queue.fail(key.clone(), failure, now.mono),
        }
        self.queue_changes();
        // Events of the watch were skipped meanwhile.
        self.queue_pod(key);
    }
}
