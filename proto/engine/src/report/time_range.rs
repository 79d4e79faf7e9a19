//! The report of a part of a run: of the arrivals that are due in a range of its time.
//!
//! The same figures, gates and findings as in the report of the whole run. Figures without a due
//! time are left out: bytes, error texts of Python, and phases that no gate reads. Figures of the
//! generator, and contradictions, are those of the whole run.

use std::collections::BTreeMap;
use std::ops::Range;

use loadpilot_events::answers::report::{Report, WarmUp};
use loadpilot_events::refusal::{Problem, Refusal};

use crate::fold::project::Projection;
use crate::report::close::judged_part;
use crate::report::slice::{Indexed, whole_ticks};
use crate::report::window::{Rest, measured_in};

/// The report of the arrivals due from `from_us` until before `to_us`, in µs after the start: whole
/// numbers of ticks; absent: from the start, to the end of the profile.
///
/// # Errors
/// All problems of the range.
pub fn report_of(
    run: Indexed<'_>,
    from_us: Option<u64>,
    to_us: Option<u64>,
) -> Result<Report, Refusal> {
    let Some(offered) = run.offered() else {
        let rule = "must be a run that was created";
        let problems = vec![Problem::new("run", rule, run.control.run.as_str())];
        return Err(Refusal { problems });
    };
    let ticks = ticks(
        offered.plan.tick_us,
        offered.workload.ticks(),
        from_us,
        to_us,
    )?;
    let measured = measured_in(run, &ticks, Rest::LeftOut);
    let data = Projection {
        raised: BTreeMap::new(),
        traces: BTreeMap::new(),
        ..measured
    };
    let report = judged_part(run.control, &data, offered.plan, &offered.workload, ticks);
    // A range that the caller chose has no warm-up.
    let warm_up = WarmUp {
        warm_up_us: 0,
        arrivals: 0,
        calls: 0,
    };
    Ok(Report { warm_up, ..report })
}

/// The due ticks of a range within a run of `end` ticks.
fn ticks(
    tick_us: u64,
    end: u32,
    from_us: Option<u64>,
    to_us: Option<u64>,
) -> Result<Range<u32>, Refusal> {
    let mut problems = Vec::new();
    let from = whole_ticks("from_us", from_us, tick_us, &mut problems).unwrap_or(0);
    let to = whole_ticks("to_us", to_us, tick_us, &mut problems);
    let to = to.unwrap_or(end).min(end);
    if problems.is_empty() && from >= to {
        let rule = format!(
            "must be below to_us and below the end of the run ({} µs)",
            u64::from(end) * tick_us
        );
        problems.push(Problem::new("from_us", rule, u64::from(from) * tick_us));
    }
    match problems.is_empty() {
        true => Ok(from..to),
        false => Err(Refusal { problems }),
    }
}
