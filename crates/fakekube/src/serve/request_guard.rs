//! Rejects requests of web pages in a browser and of other users of the machine.
//!
//! - Invariant: only loopback names are served (DNS rebinding), cross-site requests are rejected, and without the token
//!   only public endpoints respond.

use super::site_guard::SiteGuard;
use crate::api_status::StatusError;
use crate::token::BearerToken;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method};
use std::net::SocketAddr;

/// The endpoints that a real server shows to everyone: its ClusterRole `system:public-info-viewer`.
const PUBLIC: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

/// The address and the token of the server.
pub(super) struct RequestGuard {
    site: SiteGuard,
    token: BearerToken,
}

impl RequestGuard {
    pub(super) fn new(address: SocketAddr, token: BearerToken) -> Self {
        Self { site: SiteGuard::new(address), token }
    }

    /// Checks a request before its body is read.
    ///
    /// # Errors
    /// Why it is rejected: 403, 401.
    pub(super) fn check<B>(&self, request: &http::Request<B>) -> Result<(), StatusError> {
        let (uri, headers) = (request.uri(), request.headers());
        if !self.site.is_meant(uri, headers) {
            let why = "a sandbox answers to localhost, 127.0.0.1, [::1] and the address it listens on, and to no other Host";
            return Err(StatusError::new(403, "Forbidden", why));
        }
        if !self.site.is_own_page(headers) {
            let why = "a sandbox does not answer what a browser sends for a page of another site";
            return Err(StatusError::new(403, "Forbidden", why));
        }
        let public = request.method() == Method::GET && PUBLIC.contains(&uri.path());
        // A browser sends a request without a content type without a preflight, but never with this token.
        match self.offered(headers) {
            OfferedToken::Right => Ok(()),
            OfferedToken::Nothing if public => Ok(()),
            OfferedToken::Nothing | OfferedToken::Wrong => {
                Err(StatusError::new(401, "Unauthorized", "Unauthorized"))
            }
        }
    }

    fn offered(&self, headers: &HeaderMap) -> OfferedToken {
        let mut all = headers.get_all(AUTHORIZATION).iter();
        match (all.next(), all.next()) {
            (None, _) => OfferedToken::Nothing,
            (Some(one), None) if self.is_right(one.as_bytes()) => OfferedToken::Right,
            _ => OfferedToken::Wrong,
        }
    }

    fn is_right(&self, value: &[u8]) -> bool {
        let Some((scheme, token)) = value.split_at_checked("Bearer ".len()) else { return false };
        scheme.eq_ignore_ascii_case(b"Bearer ") && self.token.is(token.trim_ascii())
    }
}

enum OfferedToken {
    Right,
    Wrong,
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    const ALL: &str = "0.0.0.0:21100";
    const LOOPBACK: &str = "127.0.0.1:21100";

    fn code(listen: &str, method: &str, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let token = BearerToken::random();
        let door = RequestGuard::new(listen.parse().expect("an address"), token.clone());
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, value.replace("TOKEN", token.text()));
        }
        let request = request.body(()).expect("a request");
        door.check(&request).map_or_else(|failure| failure.code, |()| 200)
    }

    fn at(listen: &str, host: &str) -> u16 {
        code(listen, "GET", "/api", &[("host", host), ("authorization", "Bearer TOKEN")])
    }

    #[test]
    fn only_this_machines_own_names_lead_here() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:21100", "127.0.0.2", "[::1]:9", "[::1]"] {
            assert_eq!(at(LOOPBACK, host), 200, "{host}");
        }
        let others = [
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
        ];
        for host in others {
            assert_eq!(at(LOOPBACK, host), 403, "{host}");
        }
        assert_eq!(at("192.0.2.7:80", "192.0.2.7"), 200);
        assert_eq!(at(ALL, "192.0.2.7:9"), 200, "an address of the machine's");
        assert_eq!(at(ALL, "rebind.evil.example"), 403);
        let entry = ("authorization", "Bearer TOKEN");
        assert_eq!(code(LOOPBACK, "GET", "/api", &[entry]), 403, "no host at all");
        assert_eq!(code(LOOPBACK, "GET", "http://localhost/api", &[entry]), 200, "as HTTP/2 says it");
        let two = [entry, ("host", "localhost")];
        assert_eq!(code(LOOPBACK, "GET", "http://evil.example/api", &two), 403, "two names");
    }

    #[test]
    fn what_browsers_send_for_other_sites_is_refused() {
        let from = |name: &str, value: &str| {
            let inside = [("host", "localhost"), ("authorization", "Bearer TOKEN"), (name, value)];
            code(LOOPBACK, "GET", "/api", &inside)
        };
        for origin in ["http://localhost:3000", "https://127.0.0.1:21100", "http://[::1]"] {
            assert_eq!(from("origin", origin), 200, "{origin}");
        }
        for origin in
            ["https://evil.example", "null", "", "localhost", "file://", "http://localhost.evil.example"]
        {
            assert_eq!(from("origin", origin), 403, "{origin}");
        }
        assert_eq!(from("sec-fetch-site", "cross-site"), 403);
        for site in ["same-origin", "same-site", "none"] {
            assert_eq!(from("sec-fetch-site", site), 200, "{site}");
        }
        let public = [("host", "localhost"), ("sec-fetch-site", "cross-site")];
        assert_eq!(
            code(LOOPBACK, "GET", "/version", &public),
            403,
            "a page must not learn that a sandbox runs"
        );
    }

    #[test]
    fn without_the_token_only_public_endpoints_respond() {
        let with = |method: &str, path: &str, offered: &str| match offered {
            "" => code(LOOPBACK, method, path, &[("host", "localhost")]),
            offered => code(LOOPBACK, method, path, &[("host", "localhost"), ("authorization", offered)]),
        };
        for path in PUBLIC {
            assert_eq!(with("GET", path, ""), 200, "{path}");
            assert_eq!(with("GET", path, "Bearer sandbox"), 401, "a wrong token is wrong everywhere");
            assert_eq!(with("POST", path, ""), 401, "{path}");
        }
        for path in
            ["/", "/api", "/apis", "/metrics", "/openapi/v3", "/healthzz", "/livez/ping", "/api/v1/secrets"]
        {
            assert_eq!(with("GET", path, ""), 401, "{path}");
            assert_eq!(with("GET", path, "bearer TOKEN"), 200, "{path}");
        }
        let wrong = [
            "Bearer",
            "Bearer ",
            "Bearer sandbox",
            "TOKEN",
            "Basic TOKEN",
            "Bearer TOKENx",
            "Bearer TOKEN TOKEN",
        ];
        for offered in wrong {
            assert_eq!(with("GET", "/api", offered), 401, "{offered}");
        }
        let twice = [("host", "localhost"), ("authorization", "Bearer TOKEN"), ("authorization", "Bearer x")];
        assert_eq!(code(LOOPBACK, "GET", "/api", &twice), 401);
    }
}
