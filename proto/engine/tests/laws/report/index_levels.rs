//! Long runs: a time range of any length, read from packed blocks, contains all that was due in it.

use loadpilot_engine::control::ControlLog;
use loadpilot_engine::fold::delta_record::DeltaRecord;
use loadpilot_engine::fold::index::Index;
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::percentiles::{ladder, ms, packed_percentiles_us, percentile_us};
use loadpilot_engine::report::report;
use loadpilot_engine::report::slice::{Indexed, heat, series};
use loadpilot_engine::report::what_if::what_if;
use loadpilot_engine::tally::packed_histogram::{PackedHistogram, Precision};
use loadpilot_engine::tally::{CallEnd, Ledger, Phases, Tally};
use loadpilot_events::answers::slice::Slice;
use loadpilot_events::answers::what_if::WhatIf;
use loadpilot_events::id::RunId;
use loadpilot_events::log::assign::Holding;
use loadpilot_events::log::ctl::{Decision, RunCreated, ShardsAssigned};
use loadpilot_events::log::delta::Gauges;
use loadpilot_events::log::hist::{self, Hist};
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::threshold::{Metric, Threshold};
use loadpilot_events::plan::{Piece, Plan};
use loadpilot_events::rules::Rules;
use loadpilot_events::units::{Rate, Timestamp};
use loadpilot_events::wire::subject::Kind;
use proptest::prelude::*;

use crate::report::slices::restored;
use crate::rules::dice::Dice;
use crate::rules::plans;
use crate::support::history::encode;

/// Number of ticks of the run: more than two of the longest blocks.
const TICKS: u64 = 10_000;
const TICK_US: u64 = 1_000_000;
/// The last ticks of blocks of 16, 256 and 4,096.
const EDGES: [u32; 3] = [16 * 7 - 1, 256 * 3 - 1, 4_096 * 2 - 1];

/// One finished call.
#[derive(Debug, Clone, Copy)]
struct Ended {
    tick: u32,
    outcome: Outcome,
    response_us: u64,
}

fn plan(dice: &mut Dice) -> Plan {
    let rate = Rate(1_000_000);
    let mut plan = plans::plan(dice);
    plan.profile.pieces = vec![Piece {
        duration_us: TICKS * TICK_US,
        from: rate,
        to: rate,
    }];
    (plan.tick_us, plan.warm_up_us) = (TICK_US, 0);
    plan
}

fn log(plan: &Plan) -> ControlLog {
    let mut log = ControlLog::new(RunId::parse("01run").expect("a token"));
    let request = plans::request(plan.clone(), 1, 1, &mut Dice::new(1));
    let created = RunCreated {
        plan_hash: plan.hash(),
        plan: Some(request.plan),
        request: None,
        seed: request.seed,
        agents: request.agents,
        owner: None,
        lead_us: 0,
        shards: 1,
        gather_by: Timestamp(0),
        needs: Vec::new(),
        targets: None,
        proof: None,
        rules: Rules::CURRENT,
    };
    let assigned = ShardsAssigned {
        generation: 1,
        holdings: vec![Holding {
            holder: plans::holder(0, 0),
            shards: vec![0],
        }],
        ready_by: Timestamp(0),
    };
    let decisions = [
        Decision::RunCreated(Box::new(created)),
        Decision::ShardsAssigned(assigned),
    ];
    for (seq, decision) in (1..).zip(&decisions) {
        log.add("ctl", &Kind::Ctl, seq, &encode(decision));
    }
    log
}

fn ended(dice: &mut Dice) -> Ended {
    Ended {
        // Some ticks, at the edges of blocks of each level, have many calls; most have none.
        tick: dice.one_of(&EDGES) + dice.pick(0..3) as u32,
        outcome: dice.one_of(&[Outcome::Ok, Outcome::Http5xx, Outcome::Timeout]),
        response_us: dice.pick(1..1 << 22),
    }
}

fn deltas(calls: &[Ended]) -> Vec<Vec<u8>> {
    let holder = plans::holder(0, 0);
    let mut ledger = Ledger::new(holder.boot_id);
    let chunks = calls.chunks(9);
    let deltas = chunks.flat_map(|chunk| {
        let mut tally = Tally::new();
        for call in chunk {
            tally.call(&CallEnd {
                tick: call.tick,
                generation: 1,
                call: 0,
                outcome: call.outcome,
                response_us: call.response_us,
                service_us: call.response_us.div_ceil(3),
                status: None,
                cause: None,
                sent_bytes: 0,
                received_bytes: 0,
                phases: Phases {
                    schedule_lag_us: Some(call.response_us / 7),
                    first_token_us: Some(call.response_us / 2),
                    ..Phases::default()
                },
            });
        }
        ledger.close(tally.take(), 0, 1, Gauges::default())
    });
    deltas.map(|delta| encode(&delta)).collect()
}

fn recorded<'a>(calls: impl Iterator<Item = &'a Ended>) -> Hist {
    let mut all = hist::latency();
    calls.for_each(|call| hist::record(&mut all, call.response_us));
    all
}

/// A gate on the first token after a warm-up.
fn token_gate(warm_up_us: u64) -> WhatIf {
    let gate = Threshold {
        metric: Metric::P95FirstTokenMs,
        task: None,
        limit: 1.0,
        operator: None,
        own: None,
    };
    WhatIf {
        thresholds: Some(vec![gate]),
        warm_up_us: Some(warm_up_us),
        ..WhatIf::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Broken if a block of many ticks differs from the sum of those ticks, or is not rebuilt when
    /// one of them has changed.
    #[test]
    fn packed_blocks_hold_what_their_ticks_hold(seed: u64) {
        let dice = &mut Dice::new(seed);
        let plan = plan(dice);
        let control = log(&plan).close();
        let mut calls: Vec<Ended> = (0..400).map(|_| ended(dice)).collect();
        calls.extend((0..200).map(|_| Ended { tick: dice.pick(0..TICKS) as u32, ..ended(dice) }));
        dice.shuffle(&mut calls);
        let (mut data, mut index) = (Projection::default(), Index::default());
        let agent = plans::holder(0, 0).agent;
        for (seq, payload) in (1..).zip(deltas(&calls)) {
            let record = DeltaRecord::parse(agent.clone(), "delta".to_owned(), seq, &payload);
            data.add_parsed(&control, &record, Some(&mut index));
            if dice.chance(10) {
                index.compact();
            }
        }
        prop_assert!(data.quarantined.is_empty(), "{:?}", data.quarantined);
        let run = Indexed { control: &control, data: &data, index: &index };
        for _ in 0..10 {
            let from = dice.pick(0..TICKS);
            let to = dice.pick(from + 1..TICKS + 1);
            let slice = Slice {
                from_us: Some(from * TICK_US),
                to_us: Some(to * TICK_US),
                // Buckets longer than blocks of each level, so that the blocks are used.
                bucket_us: Some(dice.one_of(&[40, 300, 700, 5_000]) * TICK_US),
                ..Slice::default()
            };
            let inside = |call: &&Ended| (from..to).contains(&u64::from(call.tick));
            let expected = recorded(calls.iter().filter(inside));
            let answer = series(run, &slice).expect("it is sound");
            prop_assert_eq!(answer.total.finished, expected.len());
            prop_assert_eq!(answer.total.response, ladder(&expected));
            let found = heat(run, &slice).expect("it is sound");
            for (band, edges) in found.bounds_us.windows(2).enumerate() {
                let lies = |call: &&Ended| {
                    let bucket = Precision::Latency.bucket(call.response_us);
                    let least = Precision::Latency.least(bucket);
                    inside(call) && (edges[0]..edges[1]).contains(&least)
                };
                let count = calls.iter().filter(lies).count() as u64;
                let in_band: u64 = found.counts.iter().map(|row| row[band]).sum();
                prop_assert_eq!(in_band, count);
            }
        }
        // The plan has no such gate, so that phases are packed by tick as well.
        let from = dice.pick(0..TICKS);
        let mut tokens = hist::anatomy();
        let measured = calls.iter().filter(|call| u64::from(call.tick) >= from);
        measured.for_each(|call| hist::record(&mut tokens, call.response_us / 2));
        let question = token_gate(from * TICK_US);
        index.compact();
        let (restored, restored_index) = restored(&data, &index);
        let run = Indexed { control: &control, data: &data, index: &index };
        let again = Indexed { control: &control, data: &restored, index: &restored_index };
        for run in [run, again] {
            let judged = what_if(run, &question).expect("it is sound").verdict.thresholds;
            let expected = (!tokens.is_empty()).then(|| ms(percentile_us(&tokens, 95.0)));
            prop_assert_eq!(judged[0].actual, expected);
        }
        let whole = report(&control, &data).expect("it was created");
        prop_assert!(whole.generator.schedule_lag.is_some());
        prop_assert_eq!(report(&control, &restored).expect("it was created"), whole);
    }

    /// Broken if our buckets differ from those of the library: percentiles would be read at other
    /// values.
    #[test]
    fn buckets_are_those_of_hdr_histogram(values in prop::collection::vec(1_u64..1 << 41, 1..50)) {
        for (grain, mut hist) in [
            (Precision::Latency, hist::latency()),
            (Precision::Phase, hist::anatomy()),
        ] {
            for &value in &values {
                hist::record(&mut hist, value);
                let bucket = grain.bucket(value);
                prop_assert_eq!(grain.least(bucket), hist.lowest_equivalent(value));
                prop_assert_eq!(grain.greatest(bucket), hist.highest_equivalent(value));
            }
            let packed = PackedHistogram::of(&hist, grain);
            let percents = [1.0, 50.0, 90.0, 99.0, 99.9, 100.0];
            let found = packed_percentiles_us(&packed, grain, percents).expect("values");
            prop_assert_eq!(found, percents.map(|percent| percentile_us(&hist, percent)));
            let unpacked = packed.hist(grain);
            prop_assert_eq!(hist::encode(&unpacked), hist::encode(&hist));
            prop_assert_eq!(unpacked.mean().to_bits(), hist.mean().to_bits());
        }
    }

    /// Broken if adding packed counts gives another result than adding histograms.
    #[test]
    fn packed_counts_add_up(
        ours in prop::collection::vec(1_u64..1 << 30, 0..40),
        theirs in prop::collection::vec(1_u64..1 << 30, 0..40),
    ) {
        let of = |values: &[u64]| {
            let mut hist = hist::latency();
            values.iter().for_each(|&value| hist::record(&mut hist, value));
            hist
        };
        let mut sum = PackedHistogram::of(&of(&ours), Precision::Latency);
        sum.add(&PackedHistogram::of(&of(&theirs), Precision::Latency));
        let both: Vec<u64> = ours.iter().chain(&theirs).copied().collect();
        prop_assert_eq!(sum, PackedHistogram::of(&of(&both), Precision::Latency));
    }
}
