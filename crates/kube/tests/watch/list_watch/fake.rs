//! Serves scripted responses and records requests and their times.

use bytes::Bytes;
use futures::stream;
use http::{Request, Response, header};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::Client;
use kube::client::Body;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use taintward_core::fact::PodFact;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Wall;
use taintward_kube::clock::Clock;
use taintward_kube::decode::WatchedObject;
use taintward_kube::watch::{StreamHealth, WatchSettings, Watcher};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

/// One step of a body.
pub(crate) enum ResponseAct {
    Bytes(Vec<u8>),
    Pause(Duration),
    Reset,
    Hang,
}

/// A response.
pub(crate) struct WatchReply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: VecDeque<ResponseAct>,
    /// The delay of the response's head.
    delay: Duration,
    /// There is no response: the connection cannot be opened, or breaks.
    unreachable: bool,
}

impl WatchReply {
    pub(crate) fn new(status: u16, content_type: &str) -> Self {
        let headers = vec![("content-type", content_type.to_owned())];
        Self { status, headers, body: VecDeque::new(), delay: Duration::ZERO, unreachable: false }
    }

    /// There is no server.
    pub(crate) fn unreachable() -> Self {
        Self { unreachable: true, ..Self::new(503, "") }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    pub(crate) fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body.push_back(ResponseAct::Bytes(bytes.into()));
        self
    }

    /// The same bytes, one to a chunk.
    pub(crate) fn crumbs(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body.extend(bytes.into().into_iter().map(|byte| ResponseAct::Bytes(vec![byte])));
        self
    }

    pub(crate) fn pause(mut self, length: Duration) -> Self {
        self.body.push_back(ResponseAct::Pause(length));
        self
    }

    pub(crate) fn reset(mut self) -> Self {
        self.body.push_back(ResponseAct::Reset);
        self
    }

    pub(crate) fn hang(mut self) -> Self {
        self.body.push_back(ResponseAct::Hang);
        self
    }
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct WatchRequest {
    pub(crate) path: String,
    pub(crate) accept: String,
    pub(crate) accept_encoding: String,
    pub(crate) at: Instant,
}

impl WatchRequest {
    /// The value of a query parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let query = self.path.split_once('?')?.1;
        query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
            .map(|(_, value)| value)
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.parameter("watch") == Some("true")
    }

    /// Whether it only reads the version of the store.
    pub(crate) fn is_version_check(&self) -> bool {
        self.parameter("limit") == Some("1")
    }

    pub(crate) fn is_watch_list(&self) -> bool {
        self.parameter("sendInitialEvents") == Some("true")
    }
}

/// Settings for other tests: everything is listed once, unless an error requires more.
pub(crate) fn without_lists_again() -> WatchSettings {
    WatchSettings { relist_every: None, ..WatchSettings::default() }
}

type ResponseScript = dyn FnMut(&WatchRequest, usize) -> WatchReply + Send;

/// A store that is as new as any watch.
fn current_store(requested: &WatchRequest, _: usize) -> WatchReply {
    let kind = match requested.path.split('?').next().and_then(|path| path.rsplit('/').next()) {
        Some("nodes") => "NodeList",
        Some("leases") => "LeaseList",
        Some("dedicatedpools") => "DedicatedPoolList",
        _ => "PodList",
    };
    WatchReply::new(200, "application/json").bytes(format!(
        r#"{{"kind":"{kind}","apiVersion":"v1","metadata":{{"resourceVersion":"{}"}},"items":[]}}"#,
        u64::MAX
    ))
}

#[derive(Clone)]
struct Fake {
    script: Arc<Mutex<ResponseScript>>,
    log: Arc<Mutex<Vec<WatchRequest>>>,
    /// The responses with the version of the store.
    store: Arc<Mutex<ResponseScript>>,
    checks: Arc<Mutex<Vec<WatchRequest>>>,
}

impl tower::Service<Request<Body>> for Fake {
    type Response = Response<StreamBody<ScriptedBody>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let text = |name| request.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let requested = WatchRequest {
            path: request.uri().to_string(),
            accept: text(header::ACCEPT),
            accept_encoding: text(header::ACCEPT_ENCODING),
            at: Instant::now(),
        };
        let (script, log) = match requested.is_version_check() {
            true => (&self.store, &self.checks),
            false => (&self.script, &self.log),
        };
        let nth = {
            let mut log = log.lock().unwrap();
            log.push(requested.clone());
            log.len() - 1
        };
        // A hot loop must fail its test, not hang it: virtual time does not advance while any task is busy.
        let is_hot = nth > 20_000;
        let reply =
            if is_hot { WatchReply::new(500, "").hang() } else { (script.lock().unwrap())(&requested, nth) };
        Box::pin(async move {
            sleep(reply.delay).await;
            if reply.unreachable {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let mut response = Response::builder().status(reply.status);
            for (name, value) in reply.headers {
                response = response.header(name, value);
            }
            Ok(response.body(StreamBody::new(body(reply.body))).unwrap())
        })
    }
}

type ScriptedBody = Pin<Box<dyn futures::Stream<Item = io::Result<Frame<Bytes>>> + Send>>;

fn body(acts: VecDeque<ResponseAct>) -> ScriptedBody {
    Box::pin(stream::unfold(acts, |mut acts| async move {
        loop {
            match acts.pop_front()? {
                ResponseAct::Bytes(bytes) => return Some((Ok(Frame::data(bytes.into())), acts)),
                ResponseAct::Pause(length) => sleep(length).await,
                ResponseAct::Reset => {
                    acts.clear();
                    return Some((Err(io::Error::other("connection reset by peer")), acts));
                }
                ResponseAct::Hang => std::future::pending().await,
            }
        }
    }))
}

/// The harness of most tests.
pub(crate) type PodWatchHarness = WatchHarness<PodFact>;

/// A running watcher, and its server.
pub(crate) struct WatchHarness<F> {
    pub(crate) received: mpsc::Receiver<Vec<ObjectEvent<F>>>,
    pub(crate) health: watch::Receiver<StreamHealth>,
    pub(crate) task: tokio::task::JoinHandle<()>,
    log: Arc<Mutex<Vec<WatchRequest>>>,
    checks: Arc<Mutex<Vec<WatchRequest>>>,
}

impl<F: WatchedObject + Clone> WatchHarness<F> {
    /// Starts a watcher against a script, which gets each request and its number from 0.
    pub(crate) fn start(script: impl FnMut(&WatchRequest, usize) -> WatchReply + Send + 'static) -> Self {
        Self::with(WatchSettings { seed: 1, ..without_lists_again() }, 16, script)
    }

    pub(crate) fn with(
        settings: WatchSettings,
        capacity: usize,
        script: impl FnMut(&WatchRequest, usize) -> WatchReply + Send + 'static,
    ) -> Self {
        Self::with_store(settings, capacity, script, current_store)
    }

    /// The same with a script of its own for requests that only read the version of the store; they do not count.
    pub(crate) fn with_store(
        settings: WatchSettings,
        capacity: usize,
        script: impl FnMut(&WatchRequest, usize) -> WatchReply + Send + 'static,
        store: impl FnMut(&WatchRequest, usize) -> WatchReply + Send + 'static,
    ) -> Self {
        let (log, checks) =
            (Arc::<Mutex<Vec<WatchRequest>>>::default(), Arc::<Mutex<Vec<WatchRequest>>>::default());
        let fake = Fake {
            script: Arc::new(Mutex::new(script)),
            log: log.clone(),
            store: Arc::new(Mutex::new(store)),
            checks: checks.clone(),
        };
        let client = Client::new(fake, "default");
        let (out, received) = mpsc::channel(capacity);
        let (send, health) = watch::channel(StreamHealth::default());
        let clock = Clock::of_runtime(Wall::from_secs(0));
        let task = tokio::spawn(Watcher::<F>::new(client, clock, settings).run(out, send));
        Self { received, health, task, log, checks }
    }

    /// All events until there are none for a virtual second.
    pub(crate) async fn until_quiet(&mut self) -> Vec<ObjectEvent<F>> {
        self.during(Duration::from_secs(1)).await
    }

    /// All events until there are none for `timeout`.
    pub(crate) async fn during(&mut self, timeout: Duration) -> Vec<ObjectEvent<F>> {
        let mut all = Vec::new();
        while let Ok(Some(batch)) = tokio::time::timeout(timeout, self.received.recv()).await {
            all.extend(batch);
        }
        all
    }

    /// All events until that much later.
    pub(crate) async fn run_for(&mut self, length: Duration) -> Vec<ObjectEvent<F>> {
        let end = Instant::now() + length;
        let mut all = Vec::new();
        while let Ok(Some(batch)) = tokio::time::timeout_at(end, self.received.recv()).await {
            all.extend(batch);
        }
        all
    }

    /// The requests so far.
    pub(crate) fn requested(&self) -> Vec<WatchRequest> {
        self.log.lock().unwrap().clone()
    }

    /// The requests so far that only read the version of the store.
    pub(crate) fn checks(&self) -> Vec<WatchRequest> {
        self.checks.lock().unwrap().clone()
    }

    pub(crate) fn health(&self) -> StreamHealth {
        self.health.borrow().clone()
    }
}

impl<F> Drop for WatchHarness<F> {
    fn drop(&mut self) {
        self.task.abort();
    }
}
