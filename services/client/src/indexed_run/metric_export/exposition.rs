//! Families in the formats that a scrape or a file has: OpenMetrics 1.0, Prometheus's text format
//! 0.0.4, and Prometheus's protobuf. Only the last one has native histograms.
//!
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>,
//! <https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md>. The
//! message types contain only the part of Prometheus's `metrics.proto` that is written here.

use std::fmt::Write as _;

use loadpilot_engine::report::cumulative::buckets::{BOUNDS_US, Buckets, NATIVE_SCHEMA};
use prost::Message as _;

use super::families::{Family, Figures, Labels, Points, seconds};
use super::run_families::families;

/// Values up to this one count as zero in a native histogram: Prometheus's default, 2^−128 s.
const ZERO_THRESHOLD: f64 = f64::from_bits(0x37f0_0000_0000_0000);
/// Maximum number of empty buckets that are written; a larger gap begins a new span.
const GAP_MAX: i32 = 2;

/// Format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus's text format 0.0.4.
    Text,
    /// Prometheus's protobuf, each family with its length before it.
    Protobuf,
}

impl Format {
    /// The format of an answer according to the request's header `Accept`: the one with the
    /// greatest weight, the first among equal ones. Text, if the header names no other one.
    #[must_use]
    pub fn negotiated(accept: &str) -> Self {
        let mut best = (0.0, Self::Text);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let (mut weight, mut is_ours) = (1.0, true);
            for parameter in parts {
                let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                match name.trim().to_ascii_lowercase().as_str() {
                    "q" => weight = value.trim().parse().unwrap_or(0.0),
                    "proto" => is_ours &= value == "io.prometheus.client.MetricFamily",
                    "encoding" => is_ours &= value == "delimited",
                    "version" if kind == "application/openmetrics-text" => {
                        is_ours &= matches!(value, "1.0.0" | "0.0.1");
                    }
                    _ => {}
                }
            }
            let format = match kind.as_str() {
                "application/vnd.google.protobuf" => Self::Protobuf,
                "application/openmetrics-text" => Self::OpenMetrics,
                "text/plain" | "text/*" | "*/*" => Self::Text,
                _ => continue,
            };
            if is_ours && weight > best.0 {
                best = (weight, format);
            }
        }
        best.1
    }

    /// Media type of an answer.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; \
                 encoding=delimited"
            }
        }
    }
}

/// Writes the families of runs, and further families of the process; each name appears once.
#[must_use]
pub fn exposition(format: Format, runs: &[&Figures], process: Vec<Family>) -> Vec<u8> {
    let mut all = process;
    for figures in runs {
        let labels = figures.labels();
        for mut family in families(figures) {
            family.label(&labels);
            match all.iter_mut().find(|known| known.name == family.name) {
                Some(known) => known.append(family.points),
                None => all.push(family),
            }
        }
    }
    match format {
        Format::Protobuf => protobuf(&all),
        Format::OpenMetrics | Format::Text => text(format, &all).into_bytes(),
    }
}

fn text(format: Format, families: &[Family]) -> String {
    let mut text = String::new();
    for family in families {
        if !is_empty(&family.points) {
            head(format, family, &mut text);
            samples(family, None, &mut |_, line| text.push_str(line));
        }
    }
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn is_empty(points: &Points) -> bool {
    match points {
        Points::Counters(points) => points.is_empty(),
        Points::Gauges(points) => points.is_empty(),
        Points::Histograms(points) => points.is_empty(),
    }
}

/// Writes name, kind, unit and help of a family.
pub(super) fn head(format: Format, family: &Family, text: &mut String) {
    let mut name = family.prometheus_name();
    let kind = match &family.points {
        Points::Counters(_) => "counter",
        Points::Gauges(_) => "gauge",
        Points::Histograms(_) => "histogram",
    };
    if format == Format::Text && kind == "counter" {
        name.push_str("_total");
    }
    let help = escaped(&family.help, format == Format::OpenMetrics);
    // Writing into a string cannot fail.
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if let Some(unit) = family
        .unit
        .suffix()
        .filter(|_| format == Format::OpenMetrics)
    {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}");
}

/// Writes the samples of a family, each with an instant in ms since 1970 if there is one. `write`
/// gets the labels of a point, and its lines.
pub(super) fn samples(family: &Family, at_ms: Option<u64>, write: &mut dyn FnMut(&Labels, &str)) {
    let name = family.prometheus_name();
    let end = at_ms.map_or("\n".to_owned(), |ms| {
        format!(" {}.{:03}\n", ms / 1_000, ms % 1_000)
    });
    match &family.points {
        Points::Counters(points) => {
            for (labels, count) in points {
                let labels_text = label_text(labels, None);
                write(labels, &format!("{name}_total{labels_text} {count}{end}"));
            }
        }
        Points::Gauges(points) => {
            for (labels, value) in points {
                let labels_text = label_text(labels, None);
                write(
                    labels,
                    &format!("{name}{labels_text} {}{end}", number(*value)),
                );
            }
        }
        Points::Histograms(points) => {
            for (labels, buckets) in points {
                let mut lines = String::new();
                for (bound, below) in cumulative(buckets) {
                    let labels_text = label_text(labels, Some(&bound));
                    let _ = write!(lines, "{name}_bucket{labels_text} {below}{end}");
                }
                let labels_text = label_text(labels, None);
                let sum = number(seconds(buckets.sum_us));
                let _ = write!(lines, "{name}_sum{labels_text} {sum}{end}");
                let _ = write!(lines, "{name}_count{labels_text} {}{end}", buckets.count());
                write(labels, &lines);
            }
        }
    }
}

/// The classic buckets of a histogram: the label `le` and the number of values up to it.
pub(super) fn cumulative(buckets: &Buckets) -> impl Iterator<Item = (String, u64)> {
    let mut below = 0;
    buckets
        .classic
        .iter()
        .enumerate()
        .map(move |(place, count)| {
            below += count;
            (bound_text(BOUNDS_US.get(place).copied()), below)
        })
}

/// A bound as OpenMetrics requires it: a whole number has a zero after its point.
fn bound_text(bound_us: Option<u64>) -> String {
    match bound_us {
        None => "+Inf".to_owned(),
        Some(us) => format!("{:?}", seconds(us)),
    }
}

fn label_text(labels: &Labels, bound: Option<&str>) -> String {
    let bound = bound.map(|bound| format!("le=\"{bound}\""));
    let own = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value, true)));
    let all: Vec<String> = own.chain(bound).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", all.join(",")),
    }
}

/// A text inside quotes, or a help text.
fn escaped(text: &str, with_quotes: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    match with_quotes {
        true => text.replace('"', "\\\""),
        false => text,
    }
}

fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        let sign = if value > 0.0 { '+' } else { '-' };
        format!("{sign}Inf")
    } else {
        value.to_string()
    }
}

const COUNTER: i32 = 0;
const GAUGE: i32 = 1;
const HISTOGRAM: i32 = 4;

#[derive(Clone, PartialEq, prost::Message)]
struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    help: Option<String>,
    #[prost(int32, optional, tag = "3")]
    kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
    #[prost(string, optional, tag = "5")]
    unit: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    /// One of this field and the following ones.
    #[prost(message, optional, tag = "2")]
    gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LabelPair {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

/// Gauge and counter.
#[derive(Clone, PartialEq, prost::Message)]
struct Number {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, packed = "false", tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BucketSpan {
    /// Distance from the end of the previous span; for the first span, the number of its bucket.
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

fn protobuf(families: &[Family]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for family in families.iter().filter(|family| !is_empty(&family.points)) {
        let name = family.prometheus_name();
        let (name, kind, metric) = match &family.points {
            Points::Counters(points) => {
                let metrics = points.iter().map(|(labels, count)| Metric {
                    label: pairs(labels),
                    counter: Some(value(*count as f64)),
                    ..Metric::default()
                });
                (format!("{name}_total"), COUNTER, metrics.collect())
            }
            Points::Gauges(points) => {
                let metrics = points.iter().map(|(labels, number)| Metric {
                    label: pairs(labels),
                    gauge: Some(value(*number)),
                    ..Metric::default()
                });
                (name, GAUGE, metrics.collect())
            }
            Points::Histograms(points) => {
                let metrics = points.iter().map(|(labels, buckets)| Metric {
                    label: pairs(labels),
                    histogram: Some(histogram(buckets)),
                    ..Metric::default()
                });
                (name, HISTOGRAM, metrics.collect())
            }
        };
        let family = MetricFamily {
            name: Some(name),
            help: Some(family.help.to_string()),
            kind: Some(kind),
            metric,
            unit: family.unit.suffix().map(str::to_owned),
        };
        bytes.extend(family.encode_length_delimited_to_vec());
    }
    bytes
}

fn value(number: f64) -> Number {
    Number {
        value: Some(number),
    }
}

fn pairs(labels: &Labels) -> Vec<LabelPair> {
    let pair = |(name, value): &(&'static str, String)| LabelPair {
        name: Some((*name).to_owned()),
        value: Some(value.clone()),
    };
    labels.iter().map(pair).collect()
}

fn histogram(buckets: &Buckets) -> Histogram {
    let mut below = 0;
    let classic = buckets.classic.iter().enumerate().map(|(place, count)| {
        below += count;
        let bound_us = BOUNDS_US.get(place);
        Bucket {
            cumulative_count: Some(below),
            upper_bound: Some(bound_us.map_or(f64::INFINITY, |us| seconds(*us))),
        }
    });
    let bucket = classic.collect();
    let (spans, deltas) = spans(buckets);
    Histogram {
        sample_count: Some(buckets.count()),
        sample_sum: Some(seconds(buckets.sum_us)),
        bucket,
        schema: Some(NATIVE_SCHEMA),
        zero_threshold: Some(ZERO_THRESHOLD),
        zero_count: Some(0),
        positive_span: spans,
        positive_delta: deltas,
    }
}

/// The native buckets: spans of buckets, and the change of the count from each bucket to the next.
/// A histogram without values has one empty span, by which a reader recognises it as native.
pub(super) fn spans(buckets: &Buckets) -> (Vec<BucketSpan>, Vec<i64>) {
    let (mut spans, mut deltas) = (Vec::<BucketSpan>::new(), Vec::new());
    let (mut next, mut last_count) = (0, 0_i64);
    for (&number, &count) in &buckets.native {
        let gap = number - next;
        match spans.last_mut() {
            Some(span) if gap <= GAP_MAX => {
                for _ in 0..gap {
                    deltas.push(-last_count);
                    last_count = 0;
                }
                let grown = span.length.unwrap_or(0) + gap.unsigned_abs() + 1;
                span.length = Some(grown);
            }
            _ => spans.push(BucketSpan {
                offset: Some(gap),
                length: Some(1),
            }),
        }
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        deltas.push(count - last_count);
        (next, last_count) = (number + 1, count);
    }
    if spans.is_empty() {
        spans.push(BucketSpan {
            offset: Some(0),
            length: Some(0),
        });
    }
    (spans, deltas)
}
