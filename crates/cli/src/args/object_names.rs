//! Validates flags that hold the name of an object, a namespace or a leader election lock.

/// Why a text is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidName {
    #[error(
        "expected an object name: at most 253 lower-case letters, digits, '-' and '.', such as taintward"
    )]
    Object,
    #[error("expected a namespace: at most 63 lower-case letters, digits and '-', such as kube-system")]
    Namespace,
    #[error("expected leases: Kubernetes no longer supports locks on Endpoints and ConfigMaps")]
    LegacyLock,
    #[error("expected leases, the only supported lock")]
    Lock,
}

/// Parses an object's name (RFC 1123 subdomain).
pub(crate) fn object(text: &str) -> Result<String, InvalidName> {
    let fits = text.len() <= 253 && text.split('.').all(is_label);
    if fits { Ok(text.to_owned()) } else { Err(InvalidName::Object) }
}

/// Parses a namespace (RFC 1123 label).
pub(crate) fn namespace(text: &str) -> Result<String, InvalidName> {
    if text.len() <= 63 && is_label(text) { Ok(text.to_owned()) } else { Err(InvalidName::Namespace) }
}

/// Parses the type of the lock.
pub(crate) fn lock(text: &str) -> Result<String, InvalidName> {
    match text {
        "leases" => Ok(text.to_owned()),
        "endpoints" | "configmaps" | "endpointsleases" | "configmapsleases" => Err(InvalidName::LegacyLock),
        _ => Err(InvalidName::Lock),
    }
}

fn is_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !text.is_empty() && !text.starts_with('-') && !text.ends_with('-') && text.bytes().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_as_in_the_api_server() {
        for name in ["taintward", "a.b-c.9", "0", &"a".repeat(253)] {
            assert_eq!(object(name).as_deref(), Ok(name));
        }
        for name in ["", "A", "a_b", "-a", "a-", "a..b", ".a", "a/b", "ä", &"a".repeat(254)] {
            assert_eq!(object(name), Err(InvalidName::Object), "{name}");
        }
        assert_eq!(namespace("kube-system").as_deref(), Ok("kube-system"));
        for name in ["", "kube.system", "Kube", &"a".repeat(64)] {
            assert_eq!(namespace(name), Err(InvalidName::Namespace), "{name}");
        }
    }

    #[test]
    fn only_leases_lock() {
        assert_eq!(lock("leases").as_deref(), Ok("leases"));
        for name in ["endpoints", "configmaps", "endpointsleases", "configmapsleases"] {
            assert_eq!(lock(name), Err(InvalidName::LegacyLock));
        }
        assert_eq!(lock("Leases"), Err(InvalidName::Lock));
    }
}
