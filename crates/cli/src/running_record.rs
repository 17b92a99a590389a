//! Fetches the record of a running controller, over HTTPS, with the token of the kubeconfig's user.
//!
//! - Invariant: the token is sent only to this machine, where a port-forward leads to the controller, or to a server
//!   whose certificate a named CA has signed.

use crate::args::kube_args::ServerOptions;
use crate::runtime::Runtime;
use clap::Args;
use http::{Request, StatusCode, Uri};
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use taintward_kube::config::{ConnectError, ConnectSettings, ServerTrust, connect};
use taintward_record::{RecordError, RecordReader};
use tokio::time::timeout;

/// Where a running controller is, and as whom it is read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The running controller")]
pub(crate) struct RunningRecordArgs {
    /// The address of the controller's --secure-port; the default is that of a port-forward:
    /// kubectl port-forward -n taintward-system POD 10358
    #[arg(long, value_name = "URL", default_value = "https://127.0.0.1:10358", value_parser = url)]
    url: Uri,
    /// The CA of the controller's certificate, PEM. Not needed on this machine
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<PathBuf>,
    #[command(flatten)]
    server: ServerOptions,
}

/// Why a record was not fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunningRecordError {
    #[error("cannot start the async runtime: {0}")]
    Start(#[from] io::Error),
    #[error(
        "{0} is not this machine: name the CA of the controller's certificate with --certificate-authority, because your \
         token is sent there"
    )]
    Untrusted(String),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(
        "no controller responds at {url}: {reason}; give taintward run a --secure-port, and forward it: kubectl \
         port-forward -n taintward-system POD 10358"
    )]
    Unreachable { url: String, reason: String },
    #[error(
        "{url} does not know your user (401): the controller accepts a token, and no client certificate; kubectl config \
         set-credentials NAME --token=$(kubectl create token ACCOUNT), then --user NAME"
    )]
    Unauthorized { url: String },
    #[error("{url} rejected the request ({status}): {text}")]
    Rejected { url: String, status: StatusCode, text: String },
    #[error("{url}: {error}")]
    NotARecord { url: String, error: RecordError },
}

pub(crate) fn url(text: &str) -> Result<Uri, &'static str> {
    let url = text.parse::<Uri>().ok();
    let url = url.filter(|url| url.scheme_str() == Some("https") && url.host().is_some());
    url.ok_or("expected an address such as https://127.0.0.1:10358")
}

/// Whether a server is on this machine, so that its certificate needs no CA.
pub(crate) fn is_this_machine(url: &Uri) -> bool {
    let host = host(url);
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

fn host(url: &Uri) -> &str {
    url.host().unwrap_or_default().trim_matches(['[', ']'])
}

impl RunningRecordArgs {
    /// The controller at this address, whose certificate needs no CA because it is on this machine.
    pub(crate) const fn at(url: Uri, server: ServerOptions) -> Self {
        Self { url, certificate_authority: None, server }
    }

    /// The address, for people.
    pub(crate) fn place(&self) -> String {
        self.url.to_string()
    }

    /// Fetches the record, as a file.
    pub(crate) fn fetch(&self) -> Result<Bytes, RunningRecordError> {
        let settings = self.settings()?;
        let limit = self.server.timeout.next();
        let record = Runtime::new()?.block_on(async {
            let client = connect(&settings).await?.client;
            match timeout(limit, self.get(client)).await {
                Ok(record) => record,
                Err(_) => Err(self.unreachable(format!("no response within {limit:?}"))),
            }
        })?;
        let opened = RecordReader::open(&record[..]).map(drop);
        opened.map_err(|error| self.not_a_record(error))?;
        Ok(record)
    }

    fn settings(&self) -> Result<ConnectSettings, RunningRecordError> {
        let trust = match &self.certificate_authority {
            Some(path) => ServerTrust::Authority(path.clone()),
            None if is_this_machine(&self.url) => ServerTrust::Any,
            None => return Err(RunningRecordError::Untrusted(host(&self.url).to_owned())),
        };
        let mut settings = self.server.settings.clone();
        settings.overrides.server = Some(self.place());
        settings.overrides.trust = Some(trust);
        Ok(settings)
    }

    async fn get(&self, client: kube::Client) -> Result<Bytes, RunningRecordError> {
        let request = Request::get("/record").body(kube::client::Body::empty()).expect("a constant request");
        let failed = |error: &dyn Error| self.unreachable(innermost(error));
        let response = client.send(request).await.map_err(|error| failed(&error))?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
        match status {
            StatusCode::OK => Ok(body),
            StatusCode::UNAUTHORIZED => Err(RunningRecordError::Unauthorized { url: self.place() }),
            _ => {
                let text = String::from_utf8_lossy(&body[..body.len().min(500)]).trim().to_owned();
                Err(RunningRecordError::Rejected { url: self.place(), status, text })
            }
        }
    }

    /// The error of a response that is no record.
    pub(crate) fn not_a_record(&self, error: RecordError) -> RunningRecordError {
        RunningRecordError::NotARecord { url: self.place(), error }
    }

    fn unreachable(&self, reason: String) -> RunningRecordError {
        RunningRecordError::Unreachable { url: self.place(), reason }
    }
}

/// The cause of an error.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
