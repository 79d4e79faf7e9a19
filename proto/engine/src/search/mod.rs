//! The search for the highest rate at which a target works.
//!
//! A search is a fold over its probes, each of which is a run: the next probe and the result follow
//! from their rates and verdicts alone, in any order. Must never claim a rate that failed a probe.
//!
//! - [`probe`]: the verdict on the rate of one run
//! - `bracket`: the highest rate that passed, the lowest that failed, and the next probe
//! - [`max_rate`]: the result of a search beside that of an earlier one

mod bracket;
pub mod max_rate;
pub mod probe;

use loadpilot_events::answers::compare::search::{
    LoadLimit, ProbeVerdict, Search, SearchProbes, SearchSchema, SearchState,
};
use loadpilot_events::units::Rate;

use bracket::Bracket;
pub use bracket::{HALVINGS_MAX, PROBES_MAX};

/// Judges a search by its probes.
#[must_use]
pub fn search(of: SearchProbes) -> Search {
    let SearchProbes {
        id,
        scenario,
        target_url,
        settings,
        probes,
    } = of;
    let bracket = Bracket::of(&probes);
    let step = bracket.step(&settings);
    let is_known = matches!(step.state, SearchState::Found | SearchState::AtLimit);
    let limited_by = bracket.failed.and_then(|upper| {
        let limits = probes
            .iter()
            .filter(|probe| probe.verdict == ProbeVerdict::Failed && probe.rate_urps == upper);
        let mut limits = limits.filter_map(|probe| probe.limited_by).peekable();
        limits.peek()?;
        // One failure of the target at this rate is enough to know that it is the limit.
        let is_targets = limits.any(|limit| limit == LoadLimit::Target);
        Some(if is_targets {
            LoadLimit::Target
        } else {
            LoadLimit::Generator
        })
    });
    let mut remarks = Vec::new();
    if limited_by == Some(LoadLimit::Generator) && step.state != SearchState::Searching {
        remarks.push(
            "the load generator was the limit, not the target, which may do more: use more agents \
             or a larger machine"
                .to_owned(),
        );
    }
    if bracket.contradictions > 0 {
        let rates = match bracket.contradictions {
            1 => "a rate that passed also failed, or lies above one that failed".to_owned(),
            many => format!("{many} rates that passed also failed, or lie above one that failed"),
        };
        remarks.push(format!(
            "{rates}: the target, or its machine, is not steady"
        ));
    }
    let rps = |rate: Option<Rate>| rate.map(Rate::as_rps);
    Search {
        schema: SearchSchema::V1,
        id,
        scenario,
        target_url,
        settings,
        state: step.state,
        next: step.next,
        max_rate_rps: rps(bracket.passed.filter(|_| is_known)),
        lower_rps: rps(bracket.passed),
        upper_rps: rps(bracket.failed),
        limited_by,
        remarks,
        probes,
    }
}
