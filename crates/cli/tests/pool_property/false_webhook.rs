//! Runs a webhook that gives every pod what it needs to enter a pool.

use super::actions::{affinity, owner, pinned};
use super::choices::Choices;
use super::plan::{MADE_FOR, Plan};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use taintward_envtest::certificates::TestAuthority;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub(crate) struct FalseWebhook {
    plan: Rc<Plan>,
    choices: RefCell<Choices>,
    /// How long it takes to answer.
    pub(crate) delay: Cell<Duration>,
    /// How many it has told.
    pub(crate) lies: Cell<usize>,
}

impl FalseWebhook {
    pub(crate) fn new(plan: Rc<Plan>, choices: Choices) -> Rc<Self> {
        let (choices, delay) = (RefCell::new(choices), Cell::new(Duration::ZERO));
        Rc::new(Self { plan, choices, delay, lies: Cell::new(0) })
    }

    /// Listens, as long as the set of tasks lasts.
    pub(crate) async fn listen(self: Rc<Self>, port: u16, authority: &TestAuthority) {
        let shown = authority.server("webhook", &["127.0.0.1"]).unwrap();
        let chain = vec![CertificateDer::from_pem_slice(shown.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(shown.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = builder.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let (acceptor, listener) = (
            TlsAcceptor::from(Arc::new(config)),
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.unwrap(),
        );
        tokio::task::spawn_local(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (acceptor, webhook) = (acceptor.clone(), Rc::clone(&self));
                tokio::task::spawn_local(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let answer = service_fn(move |request| Rc::clone(&webhook).answer(request));
                    // An API server that waits no longer hangs up.
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
    }

    async fn answer(self: Rc<Self>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let mutates = request.uri().path().starts_with("/mutate");
        let Ok(body) = request.into_body().collect().await else { return Ok(Response::default()) };
        tokio::time::sleep(self.delay.get()).await;
        let review: Value = serde_json::from_slice(&body.to_bytes()).unwrap();
        let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
        let patch = if mutates { self.lie(&review["request"]) } else { Vec::new() };
        if !patch.is_empty() {
            self.lies.set(self.lies.get() + 1);
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(STANDARD.encode(json!(patch).to_string()));
        }
        let answer =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        Ok(Response::new(answer.to_string().into()))
    }

    fn lie(&self, request: &Value) -> Vec<Value> {
        let mut choices = self.choices.borrow_mut();
        let pool = &self.plan.pools[choices.below(self.plan.pools.len())];
        let node = format!("{}-1", pool.name);
        let (pod, taint) = (&request["object"], &pool.spec["taint"]);
        let mut tolerations = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
        tolerations.push(json!({"key": taint["key"], "operator": "Equal", "value": taint["value"]}));
        let put = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
        let gift = put("/spec/tolerations", json!(tolerations));
        let claim = put("/metadata/annotations", json!({MADE_FOR: self.plan.claim(pool)}));
        if request["operation"] == "UPDATE" {
            let open = put("/spec/schedulingGates", json!([]));
            return match choices.below(6) {
                0 => vec![gift],
                1 => vec![claim],
                3 => vec![claim, gift],
                2 if pod["spec"].get("schedulingGates").is_some() => vec![gift, open],
                _ => Vec::new(),
            };
        }
        let lead = |terms: &[Value]| put("/spec/affinity", affinity(terms));
        match choices.below(16) {
            0..3 => vec![gift],
            3 | 4 => vec![gift, lead(&[pinned(&node)])],
            5 => vec![gift, lead(&[pinned("open-1"), pinned(&node)])],
            6 => vec![put("/spec/nodeName", json!(node)), put("/spec/schedulingGates", json!([]))],
            7 => vec![gift, put("/metadata/ownerReferences", owner()), lead(&[pinned("open-1")])],
            8 => vec![gift, put("/spec/schedulingGates", json!([]))],
            9 => vec![claim],
            10 => vec![claim, gift],
            _ => Vec::new(),
        }
    }
}
