//! Tests paged lists of interactive commands, also when the continue token expires.

use crate::fake::{ClientReply, SeenRequest, server, status};
use kube::Client;
use serde_json::{Value, json};
use std::time::Duration;
use taintward_kube::api::RequestBudget;
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::{ListRequest, pages};

const LIMIT: Duration = Duration::from_secs(30);

async fn listed(client: &Client) -> (Vec<String>, Result<(), RequestError>) {
    listed_within(client, LIMIT.into()).await
}

async fn listed_within(client: &Client, limit: RequestBudget) -> (Vec<String>, Result<(), RequestError>) {
    let listing = ListRequest { group: "", plural: "pods", namespace: "", selector: "a=b", fields: "" };
    let mut names = Vec::new();
    let mut send = |object: &[u8]| {
        let object: Value = serde_json::from_slice(object)?;
        names.push(object["name"].as_str().unwrap().to_owned());
        Ok(())
    };
    let done = pages(client, listing, limit, &mut send).await;
    (names, done)
}

fn list(names: &[&str], next: &str) -> ClientReply {
    let items: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
    ClientReply::json(200, &json!({ "kind": "PodList", "metadata": { "continue": next }, "items": items }))
}

fn expired(onward: &str) -> ClientReply {
    let mut rejection = status(410, "Expired", "the provided continue parameter is too old");
    rejection["metadata"] = json!({ "continue": onward });
    ClientReply::json(410, &rejection)
}

/// The continue token of a request.
fn token(seen: &SeenRequest) -> &str {
    seen.query.split('&').find_map(|part| part.strip_prefix("continue=")).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn pages_are_read_to_the_last_each_once() {
    let (client, log) = server(|seen| match token(seen) {
        "" => list(&["a", "b"], "2"),
        "2" => list(&[], "3"),
        _ => list(&["c"], ""),
    });
    let (names, done) = listed(&client).await;
    assert!(done.is_ok() && names == ["a", "b", "c"], "{names:?} {done:?}");
    let requested: Vec<String> = log.lock().unwrap().iter().map(|seen| seen.query.clone()).collect();
    assert_eq!(requested.len(), 3);
    assert!(requested.iter().all(|query| query.contains("limit=") && query.contains("labelSelector=a%3Db")));
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_token_expired_continues_where_it_was() {
    let (client, _) = server(|seen| match token(seen) {
        "" => list(&["a", "b"], "2"),
        "2" => expired("2-now"),
        "2-now" => list(&["c"], "3"),
        "3" => expired("3-now"),
        _ => list(&["d"], ""),
    });
    let (names, done) = listed(&client).await;
    assert!(done.is_ok() && names == ["a", "b", "c", "d"], "{names:?} {done:?}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_continue_ends_with_the_servers_message() {
    // No token is offered; the offered token has expired, too; it is another error.
    for again in
        [expired(""), expired("2-now"), ClientReply::status(500, "InternalError", "too old, perhaps")]
    {
        let mut again = Some(again);
        let (client, log) = server(move |seen| match token(seen) {
            "" => list(&["a"], "2"),
            "2" => again.take().unwrap(),
            _ => expired("for-ever"),
        });
        let (names, done) = listed(&client).await;
        assert_eq!(names, ["a"]);
        let why = done.unwrap_err().message;
        assert!(why.starts_with("list pods: ") && why.contains("too old"), "{why}");
        assert!(log.lock().unwrap().len() <= 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_never_ends_is_an_error() {
    // The same token again, in the next page or after others; more and more objects.
    let (client, log) = server(|_| list(&["a"], "again"));
    let why = listed(&client).await.1.unwrap_err().message;
    assert!(why.contains("pods") && why.contains("a token that it has already sent"), "{why}");
    assert_eq!(log.lock().unwrap().len(), 2);
    let (client, log) = server(|seen| match token(seen) {
        "" | "3" => list(&["a"], "1"),
        "1" => list(&["b"], "2"),
        _ => list(&["c"], "3"),
    });
    let why = listed(&client).await.1.unwrap_err().message;
    assert!(why.contains("a token that it has already sent") && log.lock().unwrap().len() <= 9, "{why}");
    let many = ["a"; 50_000];
    let (client, log) = server(move |seen| {
        let page: u32 = token(seen).parse().unwrap_or_default();
        list(&many, &(page + 1).to_string())
    });
    let (names, done) = listed(&client).await;
    let why = done.unwrap_err().message;
    assert!(why.contains("more than 500000 objects, so it may never end"), "{why}");
    assert_eq!((names.len(), log.lock().unwrap().len()), (500_000, 11));
}

#[tokio::test(start_paused = true)]
async fn all_pages_together_have_a_limit_besides_that_of_each() {
    let endless = || {
        server(|seen| {
            let page: u32 = token(seen).parse().unwrap_or_default();
            let page =
                json!({ "kind": "PodList", "metadata": { "continue": (page + 1).to_string() }, "items": [] });
            ClientReply::Late(Duration::from_secs(20), page)
        })
    };
    let (client, log) = endless();
    let began = tokio::time::Instant::now();
    let limit = RequestBudget::from(LIMIT).and_all(Duration::from_secs(90));
    let why = listed_within(&client, limit).await.1.unwrap_err().message;
    assert_eq!(
        why,
        "list pods: the requests of this command have taken 90s altogether; allow more with --request-timeout"
    );
    assert_eq!((began.elapsed().as_secs(), log.lock().unwrap().len()), (90, 5));
    // Commands that wait or watch use the limit of each.
    let (client, _) = server(|_| ClientReply::Silence(Duration::from_secs(3600)));
    let why = listed_within(&client, limit.only_each()).await.1.unwrap_err().message;
    assert!(why.contains("no answer from the API server within 30s"), "{why}");
    let limit = RequestBudget::from(LIMIT).and_all(Duration::from_secs(90));
    let began = tokio::time::Instant::now();
    let why = listed_within(&client, limit).await.1.unwrap_err().message;
    assert!(why.contains("within 30s") && began.elapsed() == LIMIT, "{why}");
}
