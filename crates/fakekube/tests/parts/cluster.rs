//! Starts an API server with the namespaces of the system and some nodes.

use fakekube::api::{ApiServer, ApiServerSettings, ResourcePath, WriteOptions};
use fakekube::resource::known;
use serde_json::json;

/// A server with `count` nodes.
pub(crate) fn with_nodes(count: usize) -> ApiServer {
    let server = ApiServer::new(ApiServerSettings::default());
    server.bootstrap();
    let nodes = ResourcePath::object(known("", "nodes"), "", "");
    for number in 1..=count {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{number}")}});
        server.create(&nodes, node, &WriteOptions::by("test")).unwrap();
    }
    server
}
