//! Alerts about the admission webhook: objects that are admitted without its rules, and its certificate.

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
        summary: "Prometheus scrapes no process of taintward webhook.",
        description: "Prometheus has scraped no process of taintward webhook for five minutes.",
        runbook: Runbook {
            meaning: "No replica of `taintward webhook` answers Prometheus: no replica runs, or Prometheus cannot reach the replicas.",
            impact: "If no replica runs, the API server admits objects without the webhook's rules (`failurePolicy: Ignore`), or refuses \
                     them (`Fail`). Nodes of dedicated pools stay protected: an admission policy in the API server checks their \
                     pods.",
            diagnosis: "- `kubectl --namespace taintward-system get pods` shows whether replicas run.\n\
                        - `/readyz?verbose` of a replica says what is missing.\n\
                        - `apiserver_admission_webhook_fail_open_count` of the API server counts the objects that it admitted without \
                        an answer of the webhook.",
            action: "Start the replicas again, or repair the scraping: a NetworkPolicy admits only namespaces with the label \
                     `taintward.io/metrics=allowed`.",
            silence: "If the webhook is not installed, remove this rule instead.",
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
        summary: "The webhook answers without judging the object.",
        description: "In ten minutes, about {{ $value | humanize }} answers of {{ $labels.path }} were {{ $labels.outcome }} (job \
                      {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The webhook could not judge objects and admitted them without changes: a rule panicked (`panicked`), or the object \
                      could not be decoded or was too large (`unjudged`). The webhook refuses an unjudged object if a pool or the \
                      brake demands it. The alert does not include objects that the API server admitted while no webhook answered.",
            impact: "The rules were not applied to these objects: no default tolerations, no warnings, no checks.",
            diagnosis: "- The log of the webhook has a record for each object, with the reason.\n\
                        - `apiserver_admission_webhook_fail_open_count` of the API server counts the objects that it admitted without \
                        an answer of the webhook.",
            action: "A rule that panics is a bug of Taintward: report the log record with its `place`. The API server's audit log names \
                     the author of objects that the webhook cannot judge.",
            silence: "While the fault is known and you replace the version that has it.",
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
        description: "In ten minutes, the rule {{ $labels.rule }} refused about {{ $value | humanize }} writes of nodes (job \
                      {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "A client tries to add NoExecute taints to the last healthy node, or to more nodes than `--brake-percent` allows.",
            impact: "The nodes do not get the taint, and their pods stay.",
            diagnosis: "- The answer that the client received names the rule and the numbers.\n\
                        - The API server's audit log names the user of each refused write.",
            action: "Stop the script or the controller that adds taints by mistake. If the taint is intended, \
                     [admission.md](../admission.md#the-brake) names the annotation that permits it.",
            silence: "While your team empties many nodes on purpose.",
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
        summary: "The certificate of the webhook expires soon, or the webhook has none.",
        description: "The certificate expires in {{ $value | humanizeDuration }}; below 0, it has expired, or there is none (job {{ $labels.job }} in \
                      {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "A replica of the webhook serves a certificate that expires within seven days, or has none. A self-signed certificate \
                      is valid for 90 days, and the webhook renews it after 60, so its renewal has failed for weeks.",
            impact: "After it expires, API servers no longer trust the webhook: they admit objects without the rules \
                     (`failurePolicy: Ignore`), or refuse them (`Fail`).",
            diagnosis: "- If `taintward_webhook_certificate_reload_failures_total` rises, the webhook cannot use the files or the Secret, \
                        and the log has the reason.\n\
                        - `taintward doctor` shows whether the account may write its Secret.",
            action: "If the certificate is self-signed, repair the permission to write the Secret. If it is in files, renew them \
                     (cert-manager, or your own process); the webhook reads renewed files by itself.",
            silence: "If your files are always renewed later than seven days before they expire, lower the limit in the rule instead.",
        },
    }
}
