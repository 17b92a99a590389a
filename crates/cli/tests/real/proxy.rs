//! Forwards connections on loopback to a target that may change, be absent, or swallow data.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use testkit::wait::let_time_pass_blocking;

/// The pause between two looks at what the test wants.
const POLL: Duration = Duration::from_millis(5);

/// A forwarder, open until dropped.
pub(crate) struct ScenarioProxy {
    target: Arc<AtomicU16>,
    /// Whether the connections made from now on are cut.
    cut: Arc<Mutex<Arc<AtomicBool>>>,
    stranded: Mutex<Vec<Arc<AtomicBool>>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    ends: Arc<AtomicBool>,
    door: Option<JoinHandle<()>>,
}

impl ScenarioProxy {
    /// Opens this port.
    pub(crate) fn on(port: u16, target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (target, ends) = (Arc::new(AtomicU16::new(target)), Arc::new(AtomicBool::new(false)));
        let (cut, open) = (Arc::<Mutex<Arc<AtomicBool>>>::default(), Arc::new(Mutex::new(Vec::new())));
        let door = thread::spawn({
            let (target, ends) = (Arc::clone(&target), Arc::clone(&ends));
            let (cut, open) = (Arc::clone(&cut), Arc::clone(&open));
            move || {
                while !ends.load(Ordering::Relaxed) {
                    match listener.accept() {
                        Ok((guest, _)) => {
                            open.lock().unwrap().extend(guest.try_clone());
                            let cut = Arc::clone(&cut.lock().unwrap());
                            connect(guest, target.load(Ordering::Relaxed), &cut);
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            let_time_pass_blocking(POLL, "the next look for a connection, or for the end");
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        });
        Self { target, cut, stranded: Mutex::default(), open, ends, door: Some(door) }
    }

    /// Changes the target of new connections; open ones stay.
    pub(crate) fn lead_to(&self, target: u16) {
        self.target.store(target, Ordering::Relaxed);
    }

    /// Ends all open connections.
    pub(crate) fn break_off(&self) {
        for guest in self.open.lock().unwrap().drain(..) {
            let _ = guest.shutdown(Shutdown::Both);
        }
    }

    /// While it is cut, nothing flows either way and neither side notices: connections stay open, and data waits.
    pub(crate) fn cut(&self, cut: bool) {
        self.cut.lock().unwrap().store(cut, Ordering::Relaxed);
    }

    /// Stops the flow on open connections without either side noticing; new ones work.
    pub(crate) fn strand(&self) {
        let cut = std::mem::take(&mut *self.cut.lock().unwrap());
        cut.store(true, Ordering::Relaxed);
        self.stranded.lock().unwrap().push(cut);
    }
}

impl Drop for ScenarioProxy {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.cut(false);
        self.stranded.lock().unwrap().iter().for_each(|cut| cut.store(false, Ordering::Relaxed));
        let _ = self.door.take().map(JoinHandle::join);
    }
}

fn connect(guest: TcpStream, target: u16, cut: &Arc<AtomicBool>) {
    let Ok(host) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else {
        // Open sockets are kept elsewhere, so dropping this one would not close it.
        let _ = guest.shutdown(Shutdown::Both);
        return;
    };
    if guest.set_nonblocking(false).is_err() {
        return;
    }
    let (Ok(other_guest), Ok(other_host)) = (guest.try_clone(), host.try_clone()) else { return };
    let (to_host, to_guest) = (Arc::clone(cut), Arc::clone(cut));
    thread::spawn(move || forward(guest, host, &to_host));
    thread::spawn(move || forward(other_host, other_guest, &to_guest));
}

fn forward(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        while cut.load(Ordering::Relaxed) {
            let_time_pass_blocking(POLL, "no byte passes while the connection is cut");
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // Closes both sides, however it ends.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
