//! The maximum working rate of a search beside that of an earlier one.

use loadpilot_events::answers::compare::search::{
    LoadLimit, MaxRate, MaxRateComparison, MaxRateSchema, Search, SearchState,
};
use loadpilot_events::refusal::{Problem, Refusal};

/// Compares the maximum working rates of two searches. A lower one is a regression where it is
/// lower by more than `threshold_pct` percent, and the intervals in which the true limits lie
/// neither overlap nor touch.
///
/// # Errors
/// For a threshold below 0.
pub fn compare(
    current: &Search,
    baseline: &Search,
    threshold_pct: f64,
) -> Result<MaxRateComparison, Refusal> {
    if !(threshold_pct.is_finite() && threshold_pct >= 0.0) {
        let rule = "must be a number of percent, at least 0";
        let problems = vec![Problem::new("threshold", rule, threshold_pct)];
        return Err(Refusal { problems });
    }
    let [ours, theirs] = [current, baseline].map(max_rate);
    let mut obstacles = [current, baseline]
        .iter()
        .filter_map(|search| obstacle(search))
        .collect::<Vec<_>>();
    let rates = ours.rate_rps.zip(theirs.rate_rps);
    let known = rates.filter(|(_, before)| *before > 0.0);
    let change_pct = known.map(|(now, before)| (now - before) / before * 100.0);
    let overlaps = rates.is_none_or(|(now, before)| {
        let reaches = |upper: Option<f64>, other: f64| upper.is_none_or(|upper| upper >= other);
        reaches(ours.upper_rps, before) && reaches(theirs.upper_rps, now)
    });
    let is_lower = change_pct.is_some_and(|change| change < -threshold_pct) && !overlaps;
    if is_lower && current.limited_by == Some(LoadLimit::Generator) {
        obstacles.push(format!(
            "the load generator was the limit of search {}, not the target",
            current.id
        ));
    }
    Ok(MaxRateComparison {
        schema: MaxRateSchema::V1,
        regressed: is_lower && obstacles.is_empty(),
        current: ours,
        baseline: theirs,
        threshold_pct,
        change_pct,
        overlaps,
        remarks: remarks(current, baseline),
        obstacles,
    })
}

/// The rate of a search that ended; 0 where no rate passed.
fn max_rate(search: &Search) -> MaxRate {
    let none = (search.state == SearchState::NoRate).then_some(0.0);
    MaxRate {
        id: search.id.clone(),
        rate_rps: search.max_rate_rps.or(none),
        upper_rps: search.upper_rps,
    }
}

/// Why a search has no rate to compare.
fn obstacle(search: &Search) -> Option<String> {
    let id = &search.id;
    match search.state {
        SearchState::Searching => Some(format!(
            "search {id} is not over; loadpilot search --resume {id} goes on with it"
        )),
        SearchState::Unsettled => Some(format!("search {id} found no rate that passes reliably")),
        SearchState::Found | SearchState::AtLimit | SearchState::NoRate => None,
    }
}

/// How the conditions of the searches differ.
fn remarks(current: &Search, baseline: &Search) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut differs = |what: &str, ours: &str, theirs: &str| {
        if ours != theirs {
            let id = &baseline.id;
            remarks.push(format!("other {what}: {ours}, and {theirs} in search {id}"));
        }
    };
    differs("scenario", &current.scenario, &baseline.scenario);
    differs("target", &current.target_url, &baseline.target_url);
    differs("gates", &gates(current), &gates(baseline));
    if current.state == SearchState::AtLimit {
        let limit = current.settings.limit_urps.as_rps();
        remarks.push(format!(
            "search {} probed no rate above {limit}/s",
            current.id
        ));
    }
    remarks
}

/// The gates of the probes, as text for people.
fn gates(search: &Search) -> String {
    let gates = search.probes.first().map(|probe| probe.gates.iter());
    let texts = gates.into_iter().flatten().map(|gate| {
        let (key, operator, limit) = (&gate.key, gate.operator, gate.limit);
        format!("{key} {operator} {limit}")
    });
    texts.collect::<Vec<_>>().join(", ")
}
