//! The schedule of a process after the changes of the rate that it knows of.

use std::sync::Arc;

use loadpilot_engine::schedule::due_times::DueTimes;
use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_engine::schedule::workload::Workload;

use crate::world::Run;

/// When arrivals are due, after the known changes of the rate.
#[derive(Debug, Default)]
pub(crate) struct KnownSchedule {
    changes: Vec<RateChange>,
    steered: Option<(Arc<Workload>, Vec<u64>)>,
}

impl KnownSchedule {
    /// Records every change that is known.
    pub(crate) fn learn(&mut self, run: &Run, changes: &[RateChange]) {
        if self.changes == changes {
            return;
        }
        self.changes = changes.to_vec();
        let workload = Workload::clone(&run.workload).steered(changes);
        let workload = Arc::new(workload);
        self.steered = Some((workload.clone(), dues_us(&workload)));
    }

    /// When each arrival is due, in µs after the start.
    pub(crate) fn dues_us<'a>(&'a self, run: &'a Run) -> &'a [u64] {
        self.steered.as_ref().map_or(&run.dues_us, |(_, dues)| dues)
    }
}

/// When each arrival of a workload is due, in µs after the start.
pub(crate) fn dues_us(workload: &Arc<Workload>) -> Vec<u64> {
    let mut due_times = DueTimes::new(workload.clone());
    (0..workload.planned())
        .map(|n| due_times.due_us(n))
        .collect()
}
