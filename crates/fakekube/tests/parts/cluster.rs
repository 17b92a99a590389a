//! # Cluster: a server with what tests look for
//! Room:     an API server with the system's namespaces, and nodes n1, n2, ...
//! Comes in: how many nodes.
//! Goes out: [`ApiServer`].
//! Not here: sockets.

use fakekube::api::{ApiServer, ApiServerSettings, ResourcePath, WriteOptions};
use fakekube::resource::known;
use serde_json::json;

/// A server with so many nodes.
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
