//! Gives the tests of this program their turns: a control plane needs the whole of a small machine.

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use taintward_envtest::{Binaries, binaries};

static MACHINE: Mutex<()> = Mutex::new(());

/// The binaries of a control plane, until it is the next test's turn.
pub(crate) struct ClusterTurn {
    tools: Binaries,
    _machine: MutexGuard<'static, ()>,
}

impl Deref for ClusterTurn {
    type Target = Binaries;

    fn deref(&self) -> &Binaries {
        &self.tools
    }
}

/// Waits for the turn of a test, or returns `None` if it cannot run, as [`binaries::for_test`].
pub(crate) fn for_test(test: &str) -> Option<ClusterTurn> {
    let tools = binaries::for_test(test)?;
    Some(ClusterTurn { tools, _machine: MACHINE.lock().unwrap_or_else(PoisonError::into_inner) })
}
