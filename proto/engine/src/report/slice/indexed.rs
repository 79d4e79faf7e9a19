//! A run that can answer queries about a part of it: folded and indexed.

use loadpilot_events::plan::Plan;

use crate::control::Control;
use crate::fold::index::Index;
use crate::fold::project::Projection;
use crate::schedule::workload::Workload;

/// A run, folded and indexed.
#[derive(Debug, Clone, Copy)]
pub struct Indexed<'a> {
    /// Its decisions and facts.
    pub control: &'a Control,
    /// Its rows, added up.
    pub data: &'a Projection,
    /// Its rows, by tick.
    pub index: &'a Index,
}

/// The plan of a run with its workload.
pub(crate) struct Offered<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) workload: Workload,
}

impl<'a> Indexed<'a> {
    /// Plan and workload of the run; `None` before it is created.
    pub(crate) fn offered(&self) -> Option<Offered<'a>> {
        let state = &self.control.state;
        let created = state.created.as_deref()?;
        let workload = Workload::new(&created.plan, created.seed);
        Some(Offered {
            plan: &created.plan,
            workload: workload.steered(&state.steering.rates),
        })
    }
}
