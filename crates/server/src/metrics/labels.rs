//! Defines labels whose values are all known at compile time ([`closed_label!`](crate::closed_label)).
//!
//! - Names of objects are never labels: their number has no bound.

use prometheus_client::encoding::EncodeLabelSet;
use std::fmt;
use std::hash::Hash;

/// A label set with a known list of values.
pub trait ClosedLabel: Copy + Eq + Hash + EncodeLabelSet + fmt::Debug + Send + Sync + 'static {
    /// Every value.
    fn all() -> Vec<Self>;
}

impl<A: ClosedLabel, B: ClosedLabel> ClosedLabel for (A, B) {
    fn all() -> Vec<Self> {
        A::all().into_iter().flat_map(|a| B::all().into_iter().map(move |b| (a, b))).collect()
    }
}

/// Declares a label with all its values: `closed_label! { /// About. Name, "key", { /// Meaning. Value => "value", } }`.
#[macro_export]
macro_rules! closed_label {
    ($(#[$about:meta])* $name:ident, $key:literal, { $($(#[$meaning:meta])* $value:ident => $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$meaning])* $value,)+
        }

        impl $name {
            /// The value of the label.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }

        impl $crate::metrics::ClosedLabel for $name {
            fn all() -> Vec<Self> {
                vec![$(Self::$value,)+]
            }
        }

        impl $crate::metrics::EncodeLabelSet for $name {
            fn encode(&self, encoder: &mut $crate::metrics::LabelSetEncoder<'_>) -> std::fmt::Result {
                $crate::metrics::EncodeLabel::encode(&($key, self.as_str()), encoder.encode_label())
            }
        }
    };
}
