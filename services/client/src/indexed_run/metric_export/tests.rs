//! The messages, read by OpenTelemetry's own types and by a reader of Prometheus's that shares no
//! code with the writer.

use std::collections::BTreeMap;

use loadpilot_engine::report::cumulative::buckets::{BOUNDS_US, Buckets};
use loadpilot_engine::report::cumulative::gauges::{AgentGauges, Gauges};
use loadpilot_engine::report::cumulative::legacy::LegacyFigures;
use loadpilot_engine::report::cumulative::{
    CallTotals, Cumulative, OutcomeTotals, RunFigures, TaskTotals,
};
use loadpilot_events::answers::report::{
    Certificate, Finding, FindingKind, Grade, RunState, ThresholdResult, Verdict,
};
use loadpilot_events::log::ctl::Ending;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::plan::threshold::{Metric as Measure, Operator};
use loadpilot_events::units::Timestamp;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric, number_data_point};
use prost::Message as _;

use super::families::{Figures, Judgement};
use super::{Exporter, Format, Rejected, exposition, otlp, rejected, remote_write};

const START_US: u64 = 1_795_000_000_000_000;

fn figures() -> Figures {
    let mut buckets = Buckets::default();
    buckets.classic[1] = 5;
    buckets.classic[BOUNDS_US.len()] = 2;
    buckets.native = BTreeMap::from([(-640, 2), (-639, 3), (-636, 1), (400, 1)]);
    buckets.sum_us = 140_004_000;
    let of_outcome = |count, buckets: &Buckets| OutcomeTotals {
        count,
        response: buckets.clone(),
        service: buckets.clone(),
    };
    let call = CallTotals {
        outcomes: BTreeMap::from([
            (Outcome::Ok, of_outcome(7, &buckets)),
            (Outcome::Cancelled, of_outcome(1, &Buckets::default())),
        ]),
        opened: 1,
        reused: 6,
        ..CallTotals::default()
    };
    let task = TaskTotals {
        planned: 10,
        started: 7,
        dropped: BTreeMap::from([(DropReason::Late, 3)]),
        failed: 0,
    };
    let agent = AgentGauges {
        cpu_ratio: Some(0.25),
        ..AgentGauges::default()
    };
    Figures {
        run: "01k9".to_owned(),
        scenario: "Shop".to_owned(),
        exporter: None,
        tenant: None,
        start_us: START_US,
        now_us: START_US + 2_000_500,
        figures: RunFigures {
            totals: Cumulative {
                tasks: BTreeMap::from([("browse".to_owned(), task)]),
                calls: BTreeMap::from([(("browse".to_owned(), "GET /\"\n".to_owned()), call)]),
                schedule_lag: Buckets::default(),
            },
            gauges: Gauges {
                state: RunState::Running,
                start_at: Some(Timestamp(START_US)),
                ended_at: None,
                planned_per_sec: 5.0,
                in_flight: 2,
                holders: 1,
                agents: BTreeMap::from([("agent-1".to_owned(), agent)]),
                log_lag_us: Some(1_500_000),
                events: Vec::new(),
            },
            legacy: LegacyFigures::default(),
        },
        judgement: Judgement {
            certificate: Certificate {
                grade: Grade::Valid,
                findings: Vec::new(),
            },
            verdict: Verdict {
                passed: true,
                thresholds: Vec::new(),
                reasons: Vec::new(),
            },
            ending: None,
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

/// Broken if the task of a threshold is named twice, or if a series says that a run is unfinished
/// while it goes on: no later point corrects it.
#[test]
fn a_run_that_goes_on_is_not_found_unfinished() {
    let mut figures = figures();
    figures.judgement.certificate.findings = vec![Finding {
        kind: FindingKind::Unfinished,
        grade: Grade::Invalid,
        evidence: String::new(),
    }];
    figures.judgement.verdict.thresholds = vec![ThresholdResult {
        key: "browse:p95_ms".to_owned(),
        metric: Measure::P95Ms,
        task: Some("browse".to_owned()),
        operator: Operator::AtMost,
        limit: 300.0,
        actual: Some(12.0),
        passed: true,
        reason: None,
    }];
    let exported = |figures: &Figures| {
        let body = exposition(Format::Text, &[figures], Vec::new());
        String::from_utf8(body).expect("text")
    };
    let live = exported(&figures);
    assert!(!live.contains("finding=\"unfinished\""), "{live}");
    assert!(
        live.contains("threshold=\"browse:p95_ms <= 300\""),
        "{live}"
    );
    figures.figures.gauges.ended_at = Some(Timestamp(START_US + 2_000_000));
    let over = exported(&figures);
    assert!(
        over.contains("finding=\"unfinished\",level=\"INVALID\""),
        "{over}"
    );
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
                    points += 1;
                    if count == 0 || !name.contains("arrivals") && !name.contains("calls") {
                        continue;
                    }
                    assert_eq!(point.start_time_unix_nano, START_US * 1_000);
                    assert_eq!(point.time_unix_nano, (START_US + 2_000_500) * 1_000);
                    counts.push(format!("{name} {} {count}", text(&point.attributes)));
                }
            }
            Data::Gauge(gauge) => {
                points += gauge.data_points.len() as u64;
                if name == "loadpilot.generator_cpu" {
                    let value = gauge.data_points[0].value;
                    assert_eq!(value, Some(number_data_point::Value::AsDouble(0.25)));
                }
            }
            Data::Histogram(histogram) => {
                assert_eq!(unit, "s");
                assert_eq!(
                    histogram.aggregation_temporality(),
                    AggregationTemporality::Cumulative
                );
                points += histogram.data_points.len() as u64;
                if name != "loadpilot.request_duration" {
                    continue;
                }
                let point = &histogram.data_points[0];
                assert_eq!(point.count, 7);
                assert_eq!(point.sum, Some(140.004));
                assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                assert_eq!(
                    (point.bucket_counts[1], point.explicit_bounds[1]),
                    (5, 0.001)
                );
                assert_eq!(point.bucket_counts.last(), Some(&2));
            }
            other => panic!("{other:?}"),
        }
    }
    let run = "run=01k9 scenario=Shop task=browse";
    let call = "call=GET /\"\n";
    let expected = [
        format!("loadpilot.calls {run} {call} outcome=ok 7"),
        format!("loadpilot.calls {run} {call} outcome=cancelled 1"),
        format!("loadpilot.arrivals_planned {run} 10"),
        format!("loadpilot.arrivals_started {run} 7"),
        format!("loadpilot.arrivals_dropped {run} reason=late 3"),
    ];
    assert_eq!(counts, expected);
    assert_eq!(points, message.points);
}

/// Broken if a server that accepts only a part counts as one that accepts all.
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
        if labels["__name__"] == "loadpilot_request_duration_seconds_bucket" {
            buckets.push((labels["le"].clone(), one.samples[0].value));
        }
    }
    let expected = ["0.0005", "0.001", "60.0", "+Inf"].map(str::to_owned);
    let found = [0, 1, 16, 17].map(|place: usize| buckets[place].0.clone());
    assert_eq!(found, expected);
    let found = [0, 1, 16, 17].map(|place: usize| buckets[place].1);
    assert_eq!(found, [0.0, 5.0, 5.0, 7.0]);
}

/// Broken if a scraper gets a form that it did not ask for.
#[test]
fn the_form_is_the_one_with_the_greatest_weight() {
    let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                  encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,\
                  text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    let usual = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    assert_eq!(Format::negotiated(native), Format::Protobuf);
    assert_eq!(Format::negotiated(usual), Format::OpenMetrics);
    for other in [
        "",
        "*/*",
        "text/html",
        "application/vnd.google.protobuf;proto=other",
    ] {
        assert_eq!(Format::negotiated(other), Format::Text, "{other}");
    }
    let later = "application/openmetrics-text;version=2.0.0,text/plain;q=0.5";
    assert_eq!(Format::negotiated(later), Format::Text);
}

/// Broken if a text has an unescaped label, a bucket that is not cumulative, another exporter's
/// series under its own name, or a name twice.
#[test]
fn texts_are_as_their_formats_demand() {
    let by = |exporter| Figures {
        exporter: Some(exporter),
        ..figures()
    };
    let (command, gateway) = (by(Exporter::Command), by(Exporter::Gateway));
    let text = |format| {
        let bytes = exposition(format, &[&command, &gateway], Vec::new());
        String::from_utf8(bytes).expect("UTF-8")
    };
    let open = text(Format::OpenMetrics);
    assert!(open.ends_with("\n# EOF\n"));
    assert_eq!(open.matches("# TYPE loadpilot_calls counter\n").count(), 1);
    assert!(open.contains("# UNIT loadpilot_request_duration_seconds seconds\n"));
    let run = r#"run="01k9",scenario="Shop","#;
    for exporter in ["command", "gateway"] {
        let call = format!(r#"{run}exporter="{exporter}",task="browse",call="GET /\"\n""#);
        for line in [
            format!(r#"loadpilot_calls_total{{{call},outcome="ok"}} 7"#),
            format!(
                r#"loadpilot_request_duration_seconds_bucket{{{call},outcome="ok",le="60.0"}} 5"#
            ),
            format!(
                r#"loadpilot_request_duration_seconds_bucket{{{call},outcome="ok",le="+Inf"}} 7"#
            ),
            format!(r#"loadpilot_request_duration_seconds_sum{{{call},outcome="ok"}} 140.004"#),
        ] {
            assert!(open.contains(&format!("{line}\n")), "{line} in {open}");
        }
    }
    let plain = text(Format::Text);
    assert!(!plain.contains("EOF") && !plain.contains("UNIT"));
    assert!(plain.contains("# TYPE loadpilot_calls_total counter\n"));
}

/// Broken if a dashboard shows a run as passed that is INVALID, was cut short or failed.
#[test]
fn only_a_complete_and_trusted_run_passed() {
    let verdict = |passed, grade, ending| {
        let mut over = figures();
        over.figures.gauges.ended_at = Some(Timestamp(START_US));
        over.judgement.verdict.passed = passed;
        over.judgement.certificate.grade = grade;
        over.judgement.ending = Some(ending);
        let bytes = exposition(Format::Text, &[&over], Vec::new());
        let text = String::from_utf8(bytes).expect("UTF-8");
        let held = text.lines().filter_map(|line| {
            let labels = line.strip_prefix("loadpilot_run_verdict{")?;
            let (_, verdict) = labels.strip_suffix("\"} 1")?.split_once("verdict=\"")?;
            Some(verdict.to_owned())
        });
        held.collect::<Vec<_>>()
    };
    for (passed, grade, ending, name) in [
        (true, Grade::Degraded, Ending::Completed, "passed"),
        (true, Grade::Invalid, Ending::Stopped, "void"),
        (true, Grade::Valid, Ending::Stopped, "stopped"),
        (false, Grade::Invalid, Ending::Stopped, "failed"),
    ] {
        assert_eq!(verdict(passed, grade, ending), [name]);
    }
}

/// Broken if a native bucket has another place or count in Prometheus's protobuf. A real Prometheus
/// reads the rest in `tests/e2e/sinks`.
#[test]
fn native_buckets_are_spans() {
    let buckets = Buckets {
        native: BTreeMap::from([(-640, 2), (-639, 3), (-636, 1), (400, 1)]),
        ..Buckets::default()
    };
    let (spans, deltas) = super::exposition::spans(&buckets);
    let spans: Vec<_> = spans
        .iter()
        .map(|span| (span.offset(), span.length()))
        .collect();
    assert_eq!(spans, [(-640, 5), (1035, 1)]);
    assert_eq!(deltas, [2, 1, -3, 0, 1, 0]);
    let (spans, deltas) = super::exposition::spans(&Buckets::default());
    assert_eq!((spans.len(), deltas.len()), (1, 0));
}
