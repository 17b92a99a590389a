//! Generates times, as each encoding and the fact have them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::jiff::Timestamp;
use k8s_pb::apimachinery::pkg::apis::meta::v1 as pbmeta;
use proptest::prelude::*;
use taintward_core::time::Wall;

/// Seconds of the years 1 to 9999, without the first, which means "no time".
pub(super) fn moment() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 1_500_000_000_i64..2_000_000_000,
        1 => -62_135_596_799_i64..=253_402_207_200,
        1 => Just(0),
    ]
}

pub(super) fn wall(seconds: Option<i64>) -> Option<Wall> {
    seconds.map(Wall::from_secs)
}

pub(super) fn pb_time(seconds: Option<i64>) -> Option<pbmeta::Time> {
    seconds.map(|seconds| pbmeta::Time { seconds: Some(seconds), nanos: Some(0) })
}

pub(super) fn api_time(seconds: Option<i64>) -> Option<meta::Time> {
    seconds.map(|seconds| meta::Time(Timestamp::from_second(seconds).unwrap()))
}
