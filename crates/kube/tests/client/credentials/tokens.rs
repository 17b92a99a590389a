//! Tests tokens in files that are replaced.

use super::server::{CredentialServer, ServerState};
use super::setting::{Setting, believed, request};
use std::time::Duration;
use taintward_kube::config::ProbeError;
use testkit::wait::let_time_pass;

/// As `echo` writes it, or a mount of a Secret that was edited by hand.
#[tokio::test]
async fn whitespace_around_a_token_is_removed() {
    let server =
        CredentialServer::start(ServerState { tokens: vec!["first"], ..ServerState::default() }).await;
    let setting = Setting::new();
    for text in ["first\n", " first \r\n\n"] {
        setting.write("token", text);
        let connected = setting.connect(&format!("http://{}", server.address), "", "tokenFile: token").await;
        assert_eq!(request(&connected).await, Ok("v1.0.0".to_owned()), "{text:?}");
    }
}

/// The first 401 is returned to its request; it makes the client read the file, and so does every later one until it
/// helps.
#[tokio::test]
async fn a_token_that_was_revoked_immediately_is_replaced_by_the_next_request() {
    let server =
        CredentialServer::start(ServerState { tokens: vec!["first"], ..ServerState::default() }).await;
    let setting = Setting::new();
    setting.write("token", "first");
    let connected = setting.connect(&format!("http://{}", server.address), "", "tokenFile: token").await;
    assert!(request(&connected).await.is_ok());
    setting.write("token", "second\n");
    server.with(|state| state.tokens = vec!["second"]);
    assert!(
        matches!(request(&connected).await, Err(ProbeError::Unauthorized(_))),
        "a 401 is returned unchanged"
    );
    let took = believed(&connected, Duration::from_secs(5)).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    // The other way round: revoked first, and there are no requests when the new one arrives.
    server.with(|state| state.tokens = vec!["third"]);
    assert!(request(&connected).await.is_err());
    let no_requests = "no request may be sent: files are read without any";
    let_time_pass(Duration::from_secs(2), no_requests).await;
    setting.write("token", "third\n");
    let_time_pass(Duration::from_millis(1500), no_requests).await;
    assert!(
        request(&connected).await.is_ok(),
        "files are read while their token is refused, even without requests"
    );
    server.with(|state| assert_eq!(state.connections, 1, "a new token needs no new connection"));
}

/// A server that rejects valid credentials for a while, as when its authenticator is unavailable.
#[tokio::test]
async fn a_temporary_401_is_only_temporary() {
    let server =
        CredentialServer::start(ServerState { tokens: vec!["first"], ..ServerState::default() }).await;
    let setting = Setting::new();
    setting.write("token", "first");
    let connected = setting.connect(&format!("http://{}", server.address), "", "tokenFile: token").await;
    assert!(request(&connected).await.is_ok());
    server.with(|state| state.tokens.clear());
    assert!(request(&connected).await.is_err());
    server.with(|state| state.tokens = vec!["first"]);
    assert!(request(&connected).await.is_ok());
}
