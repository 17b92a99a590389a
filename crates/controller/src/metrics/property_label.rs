//! Defines the label of the properties that requests are checked by.

use taintward_core::engine_monitor::RequestProperty;
use taintward_server::closed_label;

closed_label! {
    /// A property that a request of a controller violates.
    PropertyLabel, "property", {
        /// The right pod, in a version that was observed.
        RightPod => "S1",
        /// A recent read of the node, and complete lists.
        Confirmed => "S2",
        /// Not before the pod's tolerations end.
        NotEarly => "S3",
        /// Not faster than the rate of a zone, and never while no node is ready.
        Rate => "S6",
        /// A live read, and a whole grace period without a heartbeat.
        Silent => "S7",
        /// No condition of its own without a further request.
        NoFalseMark => "S9",
        /// One deletion of a pod, and only of a live one.
        Once => "S10",
        /// Not if the pod or its node cannot be decoded.
        Decoded => "S11",
        /// The seconds that the author of a toleration wrote stay, and come back.
        OwnSeconds => "S15",
    }
}

impl From<RequestProperty> for PropertyLabel {
    fn from(property: RequestProperty) -> Self {
        match property {
            RequestProperty::RightPod => Self::RightPod,
            RequestProperty::Confirmed => Self::Confirmed,
            RequestProperty::NotEarly => Self::NotEarly,
            RequestProperty::Rate => Self::Rate,
            RequestProperty::Silent => Self::Silent,
            RequestProperty::NoFalseMark => Self::NoFalseMark,
            RequestProperty::Once => Self::Once,
            RequestProperty::Decoded => Self::Decoded,
            RequestProperty::OwnSeconds => Self::OwnSeconds,
        }
    }
}
