//! The index: the answer for any part of a run equals a fold of that part, and the answer for all
//! of it equals the report.

use std::collections::BTreeMap;

use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::as_of::{AsOf, DeltaOrder};
use loadpilot_engine::fold::delta_record::DeltaRecord;
use loadpilot_engine::fold::index::Index;
use loadpilot_engine::fold::project::{Projection, first_measured_tick};
use loadpilot_engine::report::agent_stats::agent_stats;
use loadpilot_engine::report::failures::errors;
use loadpilot_engine::report::report;
use loadpilot_engine::report::slice::{Indexed, heat, series};
use loadpilot_events::answers::report::Report;
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::id::AgentId;
use loadpilot_events::log::delta::LastCall;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::wire::subject::Kind;
use proptest::prelude::*;

use crate::fold::projection::{control, fold};
use crate::report::time_range::due_in;
use crate::rules::dice::Dice;
use crate::support::history::{Act, Deed, History, Record};
use crate::support::naive::stored;

/// A fold and its index, written and read as by a cache.
pub(crate) fn restored(data: &Projection, index: &Index) -> (Projection, Index) {
    let bytes = postcard::to_stdvec(data).expect("it has a form");
    let data = postcard::from_bytes(&bytes).expect("it was just written");
    let mut read = Index::default();
    for entry in index.stored_entries() {
        let bytes = postcard::to_stdvec(&entry).expect("it has a form");
        let entry = postcard::from_bytes(&bytes).expect("it was just written");
        read.add_stored(entry).expect("it is an entry");
    }
    (data, read)
}

/// A run that was read as a whole.
pub(crate) struct Whole {
    pub(crate) control: Control,
    pub(crate) data: Projection,
    pub(crate) index: Index,
}

impl Whole {
    pub(crate) fn of(history: &History, deltas: &[Record]) -> Self {
        let mut whole = Self {
            control: control(history, &history.control),
            data: Projection::default(),
            index: Index::default(),
        };
        whole.take(deltas);
        whole
    }

    pub(crate) fn take(&mut self, deltas: &[Record]) {
        for record in deltas {
            let Kind::Delta(agent) = &record.kind else {
                panic!("only deltas stand in LP_DATA");
            };
            let subject = record.subject.clone();
            let parsed = DeltaRecord::parse(agent.clone(), subject, record.seq, &record.payload);
            let index = Some(&mut self.index);
            self.data.add_parsed(&self.control, &parsed, index);
        }
        self.index.compact();
    }

    pub(crate) fn run(&self) -> Indexed<'_> {
        Indexed {
            control: &self.control,
            data: &self.data,
            index: &self.index,
        }
    }

    fn report(&self) -> Report {
        report(&self.control, &self.data).expect("the run is known")
    }
}

/// A random part of a run.
pub(crate) fn slice(history: &History, dice: &mut Dice) -> Slice {
    let (ticks, tick_us) = (u64::from(history.workload.ticks()), history.plan.tick_us);
    let from = dice.pick(0..ticks);
    let to = dice.pick(from + 1..ticks + 1);
    let tasks: Vec<String> = history
        .plan
        .tasks
        .iter()
        .map(|task| task.name.clone())
        .collect();
    let holders = history.maps.iter().flat_map(|map| &map.holdings);
    let agents: Vec<_> = holders
        .map(|holding| holding.holder.agent.clone())
        .collect();
    Slice {
        from_us: Some(from * tick_us),
        to_us: Some(to * tick_us),
        bucket_us: dice.chance(70).then(|| dice.pick(1..5) * tick_us),
        tasks: dice.chance(50).then(|| vec![dice.one_of(&tasks)]),
        agents: dice.chance(50).then(|| vec![dice.one_of(&agents)]),
        outcomes: dice
            .chance(40)
            .then(|| vec![Outcome::Ok, dice.one_of(&Outcome::ALL)]),
        ..Slice::default()
    }
}

/// Whether the slice contains a deed that counts, computed from the history alone.
fn is_in(history: &History, slice: &Slice, deed: &Deed) -> bool {
    let due_us = u64::from(deed.tick) * history.plan.tick_us;
    let name = &history.plan.tasks[usize::from(deed.task)].name;
    let agents = slice.agents.as_ref();
    let tasks = slice.tasks.as_ref();
    slice.from_us.is_none_or(|from_us| due_us >= from_us)
        && slice.to_us.is_none_or(|to_us| due_us < to_us)
        && tasks.is_none_or(|tasks| tasks.contains(name))
        && agents.is_none_or(|agents| agents.contains(&deed.holder.agent))
        && !deed.excess
}

/// Response times of the finished calls of a slice, sorted, and the outcomes of all of its calls.
pub(crate) fn really(history: &History, slice: &Slice) -> (Vec<u64>, BTreeMap<Outcome, u64>, u64) {
    let (mut responses, mut outcomes, mut started) = (Vec::new(), BTreeMap::new(), 0);
    for deed in history
        .deeds
        .iter()
        .filter(|deed| is_in(history, slice, deed))
    {
        let Act::Started(calls) = &deed.what else {
            continue;
        };
        started += u64::from(stored(history, &deed.holder, deed.window));
        for call in calls {
            let wanted = slice.outcomes.as_ref();
            if wanted.is_none_or(|wanted| wanted.contains(&call.outcome))
                && stored(history, &deed.holder, call.window)
            {
                *outcomes.entry(call.outcome).or_default() += 1;
                if call.outcome.is_finished() {
                    responses.push(call.response_us);
                }
            }
        }
    }
    responses.sort_unstable();
    (responses, outcomes, started)
}

/// The outcome of the last call of each arrival of a slice whose task raised. A slice that selects
/// outcomes has none of them.
fn raised(history: &History, slice: &Slice) -> Vec<LastCall> {
    let deeds = history.deeds.iter();
    let counted = deeds.filter(|deed| {
        let is_started = matches!(deed.what, Act::Started(_));
        is_started && is_in(history, slice, deed) && stored(history, &deed.holder, deed.window)
    });
    match slice.outcomes {
        None => counted.filter_map(|deed| deed.raised).collect(),
        Some(_) => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// Broken if a slice differs from what really happened in it, call by call.
    #[test]
    fn a_slice_is_what_happened_in_it(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let slice = slice(&history, &mut Dice::new(!seed));
        let answer = series(whole.run(), &slice).expect("it is sound").total;
        let (responses, outcomes, started) = really(&history, &slice);
        let raised = raised(&history, &slice);
        let count = |wanted| raised.iter().filter(|last| **last == wanted).count() as u64;
        let without_call = count(LastCall::Absent);
        prop_assert_eq!(answer.finished, responses.len() as u64 + without_call);
        let failed = outcomes.iter().filter(|(outcome, _)| outcome.is_error());
        let failed = failed.map(|(_, count)| count).sum::<u64>();
        prop_assert_eq!(answer.errors, failed + count(LastCall::Ok) + without_call);
        prop_assert_eq!(answer.outcomes, outcomes);
        prop_assert_eq!(answer.started, started);
        let ladder = answer.response;
        prop_assert_eq!(ladder.is_some(), !responses.is_empty());
        if let Some(ladder) = ladder {
            let points = [(50, ladder.p50_us), (99, ladder.p99_us), (100, ladder.max_us)];
            for (percent, point_us) in points {
                let rank = (responses.len() * percent).div_ceil(100).max(1);
                let exact_us = responses[rank - 1];
                let off = point_us.abs_diff(exact_us);
                prop_assert!(off <= exact_us / 1_000 + 1, "p{}: {}", percent, point_us);
            }
        }
    }

    /// Broken if the slice of the whole run differs from its report in any figure.
    #[test]
    fn the_slice_of_everything_is_the_report(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let found = whole.report();
        let tick_us = history.plan.tick_us;
        let slice = Slice { bucket_us: Some(tick_us), ..Slice::default() };
        let answer = series(whole.run(), &slice).expect("it is sound");
        prop_assert_eq!(answer.from_us.len(), found.series.len());
        for (place, tick) in found.series.iter().enumerate() {
            prop_assert_eq!(answer.from_us[place], u64::from(tick.tick) * tick_us);
            prop_assert_eq!(answer.planned[place], Some(tick.planned));
            prop_assert_eq!(answer.started[place], tick.started);
            prop_assert_eq!(answer.dropped[place], tick.dropped);
            prop_assert_eq!(answer.finished[place], tick.finished);
            prop_assert_eq!(answer.errors[place], tick.errors);
            prop_assert_eq!(answer.response["p50"][place], tick.p50_us);
            prop_assert_eq!(answer.response["p95"][place], tick.p95_us);
            prop_assert_eq!(answer.response["max"][place], tick.max_us);
        }
        prop_assert_eq!(&answer.total.outcomes, &found.calls.outcomes);
        prop_assert_eq!(answer.total.planned, Some(found.arrivals.planned));
        let from_us = u64::from(first_measured_tick(&history.plan)) * tick_us;
        if from_us < history.workload.duration_us() {
            let slice = Slice { from_us: Some(from_us), ..Slice::default() };
            let answer = series(whole.run(), &slice).expect("it is sound").total;
            prop_assert_eq!(answer.response, found.latency.response);
            prop_assert_eq!(answer.service, found.latency.service);
            prop_assert_eq!(answer.co_factor, found.latency.co_factor);
        }
    }

    /// Broken if cutting a slice into pieces loses or doubles anything.
    #[test]
    fn the_parts_of_a_slice_add_up(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let dice = &mut Dice::new(!seed);
        let slice = slice(&history, dice);
        let of = |part: &Slice| series(whole.run(), part).expect("it is sound");
        let answer = of(&slice);
        prop_assert_eq!(answer.finished.iter().sum::<u64>(), answer.total.finished);
        prop_assert_eq!(answer.started.iter().sum::<u64>(), answer.total.started);
        for (outcome, counts) in &answer.outcomes {
            prop_assert_eq!(counts.iter().sum::<u64>(), answer.total.outcomes[outcome]);
            prop_assert_eq!(counts.len(), answer.from_us.len());
        }
        let found = heat(whole.run(), &slice).expect("it is sound");
        let timed = answer.total.response.as_ref().map_or(0, |ladder| ladder.count);
        prop_assert_eq!(found.counts.iter().flatten().sum::<u64>(), timed);
        for (counts, finished) in found.counts.iter().zip(&answer.finished) {
            prop_assert!(counts.iter().sum::<u64>() <= *finished);
            prop_assert_eq!(counts.len() + 1, found.bounds_us.len().max(1));
        }
        let (from_us, to_us) = (slice.from_us.unwrap_or(0), slice.to_us.unwrap_or(0));
        let cut_us = from_us + (to_us - from_us) / 2 / history.plan.tick_us * history.plan.tick_us;
        if cut_us > from_us {
            let before = of(&Slice { to_us: Some(cut_us), ..slice.clone() }).total;
            let after = of(&Slice { from_us: Some(cut_us), ..slice.clone() }).total;
            prop_assert_eq!(before.finished + after.finished, answer.total.finished);
            prop_assert_eq!(before.dropped + after.dropped, answer.total.dropped);
        }
        let wrong = errors(whole.run(), &slice).expect("it is sound");
        let tasks = || wrong.tasks.iter();
        prop_assert_eq!(tasks().map(|task| task.errors).sum::<u64>(), answer.total.errors);
        prop_assert_eq!(tasks().map(|task| task.finished).sum::<u64>(), answer.total.finished);
        let calls = tasks().flat_map(|task| &task.calls);
        prop_assert_eq!(calls.map(|call| call.finished).sum::<u64>(), timed);
        let slice = Slice { agents: None, tasks: None, outcomes: None, ..slice };
        let all = agent_stats(whole.run(), &slice).expect("it is sound").agents;
        let sum = |of: fn(&loadpilot_events::answers::agent_stats::AgentOverTime) -> &Vec<u64>| {
            all.iter().flat_map(of).sum::<u64>()
        };
        prop_assert_eq!(sum(|agent| &agent.started), of(&slice).total.started);
        let timed = of(&slice).total.response.map_or(0, |ladder| ladder.count);
        prop_assert_eq!(sum(|agent| &agent.finished), timed);
    }

    /// Broken if an answer depends on the order of deltas, on repeated deltas, or on when the index
    /// was packed.
    #[test]
    fn answers_do_not_depend_on_how_the_log_was_read(seed: u64) {
        let history = History::new(seed);
        let expected = Whole::of(&history, &history.data);
        let dice = &mut Dice::new(!seed);
        let slice = slice(&history, dice);
        let mut data = history.data.clone();
        let copies: Vec<Record> = data.iter().filter(|_| dice.chance(30)).cloned().collect();
        data.extend(copies);
        dice.shuffle(&mut data);
        let cut = dice.pick(0..data.len() as u64 + 1) as usize;
        let mut found = Whole::of(&history, &data[..cut]);
        found.take(&data[cut..]);
        prop_assert_eq!(series(found.run(), &slice), series(expected.run(), &slice));
        prop_assert_eq!(heat(found.run(), &slice), heat(expected.run(), &slice));
        prop_assert_eq!(errors(found.run(), &slice), errors(expected.run(), &slice));
    }

    /// Broken if a run as of its end differs from the run, or if a run as of an instant contains
    /// what was reported later or lacks what was reported before.
    #[test]
    fn as_of_the_end_is_all_of_it(seed: u64) {
        let history = History::new(seed);
        let expected = fold(&history, &history.control, &history.data);
        let mut log = ControlLog::new(history.run.clone());
        for record in &history.control {
            log.add(&record.subject, &record.kind, record.seq, &record.payload);
        }
        let end_us = history.workload.duration_us() + 10_000_000;
        let mut order = DeltaOrder::default();
        for record in &history.data {
            order.add(record.seq, &record.payload);
        }
        for us in [0, end_us / 4, end_us / 2, end_us, u64::MAX] {
            let then = AsOf::new(&log, us).expect("it started");
            let held = |record: &&Record| then.holds(&parsed(record.seq, &record.payload));
            let deltas: Vec<Record> = history.data.iter().filter(held).cloned().collect();
            let last_seq = deltas.iter().map(|record| record.seq).max();
            prop_assert!(last_seq <= Some(order.last_seq(us)), "read too little");
            let mut data = Projection::default();
            crate::fold::projection::add(&mut data, then.control(), &deltas);
            let found = report(then.control(), &data).expect("the run is known");
            let is_reported = |deed: &&Deed| {
                let ended_us = (deed.window + 1) * 1_000_000;
                let is_started = matches!(deed.what, Act::Started(_));
                is_started && !deed.excess && ended_us <= us
            };
            let reported = history.deeds.iter().filter(is_reported);
            let reported = reported.filter(|deed| stored(&history, &deed.holder, deed.window));
            prop_assert_eq!(found.arrivals.started, reported.count() as u64);
            if then.control().sealed.is_none() && !then.control().state.over {
                let reached = found.series.len() as u32;
                prop_assert!(u64::from(reached) <= us / history.plan.tick_us);
                prop_assert_eq!(found.arrivals.planned, due_in(&history, &(0..reached)));
            }
            if us == u64::MAX {
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}

pub(crate) fn parsed(seq: u64, payload: &[u8]) -> DeltaRecord {
    let agent = AgentId::parse("agent-1").expect("a token");
    DeltaRecord::parse(agent, "delta".to_owned(), seq, payload)
}

/// Broken if a decision counts as of an instant before it was made, or if a delta that came after
/// the seal counts as of an instant before the seal.
#[test]
fn as_of_an_instant_is_what_had_been_decided() {
    let history = History::new(3);
    let last = history.control.len() as u64;
    let mut log = ControlLog::new(history.run.clone());
    let mut start_at = 0;
    for (second, record) in (0..).zip(&history.control) {
        let mut envelope: serde_json::Value =
            serde_json::from_slice(&record.payload).expect("it was encoded as JSON");
        if let Some(at) = envelope["event"]["start_at"].as_u64() {
            start_at = at;
        }
        let at = envelope["at"].as_u64().expect("a time");
        envelope["at"] = (at + second * 1_000_000).into();
        let payload = serde_json::to_vec(&envelope).expect("it is JSON");
        log.add(&record.subject, &record.kind, record.seq, &payload);
    }
    assert_eq!(
        start_at, 1_800_000_000_000_000,
        "the first record is as old as the start"
    );
    for second in 0..last {
        let then = AsOf::new(&log, second * 1_000_000 + 5).expect("it starts");
        let records = then.control().records.len() as u64;
        assert_eq!(records, second + 1, "one a second");
        let is_sealed = second + 1 == last;
        assert_eq!(then.control().sealed.is_some(), is_sealed);
        let late = history.data_seq() + 1;
        let delta = br#"{"event": {"to_us": 1}}"#;
        assert!(then.holds(&parsed(late - 1, delta)));
        let holds = |seq, payload| then.holds(&parsed(seq, payload));
        assert_eq!(holds(late, delta), is_sealed, "it came after the seal");
        assert_eq!(holds(1, b"?"), is_sealed, "it has no time");
    }
}

/// Broken if a slice of something that no run has is answered with zeroes, or if a time is rounded.
#[test]
fn what_a_slice_cannot_mean_is_refused() {
    let history = History::new(1);
    let whole = Whole::of(&history, &history.data);
    let tick_us = history.plan.tick_us;
    let wrong = Slice {
        from_us: Some(tick_us + 1),
        bucket_us: Some(0),
        tasks: Some(vec!["ghost".to_owned()]),
        steps: Some(vec!["nothing".to_owned()]),
        agents: Some(vec!["stranger".to_owned().try_into().expect("a token")]),
        percentiles: Some(vec![0.0, 101.0, f64::NAN]),
        ..Slice::default()
    };
    let refusal = series(whole.run(), &wrong).expect_err("nothing of it is right");
    let fields: Vec<&str> = refusal.problems.iter().map(|p| p.field.as_str()).collect();
    let three = ["percentiles"; 3];
    let expected = ["from_us", "bucket_us", "tasks", "steps", "agents"];
    assert_eq!(fields, [&expected[..], &three[..]].concat());
    let turned = Slice {
        from_us: Some(tick_us),
        to_us: Some(tick_us),
        ..Slice::default()
    };
    let refusal = heat(whole.run(), &turned).expect_err("it is empty");
    assert_eq!(refusal.problems[0].field, "from_us");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Broken if a fold that is stored half-way and continues from there differs from the fold of
    /// the whole log.
    #[test]
    fn a_stored_fold_continues_where_it_ended(seed: u64) {
        let history = History::new(seed);
        let expected = Whole::of(&history, &history.data);
        let dice = &mut Dice::new(!seed);
        let slice = slice(&history, dice);
        let cut = dice.pick(0..history.data.len() as u64 + 1) as usize;
        let half = Whole::of(&history, &history.data[..cut]);
        let (data, index) = restored(&half.data, &half.index);
        let mut found = Whole { control: half.control, data, index };
        found.take(&history.data[cut..]);
        prop_assert_eq!(found.report(), expected.report());
        prop_assert_eq!(series(found.run(), &slice), series(expected.run(), &slice));
        prop_assert_eq!(errors(found.run(), &slice), errors(expected.run(), &slice));
    }
}
