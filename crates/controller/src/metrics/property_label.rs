//! Defines the label of the properties that requests are checked by.

use taintward_core::eviction_monitor::EvictionProperty;
use taintward_server::closed_label;

closed_label! {
    /// A property that a request of taint-eviction-controller violates.
    PropertyLabel, "property", {
        /// The right pod, in a version that was observed.
        RightPod => "S1",
        /// A recent read of the node, and complete lists.
        Confirmed => "S2",
        /// Not before the pod's tolerations end.
        NotEarly => "S3",
        /// One deletion of a pod, and only of a live one.
        Once => "S10",
        /// Not if the pod or its node cannot be decoded.
        Decoded => "S11",
    }
}

impl From<EvictionProperty> for PropertyLabel {
    fn from(property: EvictionProperty) -> Self {
        match property {
            EvictionProperty::RightPod => Self::RightPod,
            EvictionProperty::Confirmed => Self::Confirmed,
            EvictionProperty::NotEarly => Self::NotEarly,
            EvictionProperty::Once => Self::Once,
            EvictionProperty::Decoded => Self::Decoded,
        }
    }
}
