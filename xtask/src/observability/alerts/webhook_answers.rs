//! Alerts of the admission webhook: objects that come in without its rules, and its certificate.

use super::super::alert::{Alert, Runbook, Severity, min, rise, seconds, total};
use taintward_admission::metrics::{MODE, names};
use taintward_admission::review::{Did, Outcome};
use taintward_core::admission::review::AdmissionRule;

pub(super) fn alerts() -> Vec<Alert> {
    vec![absent(), fails_open(), brake(), certificate()]
}

fn absent() -> Alert {
    Alert {
        name: "TaintwardWebhookAbsent",
        severity: Severity::Critical,
        hold_seconds: 300,
        expr: format!("absent({}{{mode=\"{MODE}\"}})", names::BUILD_INFO),
        summary: "Prometheus sees no process of taintward webhook.",
        description: "No process of taintward webhook has been scraped for five minutes.",
        runbook: Runbook {
            meaning: "No replica of `taintward webhook` answers the scrapes of Prometheus: none runs, or Prometheus cannot reach them.",
            impact: "If none runs, objects come in without the rules (`failurePolicy: Ignore`), or are refused (`Fail`). Nodes of \
                     dedicated pools stay closed: an admission policy of the API server judges their pods.",
            diagnosis: "- `kubectl --namespace taintward-system get pods` shows whether replicas run.\n\
                        - `/readyz?verbose` of a replica says what is missing.\n\
                        - `apiserver_admission_webhook_fail_open_count` of the API server counts objects that came in without an answer.",
            action: "Start the replicas again, or repair the scraping: a NetworkPolicy lets in only namespaces labelled \
                     `taintward.io/metrics=allowed`.",
            silence: "Where the webhook is not installed: remove this rule.",
        },
    }
}

fn fails_open() -> Alert {
    let outcomes = [Outcome::Panicked, Outcome::Unjudged].map(Outcome::as_str).join("|");
    let reviews = format!("{}{{outcome=~\"{outcomes}\"}}", total(names::WEBHOOK_REVIEWS));
    Alert {
        name: "TaintwardWebhookFailsOpen",
        severity: Severity::Warning,
        hold_seconds: 60,
        expr: format!("{} > 0", rise("path, outcome", &reviews, "10m")),
        summary: "The webhook answers without having judged the object.",
        description: "About {{ $value | humanize }} answers of {{ $labels.path }} in ten minutes were {{ $labels.outcome }} (job \
                      {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The webhook could not judge objects and let them in as they were: a rule broke down (`panicked`), or the object \
                      could not be decoded or was too large (`unjudged`). An unjudged object is kept out where a pool or the brake \
                      demands it. The alert does not see objects that came in while no webhook answered.",
            impact: "These objects have no default tolerations, got no warning and were not checked.",
            diagnosis: "- The log of the webhook has a record for each, with the reason.\n\
                        - `apiserver_admission_webhook_fail_open_count` of the API server counts objects that came in without an answer.",
            action: "A rule that breaks down is a fault of Taintward: please report the record with its `place`. Find the author of \
                     objects that cannot be judged in the API server's audit log.",
            silence: "While the fault is known and its version is being replaced.",
        },
    }
}

fn brake() -> Alert {
    let denials = format!(
        "{}{{rule=\"{}\",did=\"{}\"}}",
        total(names::WEBHOOK_RULES),
        AdmissionRule::Brake.name(),
        Did::Denied.as_str()
    );
    Alert {
        name: "TaintwardBrakeRefuses",
        severity: Severity::Warning,
        hold_seconds: 60,
        expr: format!("{} > 0", rise("rule", &denials, "10m")),
        summary: "The brake refuses NoExecute taints.",
        description: "The rule {{ $labels.rule }} refused about {{ $value | humanize }} writes of nodes in ten minutes (job \
                      {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "A client wants to put NoExecute taints on the last healthy node, or on more nodes than `--brake-percent` allows.",
            impact: "The nodes do not get the taint. The pods on them stay.",
            diagnosis: "- The answer that the client got names the rule and the numbers.\n\
                        - The API server's audit log has the user behind the refused writes of nodes.",
            action: "Stop a script or controller that taints by mistake. For a taint that is meant, [admission.md](../admission.md#the-brake) \
                     names the annotation.",
            silence: "While a person empties many nodes on purpose.",
        },
    }
}

fn certificate() -> Alert {
    let until = min(&seconds(names::WEBHOOK_CERTIFICATE_EXPIRATION_TIMESTAMP));
    Alert {
        name: "TaintwardCertificateEnds",
        severity: Severity::Critical,
        hold_seconds: 600,
        expr: format!("{until} - time() < 7 * 24 * 3600"),
        summary: "The certificate of the webhook ends soon, or there is none.",
        description: "It ends in {{ $value | humanizeDuration }}; below 0: it has ended, or there is none (job {{ $labels.job }} in \
                      {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "A replica of the webhook shows a certificate that ends within seven days, or shows none. A self-signed one lasts \
                      90 days and is renewed after 60, so its renewal has failed for weeks.",
            impact: "When it has ended, API servers do not accept the webhook's answers: objects come in without the rules \
                     (`failurePolicy: Ignore`), or are refused (`Fail`).",
            diagnosis: "- `taintward_webhook_certificate_reload_failures_total` rises: the files or the Secret cannot be used, and the \
                        log names the reason.\n\
                        - `taintward doctor` tells whether the account may write its Secret.",
            action: "Self-signed: repair the permission to write the Secret. Files: renew them (cert-manager, or your own way); the webhook \
                     reads renewed files again by itself.",
            silence: "Where files are renewed later than seven days before their end: lower the limit in the rule.",
        },
    }
}
