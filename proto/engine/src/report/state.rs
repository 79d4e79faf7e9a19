//! The state of a run, and the digest of its report.

use std::io::{self, BufWriter, Write};

use loadpilot_events::answers::report::{Report, RunState};
use loadpilot_events::plan::hex;
use sha2::{Digest, Sha256};

use crate::control::Control;

/// SHA-256 in hex of the canonical JSON of a report, with an empty digest, without the count of
/// late deltas and without load curve and knee, which earlier versions did not compute: the digest
/// of a sealed run never changes.
#[must_use]
pub fn digest(report: Report) -> String {
    digested(report).digest
}

/// A report with its [`digest`]. The report of a day has ten megabytes of ticks: it is not copied,
/// and its JSON is hashed as it is written.
///
/// # Panics
/// Never: every value of a report has a JSON form.
pub(crate) fn digested(mut report: Report) -> Report {
    report.digest.clear();
    let late_deltas = std::mem::take(&mut report.gaps.late_deltas);
    let load_curve = report.load_curve.take();
    let knee_point = report.knee_point.take();
    let mut hashed = BufWriter::new(Hashed(Sha256::new()));
    serde_json::to_writer(&mut hashed, &report).expect("a report has a JSON form");
    let Hashed(hasher) = hashed.into_inner().expect("a hasher takes everything");
    report.gaps.late_deltas = late_deltas;
    report.load_curve = load_curve;
    report.knee_point = knee_point;
    report.digest = hex(&hasher.finalize());
    report
}

/// Writer that hashes its input.
#[derive(Debug)]
struct Hashed(Sha256);

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The state of the run.
#[must_use]
pub fn run_state(control: &Control) -> RunState {
    let state = &control.state;
    if control.sealed.is_some() {
        RunState::Sealed
    } else if state.over {
        RunState::Refused
    } else if state.stop.is_some() || state.cancelled.is_some() {
        RunState::Stopping
    } else if state.start.is_some() {
        RunState::Running
    } else if state.generation > 0 {
        RunState::Preparing
    } else if state.created.is_some() {
        RunState::Gathering
    } else if state.queued.is_some() {
        RunState::Waiting
    } else {
        RunState::Requested
    }
}
