//! # Stack: the layers of the client
//! Room:     TCP, TLS, HTTP, credentials.
//! Comes in: a [`Config`].
//! Goes out: a [`Client`] that sends each request once.
//! Not here: limits of single requests (`act.rs`).

use super::source::words;
use super::{ConnectError, Settings};
use crate::act::chain;
use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::{Client, Config};
use std::time::Duration;
use tower::{BoxError, ServiceBuilder};

/// A connection without traffic is asked for a sign of life after this long: by HTTP/2, and by TCP for older HTTP.
const PING_AFTER: Duration = Duration::from_secs(15);

/// How long such a sign may take.
const PING_WAIT: Duration = Duration::from_secs(10);

pub(super) fn client(mut config: Config, settings: &Settings, place: &str) -> Result<Client, ConnectError> {
    // One provider of cryptography in the whole process; it is installed already if this is not the first client.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let agent = HeaderValue::from_str(&settings.user_agent)
        .map_err(|_| ConnectError::UserAgent(crate::act::quiet(&settings.user_agent)))?;
    config.headers.push((USER_AGENT, agent));
    config.connect_timeout = Some(settings.connect_timeout);
    config.default_retry = false;
    config.disable_compression = true;
    if config.proxy_url.is_some() {
        // Through a proxy: kube's own stack, HTTP/1.1.
        let built = ClientBuilder::try_from(config).map_err(|why| sort(&why, place))?;
        return Ok(built.build());
    }
    let namespace = config.default_namespace.clone();
    let connector = ServiceBuilder::new()
        .map_future(Box::pin)
        .timeout(settings.connect_timeout)
        .service(https(&config, place)?);
    let http: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_keep_alive_interval(PING_AFTER)
        .http2_keep_alive_timeout(PING_WAIT)
        .http2_keep_alive_while_idle(true)
        .build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(|why| sort(&why, place))?)
        .layer(config.extra_headers_layer().map_err(|why| sort(&why, place))?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, namespace))
}

/// HTTP/2 where the server offers it: one connection carries all requests, so many in flight cost no handshakes.
fn https(config: &Config, place: &str) -> Result<HttpsConnector<HttpConnector>, ConnectError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    // Small requests leave at once.
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(PING_AFTER));
    tcp.set_keepalive_interval(Some(PING_WAIT / 2));
    tcp.set_keepalive_retries(Some(2));
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
