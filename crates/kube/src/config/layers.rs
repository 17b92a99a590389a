//! Builds the HTTP clients from their layers: TCP, proxy, TLS, HTTP, credentials, observation.

use super::coalesce::{CoalescingStream, LONG_MOMENT, MOMENT};
use super::connection_attempts::ConnectionAttempts;
use super::credentials::{AuthService, Credentials};
use super::{ConfigSource, ConnectError, ConnectSettings, Connected, KeepAlive};
use crate::error_text::{one_line, sanitized};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::USER_AGENT;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, Write};
use hyper_rustls::{
    DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder,
    ResolveServerName,
};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::middleware::ExtraHeadersLayer;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use percent_encoding::percent_decode_str;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::sync::Arc;
use std::time::Duration;
use taintward_core::text::error_chain;
use thiserror::Error;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};

/// Builds clients with separate connections: a busy one delays none of the others (L10).
pub(super) fn connected(
    source: ConfigSource,
    credentials: Credentials,
    settings: &ConnectSettings,
) -> Result<Connected, ConnectError> {
    let ConfigSource { mut config, place, .. } = source;
    let agent = HeaderValue::from_str(&settings.user_agent)
        .map_err(|_| ConnectError::UserAgent(sanitized(&settings.user_agent)))?;
    config.headers.push((USER_AGENT, agent));
    let unusable = |why: kube::Error| ConnectError::Incomplete {
        place: place.clone(),
        reason: one_line(&error_chain(&why)),
    };
    let proxy = config.proxy_url.clone().map(Proxy::new).transpose();
    let server_name = config.tls_server_name.clone().map(ServerName::try_from).transpose();
    let stack = ClientLayers {
        headers: config.extra_headers_layer().map_err(unusable)?,
        proxy: proxy.map_err(|why| ConnectError::Proxy { place: place.clone(), reason: why.to_string() })?,
        server_name: server_name.map_err(|_| ConnectError::BadCertificate {
            place: place.clone(),
            reason: "tls-server-name is not a server name".to_owned(),
        })?,
        config,
        credentials,
        timeout: settings.connect_timeout,
        keep_alive: settings.keep_alive,
    };
    let (server, default_namespace) = (&stack.config.cluster_url, stack.config.default_namespace.clone());
    Ok(Connected {
        client: stack.client(Duration::ZERO),
        streams: stack.client(MOMENT),
        heartbeats: stack.client(LONG_MOMENT),
        lease: stack.client(Duration::ZERO),
        host: server.authority().map(ToString::to_string).unwrap_or_default(),
        where_from: format!("{place}, server {}", sanitized(&server.to_string())),
        default_namespace,
    })
}

/// The parts that all clients of one configuration share.
struct ClientLayers {
    headers: ExtraHeadersLayer,
    proxy: Option<Proxy>,
    server_name: Option<ServerName<'static>>,
    config: Config,
    credentials: Credentials,
    timeout: Duration,
    keep_alive: KeepAlive,
}

impl ClientLayers {
    /// Returns a client with connections of its own. They are read in chunks, each after a delay of at most this
    /// length.
    fn client(&self, moment: Duration) -> Client {
        // TCP gets a part of the connect timeout, and each address of a name a share of that: all are tried while a
        // request waits.
        let tcp = tcp(self.timeout * 2 / 5);
        match self.proxy.clone() {
            None => self.over(moment, move |_| tcp.clone()),
            Some(proxy) => match proxy.kind {
                ProxyKind::Http => self.over(moment, move |_| proxy.tunnel(tcp.clone())),
                ProxyKind::Https => self.over(moment, move |tls| {
                    let builder = HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_only();
                    proxy.tunnel(builder.enable_http1().wrap_connector(tcp.clone()))
                }),
                ProxyKind::Socks => self.over(moment, move |_| proxy.socks(tcp.clone())),
            },
        }
    }

    /// `dial` opens connections to the server, below TLS. From the outside in: the server's address, headers of the
    /// configuration, credentials, HTTP.
    fn over<C>(&self, moment: Duration, dial: impl Fn(&ClientConfig) -> C + Send + Sync + 'static) -> Client
    where
        C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static> + Clone + Send + Sync + 'static,
        C::Response: Connection + Read + Write + Send + Unpin + 'static,
    {
        let (server_name, timeout, keep_alive) = (self.server_name.clone(), self.timeout, self.keep_alive);
        let http = move |tls: &ClientConfig| {
            let dial = dial(tls).map_response(move |io| CoalescingStream::new(io, moment));
            let connector = ConnectionAttempts::new(https(tls, server_name.clone(), dial), timeout);
            legacy::Client::builder(TokioExecutor::new())
                .timer(TokioTimer::new())
                .pool_timer(TokioTimer::new())
                .http2_keep_alive_interval(keep_alive.after)
                .http2_keep_alive_timeout(keep_alive.timeout)
                .http2_keep_alive_while_idle(true)
                .build::<_, Body>(connector)
        };
        let service = ServiceBuilder::new()
            .layer(self.config.base_uri_layer())
            .layer(self.headers.clone())
            .service(AuthService::new(self.credentials.clone(), http));
        Client::new(service, self.config.default_namespace.clone())
    }
}

fn tcp(limit: Duration) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(limit));
    // Small requests are sent immediately.
    tcp.set_nodelay(true);
    // For HTTP/1, in whole seconds: the server's kernel responds.
    tcp.set_keepalive(Some(Duration::from_secs(2)));
    tcp.set_keepalive_interval(Some(Duration::from_secs(1)));
    tcp.set_keepalive_retries(Some(2));
    tcp
}

/// HTTP/2 if the server offers it: one connection carries all requests, so many in flight cost no handshakes.
fn https<C>(tls: &ClientConfig, server_name: Option<ServerName<'static>>, tcp: C) -> HttpsConnector<C> {
    let resolver: Arc<dyn ResolveServerName + Send + Sync> = match server_name {
        Some(name) => Arc::new(FixedServerNameResolver::new(name)),
        None => Arc::new(DefaultServerNameResolver::default()),
    };
    let mut tls = tls.clone();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    HttpsConnector::new(tcp, tls, false, resolver)
}

/// A usable proxy.
#[derive(Clone)]
struct Proxy {
    kind: ProxyKind,
    address: Uri,
    /// User and password, unescaped.
    user: Option<(String, String)>,
}

/// Why a proxy cannot be used.
#[derive(Debug, Error)]
enum InvalidProxy {
    #[error("the scheme {0}:// is not supported")]
    Scheme(String),
    #[error("its address has no scheme")]
    NoScheme,
}

#[derive(Clone, Copy)]
enum ProxyKind {
    Http,
    Https,
    Socks,
}

impl Proxy {
    fn new(address: Uri) -> Result<Self, InvalidProxy> {
        let kind = match address.scheme_str() {
            Some("http") => ProxyKind::Http,
            Some("https") => ProxyKind::Https,
            Some("socks5" | "socks5h") => ProxyKind::Socks,
            Some(other) => return Err(InvalidProxy::Scheme(other.to_owned())),
            None => return Err(InvalidProxy::NoScheme),
        };
        let userinfo = address.authority().and_then(|authority| authority.as_str().rsplit_once('@'));
        let user = userinfo.map(|(userinfo, _)| {
            let (name, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
            let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
            (plain(name), plain(password))
        });
        Ok(Self { kind, address, user })
    }

    fn tunnel<C>(&self, connector: C) -> Tunnel<C> {
        let tunnel = Tunnel::new(self.address.clone(), connector);
        let basic = self.user.as_ref().map(|(name, password)| STANDARD.encode(format!("{name}:{password}")));
        match basic.and_then(|basic| HeaderValue::from_str(&format!("Basic {basic}")).ok()) {
            Some(header) => tunnel.with_auth(header),
            None => tunnel,
        }
    }

    /// The proxy resolves host names.
    fn socks<C>(&self, connector: C) -> SocksV5<C> {
        let socks = SocksV5::new(self.address.clone(), connector);
        match self.user.clone() {
            Some((name, password)) => socks.with_auth(name, password),
            None => socks,
        }
    }
}
