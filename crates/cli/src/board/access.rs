//! Admits only the browser that opened the board's address, and no page of another site.
//!
//! - Invariant: without the token, a response contains only how to get access; a change of the sandbox needs the token in
//!   a header, which a browser never adds by itself.

use fakekube::serve::SiteGuard;
use fakekube::token::BearerToken;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method, Request, StatusCode};
use std::net::SocketAddr;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The access control of the board.
pub(super) struct BoardAccess {
    site: SiteGuard,
    token: BearerToken,
    /// The cookie's name contains the port, because browsers send the cookies of all ports of a host to each of them.
    cookie: String,
}

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Granted,
    /// The token was in the address: the response moves it into this cookie.
    SetCookie(String),
    Refused(StatusCode, &'static str),
}

impl BoardAccess {
    pub(super) fn new(address: SocketAddr, token: BearerToken) -> Self {
        let cookie = format!("taintward-board-{}", address.port());
        Self { site: SiteGuard::new(address), token, cookie }
    }

    /// Decides about a request before its body is read.
    pub(super) fn check<B>(&self, request: &Request<B>) -> Admission {
        let (uri, headers) = (request.uri(), request.headers());
        if !self.site.is_meant(uri, headers) {
            return Admission::Refused(
                StatusCode::FORBIDDEN,
                "the board serves localhost, 127.0.0.1 and [::1] only; open the address that it printed",
            );
        }
        if !is_own_page(headers) {
            return Admission::Refused(
                StatusCode::FORBIDDEN,
                "the board does not serve requests of other sites' pages; paste the address that it printed",
            );
        }
        if *request.method() == Method::POST {
            return self.check_write(headers);
        }
        if uri.path() == "/"
            && let Some(offered) = token_in(uri.query().unwrap_or_default())
            && self.token.is(offered.as_bytes())
        {
            return Admission::SetCookie(format!(
                "{}={}; Path=/; HttpOnly; SameSite=Strict",
                self.cookie,
                self.token.text()
            ));
        }
        if self.has_cookie(headers) {
            return Admission::Granted;
        }
        Admission::Refused(
            StatusCode::UNAUTHORIZED,
            "the request has no valid token; open the address that the board printed, with its token",
        )
    }

    fn check_write(&self, headers: &HeaderMap) -> Admission {
        let offered = headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        if !(self.has_cookie(headers) && offered.is_some_and(|token| self.token.is(token))) {
            return Admission::Refused(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong; reload the page",
            );
        }
        if headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/json") {
            return Admission::Refused(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body has an unsupported content type; send application/json",
            );
        }
        Admission::Granted
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|all| all.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie && self.token.is(value.as_bytes()))
    }
}

/// Whether no page sends the request, or a page of this server: another port of this machine is another site.
fn is_own_page(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let own = format!("http://{host}");
    let origins = headers.get_all(ORIGIN).iter().all(|origin| origin == own.as_str());
    origins && headers.get_all(SEC_FETCH_SITE).iter().all(|site| site == "same-origin" || site == "none")
}

fn token_in(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("token="))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "127.0.0.1:4000";

    fn admission(method: &str, uri: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let token = BearerToken::random();
        let access = BoardAccess::new(ADDRESS.parse().expect("an address"), token.clone());
        let text = token.text();
        let mut request = Request::builder().method(method).uri(uri.replace("TOKEN", text));
        for (name, value) in headers {
            request = request.header(*name, value.replace("TOKEN", text));
        }
        match access.check(&request.body(()).expect("a request")) {
            Admission::Granted => (200, String::new()),
            Admission::SetCookie(cookie) => (303, cookie.replace(text, "TOKEN")),
            Admission::Refused(status, _) => (status.as_u16(), String::new()),
        }
    }

    const HOST: (&str, &str) = ("host", ADDRESS);
    const COOKIE: (&str, &str) = ("cookie", "a=b; taintward-board-4000=TOKEN");

    #[test]
    fn scripts_and_other_sites_cannot_read_the_cookie() {
        let (status, cookie) = admission("GET", "/?token=TOKEN", &[HOST]);
        assert_eq!(status, 303);
        assert_eq!(cookie, "taintward-board-4000=TOKEN; Path=/; HttpOnly; SameSite=Strict");
        assert_eq!(admission("GET", "/?token=TOKENx", &[HOST]).0, 401);
        assert_eq!(admission("GET", "/events?token=TOKEN", &[HOST]).0, 401, "the page alone takes it");
        assert_eq!(admission("GET", "/events", &[HOST, COOKIE]).0, 200);
        assert_eq!(admission("GET", "/events", &[HOST]).0, 401);
        for wrong in
            ["taintward-board-4000=TOKENx", "taintward-board-4001=TOKEN", "TOKEN", "taintward-board-4000="]
        {
            assert_eq!(admission("GET", "/events", &[HOST, ("cookie", wrong)]).0, 401, "{wrong}");
        }
    }

    #[test]
    fn unknown_host_names_and_pages_of_other_sites_are_rejected() {
        for host in ["evil.example", "127.0.0.1.evil.example:4000", "192.0.2.1:4000"] {
            assert_eq!(admission("GET", "/", &[("host", host), COOKIE]).0, 403, "{host}");
        }
        let own = ("origin", "http://127.0.0.1:4000");
        assert_eq!(admission("GET", "/", &[HOST, COOKIE, own, ("sec-fetch-site", "same-origin")]).0, 200);
        for origin in ["http://127.0.0.1:4001", "https://127.0.0.1:4000", "null", "http://evil.example"] {
            assert_eq!(admission("GET", "/", &[HOST, COOKIE, ("origin", origin)]).0, 403, "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            assert_eq!(admission("GET", "/", &[HOST, COOKIE, ("sec-fetch-site", site)]).0, 403, "{site}");
        }
    }

    #[test]
    fn a_change_needs_the_token_in_a_header_too() {
        let (json, bearer) = (("content-type", "application/json"), ("authorization", "Bearer TOKEN"));
        assert_eq!(admission("POST", "/action", &[HOST, COOKIE, bearer, json]).0, 200);
        assert_eq!(admission("POST", "/action", &[HOST, COOKIE, json]).0, 401);
        assert_eq!(admission("POST", "/action", &[HOST, bearer, json]).0, 401);
        assert_eq!(admission("POST", "/action?token=TOKEN", &[HOST, COOKIE, json]).0, 401);
        assert_eq!(admission("POST", "/action", &[HOST, COOKIE, bearer]).0, 415);
        let evil = ("origin", "http://evil.example");
        assert_eq!(admission("POST", "/action", &[HOST, COOKIE, bearer, json, evil]).0, 403);
    }
}
