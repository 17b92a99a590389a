//! Creates pods continuously as dry runs and collects all errors.

use super::hook::STARTUP_TIMEOUT;
use super::register::{plain_pod, pods, tolerations};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use taintward_envtest::{TestApi, wait};

/// Concurrent clients.
pub(crate) const CLIENTS: usize = 8;

/// Counts of created pods and errors.
#[derive(Default)]
pub(crate) struct Load {
    stops: Cell<bool>,
    created: Cell<usize>,
    without: Cell<usize>,
    rejected: RefCell<Vec<String>>,
}

impl Load {
    /// Creates pods until [`Load::stop`].
    pub(crate) async fn run(&self, api: &TestApi, namespace: &str) {
        let path = format!("{}?dryRun=All", pods(namespace));
        let client = |_| async {
            while !self.stops.get() {
                match api.create(&path, &plain_pod("load")).await {
                    Ok(pod) => self.note(&pod),
                    Err(why) => self.rejected.borrow_mut().push(why.to_string()),
                }
            }
        };
        futures::future::join_all((0..CLIENTS).map(client)).await;
    }

    fn note(&self, pod: &Value) {
        self.created.set(self.created.get() + 1);
        self.without.set(self.without.get() + usize::from(tolerations(pod).is_empty()));
    }

    /// Waits until this many more pods were created.
    pub(crate) async fn goes_on(&self, more: usize) {
        let until = self.created.get() + more;
        let reached = async || Ok((self.created.get() >= until).then_some(()));
        wait::until(&format!("{more} more pods"), STARTUP_TIMEOUT, reached).await.unwrap();
    }

    pub(crate) fn stop(&self) {
        self.stops.set(true);
    }

    pub(crate) fn created(&self) -> usize {
        self.created.get()
    }

    /// Pods that were admitted without the webhook's tolerations.
    pub(crate) fn without(&self) -> usize {
        self.without.get()
    }

    /// Fails if any pod was rejected.
    pub(crate) fn expect_none_rejected(&self) {
        let rejected = self.rejected.borrow();
        assert!(
            rejected.is_empty(),
            "{} of {} were rejected, such as {:?}",
            rejected.len(),
            self.created(),
            rejected.first()
        );
    }
}
