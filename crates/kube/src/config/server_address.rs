//! Parses the address of an API server as kubectl does: a URL, or a host with or without a port.

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};

/// The URL of an address, without user information, query and fragment. An address without a scheme is one with
/// `https://` if the connection has certificates, else one with `http://`, and has no path. `None` if it is not valid.
pub(super) fn parse(address: &str, has_certificates: bool) -> Option<Uri> {
    if let Some((scheme, _)) = address.split_once("://") {
        let is_known = ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme));
        return if is_known { url(address) } else { None };
    }
    let scheme = if has_certificates { Scheme::HTTPS } else { Scheme::HTTP };
    let url = url(&format!("{scheme}://{address}"))?;
    (url.path() == "/").then_some(url)
}

fn url(text: &str) -> Option<Uri> {
    let url: Uri = text.split('#').next()?.parse().ok()?;
    let authority = url.authority()?.as_str();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let authority: Authority = host.parse().ok()?;
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
    let has_valid_port = port.is_none_or(|port| port.is_empty() || authority.port_u16().is_some());
    if authority.host().trim_matches(['[', ']']).is_empty() || !has_valid_port {
        return None;
    }
    let path = PathAndQuery::try_from(url.path()).ok()?;
    Uri::builder().scheme(url.scheme_str()?).authority(authority).path_and_query(path).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(address: &str, has_certificates: bool) -> Option<String> {
        parse(address, has_certificates).map(|url| url.to_string())
    }

    #[test]
    fn addresses_are_read_as_kubectl_reads_them() {
        for (address, with, without) in [
            ("https://a.example:6443", "https://a.example:6443/", "https://a.example:6443/"),
            ("HTTPS://a.example", "https://a.example/", "https://a.example/"),
            ("http://10.0.0.1:8080/", "http://10.0.0.1:8080/", "http://10.0.0.1:8080/"),
            (
                "https://a.example/k8s/clusters/c-1",
                "https://a.example/k8s/clusters/c-1",
                "https://a.example/k8s/clusters/c-1",
            ),
            ("https://a.example:6443?x=1#y", "https://a.example:6443/", "https://a.example:6443/"),
            ("a.example", "https://a.example/", "http://a.example/"),
            ("a.example:6443", "https://a.example:6443/", "http://a.example:6443/"),
            ("127.0.0.1:6443/", "https://127.0.0.1:6443/", "http://127.0.0.1:6443/"),
            ("[::1]:6443", "https://[::1]:6443/", "http://[::1]:6443/"),
            ("https://[fd00::1]", "https://[fd00::1]/", "https://[fd00::1]/"),
            ("https://me:secret@a.example:1", "https://a.example:1/", "https://a.example:1/"),
        ] {
            assert_eq!(parsed(address, true).as_deref(), Some(with), "{address}");
            assert_eq!(parsed(address, false).as_deref(), Some(without), "{address}");
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for address in [
            "",
            " ",
            "/",
            ":6443",
            "https://",
            "https:///path",
            "https://:6443",
            "ftp://a",
            "unix:///run/api.sock",
            "a b",
            "a.example/path",
            "a.example:port",
            "https://a.example:99999",
            "::1",
            "fd00::1",
            "https://[::1",
            "[]:1",
            "https://a.example:6443:1",
            "\u{0}",
            "ä.example",
        ] {
            assert_eq!(parsed(address, true), None, "{address:?}");
            assert_eq!(parsed(address, false), None, "{address:?}");
        }
    }
}
