//! The cumulative figures of a run as messages of systems of metrics.
//!
//! A message has counters and classic histograms since the start of the run at one instant, so that
//! one that is lost costs resolution and no count. Must never send anything.
//!
//! - `families`: counters and histograms with their labels
//! - `remote_write`: Prometheus remote write 1.0
//! - `otlp`: OpenTelemetry's export of metrics

use loadpilot_engine::report::cumulative::{NamedCalls, cumulative};

use super::IndexedRun;

mod families;
mod otlp;
mod remote_write;
#[cfg(test)]
mod tests;

use families::Figures;
pub use families::Message;
pub use otlp::{Rejected, rejected};

/// A system of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Prometheus remote write 1.0: protobuf, compressed with snappy.
    RemoteWrite,
    /// OTLP: protobuf, uncompressed.
    Otlp,
}

impl IndexedRun {
    /// Writes what was read so far as the state at `now_us` µs since 1970. `named` is kept from one
    /// message of the run to the next. `None` before the start of the run.
    #[must_use]
    pub fn metrics(&self, system: System, named: &mut NamedCalls, now_us: u64) -> Option<Message> {
        let (control, data) = (&self.now.control, &self.now.data);
        let start_us = control.state.start.as_ref()?.start_at.0;
        let figures = Figures {
            run: control.run.to_string(),
            scenario: control.state.created.as_ref()?.plan.scenario.clone(),
            start_us,
            now_us,
            totals: cumulative(control, data, named)?,
        };
        Some(match system {
            System::RemoteWrite => remote_write::message(&figures),
            System::Otlp => otlp::message(&figures),
        })
    }
}
