//! Sends HTTP/1.1 requests to a server.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt as _;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use std::path::Path;

/// A server, with an account that may do everything.
#[derive(Clone)]
pub(crate) struct ConformanceTarget {
    /// Its name in reports.
    pub(crate) name: &'static str,
    config: Config,
    /// An additional header.
    entry: Option<String>,
}

impl ConformanceTarget {
    /// A target with the server and the account of a kubeconfig.
    pub(crate) async fn from_kubeconfig(name: &'static str, path: &Path) -> Self {
        let kubeconfig = Kubeconfig::read_from(path).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        Self { name, config, entry: None }
    }

    /// A target without TLS: `http://127.0.0.1:PORT`.
    pub(crate) fn open(name: &'static str, address: &str, token: &str) -> Self {
        Self { name, config: Config::new(address.parse().unwrap()), entry: Some(format!("Bearer {token}")) }
    }

    /// A connection pool for one runtime.
    pub(crate) fn connect(&self) -> TargetEncoding {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let https = self.config.rustls_https_connector_with_connector(tcp).unwrap();
        let base = self.config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let entry = self.entry.clone();
        TargetEncoding { client: Client::builder(TokioExecutor::new()).build(https), base, entry }
    }
}

/// Connections to a target.
pub(crate) struct TargetEncoding {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: String,
    entry: Option<String>,
}

impl TargetEncoding {
    /// Sends one request; the response's body is not read yet.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: Bytes,
    ) -> http::Response<Incoming> {
        let mut request = http::Request::builder().method(method).uri(format!("{}{path}", self.base));
        if let Some(entry) = &self.entry {
            request = request.header("authorization", entry);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        self.client.request(request.body(Full::new(body)).unwrap()).await.unwrap()
    }
}
