//! Selects the proxy from kubeconfig, `$HTTPS_PROXY` and `$NO_PROXY`, and connects through it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::Matcher;
use percent_encoding::percent_decode_str;
use std::net::IpAddr;

/// What the environment says of proxies.
#[derive(Clone, Default)]
pub(super) struct ProxyEnvironment {
    pub(super) https_proxy: Option<String>,
    pub(super) no_proxy: Option<String>,
}

impl ProxyEnvironment {
    pub(super) fn here() -> Self {
        let variable = |name: &str| {
            let either = [name.to_uppercase(), name.to_owned()].into_iter();
            either.filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty())
        };
        Self { https_proxy: variable("https_proxy"), no_proxy: variable("no_proxy") }
    }

    /// The proxy on the way to a server, by Go's rules: none to this machine, none to what `$NO_PROXY` names.
    pub(super) fn proxy_to(&self, server: &Uri) -> Option<String> {
        let proxy = self.https_proxy.as_deref()?;
        let host = server.host()?.trim_matches(['[', ']']);
        if host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()) {
            return None;
        }
        let matcher =
            Matcher::builder().https(proxy).no(self.no_proxy.as_deref().unwrap_or_default()).build();
        matcher.intercept(server)?;
        Some(if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") })
    }
}

/// A proxy that can be used.
#[derive(Clone)]
pub(super) struct Proxy {
    pub(super) kind: ProxyKind,
    address: Uri,
    /// User and password, without what an address escapes.
    user: Option<(String, String)>,
}

#[derive(Clone, Copy)]
pub(super) enum ProxyKind {
    Http,
    Https,
    Socks,
}

impl Proxy {
    pub(super) fn new(address: Uri) -> Result<Self, String> {
        let kind = match address.scheme_str() {
            Some("http") => ProxyKind::Http,
            Some("https") => ProxyKind::Https,
            Some("socks5" | "socks5h") => ProxyKind::Socks,
            Some(other) => return Err(format!("nothing is known of {other}://")),
            None => return Err("it does not say how it is talked to".to_owned()),
        };
        let userinfo = address.authority().and_then(|authority| authority.as_str().rsplit_once('@'));
        let user = userinfo.map(|(userinfo, _)| {
            let (name, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
            let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
            (plain(name), plain(password))
        });
        Ok(Self { kind, address, user })
    }

    pub(super) fn tunnel<C>(&self, connector: C) -> Tunnel<C> {
        let tunnel = Tunnel::new(self.address.clone(), connector);
        let basic = self.user.as_ref().map(|(name, password)| STANDARD.encode(format!("{name}:{password}")));
        match basic.and_then(|basic| HeaderValue::from_str(&format!("Basic {basic}")).ok()) {
            Some(header) => tunnel.with_auth(header),
            None => tunnel,
        }
    }

    /// Names are the proxy's to resolve.
    pub(super) fn socks<C>(&self, connector: C) -> SocksV5<C> {
        let socks = SocksV5::new(self.address.clone(), connector);
        match self.user.clone() {
            Some((name, password)) => socks.with_auth(name, password),
            None => socks,
        }
    }
}
