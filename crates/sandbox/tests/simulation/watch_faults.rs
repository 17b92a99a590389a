//! Injects lost watch events and concurrent edits for node lifecycle.

use super::harness::nodes;
use super::mutation::ControllerMutation;
use super::request_audit::Between;
use bytes::Bytes;
use fakekube::api::ResourcePath;
use fakekube::clock::VirtualClock;
use fakekube::http::ResponseBody;
use futures::StreamExt as _;
use http::{Request, Response};
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// For this many seconds the leases of these nodes are lost; then, for as long, they are not.
const DEAF: i64 = 100;
const UNHEARD: [&[u8]; 2] = [b"n1", b"n2"];

/// A watch that loses the events of some nodes and looks healthy.
pub(crate) fn deaf(response: Response<ResponseBody>, clock: VirtualClock) -> Response<ResponseBody> {
    response.map(|body| {
        let left = BodyStream::new(body).filter_map(move |frame| {
            let is_deaf = (clock.now().as_second() / DEAF) % 2 == 1;
            let about = |data: &Bytes| UNHEARD.iter().any(|name| data.windows(2).any(|two| two == *name));
            let lost = is_deaf && frame.as_ref().is_ok_and(|frame| frame.data_ref().is_some_and(about));
            std::future::ready((!lost).then_some(frame))
        });
        StreamBody::new(left).boxed_unsync()
    })
}

/// The node of a read.
pub(crate) fn node_of(request: &Request<kube::client::Body>) -> Option<String> {
    Some(request.uri().path().strip_prefix("/api/v1/nodes/")?.to_owned())
}

/// Makes a JSON Patch unconditional.
pub(crate) async fn without_tests(request: Request<kube::client::Body>) -> Request<Full<Bytes>> {
    let (mut head, body) = request.into_parts();
    let mut body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    if let Ok(Value::Array(mut steps)) = serde_json::from_slice(&body) {
        steps.retain(|step| step["op"] != "test");
        body = Bytes::from(Value::Array(steps).to_string());
        head.headers.remove(http::header::CONTENT_LENGTH);
    }
    Request::from_parts(head, Full::new(body))
}

impl Between {
    /// Occasionally adds a taint in front of all others, or removes it.
    pub(crate) fn meddle(&self, node: &str) {
        if !matches!(self.mutation, ControllerMutation::Edits | ControllerMutation::NoTests)
            || !self.server.ids().number().is_multiple_of(3)
        {
            return;
        }
        self.by_hand.store(true, Ordering::Relaxed);
        let _ = self.server.change(&ResourcePath::object(nodes(), "", node), "script", |node| {
            let mut all = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
            let before = all.len();
            all.retain(|taint| taint["key"] != "edited");
            if all.len() == before {
                all.insert(0, json!({"key": "edited", "effect": "PreferNoSchedule"}));
            }
            node["spec"]["taints"] = Value::Array(all);
        });
        self.by_hand.store(false, Ordering::Relaxed);
    }
}
