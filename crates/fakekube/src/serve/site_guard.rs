//! Distinguishes requests for a server of this machine from those that a browser sends for another site's page.
//!
//! - Invariant: only names and addresses of the machine are accepted (DNS rebinding).

use http::header::{HOST, HeaderName, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A server that listens on an address of this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct SiteGuard {
    address: SocketAddr,
}

impl SiteGuard {
    /// A guard for a server with this address.
    pub(super) const fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Whether every name by which the request addresses the server is one of its own. The owner of another name can
    /// make it resolve to this machine.
    pub(super) fn is_meant(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut named = headers.get_all(HOST).iter().map(|host| host.to_str().ok()?.parse().ok());
        let all_ours =
            named.all(|host: Option<Authority>| host.is_some_and(|host| self.is_ours(host.host())));
        let in_target = uri.authority();
        let some = in_target.is_some() || headers.contains_key(HOST);
        some && all_ours && in_target.is_none_or(|target| self.is_ours(target.host()))
    }

    /// Whether the request comes from no browser, or from a page of this machine's own.
    pub(super) fn is_own_page(&self, headers: &HeaderMap) -> bool {
        let ours = headers.get_all(ORIGIN).iter().all(|origin| {
            let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
            origin.is_some_and(|origin| {
                origin.scheme().is_some() && origin.host().is_some_and(|host| self.is_ours(host))
            })
        });
        ours && !headers.get_all(SEC_FETCH_SITE).iter().any(|site| site == "cross-site")
    }

    fn is_ours(&self, host: &str) -> bool {
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
