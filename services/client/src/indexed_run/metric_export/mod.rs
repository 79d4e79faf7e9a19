//! The figures of a run as messages for metrics systems.
//!
//! A message contains counters and histograms since the start of the run, and gauges at one
//! instant: the loss of one message costs resolution and no count. Must never send anything.
//!
//! - `families`: counters, gauges and histograms with their labels
//! - `run_families`: families of a run in base units
//! - `legacy_families`: families of earlier versions
//! - `process_families`: families of a process that exports runs
//! - `run_export`: the runs of a log that such a process exports
//! - `exposition`: the formats that Prometheus scrapes
//! - `history`: a past run as a text of OpenMetrics
//! - `reference`: all families as Markdown
//! - `remote_write`: Prometheus remote write 1.0
//! - `otlp`: OpenTelemetry's protocol for metrics

use loadpilot_engine::control::Control;
use loadpilot_engine::report::cumulative::{Exported, Folded, run_figures};
use loadpilot_engine::report::report_without_series;
use loadpilot_events::units::Timestamp;

use super::IndexedRun;
use crate::indexed_run;

mod exposition;
mod families;
mod history;
mod legacy_families;
mod otlp;
mod process_families;
mod reference;
mod remote_write;
mod run_export;
mod run_families;
#[cfg(test)]
mod tests;

pub use exposition::{Format, exposition};
use families::Judgement;
pub use families::{Exporter, Family, Figures, Labels, Message, Points, Unit};
pub use otlp::{Rejected, rejected};
pub use process_families::{
    GatewayLog, GatewayProcess, coordinator_families, counters, gateway_families, gauge, version,
};
pub use reference::reference;
pub use run_export::{ExportedRuns, RunCounts};

/// A metrics system that messages are sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Prometheus remote write 1.0: protobuf, compressed with snappy.
    RemoteWrite,
    /// OTLP: protobuf, uncompressed.
    Otlp,
}

impl IndexedRun {
    /// Writes the data read so far as the state at `now_us` µs since 1970. `exported` carries the
    /// state from one message of the run to the next. `None` before the start of the run.
    #[must_use]
    pub fn metrics(&self, system: System, exported: &mut Exported, now_us: u64) -> Option<Message> {
        self.now.control.state.start.as_ref()?;
        let figures = self.figures(None, exported, now_us)?;
        Some(match system {
            System::RemoteWrite => remote_write::message(&figures),
            System::Otlp => otlp::message(&figures),
        })
    }

    /// The figures of the data read so far at `now_us` µs since 1970, by the exporter that serves
    /// them. `exported` carries the state from one call to the next. `None` before the run is
    /// created.
    #[must_use]
    pub fn figures(
        &self,
        exporter: Option<Exporter>,
        exported: &mut Exported,
        now_us: u64,
    ) -> Option<Figures> {
        figures_of(&self.now, &self.now.control, exporter, exported, now_us)
    }
}

/// The figures of the folded deltas, under the given control side.
fn figures_of(
    folded: &indexed_run::Folded,
    control: &Control,
    exporter: Option<Exporter>,
    exported: &mut Exported,
    now_us: u64,
) -> Option<Figures> {
    let created = control.state.created.as_ref()?;
    let report = report_without_series(control, &folded.data).ok()?;
    let run = Folded {
        control,
        data: &folded.data,
        newest: &folded.newest,
        report: &report,
    };
    let figures = run_figures(run, exported, Timestamp(now_us))?;
    let start = control.state.start.as_ref();
    Some(Figures {
        run: control.run.to_string(),
        scenario: created.plan.scenario.clone(),
        exporter,
        tenant: None,
        start_us: start.map_or(0, |start| start.start_at.0),
        now_us,
        figures,
        judgement: Judgement::of(report),
    })
}
