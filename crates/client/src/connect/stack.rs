//! # Stack: the layers of the client
//! Room:     TCP, TLS, HTTP, credentials.
//! Comes in: a [`Config`].
//! Goes out: [`Clients`] that send each request once.
//! Not here: limits of single requests (`act.rs`).

use super::gather::{Gathered, LONG_MOMENT, MOMENT};
use super::source::words;
use super::{ConnectError, Settings};
use crate::act::chain;
use http::header::USER_AGENT;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, Write};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::middleware::AuthLayer;
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::{Client, Config};
use std::time::Duration;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};

/// A connection without traffic is asked for a sign of life after this long: by HTTP/2, and by TCP for older HTTP.
const PING_AFTER: Duration = Duration::from_secs(15);

/// How long such a sign may take.
const PING_WAIT: Duration = Duration::from_secs(10);

/// When a connection counts as dead.
#[derive(Clone, Copy)]
struct Signs {
    after: Duration,
    wait: Duration,
}

const USUAL: Signs = Signs { after: PING_AFTER, wait: PING_WAIT };

/// A request that is given up leaves its HTTP/2 connection as it is. The lease's must be found dead in half the renew
/// deadline (10 s by default), so that a renewal fits in over a new one.
const LEASE: Signs = Signs { after: Duration::from_secs(2), wait: Duration::from_secs(3) };

/// Clients over connections of their own: a busy one holds up none of the others (L10).
pub(super) struct Clients {
    pub(super) requests: Client,
    pub(super) streams: Client,
    pub(super) heartbeats: Client,
    pub(super) lease: Client,
}

pub(super) fn clients(mut config: Config, settings: &Settings, place: &str) -> Result<Clients, ConnectError> {
    // One provider of cryptography in the whole process; it is installed already if this is not the first client.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let agent = HeaderValue::from_str(&settings.user_agent)
        .map_err(|_| ConnectError::UserAgent(crate::act::quiet(&settings.user_agent)))?;
    config.headers.push((USER_AGENT, agent));
    config.connect_timeout = Some(settings.connect_timeout);
    config.default_retry = false;
    config.disable_compression = true;
    let stack = Stack {
        auth: config.auth_layer().map_err(|why| sort(&why, place))?,
        config: &config,
        timeout: settings.connect_timeout,
        place,
    };
    Ok(Clients {
        requests: stack.plain(USUAL)?,
        streams: stack.gathered(MOMENT)?,
        heartbeats: stack.gathered(LONG_MOMENT)?,
        lease: stack.plain(LEASE)?,
    })
}

/// What all clients of one configuration share: credentials are fetched and renewed once.
struct Stack<'a> {
    auth: Option<AuthLayer>,
    config: &'a Config,
    timeout: Duration,
    place: &'a str,
}

impl Stack<'_> {
    fn plain(&self, signs: Signs) -> Result<Client, ConnectError> {
        match self.config.proxy_url {
            Some(_) => self.proxied(),
            None => self.over(tcp(), signs),
        }
    }

    /// Read in portions, each after a moment of at most this length.
    fn gathered(&self, longest: Duration) -> Result<Client, ConnectError> {
        match self.config.proxy_url {
            Some(_) => self.proxied(),
            None => self.over(tcp().map_response(move |tcp| Gathered::new(tcp, longest)), USUAL),
        }
    }

    /// Through a proxy: kube's own stack, HTTP/1.1.
    fn proxied(&self) -> Result<Client, ConnectError> {
        let built = ClientBuilder::try_from(self.config.clone()).map_err(|why| sort(&why, self.place))?;
        Ok(built.build())
    }

    fn over<C>(&self, tcp: C, signs: Signs) -> Result<Client, ConnectError>
    where
        C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static> + Clone + Send + Sync + 'static,
        C::Response: Connection + Read + Write + Send + Unpin + 'static,
    {
        let connector = ServiceBuilder::new().map_future(Box::pin).timeout(self.timeout).service(https(
            tcp,
            self.config,
            self.place,
        )?);
        let http: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http2_keep_alive_interval(signs.after)
            .http2_keep_alive_timeout(signs.wait)
            .http2_keep_alive_while_idle(true)
            .build(connector);
        let service = ServiceBuilder::new()
            .layer(self.config.base_uri_layer())
            .option_layer(self.auth.as_ref())
            .layer(self.config.extra_headers_layer().map_err(|why| sort(&why, self.place))?)
            .map_err(BoxError::from)
            .service(http);
        Ok(Client::new(service, self.config.default_namespace.clone()))
    }
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    // Small requests leave at once.
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(PING_AFTER));
    tcp.set_keepalive_interval(Some(PING_WAIT / 2));
    tcp.set_keepalive_retries(Some(2));
    tcp
}

/// HTTP/2 where the server offers it: one connection carries all requests, so many in flight cost no handshakes.
fn https<C>(tcp: C, config: &Config, place: &str) -> Result<HttpsConnector<C>, ConnectError> {
    let tls = config.rustls_client_config().map_err(|why| sort(&why, place))?;
    let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(server) = &config.tls_server_name {
        let server = server.clone().try_into().map_err(|_| ConnectError::BadCertificate {
            place: place.to_owned(),
            reason: format!("\"{}\" is no server name (tls-server-name)", crate::act::quiet(server)),
        })?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(server));
    }
    Ok(builder.enable_all_versions().wrap_connector(tcp))
}

fn sort(why: &kube::Error, place: &str) -> ConnectError {
    let (place, reason) = (place.to_owned(), words(&chain(why)));
    match why {
        kube::Error::Auth(_) => ConnectError::Credentials { place, reason },
        kube::Error::ProxyProtocolUnsupported { .. } | kube::Error::ProxyProtocolDisabled { .. } => {
            ConnectError::Proxy { place, reason }
        }
        _ => ConnectError::BadCertificate { place, reason },
    }
}
