//! # Http: the Kubernetes API over HTTP
//! Room:     the server as a tower service: paths, queries, encodings, streams.
//! Comes in: HTTP requests, from a socket or from within the process.
//! Goes out: HTTP answers.
//! Not here: what a write does (`api`); sockets (`serve.rs`).

mod accept;
mod answer;
mod asked;
mod body;
mod discovery;
mod form;
mod openapi;
mod options;
mod query;
mod read;
mod review;
mod route;
mod syntax;
mod watch;
mod write;

pub use answer::{Answer, AnswerBody};

use crate::api::Server;
use crate::failure::Failure;
use asked::Asked;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Limited};
use route::Route;
use std::convert::Infallible;
use std::error::Error;
use std::task::{Context, Poll};

/// The longest body that is read, as a real server has it.
pub const BODY_MOST: usize = 3 << 20;

impl<B> tower::Service<Request<B>> for Server
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let answer = match Limited::new(body, BODY_MOST).collect().await {
                Ok(body) => server.answer(&head, body.to_bytes()),
                Err(why) if why.is::<http_body_util::LengthLimitError>() => {
                    Err(Failure::too_large(BODY_MOST))
                }
                Err(why) => Err(Failure::bad_request(format!("the body could not be read: {why}"))),
            };
            let answer = answer.unwrap_or_else(|failure| Answer::refused(&failure, accept::of(&head)));
            Ok(answer.into_response())
        })
    }
}

impl Server {
    /// Answers a request whose body has arrived.
    fn answer(&self, head: &http::request::Parts, body: Bytes) -> Result<Answer, Failure> {
        let asked = Asked::new(head, body);
        match Route::of(&asked.path) {
            Some(Route::Object(on)) => self.on_object(&asked, &on),
            Some(Route::Collection(on)) => self.on_collection(&asked, &on),
            Some(Route::Nothing(why)) => Err(why),
            Some(Route::Fixed) => self.fixed(&asked),
            None => self.elsewhere(&asked),
        }
    }

    fn fixed(&self, asked: &Asked) -> Result<Answer, Failure> {
        if !matches!(asked.method, Method::GET | Method::HEAD) {
            return Err(Failure::not_allowed());
        }
        match asked.path.trim_end_matches('/') {
            "/healthz" | "/livez" | "/readyz" => Ok(Answer::text("ok")),
            "/version" => Ok(Answer::json(&discovery::version())),
            path if path.starts_with("/openapi/") => openapi::answer(path).ok_or_else(Failure::no_such_path),
            path => discovery::answer(path, asked).ok_or_else(Failure::no_such_path),
        }
    }
}
