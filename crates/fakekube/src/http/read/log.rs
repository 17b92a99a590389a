//! Serves the subresource `log` of pods, which is always empty.

use crate::api_status::StatusError;
use crate::http::{HttpRequest, HttpResponse};
use crate::json_ext::list;
use serde_json::Value;

/// The log of a container.
///
/// # Errors
/// 400 if the container does not exist, has not started, or is not named in a pod of several.
pub(super) fn respond_to(request: &HttpRequest, pod: &Value) -> Result<HttpResponse, StatusError> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let container = container(pod, request.query.get("container"), name)?;
    let bound = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    if !bound {
        return Ok(HttpResponse::nothing());
    }
    if request.query.is_true("previous") {
        let why = format!("previous terminated container \"{container}\" in pod \"{name}\" not found");
        return Err(StatusError::bad_request(why));
    }
    if pod["status"]["phase"] == "Pending" {
        let why =
            format!("container \"{container}\" in pod \"{name}\" is waiting to start: ContainerCreating");
        return Err(StatusError::bad_request(why));
    }
    Ok(HttpResponse::text(String::new()))
}

fn container<'a>(pod: &'a Value, wanted: &str, name: &str) -> Result<&'a str, StatusError> {
    let of = |field: &str| list(&pod["spec"], field).iter().filter_map(|one| one["name"].as_str());
    // In the order in which a real server visits them.
    let all: Vec<&str> =
        ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(of).collect();
    let regular: Vec<&str> = of("containers").collect();
    match (wanted, regular.as_slice()) {
        ("", [only]) => Ok(only),
        ("", []) => {
            Err(StatusError::bad_request(format!("a container name must be specified for pod {name}")))
        }
        ("", _) => Err(StatusError::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        ))),
        (wanted, _) => all.into_iter().find(|one| *one == wanted).ok_or_else(|| {
            StatusError::bad_request(format!("container {wanted} is not valid for pod {name}"))
        }),
    }
}
