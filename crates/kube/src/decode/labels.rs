//! Selects the labels of a node that decisions need: zone (NL-24), platform (NL-8), exclusion from the count (NL-25).
//!
//! - Of a key given twice the last value counts, as in Go's maps.

use crate::wire::{Text, TextMap};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use taintward_core::node_lifecycle::{PlatformLabels, ZoneKey, ZoneLabels};

const KEYS: [&str; 9] = [
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "node.kubernetes.io/exclude-disruption",
    "kubernetes.io/os",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/arch",
];

/// The values, in the order of [`KEYS`].
#[derive(Default)]
pub(crate) struct SelectedLabels<'a>([Option<Cow<'a, str>>; KEYS.len()]);

/// Values of other labels may be anything.
impl<'de: 'a, 'a> Deserialize<'de> for SelectedLabels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SelectedLabelsVisitor;

        impl<'de> Visitor<'de> for SelectedLabelsVisitor {
            type Value = SelectedLabels<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut labels = SelectedLabels::default();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    match labels.slot(&key) {
                        Some(slot) => *slot = Some(map.next_value::<Text<'de>>()?.0),
                        None => _ = map.next_value::<IgnoredAny>()?,
                    }
                }
                Ok(labels)
            }
        }

        deserializer.deserialize_map(SelectedLabelsVisitor)
    }
}

impl<'a> From<&TextMap<'a>> for SelectedLabels<'a> {
    fn from(map: &TextMap<'a>) -> Self {
        let mut labels = Self::default();
        labels.extend(map.0.iter().map(|(key, value)| (&**key, value.0.clone())));
        labels
    }
}

impl<'a, 'k> Extend<(&'k str, Cow<'a, str>)> for SelectedLabels<'a> {
    fn extend<I: IntoIterator<Item = (&'k str, Cow<'a, str>)>>(&mut self, labels: I) {
        for (key, value) in labels {
            if let Some(slot) = self.slot(key) {
                *slot = Some(value);
            }
        }
    }
}

impl<'a> SelectedLabels<'a> {
    /// Returns the place for the value of this label; `None`: it does not matter.
    fn slot(&mut self, key: &str) -> Option<&mut Option<Cow<'a, str>>> {
        let at = KEYS.iter().position(|&wanted| wanted == key)?;
        self.0.get_mut(at)
    }

    /// The node's zone, whether it is excluded from the count, and its platform.
    pub(super) fn zone_exclusion_and_platform(&self) -> (ZoneKey, bool, PlatformLabels) {
        let [beta_region, beta_zone, region, zone, excluded, os, beta_os, arch, beta_arch] =
            self.0.each_ref().map(Option::as_deref);
        let zone = ZoneKey::of(ZoneLabels { beta_region, beta_zone, region, zone });
        let [os, beta_os, arch, beta_arch] = [os, beta_os, arch, beta_arch].map(|value| value.map(Box::from));
        (zone, excluded.is_some(), PlatformLabels { os, beta_os, arch, beta_arch })
    }
}
