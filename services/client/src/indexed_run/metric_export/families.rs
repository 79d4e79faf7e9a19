//! Counters, gauges and histograms of a run with their labels, the same for every metrics system.

use std::borrow::Cow;

use loadpilot_engine::report::cumulative::RunFigures;
use loadpilot_engine::report::cumulative::buckets::Buckets;
use loadpilot_events::answers::report::{Certificate, Grade, Report, ThresholdResult, Verdict};
use loadpilot_events::log::ctl::Ending;

/// Prefix of all names.
pub(super) const PREFIX: &str = "loadpilot";

/// A message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Body of the request.
    pub body: Vec<u8>,
    /// Number of its points: series of Prometheus, data points of OpenTelemetry.
    pub points: u64,
}

/// The program that folded a run and serves its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exporter {
    /// The command that started the run.
    Command,
    /// A gateway.
    Gateway,
    /// A coordinator.
    Coordinator,
}

impl Exporter {
    /// Value of its label.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Gateway => "gateway",
            Self::Coordinator => "coordinator",
        }
    }
}

/// The figures of a run at one instant.
#[derive(Debug, Clone)]
pub struct Figures {
    pub(super) run: String,
    pub(super) scenario: String,
    /// The process that serves them; `None` if they are sent or written.
    pub(super) exporter: Option<Exporter>,
    /// Tenant of the run, if the exporter shows several.
    pub(super) tenant: Option<String>,
    /// Start of the run in µs since 1970; 0 before it.
    pub(super) start_us: u64,
    /// The instant in µs since 1970.
    pub(super) now_us: u64,
    pub(super) figures: RunFigures,
    pub(super) judgement: Judgement,
}

/// The figures that come from a report.
#[derive(Debug, Clone)]
pub(super) struct Judgement {
    pub(super) certificate: Certificate,
    pub(super) verdict: Verdict,
    pub(super) ending: Option<Ending>,
}

/// The verdict of a run that is over, as the command prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    Passed,
    Failed,
    /// The thresholds held, and the certificate is INVALID.
    Void,
    /// They held, and the run was cut short.
    Stopped,
}

impl Judgement {
    pub(super) fn of(report: Report) -> Self {
        Self {
            certificate: report.certificate,
            verdict: report.verdict,
            ending: report.run.ending,
        }
    }

    pub(super) fn judged(&self) -> Judged {
        if !self.verdict.passed {
            Judged::Failed
        } else if self.certificate.grade == Grade::Invalid {
            Judged::Void
        } else if self.ending == Some(Ending::Stopped) {
            Judged::Stopped
        } else {
            Judged::Passed
        }
    }

    pub(super) fn thresholds(&self) -> &[ThresholdResult] {
        &self.verdict.thresholds
    }
}

impl Figures {
    /// The same figures with the tenant of the run as a label.
    #[must_use]
    pub fn of_tenant(mut self, tenant: Option<String>) -> Self {
        self.tenant = tenant;
        self
    }

    /// Labels of every point.
    pub(super) fn labels(&self) -> Labels {
        let exporter = self.exporter.map(|by| ("exporter", by.name().to_owned()));
        let tenant = self.tenant.clone().map(|tenant| ("tenant", tenant));
        let run = [
            ("run", self.run.clone()),
            ("scenario", self.scenario.clone()),
        ];
        run.into_iter().chain(tenant).chain(exporter).collect()
    }
}

/// Labels of a point, by name.
pub type Labels = Vec<(&'static str, String)>;

/// Unit of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number.
    None,
    /// Seconds; the name ends in it.
    Seconds,
    /// From 0 to 1; the name ends in it.
    Ratio,
    /// Bytes, which the name begins with.
    Bytes,
    /// Arrivals or calls per second.
    PerSecond,
    /// Milliseconds, which the name of an earlier version ends in.
    Milliseconds,
}

impl Unit {
    /// The end of a name for Prometheus.
    #[must_use]
    pub fn suffix(self) -> Option<&'static str> {
        match self {
            Self::Seconds => Some("seconds"),
            Self::Ratio => Some("ratio"),
            Self::None | Self::Bytes | Self::PerSecond | Self::Milliseconds => None,
        }
    }

    /// The unit in words; empty for a number.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Seconds => "s",
            Self::Ratio => "ratio",
            Self::Bytes => "bytes",
            Self::PerSecond => "1/s",
            Self::Milliseconds => "ms",
        }
    }

    /// The unit in the codes of UCUM, as OpenTelemetry requires.
    #[must_use]
    pub fn ucum(self) -> &'static str {
        match self {
            Self::None | Self::Ratio => "1",
            Self::Seconds => "s",
            Self::Bytes => "By",
            Self::PerSecond => "1/s",
            Self::Milliseconds => "ms",
        }
    }
}

/// Points of one name.
#[derive(Debug, Clone)]
pub struct Family {
    /// Name without prefix, unit and suffix.
    pub name: Cow<'static, str>,
    /// One sentence.
    pub help: Cow<'static, str>,
    /// Unit of the values.
    pub unit: Unit,
    /// Names of the labels in addition to those of the run.
    pub labels: &'static [&'static str],
    /// Its points.
    pub points: Points,
}

/// Points with their own labels.
#[derive(Debug, Clone)]
pub enum Points {
    /// Counts that never fall.
    Counters(Vec<(Labels, u64)>),
    /// Values at an instant.
    Gauges(Vec<(Labels, f64)>),
    /// Distributions.
    Histograms(Vec<(Labels, Buckets)>),
}

impl Family {
    /// Name for Prometheus, without the `_total` of a counter.
    #[must_use]
    pub fn prometheus_name(&self) -> String {
        let unit = self.unit.suffix().map(|unit| format!("_{unit}"));
        format!("{PREFIX}_{}{}", self.name, unit.unwrap_or_default())
    }

    /// Moves the points of another family of this name into this one.
    pub(super) fn append(&mut self, other: Points) {
        match (&mut self.points, other) {
            (Points::Counters(points), Points::Counters(more)) => points.extend(more),
            (Points::Gauges(points), Points::Gauges(more)) => points.extend(more),
            (Points::Histograms(points), Points::Histograms(more)) => points.extend(more),
            // A name has one kind.
            _ => {}
        }
    }

    /// Puts labels before those of each point.
    pub(super) fn label(&mut self, labels: &Labels) {
        let prepend = |own: &mut Labels| {
            own.splice(0..0, labels.iter().cloned());
        };
        match &mut self.points {
            Points::Counters(points) => points.iter_mut().for_each(|(own, _)| prepend(own)),
            Points::Gauges(points) => points.iter_mut().for_each(|(own, _)| prepend(own)),
            Points::Histograms(points) => points.iter_mut().for_each(|(own, _)| prepend(own)),
        }
    }
}

/// One point for each of all values: 1 for the current one, otherwise 0. No points if there is no
/// current value.
pub(super) fn choice<T: Copy + PartialEq>(
    label: &'static str,
    all: &[(T, &'static str)],
    held: Option<T>,
) -> Points {
    let points = all.iter().map(|(value, name)| {
        let holds = held == Some(*value);
        (
            vec![(label, (*name).to_owned())],
            f64::from(u8::from(holds)),
        )
    });
    Points::Gauges(match held {
        Some(_) => points.collect(),
        None => Vec::new(),
    })
}

pub(super) fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

pub(super) fn count(number: u64) -> f64 {
    number as f64
}
