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
        for (key, value) in &map.0 {
            if let Some(slot) = labels.slot(key) {
                *slot = Some(value.0.clone());
            }
        }
        labels
    }
}

impl<'a> SelectedLabels<'a> {
    /// Where the value of this label goes; `None`: it does not matter.
    pub(super) fn slot(&mut self, key: &str) -> Option<&mut Option<Cow<'a, str>>> {
        let at = KEYS.iter().position(|&wanted| wanted == key)?;
        self.0.get_mut(at)
    }

    pub(super) fn zone(&self) -> ZoneKey {
        let [beta_region, beta_zone, region, zone, ..] = self.0.each_ref().map(Option::as_deref);
        ZoneKey::of(ZoneLabels { beta_region, beta_zone, region, zone })
    }

    pub(super) fn excluded(&self) -> bool {
        self.0[4].is_some()
    }

    pub(super) fn platform(&self) -> PlatformLabels {
        let [.., os, beta_os, arch, beta_arch] =
            self.0.each_ref().map(|value| value.as_deref().map(Box::from));
        PlatformLabels { os, beta_os, arch, beta_arch }
    }
}
