//! Declares names of metrics as constants, for their registration and their documentation (`metric_names!`).

/// Declares names: `metric_names! { DUE_PODS = "taintward_due_pods", }`.
#[macro_export]
macro_rules! metric_names {
    ($($name:ident = $text:literal,)+) => {
        $(
            #[doc = concat!("`", $text, "`")]
            pub const $name: &str = $text;
        )+
    };
}
