//! The messages, read by OpenTelemetry's own types and by a reader of Prometheus's that shares no
//! code with the writer.

use std::collections::BTreeMap;

use loadpilot_engine::report::cumulative::{
    BOUNDS_US, CallTotals, ClassicHistogram, Cumulative, TaskTotals,
};
use loadpilot_events::log::outcome::{DropReason, Outcome};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric, number_data_point};
use prost::Message as _;

use super::families::Figures;
use super::{Rejected, otlp, rejected, remote_write};

const START_US: u64 = 1_795_000_000_000_000;

fn figures() -> Figures {
    let mut histogram = ClassicHistogram::default();
    histogram.counts[1] = 5;
    histogram.counts[BOUNDS_US.len()] = 2;
    histogram.sum_us = 140_004_000;
    let call = CallTotals {
        outcomes: BTreeMap::from([(Outcome::Ok, 6), (Outcome::Http5xx, 1)]),
        response: histogram.clone(),
        service: histogram,
    };
    let task = TaskTotals {
        started: 7,
        dropped: BTreeMap::from([(DropReason::Late, 3)]),
        errors: 0,
    };
    Figures {
        run: "01k9".to_owned(),
        scenario: "Shop".to_owned(),
        start_us: START_US,
        now_us: START_US + 2_000_500,
        totals: Cumulative {
            tasks: BTreeMap::from([("browse".to_owned(), task)]),
            calls: BTreeMap::from([(("browse".to_owned(), "GET /".to_owned()), call)]),
        },
    }
}

fn text(attributes: &[KeyValue]) -> String {
    let one = |pair: &KeyValue| match &pair.value {
        Some(AnyValue {
            value: Some(Value::StringValue(value)),
        }) => format!("{}={value}", pair.key),
        other => panic!("{other:?}"),
    };
    attributes.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Broken if an OpenTelemetry collector reads another figure, label, unit or time.
#[test]
fn opentelemetry_reads_what_was_counted() {
    let message = otlp::message(&figures());
    let request = ExportMetricsServiceRequest::decode(message.body.as_slice()).expect("protobuf");
    let resource = &request.resource_metrics[0];
    let service = resource.resource.as_ref().expect("a resource");
    assert_eq!(text(&service.attributes), "service.name=loadpilot");
    let (mut counts, mut points) = (Vec::new(), 0);
    for Metric {
        name, unit, data, ..
    } in &resource.scope_metrics[0].metrics
    {
        match data.as_ref().expect("data") {
            Data::Sum(sum) => {
                assert!(sum.is_monotonic);
                assert_eq!(
                    sum.aggregation_temporality(),
                    AggregationTemporality::Cumulative
                );
                for point in &sum.data_points {
                    let Some(number_data_point::Value::AsInt(count)) = point.value else {
                        panic!("{point:?}");
                    };
                    assert_eq!(point.start_time_unix_nano, START_US * 1_000);
                    assert_eq!(point.time_unix_nano, (START_US + 2_000_500) * 1_000);
                    counts.push(format!("{name} {} {count}", text(&point.attributes)));
                    points += 1;
                }
            }
            Data::Histogram(histogram) => {
                let point = &histogram.data_points[0];
                assert_eq!(unit, "s");
                assert_eq!(point.count, 7);
                assert_eq!(point.sum, Some(140.004));
                assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                assert_eq!(
                    (point.bucket_counts[1], point.explicit_bounds[1]),
                    (5, 0.001)
                );
                assert_eq!(point.bucket_counts.last(), Some(&2));
                assert_eq!(
                    histogram.aggregation_temporality(),
                    AggregationTemporality::Cumulative
                );
                points += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    let run = "run=01k9 scenario=Shop task=browse";
    let expected = [
        format!("loadpilot.arrivals_started {run} 7"),
        format!("loadpilot.arrivals_dropped {run} reason=late 3"),
        format!("loadpilot.task_errors {run} 0"),
        format!("loadpilot.requests {run} call=GET / outcome=ok 6"),
        format!("loadpilot.requests {run} call=GET / outcome=http_5xx 1"),
    ];
    assert_eq!(counts, expected);
    assert_eq!(points, message.points);
}

/// Broken if a server that takes only a part counts as one that takes all.
#[test]
fn a_partial_success_is_read() {
    let response = |points: i64| ExportMetricsServiceResponse {
        partial_success: Some(ExportMetricsPartialSuccess {
            rejected_data_points: points,
            error_message: "too many".to_owned(),
        }),
    };
    let some = Rejected {
        points: 4,
        why: "too many".to_owned(),
    };
    assert_eq!(rejected(&response(4).encode_to_vec()), Some(some));
    assert_eq!(rejected(&response(0).encode_to_vec()), None);
    assert_eq!(rejected(b""), None);
    assert_eq!(rejected(b"<html>"), None);
}

/// Broken if labels are not sorted by name, a bucket is not cumulative, or a time is not in ms. A
/// real Prometheus reads the rest in `tests/e2e/sinks`.
#[test]
fn series_are_as_prometheus_demands() {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Pair {
        #[prost(bytes = "vec", tag = "1")]
        first: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")]
        second: Vec<u8>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    struct Sample {
        #[prost(double, tag = "1")]
        value: f64,
        #[prost(int64, tag = "2")]
        at_ms: i64,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    struct One {
        #[prost(message, repeated, tag = "1")]
        labels: Vec<Pair>,
        #[prost(message, repeated, tag = "2")]
        samples: Vec<Sample>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    struct All {
        #[prost(message, repeated, tag = "1")]
        series: Vec<One>,
    }
    let message = remote_write::message(&figures());
    let body = snap::raw::Decoder::new().decompress_vec(&message.body);
    let all = All::decode(body.expect("snappy").as_slice()).expect("protobuf");
    assert_eq!(all.series.len() as u64, message.points);
    let mut buckets = Vec::new();
    for one in &all.series {
        let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).expect("UTF-8");
        let labels = one.labels.iter();
        let labels: Vec<_> = labels
            .map(|label| (text(&label.first), text(&label.second)))
            .collect();
        assert!(
            labels.windows(2).all(|two| two[0].0 < two[1].0),
            "{labels:?}"
        );
        assert_eq!(one.samples[0].at_ms, 1_795_000_002_000);
        let labels: BTreeMap<_, _> = labels.into_iter().collect();
        if labels["__name__"] == "loadpilot_response_seconds_bucket" {
            buckets.push((labels["le"].clone(), one.samples[0].value));
        }
    }
    let expected = ["0.0005", "0.001", "60", "+Inf"].map(str::to_owned);
    let found = [0, 1, 16, 17].map(|place: usize| buckets[place].0.clone());
    assert_eq!(found, expected);
    let found = [0, 1, 16, 17].map(|place: usize| buckets[place].1);
    assert_eq!(found, [0.0, 5.0, 5.0, 7.0]);
}
