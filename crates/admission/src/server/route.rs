//! Routes a request by path, method and media type, and builds its response.

use super::ConnectionContext;
use super::body::{BodyError, ReviewBody, discard_body, read};
use super::memory_budget::{BUFFER, BodyReservation, BudgetExceeded};
use crate::metrics::UnreviewedReason;
use crate::review::{
    FilteredReview, InvalidReview, Outcome, ReviewPhase, ReviewResponse, judge_filtered, unchanged,
};
use bytes::Bytes;
use http::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, EXPECT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use std::time::Duration;
use taintward_server::admin::{AdminResponse, respond};
use taintward_server::connection_limit::ConnectionGuard;
use tokio::time::Instant;

const PLAIN: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// Answers one request.
pub(super) async fn response<B>(
    request: Request<B>,
    common: &ConnectionContext,
    guard: &ConnectionGuard,
) -> AdminResponse
where
    B: Body<Data = Bytes> + Unpin,
{
    let phase = match request.uri().path() {
        "/mutate" => ReviewPhase::Mutate,
        "/validate" => ReviewPhase::Validate,
        _ => {
            if let Some(known) = common.admin.as_ref().and_then(|admin| admin.respond_if_known(&request)) {
                return known;
            }
            let text = match common.admin {
                Some(_) => {
                    "not found: there are /mutate, /validate, /healthz, /livez, /readyz and /metrics\n"
                }
                None => {
                    "not found: there are /mutate and /validate; health and metrics are on --metrics-port\n"
                }
            };
            return reject(common, request, UnreviewedReason::Path, StatusCode::NOT_FOUND, text.into()).await;
        }
    };
    if request.method() != Method::POST {
        let text = "only POST\n".into();
        let status = StatusCode::METHOD_NOT_ALLOWED;
        let mut response = reject(common, request, UnreviewedReason::Method, status, text).await;
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        return response;
    }
    if !is_json(request.headers()) {
        let text = "only Content-Type: application/json, without Content-Encoding\n".into();
        return reject(
            common,
            request,
            UnreviewedReason::MediaType,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            text,
        )
        .await;
    }
    let announced = request.body().size_hint().lower();
    if announced > common.limits.body_bytes as u64 && request.headers().contains_key(EXPECT) {
        return unread_body_response(common, request, BodyError::TooLarge(None)).await;
    }
    let (head, mut body) = request.into_parts();
    let reason = match read(&mut body, &common.limits, &common.budget).await {
        Ok(question) => match review(phase, question, common, guard).await {
            Ok(response) => return response,
            Err(reason) => reason,
        },
        Err(reason) => reason,
    };
    if matches!(reason, BodyError::TooLarge(_) | BodyError::Malformed(_)) {
        discard_body(&mut body, &common.limits).await;
    }
    let unreviewed = UnreviewedReason::from(&reason);
    match reason {
        BodyError::TooLarge(Some(begun))
        | BodyError::TimedOut(Some(begun))
        | BodyError::Crowded(Some(begun)) => {
            // It cannot be judged, and the client gets that as a response if the uid is known.
            let (judged, took) = judge_now(phase, &begun, common);
            common.metrics.unreviewed.of(unreviewed).inc();
            match judged {
                Ok(judged) => review_response(phase, judged, took, &begun, common),
                Err(malformed) => invalid_review_response(phase, &malformed, took, common),
            }
        }
        BodyError::Malformed(malformed) => invalid_review_response(phase, &malformed, Duration::ZERO, common),
        reason => unread_body_response(common, Request::from_parts(head, body), reason).await,
    }
}

/// How long a needed watch event may be in flight, and how often the cache is checked: API servers wait as long for a
/// namespace that was just created.
const CACHE_WAIT_MAX: Duration = Duration::from_millis(500);
const CACHE_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A review of which more than this is kept waits for its turn: it may take milliseconds to judge.
const LARGE_REVIEW_BYTES: usize = 32 << 10;

/// Answers a complete review.
async fn review(
    phase: ReviewPhase,
    question: ReviewBody,
    common: &ConnectionContext,
    guard: &ConnectionGuard,
) -> Result<AdminResponse, BodyError> {
    let arrived = Instant::now();
    let (judged, took) = loop {
        let (judged, took) = if question.filtered.length() > LARGE_REVIEW_BYTES {
            let turn = tokio::select! {
                turn = common.long.acquire() => turn,
                () = question.is_given_up() => return Err(BodyError::Crowded(Some(question.filtered.given_up()))),
            };
            let judged = judge_now(phase, &question.filtered, common);
            tokio::task::yield_now().await;
            drop(turn);
            judged
        } else {
            judge_now(phase, &question.filtered, common)
        };
        let is_early = judged.as_ref().is_ok_and(|judged| judged.is_early);
        if !is_early || arrived.elapsed() > CACHE_WAIT_MAX {
            break (judged, took);
        }
        tokio::select! {
            () = tokio::time::sleep(CACHE_POLL_INTERVAL) => {}
            () = question.is_given_up() => return Err(BodyError::Crowded(Some(question.filtered.given_up()))),
        }
    };
    Ok(match judged {
        Ok(judged) => {
            guard.on_useful_request();
            review_response(phase, judged, took, &question.filtered, common)
        }
        Err(malformed) => invalid_review_response(phase, &malformed, took, common),
    })
}

fn judge_now(
    phase: ReviewPhase,
    filtered: &FilteredReview,
    common: &ConnectionContext,
) -> (Result<ReviewResponse, InvalidReview>, Duration) {
    let began = Instant::now();
    let judged = judge_filtered(phase, filtered, common.origin, &*common.reviewer);
    (judged, began.elapsed())
}

fn invalid_review_response(
    phase: ReviewPhase,
    malformed: &InvalidReview,
    took: Duration,
    common: &ConnectionContext,
) -> AdminResponse {
    common.metrics.reviewed(phase, Outcome::Malformed, &[], took);
    respond(StatusCode::BAD_REQUEST, PLAIN, format!("{malformed}\n"))
}

/// Sends a response. The memory of a long patch is reserved until the client has received it; if there is none left,
/// the pod is allowed unchanged. All other responses are short.
fn review_response(
    phase: ReviewPhase,
    judged: ReviewResponse,
    took: Duration,
    filtered: &FilteredReview,
    common: &ConnectionContext,
) -> AdminResponse {
    let ReviewResponse { body, mut outcome, notes, .. } = judged;
    let body = if outcome != Outcome::Patched || body.len() <= BUFFER {
        Bytes::from(body)
    } else {
        match common.response_budget.begin().and_then(|share| share.hold(body.len()).map(|()| share)) {
            Ok(share) => {
                share.settle();
                Bytes::from_owner(LargeResponse { body, _share: share })
            }
            Err(BudgetExceeded) => {
                outcome = Outcome::Unjudged;
                Bytes::from(unchanged(filtered).unwrap_or(body))
            }
        }
    };
    common.metrics.reviewed(phase, outcome, &notes, took);
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// A long response, which releases its memory when it is dropped.
struct LargeResponse {
    body: Vec<u8>,
    _share: BodyReservation,
}

impl AsRef<[u8]> for LargeResponse {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

async fn unread_body_response<B>(
    common: &ConnectionContext,
    request: Request<B>,
    reason: BodyError,
) -> AdminResponse
where
    B: Body<Data = Bytes> + Unpin,
{
    let (status, text) = match reason {
        BodyError::TooLarge(_) => {
            let most = common.limits.body_bytes;
            (StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {most} bytes\n"))
        }
        BodyError::TimedOut(_) => {
            let limit = common.limits.body;
            (StatusCode::REQUEST_TIMEOUT, format!("the body did not arrive within {limit:?}\n"))
        }
        BodyError::Crowded(_) => {
            let text = "the webhook has no memory for more requests in progress and stopped this one, which was slow; try \
                        again\n";
            (StatusCode::SERVICE_UNAVAILABLE, text.into())
        }
        BodyError::Broken => (StatusCode::BAD_REQUEST, "the body broke off\n".into()),
        BodyError::Malformed(ref malformed) => (StatusCode::BAD_REQUEST, format!("{malformed}\n")),
    };
    reject(common, request, UnreviewedReason::from(&reason), status, text).await
}

/// Sends a rejection after the client has sent its body.
async fn reject<B>(
    common: &ConnectionContext,
    request: Request<B>,
    reason: UnreviewedReason,
    status: StatusCode,
    text: String,
) -> AdminResponse
where
    B: Body<Data = Bytes> + Unpin,
{
    common.metrics.unreviewed.of(reason).inc();
    let waits = request.headers().contains_key(EXPECT);
    let drain_body = matches!(
        reason,
        UnreviewedReason::Path
            | UnreviewedReason::Method
            | UnreviewedReason::MediaType
            | UnreviewedReason::TooLarge
    );
    let mut body = request.into_body();
    if drain_body && !waits && !body.is_end_stream() {
        discard_body(&mut body, &common.limits).await;
    }
    respond(status, PLAIN, text)
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bare = media_type.split(';').next().unwrap_or_default().trim();
    let plain = headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
    bare.eq_ignore_ascii_case(JSON) && plain
}
