//! The data of a run with another measured time, from its index. Must never change what was
//! measured.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::fold::index::{Entry, Index, Key};
use crate::fold::project::{Projection, Window};
use crate::report::slice::Indexed;
use crate::tally::aggregates::{AnatomySums, CallSums};
use crate::tally::packed_histogram::{HistogramSum, Precision};

/// What becomes of the rows that are due outside of the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// They count as warm-up.
    WarmUp,
    /// They are left out.
    LeftOut,
}

/// The same data with another measured time. Bytes, and phases that no gate and no finding reads,
/// are left out.
pub(super) fn measured_in(run: Indexed<'_>, ticks: &Range<u32>, rest: Rest) -> Projection {
    let mut data = run.data.without_calls();
    let end = run.index.end();
    let until = ticks.end.min(end);
    let windows = [
        (Window::WarmUp, 0..ticks.start.min(end)),
        (Window::Measured, ticks.start..until),
        (Window::WarmUp, until..end),
    ];
    let is_kept = |(window, _): &(Window, _)| rest == Rest::WarmUp || *window == Window::Measured;
    for (window, ticks) in windows.into_iter().filter(is_kept) {
        for (task, sums) in run.index.metrics(ticks.clone()) {
            let key = (window, task);
            data.metrics.entry(key).or_default().add(sums);
        }
        let mut sums = BTreeMap::new();
        run.index.walk(ticks, |entry| {
            let found = sums
                .entry(entry.key)
                .or_insert_with(|| Found::new(entry.key));
            found.add(&entry);
        });
        for (key, found) in sums {
            found.close(run.index, window, key, &mut data);
        }
    }
    data
}

/// The sums of one key.
struct Found {
    counts: CallSums,
    response: HistogramSum,
    service: HistogramSum,
}

impl Found {
    fn new(key: Key) -> Self {
        let grain = match key {
            Key::Phase { .. } => Precision::Phase,
            Key::Arrivals { .. } | Key::Calls { .. } | Key::Raises { .. } => Precision::Latency,
        };
        Self {
            counts: CallSums::default(),
            response: HistogramSum::new(grain),
            service: HistogramSum::new(grain),
        }
    }

    fn add(&mut self, entry: &Entry<'_>) {
        self.counts.count += entry.count;
        for (code, count) in entry.status() {
            *self.counts.status.entry(code).or_default() += count;
        }
        for (cause, count) in entry.causes() {
            *self.counts.causes.entry(cause).or_default() += count;
        }
        self.response.add(entry.response());
        self.service.add(entry.service());
    }

    fn close(self, index: &Index, window: Window, key: Key, data: &mut Projection) {
        let call_id = |call: u32| index.calls().get(call as usize).cloned();
        match key {
            Key::Calls { call, outcome, .. } => {
                let Some(call_id) = call_id(call) else { return };
                let more = CallSums {
                    response: self.response.hist(),
                    service: self.service.hist(),
                    ..self.counts
                };
                let key = (window, call_id, outcome);
                data.calls.entry(key).or_default().add(&more);
            }
            Key::Phase { call, phase, .. } => {
                let Some(call_id) = call_id(call) else { return };
                let more = AnatomySums {
                    phases: [(phase, self.response.hist())].into(),
                    ..AnatomySums::default()
                };
                data.anatomy
                    .entry((window, call_id))
                    .or_default()
                    .add(&more);
            }
            // These are stored by tick already.
            Key::Arrivals { .. } | Key::Raises { .. } => {}
        }
    }
}
