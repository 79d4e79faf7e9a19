//! OTLP 1.0, metrics: <https://opentelemetry.io/docs/specs/otlp/>.
//!
//! The message types contain only the part of OpenTelemetry's `metrics.proto` that is written here.

use loadpilot_engine::report::cumulative::buckets::{BOUNDS_US, Buckets};
use prost::Message as _;

use super::families::{Figures, Labels, Message, PREFIX, Points, seconds};
use super::run_families::families;

/// AGGREGATION_TEMPORALITY_CUMULATIVE
const CUMULATIVE: i32 = 2;

#[derive(Clone, PartialEq, prost::Message)]
struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AnyValue {
    #[prost(string, tag = "1")]
    string_value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    metrics: Vec<Metric>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Metric {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(string, tag = "3")]
    unit: String,
    /// One of this field and the following ones.
    #[prost(message, optional, tag = "5")]
    gauge: Option<Gauge>,
    #[prost(message, optional, tag = "7")]
    sum: Option<Sum>,
    #[prost(message, optional, tag = "9")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Gauge {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberPoint>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Sum {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberPoint>,
    #[prost(int32, tag = "2")]
    aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    is_monotonic: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct NumberPoint {
    #[prost(message, repeated, tag = "7")]
    attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    /// One of this field and the next one. Optional, so that a zero is written.
    #[prost(double, optional, tag = "4")]
    as_double: Option<f64>,
    #[prost(sfixed64, optional, tag = "6")]
    as_int: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Histogram {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<HistogramPoint>,
    #[prost(int32, tag = "2")]
    aggregation_temporality: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HistogramPoint {
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    count: u64,
    #[prost(double, optional, tag = "5")]
    sum: Option<f64>,
    #[prost(fixed64, repeated, tag = "6")]
    bucket_counts: Vec<u64>,
    #[prost(double, repeated, tag = "7")]
    explicit_bounds: Vec<f64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_data_points: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

/// The data points of a message that a server rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Number of data points.
    pub points: u64,
    /// The server's reason.
    pub why: String,
}

/// Reads the body of a successful response; `None` when all points were accepted, or the body is
/// not readable.
#[must_use]
pub fn rejected(body: &[u8]) -> Option<Rejected> {
    let partial = ExportResponse::decode(body).ok()?.partial_success?;
    let points = u64::try_from(partial.rejected_data_points).unwrap_or(0);
    (points > 0).then_some(Rejected {
        points,
        why: partial.error_message,
    })
}

/// The data points of a run.
pub(super) fn message(figures: &Figures) -> Message {
    let mut points = 0;
    let mut metrics = Vec::new();
    for family in families(figures) {
        let mut metric = Metric {
            name: format!("{PREFIX}.{}", family.name),
            description: family.help.into_owned(),
            unit: family.unit.ucum().to_owned(),
            ..Metric::default()
        };
        match family.points {
            Points::Counters(counters) => {
                points += counters.len() as u64;
                metric.sum = Some(sum(figures, &counters));
            }
            Points::Gauges(gauges) => {
                points += gauges.len() as u64;
                metric.gauge = Some(gauge(figures, &gauges));
            }
            Points::Histograms(histograms) => {
                points += histograms.len() as u64;
                metric.histogram = Some(histogram(figures, &histograms));
            }
        }
        metrics.push(metric);
    }
    let request = ExportRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: vec![attribute("service.name", "loadpilot")],
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(Scope {
                    name: "loadpilot".to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                }),
                metrics,
            }],
        }],
    };
    Message {
        body: request.encode_to_vec(),
        points,
    }
}

fn sum(figures: &Figures, counters: &[(Labels, u64)]) -> Sum {
    let data_points = counters.iter().map(|(labels, count)| NumberPoint {
        as_int: Some(i64::try_from(*count).unwrap_or(i64::MAX)),
        ..point(figures, labels)
    });
    Sum {
        data_points: data_points.collect(),
        aggregation_temporality: CUMULATIVE,
        is_monotonic: true,
    }
}

fn gauge(figures: &Figures, gauges: &[(Labels, f64)]) -> Gauge {
    let data_points = gauges.iter().map(|(labels, value)| NumberPoint {
        as_double: Some(*value),
        ..point(figures, labels)
    });
    Gauge {
        data_points: data_points.collect(),
    }
}

fn point(figures: &Figures, labels: &Labels) -> NumberPoint {
    NumberPoint {
        attributes: attributes(figures, labels),
        start_time_unix_nano: nanos(figures.start_us),
        time_unix_nano: nanos(figures.now_us),
        as_double: None,
        as_int: None,
    }
}

fn histogram(figures: &Figures, histograms: &[(Labels, Buckets)]) -> Histogram {
    let data_points = histograms.iter().map(|(labels, buckets)| HistogramPoint {
        attributes: attributes(figures, labels),
        start_time_unix_nano: nanos(figures.start_us),
        time_unix_nano: nanos(figures.now_us),
        count: buckets.count(),
        sum: Some(seconds(buckets.sum_us)),
        bucket_counts: buckets.classic.to_vec(),
        explicit_bounds: BOUNDS_US.map(seconds).to_vec(),
    });
    Histogram {
        data_points: data_points.collect(),
        aggregation_temporality: CUMULATIVE,
    }
}

fn attributes(figures: &Figures, labels: &Labels) -> Vec<KeyValue> {
    let all = figures.labels().into_iter().chain(labels.iter().cloned());
    all.map(|(name, value)| attribute(name, &value)).collect()
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            string_value: value.to_owned(),
        }),
    }
}

fn nanos(us: u64) -> u64 {
    us.saturating_mul(1_000)
}
