//! # Proxy: the network between us and the server
//! Room:     a loopback port that hands connections on to another, which may change or be missing.
//! Comes in: ports.
//! Goes out: connections, as long as the target takes them.
//! Not here: what flows through.

use std::io::{ErrorKind, copy};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A forwarder, open until dropped.
pub(crate) struct Proxy {
    target: Arc<AtomicU16>,
    ends: Arc<AtomicBool>,
    door: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Opens this port.
    pub(crate) fn on(port: u16, target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (target, ends) = (Arc::new(AtomicU16::new(target)), Arc::new(AtomicBool::new(false)));
        let door = thread::spawn({
            let (target, ends) = (Arc::clone(&target), Arc::clone(&ends));
            move || {
                while !ends.load(Ordering::Relaxed) {
                    match listener.accept() {
                        Ok((guest, _)) => connect(guest, target.load(Ordering::Relaxed)),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            thread::sleep(Duration::from_millis(5));
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        });
        Self { target, ends, door: Some(door) }
    }

    /// New connections go there; those that are open are left alone.
    pub(crate) fn lead_to(&self, target: u16) {
        self.target.store(target, Ordering::Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.door.take().map(JoinHandle::join);
    }
}

fn connect(guest: TcpStream, target: u16) {
    let Ok(host) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else { return };
    if guest.set_nonblocking(false).is_err() {
        return;
    }
    let (Ok(other_guest), Ok(other_host)) = (guest.try_clone(), host.try_clone()) else { return };
    thread::spawn(move || forward(guest, host));
    thread::spawn(move || forward(other_host, other_guest));
}

fn forward(mut from: TcpStream, mut to: TcpStream) {
    // However it ends, it ends for both sides.
    let _ = copy(&mut from, &mut to);
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
