//! The end of a run by a feed: which feed had no row left, and when.

use loadpilot_events::answers::report::RowsUsedUp;
use loadpilot_events::log::ctl::Ending;

use crate::control::Control;

/// The feed that ended a sealed run; `None` where the profile, a stop or a failure did.
pub(crate) fn rows_used_up(control: &Control) -> Option<RowsUsedUp> {
    let state = &control.state;
    let workload = state.ended_by_rows.as_deref()?.clone();
    let workload = workload.steered(&state.steering.rates);
    let end = workload.rows_end()?;
    let feed = state.created.as_ref()?.plan.feeds().get(end.feed)?;
    let is_stopped = control.stopped_at_us().is_some_and(|us| us < end.at_us);
    let ending = control.sealed.as_ref()?.ending;
    let is_reached = matches!(ending, Ending::Completed | Ending::Stopped) && !is_stopped;
    (is_reached && state.start.is_some()).then(|| RowsUsedUp {
        feed: feed.name.clone(),
        rows: feed.rows,
        at_us: end.at_us,
        profile_us: workload.pace().duration_us(),
    })
}
