//! Defines the compact identities of pods and nodes: [`Uid`] (the identity, D4), names and resource versions.
//!
//! - A name alone never identifies a pod: a StatefulSet reuses names.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

/// The identity of one incarnation of an object. Opaque by API contract; the usual UUID form is packed into 16 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Uid {
    /// A lower-case, hyphenated UUID: what every API server issues.
    Uuid([u8; 16]),
    /// Anything else, kept exactly.
    Opaque(Box<str>),
}

/// Positions of the hyphens in a textual UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl Uid {
    /// Not after any other in the order of UIDs.
    pub(crate) const FIRST: Self = Self::Uuid([0; 16]);

    /// Parses a UID. Every string is valid; two UIDs are equal exactly when their texts are.
    pub fn new(text: &str) -> Self {
        pack(text.as_bytes()).map_or_else(|| Self::Opaque(text.into()), Self::Uuid)
    }
}

fn pack(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != 36 || HYPHENS.iter().any(|&at| text[at] != b'-') {
        return None;
    }
    let mut digits = text.iter().enumerate().filter(|(at, _)| !HYPHENS.contains(at)).map(|(_, c)| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    });
    let mut packed = [0; 16];
    for byte in &mut packed {
        *byte = digits.next()?? << 4 | digits.next()??;
    }
    Some(packed)
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opaque(text) => f.write_str(text),
            Self::Uuid(bytes) => {
                for (at, byte) in bytes.iter().enumerate() {
                    if matches!(at, 4 | 6 | 8 | 10) {
                        f.write_str("-")?;
                    }
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of a node; shared, because a node's pods and queue entries refer to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeName(Arc<str>);

impl NodeName {
    /// Makes a node name from text.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl core::borrow::Borrow<str> for NodeName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node/{}", &self.0)
    }
}

/// Namespace and name of a pod, in one allocation. For messages; not the pod's identity.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodName(Box<str>);

impl PodName {
    /// Joins a namespace and a name. A `/` in the namespace cannot come from an API server; the text before the first
    /// one is the namespace.
    pub fn new(namespace: &str, name: &str) -> Self {
        let mut joined = alloc::string::String::with_capacity(namespace.len() + 1 + name.len());
        joined.push_str(namespace);
        joined.push('/');
        joined.push_str(name);
        Self(joined.into_boxed_str())
    }

    /// `namespace/name`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        self.0.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The name within the namespace.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pod/{}", &self.0)
    }
}

/// The UID and the name of one pod. Clones share the allocation, so that engines that store the same pod store these
/// once: each engine takes those of the latest event, which all of them receive.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodId(Arc<(Uid, PodName)>);

impl PodId {
    /// Joins them.
    pub fn new(uid: Uid, name: PodName) -> Self {
        Self(Arc::new((uid, name)))
    }

    /// The identity (D4).
    pub fn uid(&self) -> &Uid {
        &self.0.0
    }

    /// Namespace and name.
    pub fn name(&self) -> &PodName {
        &self.0.1
    }
}

impl fmt::Debug for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({})", self.name(), self.uid())
    }
}

/// A resourceVersion, comparable as an integer (KEP-5504). A value that is not an integer is not a `ResourceVersion`:
/// the field that would hold it is `None`, and it is used neither for ordering nor as a precondition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResourceVersion(pub u64);

impl ResourceVersion {
    /// Parses a resourceVersion; `None` for anything but a canonical positive decimal integer.
    pub fn parse(text: &str) -> Option<Self> {
        let canonical = text.as_bytes().first().is_some_and(|first| matches!(first, b'1'..=b'9'));
        canonical.then(|| text.parse().ok().map(Self))?
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// One pod on its node, by UID: what every effect is decided for (D4).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodRef {
    /// The node it is bound to.
    pub node: NodeName,
    /// Its UID.
    pub uid: Uid,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_uid_keeps_its_text() {
        for text in [
            "0d4a1c5e-7b1f-4f0e-9c3d-1234567890ab",
            "0D4A1C5E-7B1F-4F0E-9C3D-1234567890AB",
            "0d4a1c5e-7b1f-4f0e-9c3d-1234567890a",
            "0d4a1c5e+7b1f-4f0e-9c3d-1234567890ab",
            "gd4a1c5e-7b1f-4f0e-9c3d-1234567890ab",
            "",
            "mirror\u{e9}",
        ] {
            assert_eq!(Uid::new(text).to_string(), text);
        }
        assert!(matches!(Uid::new("0d4a1c5e-7b1f-4f0e-9c3d-1234567890ab"), Uid::Uuid(_)));
        assert_ne!(
            Uid::new("0d4a1c5e-7b1f-4f0e-9c3d-1234567890ab"),
            Uid::new("0D4A1C5E-7B1F-4F0E-9C3D-1234567890AB")
        );
    }

    /// Panics and logs of tests name objects as people do.
    #[test]
    fn identities_are_printed_with_their_kinds() {
        let (uid, name) = (Uid::new("u"), PodName::new("shop", "web-0"));
        assert_eq!(
            alloc::format!("{:?} {:?} {:?}", uid, NodeName::new("n1"), name),
            "u node/n1 pod/shop/web-0"
        );
        assert_eq!(alloc::format!("{:?}", PodId::new(uid, name)), "pod/shop/web-0 (u)");
        assert_eq!(ResourceVersion(7).to_string(), "7");
    }

    #[test]
    fn a_pod_name_splits_again() {
        let name = PodName::new("shop", "web-0");
        assert_eq!((name.namespace(), name.name(), name.as_str()), ("shop", "web-0", "shop/web-0"));
    }

    #[test]
    fn only_canonical_integers_are_versions() {
        assert_eq!(ResourceVersion::parse("42"), Some(ResourceVersion(42)));
        for text in ["", "0", "042", "+1", "-1", "1a", "99999999999999999999999"] {
            assert_eq!(ResourceVersion::parse(text), None, "{text}");
        }
    }
}
