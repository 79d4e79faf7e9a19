//! Prometheus remote write 1.0: <https://prometheus.io/docs/specs/prw/remote_write_spec/>.

use loadpilot_engine::report::cumulative::buckets::Buckets;
use prost::Message as _;

use super::exposition::cumulative;
use super::families::{Figures, Labels, Message, Points, seconds};
use super::run_families::families;

const NAME: &str = "__name__";

#[derive(Clone, PartialEq, prost::Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TimeSeries {
    /// Sorted by name.
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    /// In ms since 1970.
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// The series of a run, one sample each.
pub(super) fn message(figures: &Figures) -> Message {
    let mut series = Series {
        figures,
        list: Vec::new(),
    };
    for family in families(figures) {
        let name = family.prometheus_name();
        match family.points {
            Points::Counters(points) => {
                let name = format!("{name}_total");
                for (labels, count) in points {
                    series.push(name.clone(), &labels, None, count as f64);
                }
            }
            Points::Gauges(points) => {
                for (labels, value) in points {
                    series.push(name.clone(), &labels, None, value);
                }
            }
            Points::Histograms(points) => {
                for (labels, buckets) in &points {
                    series.histogram(&name, labels, buckets);
                }
            }
        }
    }
    let points = series.list.len() as u64;
    let request = WriteRequest {
        timeseries: series.list,
    };
    Message {
        body: compressed(&request.encode_to_vec()),
        points,
    }
}

struct Series<'a> {
    figures: &'a Figures,
    list: Vec<TimeSeries>,
}

impl Series<'_> {
    /// Adds the buckets, which are cumulative here, sum and count of a histogram.
    fn histogram(&mut self, name: &str, labels: &Labels, buckets: &Buckets) {
        for (bound, below) in cumulative(buckets) {
            self.push(format!("{name}_bucket"), labels, Some(bound), below as f64);
        }
        self.push(format!("{name}_sum"), labels, None, seconds(buckets.sum_us));
        self.push(
            format!("{name}_count"),
            labels,
            None,
            buckets.count() as f64,
        );
    }

    fn push(&mut self, name: String, own: &Labels, bound: Option<String>, value: f64) {
        let mut labels = vec![(NAME, name), ("job", "loadpilot".to_owned())];
        labels.extend(self.figures.labels());
        labels.extend(own.iter().cloned());
        labels.extend(bound.map(|bound| ("le", bound)));
        labels.sort();
        let labels = labels.into_iter().map(|(name, value)| Label {
            name: name.to_owned(),
            value,
        });
        self.list.push(TimeSeries {
            labels: labels.collect(),
            samples: vec![Sample {
                value,
                timestamp: i64::try_from(self.figures.now_us / 1_000).unwrap_or(i64::MAX),
            }],
        });
    }
}

/// Compresses as a block of snappy. The encoder refuses only what is longer than 4 GiB.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new()
        .compress_vec(bytes)
        .unwrap_or_default()
}
