//! Registers metrics under their names, with help text and unit, at zero.

use super::MonoClock;
use super::labels::ClosedLabel;
use super::time_gauge::{TimeDirection, TimeGauge};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Metric, Registry, Unit};
use std::fmt;

/// One metric for each value of a closed label.
#[derive(Clone)]
pub struct ByLabel<L, M>(Family<L, M>);

impl<L: ClosedLabel, M: Clone> ByLabel<L, M> {
    /// The metric of one value.
    pub fn of(&self, label: L) -> M {
        self.0.get_or_create_owned(&label)
    }
}

impl<L: ClosedLabel> ByLabel<L, Counter> {
    /// Counters that are not registered yet, for counting before there is a registry.
    pub fn counters() -> Self {
        by(Counter::default)
    }
}

impl<L: fmt::Debug, M: fmt::Debug> fmt::Debug for ByLabel<L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Makes metrics and registers them.
pub struct MetricsRegistry<'registry> {
    registry: &'registry mut Registry,
    clock: MonoClock,
}

impl<'registry> MetricsRegistry<'registry> {
    /// Registers metrics in this registry; times are read on this clock.
    pub fn new(registry: &'registry mut Registry, clock: MonoClock) -> Self {
        Self { registry, clock }
    }

    /// A counter; its sample ends in `_total`, which `name` leaves out.
    pub fn counter(&mut self, name: &str, help: &str) -> Counter {
        self.put(name, help, Counter::default())
    }

    /// A gauge.
    pub fn gauge(&mut self, name: &str, help: &str) -> Gauge {
        self.put(name, help, Gauge::default())
    }

    /// A metric without labels whose unit is seconds; `name` leaves out the ending `_seconds`.
    pub fn seconds<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.registry.register_with_unit(name, help, Unit::Seconds, metric.clone());
        metric
    }

    /// A time; `name` leaves out the ending `_seconds`.
    pub fn moment(&mut self, name: &str, help: &str, direction: TimeDirection) -> TimeGauge {
        self.seconds(name, help, TimeGauge::new(direction, self.clock.clone()))
    }

    /// A time for each value of a label, counting from now on; `name` leaves out the ending `_seconds`.
    pub fn moments_since<L: ClosedLabel>(&mut self, name: &str, help: &str) -> TimeGauges<L> {
        let now = (self.clock)();
        let each = |_: &L| {
            let moment = TimeGauge::new(TimeDirection::Since, self.clock.clone());
            moment.set(Some(now));
            moment
        };
        let moments = TimeGauges(L::all().into_iter().map(|label| (label, each(&label))).collect());
        self.seconds(name, help, moments)
    }

    /// A counter for each value of a label; `name` leaves out the ending `_total`.
    pub fn counters<L: ClosedLabel>(&mut self, name: &str, help: &str) -> ByLabel<L, Counter> {
        let counters = by(Counter::default);
        self.put(name, help, counters.0.clone());
        counters
    }

    /// Counters that already count; `name` leaves out the ending `_total`.
    pub fn shared<L: ClosedLabel>(&mut self, name: &str, help: &str, counters: &ByLabel<L, Counter>) {
        self.put(name, help, counters.0.clone());
    }

    /// A gauge for each value of a label.
    pub fn gauges<L: ClosedLabel>(&mut self, name: &str, help: &str) -> ByLabel<L, Gauge> {
        let gauges = by(Gauge::default);
        self.put(name, help, gauges.0.clone());
        gauges
    }

    /// A metric for each value of a label whose values are not known in advance.
    pub fn family<L, M>(&mut self, name: &str, help: &str) -> Family<L, M>
    where
        Family<L, M>: Metric + Clone + Default,
    {
        self.put(name, help, Family::default())
    }

    /// Histograms in seconds; `name` leaves out the ending `_seconds`.
    pub fn histograms<L: ClosedLabel>(
        &mut self,
        name: &str,
        help: &str,
        make: fn() -> Histogram,
    ) -> ByLabel<L, Histogram> {
        let histograms = by(make);
        self.seconds(name, help, histograms.0.clone());
        histograms
    }

    /// A gauge that is always 1 and only carries labels.
    pub fn constant(&mut self, name: &str, help: &str, labels: Vec<(&'static str, String)>) {
        self.labelled_gauge(name, help, labels).set(1);
    }

    /// A gauge with labels fixed at start-up.
    pub fn labelled_gauge(&mut self, name: &str, help: &str, labels: Vec<(&'static str, String)>) -> Gauge {
        let family = Family::<Vec<(&'static str, String)>, Gauge>::default();
        self.put(name, help, family.clone()).get_or_create_owned(&labels)
    }

    fn put<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.registry.register(name, help, metric.clone());
        metric
    }
}

/// A family with all its members.
fn by<L: ClosedLabel, M: TypedMetric + Clone>(make: fn() -> M) -> ByLabel<L, M> {
    let family = Family::new_with_constructor(make);
    for label in L::all() {
        drop(family.get_or_create(&label));
    }
    ByLabel(family)
}

/// A [`TimeGauge`] for each value of a closed label.
#[derive(Clone, Debug)]
pub struct TimeGauges<L>(Vec<(L, TimeGauge)>);

impl<L: ClosedLabel> TimeGauges<L> {
    /// The gauge of one value.
    pub fn of(&self, label: L) -> Option<&TimeGauge> {
        self.0.iter().find(|(each, _)| *each == label).map(|(_, moment)| moment)
    }
}

impl<L: ClosedLabel> prometheus_client::encoding::EncodeMetric for TimeGauges<L> {
    fn encode(&self, mut encoder: prometheus_client::encoding::MetricEncoder<'_>) -> fmt::Result {
        for (label, moment) in &self.0 {
            moment.encode(encoder.encode_family(label)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}
