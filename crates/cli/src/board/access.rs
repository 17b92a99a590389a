//! Admits only the browser that opened the board's address, and no page of another site.
//!
//! - Invariant: the address, the cookie and the buttons have a secret each, so none of them tells another. Without the
//!   address's token or the cookie, a response contains only how to get access.
//! - Browsers send a cookie to all ports of a host, so the cookie belongs to a random path, under which all pages are:
//!   a server on another port cannot have a page there.

use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method, Request, StatusCode};
use std::net::SocketAddr;
use taintward_server::host_guard::HostGuard;
use taintward_server::secret_token::SecretToken;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

const COOKIE_NAME: &str = "taintward-board";

/// The access control of the board.
pub(super) struct BoardAccess {
    host: HostGuard,
    secrets: BoardSecrets,
}

/// The random texts that a board is started with.
#[derive(Clone)]
pub(super) struct BoardSecrets {
    /// In the printed address.
    pub(super) token: SecretToken,
    /// The folder of all pages.
    folder: SecretToken,
    /// In the cookie.
    session: SecretToken,
    /// Sent to the pages, which return it in a header of each change.
    pub(super) buttons: SecretToken,
}

impl BoardSecrets {
    pub(super) fn random() -> Self {
        let [token, folder, session, buttons] = std::array::from_fn(|_| SecretToken::random());
        Self { token, folder, session, buttons }
    }
}

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission<'r> {
    /// It may have this page; the first one is empty.
    Granted(&'r str),
    /// The token was in the address: the response leads to the pages, and sets their cookie.
    Entered {
        location: String,
        cookie: String,
    },
    Rejected(StatusCode, &'static str),
}

impl BoardAccess {
    pub(super) fn new(address: SocketAddr, secrets: BoardSecrets) -> Self {
        Self { host: HostGuard::new(address), secrets }
    }

    /// Decides about a request before its body is read.
    pub(super) fn check<'r, B>(&self, request: &'r Request<B>) -> Admission<'r> {
        let (uri, headers) = (request.uri(), request.headers());
        if !self.host.accepts(uri, headers) {
            return Admission::Rejected(
                StatusCode::FORBIDDEN,
                "the board serves localhost, 127.0.0.1 and [::1] only; open the address that it printed",
            );
        }
        if !is_own_page(headers) {
            return Admission::Rejected(
                StatusCode::FORBIDDEN,
                "the board does not serve requests of other sites' pages; paste the address that it printed",
            );
        }
        let page = self.page(uri.path()).filter(|_| self.has_cookie(headers));
        if *request.method() == Method::POST {
            return self.check_write(page, headers);
        }
        if uri.path() == "/"
            && let Some(offered) = token_in(uri.query().unwrap_or_default())
            && self.secrets.token.is(offered.as_bytes())
        {
            let location = format!("/{}/", self.secrets.folder.text());
            let session = self.secrets.session.text();
            let cookie = format!("{COOKIE_NAME}={session}; Path={location}; HttpOnly; SameSite=Strict");
            return Admission::Entered { location, cookie };
        }
        page.map_or(
            Admission::Rejected(
                StatusCode::UNAUTHORIZED,
                "the request has no valid token; open the address that the board printed, with its token",
            ),
            Admission::Granted,
        )
    }

    fn check_write<'r>(&self, page: Option<&'r str>, headers: &HeaderMap) -> Admission<'r> {
        let offered = headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        let page = page.filter(|_| offered.is_some_and(|token| self.secrets.buttons.is(token)));
        let Some(page) = page else {
            return Admission::Rejected(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong; reload the page",
            );
        };
        if headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/json") {
            return Admission::Rejected(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body has an unsupported content type; send application/json",
            );
        }
        Admission::Granted(page)
    }

    /// The page of a path below the folder.
    fn page<'r>(&self, path: &'r str) -> Option<&'r str> {
        let (folder, page) = path.strip_prefix('/')?.split_once('/')?;
        self.secrets.folder.is(folder.as_bytes()).then_some(page)
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|all| all.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == COOKIE_NAME && self.secrets.session.is(value.as_bytes()))
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

    /// The status, and where the response leads with which cookie. TOKEN, FOLDER, SESSION and BUTTONS stand for secrets.
    fn admission(method: &str, uri: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let secrets = BoardSecrets::random();
        let BoardSecrets { token, folder, session, buttons } = secrets.clone();
        let names = ["TOKEN", "FOLDER", "SESSION", "BUTTONS"];
        let pairs = || names.into_iter().zip([&token, &folder, &session, &buttons].map(SecretToken::text));
        let with =
            |text: &str| pairs().fold(text.to_owned(), |text, (name, secret)| text.replace(name, secret));
        let without = |text: String| pairs().fold(text, |text, (name, secret)| text.replace(secret, name));
        let access = BoardAccess::new(ADDRESS.parse().expect("an address"), secrets.clone());
        let mut request = Request::builder().method(method).uri(with(uri));
        for (name, value) in headers {
            request = request.header(*name, with(value));
        }
        match access.check(&request.body(()).expect("a request")) {
            Admission::Granted(page) => (200, page.to_owned()),
            Admission::Entered { location, cookie } => (303, without(format!("{location} {cookie}"))),
            Admission::Rejected(status, _) => (status.as_u16(), String::new()),
        }
    }

    const HOST: (&str, &str) = ("host", ADDRESS);
    const COOKIE: (&str, &str) = ("cookie", "a=b; taintward-board=SESSION");

    #[test]
    fn scripts_other_sites_and_other_ports_cannot_get_the_cookie() {
        let (status, headers) = admission("GET", "/?token=TOKEN", &[HOST]);
        assert_eq!(status, 303);
        assert_eq!(headers, "/FOLDER/ taintward-board=SESSION; Path=/FOLDER/; HttpOnly; SameSite=Strict");
        assert_eq!(admission("GET", "/?token=TOKENx", &[HOST]).0, 401);
        assert_eq!(admission("GET", "/events?token=TOKEN", &[HOST]).0, 401, "the first page alone takes it");
        assert_eq!(admission("GET", "/FOLDER/events?token=TOKEN", &[HOST]).0, 401);
        assert_eq!(admission("GET", "/FOLDER/events", &[HOST, COOKIE]), (200, "events".to_owned()));
        assert_eq!(admission("GET", "/FOLDER/", &[HOST, COOKIE]), (200, String::new()));
        assert_eq!(admission("GET", "/FOLDER/events", &[HOST]).0, 401);
    }

    #[test]
    fn no_secret_stands_for_another() {
        for wrong in ["SESSIONx", "TOKEN", "FOLDER", "BUTTONS", ""] {
            let cookie = format!("taintward-board={wrong}");
            assert_eq!(admission("GET", "/FOLDER/events", &[HOST, ("cookie", &cookie)]).0, 401, "{wrong}");
        }
        for wrong in ["SESSION", "taintward-board-4000=SESSION"] {
            assert_eq!(admission("GET", "/FOLDER/events", &[HOST, ("cookie", wrong)]).0, 401, "{wrong}");
        }
        for wrong in
            ["/events", "/FOLDERx/events", "//events", "/TOKEN/events", "/SESSION/events", "/FOLDER", "/"]
        {
            assert_eq!(admission("GET", wrong, &[HOST, COOKIE]).0, 401, "{wrong}");
        }
        for wrong in ["FOLDER", "SESSION", "BUTTONS"] {
            assert_eq!(admission("GET", &format!("/?token={wrong}"), &[HOST]).0, 401, "{wrong}");
        }
    }

    #[test]
    fn unknown_host_names_and_pages_of_other_sites_are_rejected() {
        let page = "/FOLDER/";
        for host in ["evil.example", "127.0.0.1.evil.example:4000", "192.0.2.1:4000"] {
            assert_eq!(admission("GET", page, &[("host", host), COOKIE]).0, 403, "{host}");
        }
        let own = ("origin", "http://127.0.0.1:4000");
        assert_eq!(admission("GET", page, &[HOST, COOKIE, own, ("sec-fetch-site", "same-origin")]).0, 200);
        for origin in ["http://127.0.0.1:4001", "https://127.0.0.1:4000", "null", "http://evil.example"] {
            assert_eq!(admission("GET", page, &[HOST, COOKIE, ("origin", origin)]).0, 403, "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            assert_eq!(admission("GET", page, &[HOST, COOKIE, ("sec-fetch-site", site)]).0, 403, "{site}");
        }
    }

    #[test]
    fn a_change_needs_the_cookie_and_another_secret_in_a_header() {
        let (json, bearer) = (("content-type", "application/json"), ("authorization", "Bearer BUTTONS"));
        let action = "/FOLDER/action";
        assert_eq!(admission("POST", action, &[HOST, COOKIE, bearer, json]), (200, "action".to_owned()));
        assert_eq!(admission("POST", "/action", &[HOST, COOKIE, bearer, json]).0, 401);
        assert_eq!(admission("POST", action, &[HOST, COOKIE, json]).0, 401);
        assert_eq!(admission("POST", action, &[HOST, bearer, json]).0, 401);
        assert_eq!(admission("POST", "/?token=TOKEN", &[HOST, COOKIE, json]).0, 401);
        for wrong in ["TOKEN", "SESSION", "FOLDER"] {
            let wrong = format!("Bearer {wrong}");
            assert_eq!(admission("POST", action, &[HOST, COOKIE, ("authorization", &wrong), json]).0, 401);
        }
        assert_eq!(admission("POST", action, &[HOST, COOKIE, bearer]).0, 415);
        let evil = ("origin", "http://evil.example");
        assert_eq!(admission("POST", action, &[HOST, COOKIE, bearer, json, evil]).0, 403);
    }
}
