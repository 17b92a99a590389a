//! Serves the Kubernetes API as a tower service: paths, queries, encodings, streams.
//!
//! - See `api.rs` for the verbs, `serve.rs` for sockets.

mod accept;
mod body;
mod discovery;
mod health;
mod list_options;
mod log;
mod openapi;
mod pages;
mod query;
mod read;
mod request;
mod response;
mod response_format;
mod review;
mod route;
mod watch;
mod wished;
mod write;

#[cfg(test)]
mod tests;

pub use response::{HttpAnswer, ResponseBody};

use crate::api::ApiServer;
use crate::api_status::StatusError;
use crate::serve::BodyTimeout;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::DATE;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, Limited};
use jiff::fmt::rfc2822::DateTimePrinter;
use request::HttpRequest;
use route::Route;
use std::convert::Infallible;
use std::error::Error;
use std::task::{Context, Poll};

/// The longest body that is read, as a real server has it.
pub const BODY_MOST: usize = 3 << 20;

impl<B> tower::Service<Request<B>> for ApiServer
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let writes = !matches!(head.method, Method::GET | Method::HEAD);
            let answer = match Limited::new(body, BODY_MOST).collect().await {
                Ok(body) => server.answer(HttpRequest::new(&head, body.to_bytes(), server.user())),
                Err(why) if why.is::<http_body_util::LengthLimitError>() => {
                    Err(StatusError::too_large(BODY_MOST))
                }
                Err(why) if why.is::<BodyTimeout>() => {
                    Err(StatusError::new(504, "Timeout", format!("Timeout: {why}")))
                }
                Err(why) => Err(StatusError::bad_request(format!("the body could not be read: {why}"))),
            };
            if writes {
                // Watches go first: controllers wait, and say so, while their own write is answered but not yet heard of.
                tokio::task::yield_now().await;
            }
            Ok(server.told(&head, answer))
        })
    }
}

impl ApiServer {
    /// What the cluster's clock shows, in whole seconds, as every answer says it.
    fn date(&self) -> HeaderValue {
        let text = DateTimePrinter::new().timestamp_to_rfc9110_string(&self.clock().now());
        // Years that the form cannot write are no reason to answer nothing; nor can any of its text be a bad header.
        let text = text.unwrap_or_default();
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
    }

    /// The answer to a request whose body nobody will read.
    pub(crate) fn refuse(&self, head: &Parts, failure: StatusError) -> Response<ResponseBody> {
        self.told(head, Err(failure))
    }

    /// An answer in the form that was asked for.
    fn told(&self, head: &Parts, answer: Result<HttpAnswer, StatusError>) -> Response<ResponseBody> {
        let accept = accept::of(head);
        let answer = answer.unwrap_or_else(|failure| response_format::refusal(failure, accept));
        let mut answer = answer.into_response();
        answer.headers_mut().insert(DATE, self.date());
        answer
    }

    /// Answers a request whose body has arrived.
    fn answer(&self, asked: HttpRequest) -> Result<HttpAnswer, StatusError> {
        let route = Route::of(&asked.path);
        if matches!(route, Some(Route::Object(_) | Route::Collection(_))) && asked.method == Method::HEAD {
            return Err(StatusError::not_allowed());
        }
        match route {
            Some(Route::Object(on)) => self.on_object(&asked, &on),
            Some(Route::Collection(on)) => self.on_collection(&asked, &on),
            Some(Route::Nothing(why)) => Err(why),
            Some(Route::Fixed) => self.fixed(&asked),
            None if discovery::is_known(&asked.path) => Err(StatusError::no_such_path()),
            None => Ok(HttpAnswer::no_page()),
        }
    }

    /// What is no resource.
    fn fixed(&self, asked: &HttpRequest) -> Result<HttpAnswer, StatusError> {
        let path = asked.path.as_str();
        if let Some(answer) = health::answer(path, &asked.query) {
            return Ok(answer);
        }
        if path.starts_with("/openapi/") {
            return Ok(openapi::answer(path, asked.packed).unwrap_or_else(HttpAnswer::no_page));
        }
        let short = path.strip_suffix('/').unwrap_or(path);
        let found = match short {
            "/version" => Some(HttpAnswer::json(&discovery::version(self.version_suffix()))),
            short => discovery::answer(short, asked)?,
        };
        match found {
            Some(_) if asked.method != Method::GET => Err(StatusError::not_allowed()),
            Some(answer) => Ok(answer),
            None if discovery::is_known(path) => Err(StatusError::no_such_path()),
            None => Ok(HttpAnswer::no_page()),
        }
    }
}
