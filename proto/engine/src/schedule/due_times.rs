//! The due times of a workload, for a caller that reads neighbours one after the other.
//!
//! Must never give another time than [`Workload::due_us`].

use std::sync::Arc;

use loadpilot_events::plan::Arrivals;

use crate::schedule::workload::{BlockAt, Workload};

/// Due times that cache the last block of Poisson points, which the workload itself computes anew
/// for every call.
#[derive(Debug)]
pub struct DueTimes {
    workload: Arc<Workload>,
    block: Option<(BlockAt, Vec<u128>)>,
}

impl DueTimes {
    /// The due times of `workload`.
    #[must_use]
    pub fn new(workload: Arc<Workload>) -> Self {
        Self {
            workload,
            block: None,
        }
    }

    /// The same as [`Workload::due_us`].
    ///
    /// # Panics
    /// When `n` is not below [`Workload::planned`].
    pub fn due_us(&mut self, n: u64) -> u64 {
        let workload = &self.workload;
        if workload.arrivals() == Arrivals::Uniform {
            return workload.due_us(n);
        }
        assert!(n < workload.planned(), "arrival {n} beyond the plan");
        let (at, position) = workload.place_of(n);
        if self.block.as_ref().is_none_or(|(cached, _)| *cached != at) {
            self.block = Some((at, workload.poisson_points(at)));
        }
        let points = self.block.as_ref().map_or(&[][..], |(_, points)| points);
        workload.pace().due_us(points[position])
    }
}
