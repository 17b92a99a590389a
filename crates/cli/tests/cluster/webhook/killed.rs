//! Tests that pods are created while the webhook is killed, with `failurePolicy: Ignore`.

use super::super::admission::hook::{Files, Hook, all};
use super::super::admission::load::Load;
use super::super::admission::register::{Registered, namespace, register_as, requests};
use super::Stage;
use serde_json::json;

pub(crate) async fn pods_still_come(stage: &Stage) {
    let flags = Files::new(&stage.cluster, "killed", &stage.authority).flags();
    namespace(&stage.api, "killed", "killed", json!({})).await;
    let mut hook = Hook::start(&stage.cluster, &stage.account, &all(&flags, &[])).ready().await;
    let authority = &stage.authority.certificate;
    let lenient =
        Registered { policy: "Ignore", seconds: 2, ..Registered::strict(&hook, "killed", authority) };
    register_as(&stage.api, "killed", &[lenient]).await;
    requests(&stage.api, &hook, "killed").await;
    let (load, port) = (Load::default(), hook.port);
    let end = async {
        load.goes_on(200).await;
        let before = load.without();
        hook.kill();
        load.goes_on(200).await;
        assert!(load.without() > before, "there is no webhook to add tolerations");
        let again = Hook::on(&stage.cluster, &stage.account, port, &all(&flags, &[])).ready().await;
        requests(&stage.api, &again, "killed").await;
        load.goes_on(100).await;
        load.stop();
        again
    };
    let ((), again) = futures::join!(load.run(&stage.api, "killed"), end);
    load.expect_none_rejected();
    drop(again);
    println!("    {} pods, none refused, {} without the webhook", load.created(), load.without());
}
