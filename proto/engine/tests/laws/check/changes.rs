//! Another run of a plan: scaled load, other thresholds, one problem for each impossible change.

use loadpilot_engine::check::changes::{Changes, adjust};
use loadpilot_engine::schedule::pace::Pace;
use loadpilot_events::log::assign::AgentsWanted;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::{Piece, Plan};
use loadpilot_events::units::{Rate, format_duration, format_rate};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::check::plan::good;

pub(super) fn request(plan: Value) -> RunRequested {
    RunRequested {
        plan: serde_json::from_value(plan).expect("a plan"),
        seed: 1,
        agents: AgentsWanted {
            want: 2,
            min: 2,
            wait_us: 1_000_000,
        },
        owner: None,
        lead_us: 0,
        needs: Vec::new(),
        no_early_abort: false,
    }
}

fn changes(said: Value) -> Changes {
    serde_json::from_value(said).expect("changes")
}

/// Plans with ramps, steps and pauses; the first piece has a rate.
fn shaped() -> impl Strategy<Value = Plan> {
    let rate = prop_oneof![Just(0), 1..1_000_u64, 1_000_000..1_000_000_000_u64];
    let piece = (1_000..600_000_000_u64, rate.clone(), rate);
    let first = (3_000_000..60_000_000_u64, 1_000_000..1_000_000_000_u64);
    (first, prop::collection::vec(piece, 0..6)).prop_map(|((us, urps), more)| {
        let mut plan: Plan = serde_json::from_value(good()).expect("a plan");
        let more = more.into_iter();
        plan.profile.pieces = std::iter::once((us, urps, urps))
            .chain(more)
            .map(|(duration_us, from, to)| Piece {
                duration_us,
                from: Rate(from),
                to: Rate(to),
            })
            .collect();
        plan
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "an oracle in floats, with a tolerance"
)]
fn arrivals(plan: &Plan) -> f64 {
    let pieces = plan.profile.pieces.iter();
    let areas = pieces.map(|p| (p.from.0 + p.to.0) as f64 * p.duration_us as f64 / 2e12);
    areas.sum()
}

proptest! {
    /// Broken if a plan with its own settings as changes is another plan.
    #[test]
    fn a_plan_with_its_own_settings_is_unchanged(plan in shaped()) {
        let before = request(serde_json::to_value(&plan).expect("a plan"));
        let same = changes(json!({
            "target": plan.target,
            "rate": format_rate(plan.profile.peak()),
            "duration": format_duration(plan.profile.duration_us()),
            "warm_up": format_duration(plan.warm_up_us),
            "thresholds": plan.thresholds,
            "agents": "2", "min_agents": "2", "wait": "1s", "seed": "1",
        }));
        let nothing = Changes::default();
        prop_assert_eq!(adjust(&before, &same), (before.clone(), vec![]));
        prop_assert_eq!(adjust(&before, &nothing), (before, vec![]));
    }

    /// Broken if a scaled run has another peak, length or number of arrivals than requested.
    #[test]
    fn a_scaled_run_offers_what_was_asked_for(
        plan in shaped(),
        urps in 1_000_000..2_000_000_000_u64,
        us in 2_000_001..3_600_000_000_u64,
    ) {
        let before = request(serde_json::to_value(&plan).expect("a plan"));
        let fields = json!({"rate": format_rate(Rate(urps)), "duration": format_duration(us)});
        let (after, problems) = adjust(&before, &changes(fields));
        prop_assert_eq!(problems, vec![]);
        let profile = &after.plan.profile;
        prop_assert_eq!(profile.peak(), Rate(urps));
        prop_assert_eq!(profile.duration_us(), us);
        #[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
        let (planned, wanted, rounding) = {
            let load = urps as f64 / plan.profile.peak().0 as f64;
            let time = us as f64 / plan.profile.duration_us() as f64;
            // Rounding: a rate loses less than one of its units, and each edge less than a
            // microsecond.
            let edges = plan.profile.pieces.len() as f64 * urps as f64 / 1e12;
            let planned = Pace::new(profile).planned() as f64;
            (planned, arrivals(&plan) * load * time, us as f64 / 1e12 + edges)
        };
        let error = planned - wanted;
        let lower = -rounding - wanted * 1e-9;
        let upper = 1.0 + rounding + wanted * 1e-9;
        prop_assert!(error >= lower && error <= upper, "planned {planned}, asked {wanted}");
    }
}

/// Broken if half of the load is not half of it.
#[test]
fn a_share_is_of_the_plan() {
    let (half, problems) = adjust(&request(good()), &changes(json!({"rate": "50%"})));
    assert_eq!(problems, []);
    assert_eq!(half.plan.profile.peak(), Rate::per_second(25));
    assert_eq!(Pace::new(&half.plan.profile).planned(), 250);
    let mut closed = good();
    closed["users"] = json!(9);
    closed["profile"] = json!({"shape": "closed", "pieces": [
        {"duration_us": 10_000_000, "from": 0, "to": 0}]});
    closed
        .as_object_mut()
        .expect("a plan")
        .remove("max_in_flight");
    let (half, problems) = adjust(&request(closed.clone()), &changes(json!({"users": "50%"})));
    assert_eq!((half.plan.users, problems), (Some(4), vec![]));
    let (same, problems) = adjust(&request(closed), &changes(json!({"rate": "5"})));
    assert_eq!((same.plan.users, problems.len()), (Some(9), 1));
    assert!(problems[0].rule.contains("change users"), "{}", problems[0]);
}

/// Broken if another number of users or another length left the stages as they were: the plan would
/// contradict itself, and be refused.
#[test]
fn stages_change_with_users_and_duration() {
    let mut staged = good();
    (staged["users"], staged["schema"]) = (json!(9), json!("loadpilot.plan/2"));
    staged["profile"] = json!({"shape": "closed", "pieces": [
        {"duration_us": 10_000_000, "from": 0, "to": 0}]});
    staged["user_stages"] = json!([
        {"duration_us": 1, "from": 0, "to": 3},
        {"duration_us": 3_999_999, "from": 3, "to": 9},
        {"duration_us": 6_000_000, "from": 9, "to": 0}]);
    let plan = staged.as_object_mut().expect("a plan");
    plan.remove("max_in_flight");
    let changed = |values| {
        let (request, problems) = adjust(&request(staged.clone()), &changes(values));
        assert_eq!(problems, []);
        assert_eq!(loadpilot_engine::check::request(&request), []);
        let stages = request.plan.user_stages.expect("stages");
        let stages = stages.iter().map(|s| (s.duration_us, s.from, s.to));
        (request.plan.users, stages.collect::<Vec<_>>())
    };
    let (users, stages) = changed(json!({"users": "200%"}));
    assert_eq!(users, Some(18));
    assert_eq!(stages, [(1, 0, 6), (3_999_999, 6, 18), (6_000_000, 18, 0)]);
    let (users, stages) = changed(json!({"users": "4", "duration": "5s"}));
    assert_eq!(users, Some(4));
    assert_eq!(stages, [(2_000_000, 1, 4), (3_000_000, 4, 0)]);
}

/// Broken if an impossible change is applied, has no problem, or more than one.
#[test]
fn each_impossible_change_is_one_problem_under_its_name() {
    let cases = [
        ("rate", "fast", "must be a rate such as 50"),
        ("rate", "0", "must be above 0"),
        ("rate", "0%", "must be above 0"),
        ("rate", "x%", "must be a share such as 50%"),
        ("rate", "50/s%", "must be a share such as 50%"),
        ("rate", "20000000", "at most 10,000,000 per second"),
        ("duration", "soon", "must be a duration such as"),
        ("duration", "0s", "above 0 and at most 11 days"),
        ("duration", "300h", "above 0 and at most 11 days"),
        ("duration", "2s", "must be longer than the warm-up, 2s"),
        ("users", "5", "the plan has a rate"),
        ("warm_up", "x", "must be a duration such as"),
        ("agents", "0", "must be a whole number from 1 to 10000"),
        ("agents", "two", "must be a whole number from 1 to 10000"),
        ("min_agents", "3", "must be a whole number from 1 to 2"),
        ("wait", "25h", "must be at most 24h"),
        ("seed", "-1", "must be a whole number from 0"),
        ("seed", "9007199254740992", "must be a whole number from 0"),
    ];
    let before = request(good());
    for (field, text, rule) in cases {
        let (after, problems) = adjust(&before, &changes(json!({field: text})));
        assert_eq!(after, before, "{field}: {text}");
        assert_eq!(problems.len(), 1, "{field}: {text}: {problems:?}");
        assert_eq!(
            (&problems[0].field[..], &problems[0].value[..]),
            (field, text)
        );
        assert!(problems[0].rule.contains(rule), "{}", problems[0]);
    }
}

/// Broken if a plan that no coordinator accepts stops the caller instead of being reported.
#[test]
fn an_absurd_plan_is_no_panic() {
    let mut plan = good();
    let piece = json!({"duration_us": u64::MAX, "from": u64::MAX, "to": 0});
    plan["profile"]["pieces"] = json!([piece, piece]);
    plan["warm_up_us"] = json!(u64::MAX);
    plan["tick_us"] = json!(0);
    let fields = json!({"rate": "50%", "duration": "1s", "target": " http://h/ "});
    let (after, _) = adjust(&request(plan), &changes(fields));
    assert_eq!(after.plan.target, "http://h");
}
