//! Decides by the name in a request whether it is for a server of this machine.
//!
//! - Invariant: only names and addresses of the machine are accepted. The owner of another name can make it resolve to
//!   this machine, so that a page of theirs reads responses (DNS rebinding).

use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, Uri};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A server that listens on an address of this machine.
#[derive(Clone, Copy, Debug)]
pub struct HostGuard {
    address: SocketAddr,
}

impl HostGuard {
    /// A guard for a server with this address.
    pub const fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Whether the request names a server, and each name in it is one of this server's own.
    pub fn accepts(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter().map(|host| host.to_str().ok()?.parse().ok());
        let all_own = hosts.all(|host: Option<Authority>| host.is_some_and(|host| self.is_own(host.host())));
        let target = uri.authority();
        let is_named = target.is_some() || headers.contains_key(HOST);
        is_named && all_own && target.is_none_or(|target| self.is_own(target.host()))
    }

    fn is_own(&self, host: &str) -> bool {
        if host.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let address = bare.map_or_else(
            || host.parse::<IpAddr>().ok().filter(IpAddr::is_ipv4),
            |bare| bare.parse::<Ipv6Addr>().ok().map(IpAddr::from),
        );
        // A server on all addresses accepts each of the machine's. An IP address, unlike a name, cannot be made to lead
        // elsewhere.
        address.is_some_and(|ip| {
            ip.is_loopback() || ip == self.address.ip() || self.address.ip().is_unspecified()
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up requests parse")]
mod tests {
    use super::*;
    use http::Request;

    const ALL: &str = "0.0.0.0:21100";
    const LOOPBACK: &str = "127.0.0.1:21100";

    fn accepts(listen: &str, uri: &str, hosts: &[&str]) -> bool {
        let mut request = Request::builder().uri(uri);
        for host in hosts {
            request = request.header("host", *host);
        }
        let request = request.body(()).unwrap();
        HostGuard::new(listen.parse().unwrap()).accepts(request.uri(), request.headers())
    }

    #[test]
    fn names_of_this_machine_are_accepted_and_others_are_not() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:21100", "127.0.0.2", "[::1]:9", "[::1]"] {
            assert!(accepts(LOOPBACK, "/", &[host]), "{host}");
        }
        for host in [
            "rebind.evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil@localhost.example",
            "",
            "192.0.2.7",
            "[2001:db8::1]",
            "localhost, evil.example",
            "localhost:1:2",
            "::1",
            "0x7f000001",
            "2130706433",
        ] {
            assert!(!accepts(LOOPBACK, "/", &[host]), "{host}");
        }
        assert!(accepts("192.0.2.7:80", "/", &["192.0.2.7"]));
        assert!(accepts(ALL, "/", &["192.0.2.7:9"]), "an address of the machine");
        assert!(!accepts(ALL, "/", &["rebind.evil.example"]));
    }

    #[test]
    fn every_name_in_a_request_counts() {
        assert!(!accepts(LOOPBACK, "/", &[]), "no host at all");
        assert!(accepts(LOOPBACK, "http://localhost/", &[]), "as HTTP/2 sends it");
        assert!(!accepts(LOOPBACK, "http://evil.example/", &["localhost"]));
        assert!(!accepts(LOOPBACK, "/", &["localhost", "evil.example"]));
    }
}
