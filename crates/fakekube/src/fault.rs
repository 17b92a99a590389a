//! Injects faults between clients and the API, by seed: failed requests, broken watches, outages.

use crate::http::ResponseBody;
use crate::id_generator::IdGenerator;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::StreamExt as _;
use http::header::RETRY_AFTER;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use serde_json::json;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

/// What happens to a request or its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InjectedFault {
    /// The request never arrives.
    LostBefore,
    /// The request is carried out, but the response is lost.
    LostAfter,
    /// 429, with or without `Retry-After`.
    TooMany,
    /// 409 without a reason.
    Conflict,
    /// 403: permissions are missing for a while.
    Forbidden,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
    /// 504.
    Timeout,
    /// No response ever arrives.
    BlackHole,
    /// The response is late.
    Slow,
    /// A stream ends.
    StreamClosed,
    /// A stream breaks off in the middle.
    StreamBroken,
    /// A stream stays open but sends nothing more.
    StreamSilent,
    /// 410 instead of a stream.
    GoneStatus,
    /// 410 as an event of a stream.
    GoneEvent,
}

/// All faults.
const ALL: [InjectedFault; 15] = [
    InjectedFault::LostBefore,
    InjectedFault::LostAfter,
    InjectedFault::TooMany,
    InjectedFault::Conflict,
    InjectedFault::Forbidden,
    InjectedFault::Internal,
    InjectedFault::Unavailable,
    InjectedFault::Timeout,
    InjectedFault::BlackHole,
    InjectedFault::Slow,
    InjectedFault::StreamClosed,
    InjectedFault::StreamBroken,
    InjectedFault::StreamSilent,
    InjectedFault::GoneStatus,
    InjectedFault::GoneEvent,
];

impl InjectedFault {
    const fn is_of_streams(self) -> bool {
        matches!(
            self,
            Self::StreamClosed | Self::StreamBroken | Self::StreamSilent | Self::GoneStatus | Self::GoneEvent
        )
    }
}

/// The fault that broke a connection.
#[derive(Debug)]
pub struct BrokenConnection(InjectedFault);

impl std::fmt::Display for BrokenConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the connection broke ({:?})", self.0)
    }
}

impl Error for BrokenConnection {}

/// The body of a response that may break.
pub type FaultyBody = UnsyncBoxBody<Bytes, BrokenConnection>;

/// Decides which requests meet a fault.
///
/// ```
/// use fakekube::api::{ApiServer, ApiServerSettings};
/// use fakekube::fault::{FaultInjector, InjectedFault};
/// use k8s_openapi::api::core::v1::Node;
/// use kube::api::ListParams;
/// use kube::{Api, Client};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let server = ApiServer::new(ApiServerSettings::default());
/// server.bootstrap();
/// let faults = FaultInjector::new(1, 0);
/// let nodes: Api<Node> = Api::all(Client::new(faults.before(server), "default"));
/// faults.outage(Some(InjectedFault::Unavailable));
/// assert!(nodes.list(&ListParams::default()).await.is_err());
/// faults.outage(None);
/// assert!(nodes.list(&ListParams::default()).await.is_ok());
/// assert_eq!(faults.counts().get(&InjectedFault::Unavailable), Some(&1));
/// # }
/// ```
#[derive(Clone)]
pub struct FaultInjector {
    shared: Arc<FaultState>,
}

struct FaultState {
    ids: IdGenerator,
    on: AtomicBool,
    /// One request in so many is broken.
    one_in: u64,
    counts: Mutex<BTreeMap<InjectedFault, u64>>,
    /// The fault that every request meets at the moment.
    outage: watch::Sender<Option<InjectedFault>>,
    /// How long a slow link takes in each direction.
    transit: Mutex<Duration>,
}

impl FaultInjector {
    /// Breaks one request in `one_in`; the same seed breaks the same ones.
    pub fn new(seed: u64, one_in: u64) -> Self {
        let counts = Mutex::new(BTreeMap::new());
        let on = AtomicBool::new(one_in > 0);
        let (ids, outage, transit) = (IdGenerator::new(seed), watch::Sender::new(None), Mutex::default());
        Self { shared: Arc::new(FaultState { ids, on, one_in: one_in.max(1), counts, outage, transit }) }
    }

    /// From now on, each request takes this long to the server, and its response as long back, and every part of a
    /// stream. [`end`](Self::end) does not end that; a zero does.
    pub fn slow_link(&self, each_way: Duration) {
        *self.shared.transit.lock().unwrap_or_else(PoisonError::into_inner) = each_way;
    }

    fn transit(&self) -> Duration {
        *self.shared.transit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on every request meets this fault. Open streams break, or fall silent if the fault is one without a
    /// response. `None` ends the outage.
    pub fn outage(&self, fault: Option<InjectedFault>) {
        self.shared.outage.send_replace(fault);
    }

    /// Ends all faults.
    pub fn end(&self) {
        self.shared.on.store(false, Ordering::Relaxed);
    }

    /// How often each fault was injected.
    pub fn counts(&self) -> BTreeMap<InjectedFault, u64> {
        self.shared.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Wraps a service in these faults.
    pub fn before<S>(&self, inner: S) -> FaultyService<S> {
        FaultyService { inner, faults: self.clone() }
    }

    fn is_on(&self) -> bool {
        self.shared.on.load(Ordering::Relaxed)
    }

    /// The fault of the next request.
    fn next(&self, is_watch: bool) -> Option<InjectedFault> {
        let ids = &self.shared.ids;
        if let Some(fault) = *self.shared.outage.borrow() {
            self.count(fault);
            return Some(fault);
        }
        if !self.is_on() || !ids.number().is_multiple_of(self.shared.one_in) {
            return None;
        }
        let possible: Vec<InjectedFault> =
            ALL.into_iter().filter(|fault| is_watch || !fault.is_of_streams()).collect();
        let fault = possible[(ids.number() % possible.len() as u64) as usize];
        self.count(fault);
        Some(fault)
    }

    fn count(&self, fault: InjectedFault) {
        *self.shared.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(fault).or_default() += 1;
    }

    fn below(&self, most: u64) -> u64 {
        self.shared.ids.number() % most
    }
}

/// A service whose requests and responses may break.
#[derive(Clone)]
pub struct FaultyService<S> {
    inner: S,
    faults: FaultInjector,
}

impl<S, B> tower::Service<Request<B>> for FaultyService<S>
where
    S: tower::Service<Request<B>, Response = Response<ResponseBody>, Error = std::convert::Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = Response<FaultyBody>;
    type Error = BrokenConnection;
    type Future = BoxFuture<'static, Result<Self::Response, BrokenConnection>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BrokenConnection>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut inner, faults) = (self.inner.clone(), self.faults.clone());
        Box::pin(async move {
            let query = request.uri().query().unwrap_or_default();
            let is_watch = *request.method() == Method::GET && query.contains("watch=");
            let (fault, transit) = (faults.next(is_watch), faults.transit());
            arrive(transit).await?;
            match fault {
                Some(InjectedFault::LostBefore) => return Err(BrokenConnection(InjectedFault::LostBefore)),
                Some(InjectedFault::BlackHole) => std::future::pending().await,
                Some(InjectedFault::Slow) => arrive(Duration::from_millis(faults.below(20_000))).await?,
                _ => {}
            }
            if let Some(response) = fault.and_then(|fault| injected_response(fault, &faults)) {
                arrive(transit).await?;
                return Ok(response);
            }
            let response = match inner.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            let response = match fault {
                Some(InjectedFault::LostAfter) => return Err(BrokenConnection(InjectedFault::LostAfter)),
                Some(fault) if fault.is_of_streams() => cut(response, fault, &faults),
                _ => response.map(|body| body.map_err(|never| match never {}).boxed_unsync()),
            };
            arrive(transit).await?;
            let response = if transit.is_zero() { response } else { delayed(response, transit) };
            Ok(if is_watch { mortal(response, faults.shared.outage.subscribe()) } else { response })
        })
    }
}

/// How much later than planned something may arrive.
const OVERDUE: Duration = Duration::from_secs(1);

/// Waits until a slow request arrives. If time has jumped past that moment, the client was suspended and the connection
/// has died: a request never arrives long after the client gave it up.
async fn arrive(after: Duration) -> Result<(), BrokenConnection> {
    if after.is_zero() {
        return Ok(());
    }
    let planned = Instant::now() + after;
    sleep_until(planned).await;
    if planned.elapsed() > OVERDUE { Err(BrokenConnection(InjectedFault::Slow)) } else { Ok(()) }
}

/// Delays each part of a body, and keeps their order.
fn delayed(response: Response<FaultyBody>, transit: Duration) -> Response<FaultyBody> {
    /// How many parts are under way at once; more wait at the server.
    const UNDER_WAY_MAX: usize = 1_024;
    response.map(|body| {
        let parts = BodyStream::new(body).map(move |part| {
            let at = Instant::now() + transit;
            async move {
                sleep_until(at).await;
                part
            }
        });
        StreamBody::new(parts.buffered(UNDER_WAY_MAX)).boxed_unsync()
    })
}

/// Wraps a stream that an outage ends.
fn mortal(
    response: Response<FaultyBody>,
    outage: watch::Receiver<Option<InjectedFault>>,
) -> Response<FaultyBody> {
    response.map(|body| {
        let stream = futures::StreamExt::boxed(BodyStream::new(body));
        let mortal = futures::stream::unfold(Some((stream, outage)), |open| async move {
            let (mut stream, mut outage) = open?;
            tokio::select! {
                biased;
                fault = struck(&mut outage) => match fault {
                    InjectedFault::BlackHole => std::future::pending().await,
                    fault => Some((Err(BrokenConnection(fault)), None)),
                },
                frame = stream.next() => frame.map(|frame| (frame, Some((stream, outage)))),
            }
        });
        StreamBody::new(mortal).boxed_unsync()
    })
}

/// Waits for an outage.
async fn struck(outage: &mut watch::Receiver<Option<InjectedFault>>) -> InjectedFault {
    let fault = outage.wait_for(Option::is_some).await.ok().and_then(|fault| *fault);
    match fault {
        None => std::future::pending().await,
        Some(fault) => fault,
    }
}

/// A response that the server never gave.
fn injected_response(fault: InjectedFault, faults: &FaultInjector) -> Option<Response<FaultyBody>> {
    let (code, reason) = match fault {
        InjectedFault::TooMany => (429, "TooManyRequests"),
        InjectedFault::Conflict => (409, "Conflict"),
        InjectedFault::Forbidden => (403, "Forbidden"),
        InjectedFault::Internal => (500, "InternalError"),
        InjectedFault::Unavailable => (503, "ServiceUnavailable"),
        InjectedFault::Timeout => (504, "Timeout"),
        InjectedFault::GoneStatus => (410, "Expired"),
        _ => return None,
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason,
        "message": "a fault was injected",
    });
    let body = Full::new(Bytes::from(status.to_string())).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    if fault == InjectedFault::TooMany {
        // No `Retry-After`, a short one, or an absurdly long one.
        match faults.below(4) {
            0 => {}
            1 => _ = response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("31536000")),
            _ => _ = response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1")),
        }
    }
    Some(response)
}

/// Makes a stream fail after a while.
fn cut(
    response: Response<ResponseBody>,
    fault: InjectedFault,
    faults: &FaultInjector,
) -> Response<FaultyBody> {
    let json = response
        .headers()
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let until = Instant::now() + Duration::from_millis(faults.below(90_000));
    response.map(|body| {
        let stream = futures::StreamExt::boxed(BodyStream::new(body));
        let cut = futures::stream::unfold((stream, false), move |(mut stream, over)| async move {
            if over {
                return None;
            }
            match timeout_at(until, stream.next()).await {
                Ok(Some(Ok(frame))) => Some((Ok(frame), (stream, false))),
                Ok(Some(Err(never))) => match never {},
                Ok(None) => None,
                Err(_) => match fault {
                    InjectedFault::StreamSilent => std::future::pending().await,
                    InjectedFault::StreamBroken => Some((Err(BrokenConnection(fault)), (stream, true))),
                    // Only JSON can carry this event; a stream in another encoding ends.
                    InjectedFault::GoneEvent if json => {
                        let event = b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}\n";
                        Some((Ok(Frame::data(Bytes::from_static(event))), (stream, true)))
                    }
                    _ => None,
                },
            }
        });
        StreamBody::new(cut).boxed_unsync()
    })
}
