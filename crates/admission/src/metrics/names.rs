//! Names the webhook's metrics; the registry adds `_total` or `_seconds` to samples.

use taintward_server::metric_names;

metric_names! {
    WEBHOOK_REVIEWS = "taintward_webhook_reviews",
    WEBHOOK_REVIEW_DURATION = "taintward_webhook_review_duration",
    WEBHOOK_PANICS = "taintward_webhook_panics",
    WEBHOOK_UNREVIEWED_REQUESTS = "taintward_webhook_refused_requests",
    WEBHOOK_CONNECTIONS = "taintward_webhook_connections",
    WEBHOOK_ACCEPTED_CONNECTIONS = "taintward_webhook_accepted_connections",
    WEBHOOK_ENDED_CONNECTIONS = "taintward_webhook_ended_connections",
    WEBHOOK_CERTIFICATE_EXPIRATION_TIMESTAMP = "taintward_webhook_certificate_expiration_timestamp",
    WEBHOOK_CERTIFICATE_RELOAD_FAILURES = "taintward_webhook_certificate_reload_failures",
    WEBHOOK_CERTIFICATE_RELOADS = "taintward_webhook_certificate_reloads",
    WEBHOOK_RULES = "taintward_webhook_rules",
    BUILD_INFO = "taintward_build_info",
}
