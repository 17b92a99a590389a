//! Routes a request by path, method and media type, and builds its response.

use super::ConnectionContext;
use super::body::{BodyError, ReviewBody, read, throw_away};
use super::memory_budget::{BUFFER, BodyReservation, BudgetExceeded};
use crate::metrics::Refused;
use crate::review::{FilteredReview, Half, InvalidReview, Outcome, ReviewResponse, judge_sifted, unchanged};
use bytes::Bytes;
use http::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, EXPECT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use std::time::Duration;
use taintward_server::admin::{Answer, respond};
use taintward_server::connection_limit::ConnectionGuard;
use tokio::time::Instant;

const PLAIN: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// Answers one request.
pub(super) async fn answer<B>(
    request: Request<B>,
    common: &ConnectionContext,
    guard: &ConnectionGuard,
) -> Answer
where
    B: Body<Data = Bytes> + Unpin,
{
    let half = match request.uri().path() {
        "/mutate" => Half::Mutate,
        "/validate" => Half::Validate,
        _ => {
            if let Some(known) = common.admin.as_ref().and_then(|admin| admin.answer_known(&request)) {
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
            return refuse(common, request, Refused::Path, StatusCode::NOT_FOUND, text.into()).await;
        }
    };
    if request.method() != Method::POST {
        let text = "only POST\n".into();
        let status = StatusCode::METHOD_NOT_ALLOWED;
        let mut refusal = refuse(common, request, Refused::Method, status, text).await;
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        return refusal;
    }
    if !is_json(request.headers()) {
        let text = "only Content-Type: application/json, without Content-Encoding\n".into();
        return refuse(common, request, Refused::MediaType, StatusCode::UNSUPPORTED_MEDIA_TYPE, text).await;
    }
    let announced = request.body().size_hint().lower();
    if announced > common.limits.body_bytes as u64 && request.headers().contains_key(EXPECT) {
        return lacking(common, request, BodyError::TooLarge(None)).await;
    }
    let (head, mut body) = request.into_parts();
    let reason = match read(&mut body, &common.limits, &common.budget).await {
        Ok(question) => match review(half, question, common, guard).await {
            Ok(answer) => return answer,
            Err(reason) => reason,
        },
        Err(reason) => reason,
    };
    if matches!(reason, BodyError::TooLarge(_) | BodyError::Malformed(_)) {
        throw_away(&mut body, &common.limits).await;
    }
    let refused = Refused::from(&reason);
    match reason {
        BodyError::TooLarge(Some(begun)) | BodyError::Late(Some(begun)) | BodyError::Crowded(Some(begun)) => {
            // It cannot be judged, and the client gets that as a response if the uid is known.
            let (judged, took) = judge_now(half, &begun, common);
            common.metrics.refused.of(refused).inc();
            match judged {
                Ok(judged) => decided(half, judged, took, &begun, common),
                Err(malformed) => makes_no_sense(half, &malformed, took, common),
            }
        }
        BodyError::Malformed(malformed) => makes_no_sense(half, &malformed, Duration::ZERO, common),
        reason => lacking(common, Request::from_parts(head, body), reason).await,
    }
}

/// How long a needed watch event may be in flight, and how often the cache is checked: API servers wait as long for a
/// namespace that was just created.
const NEWS_LATE: Duration = Duration::from_millis(500);
const NEWS_LOOK: Duration = Duration::from_millis(10);

/// A review of which more than this is kept waits for its turn: it may take milliseconds to judge.
const LONG: usize = 32 << 10;

/// Answers a complete review.
async fn review(
    half: Half,
    question: ReviewBody,
    common: &ConnectionContext,
    guard: &ConnectionGuard,
) -> Result<Answer, BodyError> {
    let arrived = Instant::now();
    let (judged, took) = loop {
        let (judged, took) = if question.filtered.length() > LONG {
            let turn = tokio::select! {
                turn = common.long.acquire() => turn,
                () = question.is_given_up() => return Err(BodyError::Crowded(Some(question.filtered.given_up()))),
            };
            let judged = judge_now(half, &question.filtered, common);
            tokio::task::yield_now().await;
            drop(turn);
            judged
        } else {
            judge_now(half, &question.filtered, common)
        };
        let is_early = judged.as_ref().is_ok_and(|judged| judged.is_early);
        if !is_early || arrived.elapsed() > NEWS_LATE {
            break (judged, took);
        }
        tokio::select! {
            () = tokio::time::sleep(NEWS_LOOK) => {}
            () = question.is_given_up() => return Err(BodyError::Crowded(Some(question.filtered.given_up()))),
        }
    };
    Ok(match judged {
        Ok(judged) => {
            guard.on_useful_request();
            decided(half, judged, took, &question.filtered, common)
        }
        Err(malformed) => makes_no_sense(half, &malformed, took, common),
    })
}

fn judge_now(
    half: Half,
    sifted: &FilteredReview,
    common: &ConnectionContext,
) -> (Result<ReviewResponse, InvalidReview>, Duration) {
    let began = Instant::now();
    let judged = judge_sifted(half, sifted, common.origin, &*common.reviewer);
    (judged, began.elapsed())
}

fn makes_no_sense(
    half: Half,
    malformed: &InvalidReview,
    took: Duration,
    common: &ConnectionContext,
) -> Answer {
    common.metrics.reviewed(half, Outcome::Malformed, &[], took);
    respond(StatusCode::BAD_REQUEST, PLAIN, format!("{malformed}\n"))
}

/// Sends a response. The memory of a long patch is reserved until the client has received it; if there is none left,
/// the pod is allowed unchanged. All other responses are short.
fn decided(
    half: Half,
    judged: ReviewResponse,
    took: Duration,
    sifted: &FilteredReview,
    common: &ConnectionContext,
) -> Answer {
    let ReviewResponse { answer, mut outcome, notes, .. } = judged;
    let answer = if outcome != Outcome::Patched || answer.len() <= BUFFER {
        Bytes::from(answer)
    } else {
        match common.answers.begin().and_then(|share| share.hold(answer.len()).map(|()| share)) {
            Ok(share) => {
                share.settle();
                Bytes::from_owner(LongAnswer { answer, _share: share })
            }
            Err(BudgetExceeded) => {
                outcome = Outcome::Unjudged;
                Bytes::from(unchanged(sifted).unwrap_or(answer))
            }
        }
    };
    common.metrics.reviewed(half, outcome, &notes, took);
    let mut response = Response::new(Full::new(answer));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// A long response, which releases its memory when it is dropped.
struct LongAnswer {
    answer: Vec<u8>,
    _share: BodyReservation,
}

impl AsRef<[u8]> for LongAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.answer
    }
}

async fn lacking<B>(common: &ConnectionContext, request: Request<B>, lacking: BodyError) -> Answer
where
    B: Body<Data = Bytes> + Unpin,
{
    let (status, text) = match lacking {
        BodyError::TooLarge(_) => {
            let most = common.limits.body_bytes;
            (StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {most} bytes\n"))
        }
        BodyError::Late(_) => {
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
    refuse(common, request, Refused::from(&lacking), status, text).await
}

/// Sends a refusal after the client has sent its body.
async fn refuse<B>(
    common: &ConnectionContext,
    request: Request<B>,
    reason: Refused,
    status: StatusCode,
    text: String,
) -> Answer
where
    B: Body<Data = Bytes> + Unpin,
{
    common.metrics.refused.of(reason).inc();
    let waits = request.headers().contains_key(EXPECT);
    let worth_it = matches!(reason, Refused::Path | Refused::Method | Refused::MediaType | Refused::TooLarge);
    let mut body = request.into_body();
    if worth_it && !waits && !body.is_end_stream() {
        throw_away(&mut body, &common.limits).await;
    }
    respond(status, PLAIN, text)
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bare = media_type.split(';').next().unwrap_or_default().trim();
    let plain = headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
    bare.eq_ignore_ascii_case(JSON) && plain
}
