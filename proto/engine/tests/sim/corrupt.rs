//! Logs of whole runs, each damaged in one place: verification names exactly the invariant that is
//! broken, and none for an undamaged log.

use loadpilot_engine::verify::{Invariant, Verification};
use loadpilot_events::answers::report::FindingKind;
use loadpilot_events::log::hist;
use loadpilot_events::wire::subject::Kind;
use serde_json::{Value, json};

use crate::checker::{report_of, verification};
use crate::log::Record;
use crate::world::World;

/// Seed of a world without faults that counts calls.
pub(crate) const FAIR: u64 = 40;

/// Seeds, some of which give a world that counts calls and replaces an agent.
const REPLACED: std::ops::Range<u64> = 0..4_000;

/// Damages the log.
type Damage = fn(&mut World);

pub(crate) fn change(record: &mut Record, change: impl FnOnce(&mut Value)) {
    let mut event: Value = serde_json::from_slice(&record.payload).expect("our own event");
    change(&mut event["event"]);
    record.payload = serde_json::to_vec(&event).expect("JSON");
}

fn is(record: &Record, name: &str) -> bool {
    let event: Value = serde_json::from_slice(&record.payload).expect("our own event");
    event["event"]["type"] == name || event["event"]["what"]["type"] == name
}

/// The first record of LP_CTL of this name.
pub(crate) fn named<'a>(world: &'a mut World, name: &str) -> &'a mut Record {
    let found = world.log.ctl.iter_mut().find(|record| is(record, name));
    found.expect("such an event")
}

pub(crate) fn parsed(record: &Record) -> Value {
    let event: Value = serde_json::from_slice(&record.payload).expect("our own event");
    event["event"].clone()
}

/// The indexes of the deltas of one process that the seal covers, in the order of their numbers;
/// the first of each number.
fn of_one_process(world: &World) -> Vec<usize> {
    let seal = world.log.ctl.iter().find(|record| is(record, "RunSealed"));
    let covered = parsed(seal.expect("a seal"))["data_seq"]
        .as_u64()
        .expect("a number");
    let data = &world.log.data[..covered as usize];
    let first = data.first().expect("a delta");
    let places = (0..data.len()).filter(|&place| data[place].subject == first.subject);
    let boot = parsed(first)["boot_id"].clone();
    let places = places.filter(|&place| parsed(&data[place])["boot_id"] == boot);
    let mut seqs = std::collections::BTreeMap::new();
    for place in places {
        let seq = parsed(&data[place])["seq"].as_u64().expect("a number");
        seqs.entry(seq).or_insert(place);
    }
    seqs.into_values().collect()
}

/// The index of a delta of that process that has rows of calls, and has other deltas before and
/// after it.
pub(crate) fn inner(world: &World) -> usize {
    let places = of_one_process(world);
    let inner = &places[1..places.len() - 1];
    let has_calls = |place: &&usize| !parsed(&world.log.data[**place])["calls"].is_null();
    *inner.iter().find(has_calls).expect("a delta with calls")
}

fn created_twice(world: &mut World) {
    let mut copy = named(world, "RunCreated").clone();
    std::mem::swap(named(world, "CapacityOffered"), &mut copy);
}

fn takeover_in_the_past(world: &mut World) {
    change(named(world, "ShardsReassigned"), |event| {
        event["takeover_tick"] = json!(0);
    });
}

fn an_unassigned_shard(world: &mut World) {
    change(named(world, "ShardsAssigned"), |event| {
        let shards = &mut event["holdings"][0]["shards"];
        shards.as_array_mut().expect("a list").pop();
    });
}

fn a_start_in_the_past(world: &mut World) {
    change(named(world, "StartScheduled"), |event| {
        event["start_at"] = json!(1_700_000_000_000_000_u64);
    });
}

fn a_seal_of_something_else(world: &mut World) {
    change(named(world, "RunSealed"), |event| {
        event["ctl_seq"] = json!(1);
    });
}

fn another_end(world: &mut World) {
    let copy = named(world, "RunSealed").clone();
    world.log.ctl.push(copy);
}

fn noise(world: &mut World) {
    let place = inner(world);
    world.log.data[place].payload = b"{\"v\":1,".to_vec();
}

fn a_foreign_generation(world: &mut World) {
    let place = inner(world);
    change(&mut world.log.data[place], |event| {
        event["calls"][0]["generation"] = json!(9);
    });
}

fn two_deltas_of_one_number(world: &mut World) {
    let mut copy = world.log.data[inner(world)].clone();
    change(&mut copy, |event| {
        event["gauges"]["open_fds"] = json!(77);
    });
    let sealed = parsed(named(world, "RunSealed"))["data_seq"].as_u64();
    let place = sealed.expect("a number") as usize;
    world.log.data.insert(place, copy);
    change(named(world, "RunSealed"), |event| {
        event["data_seq"] = json!(place + 1);
    });
}

fn a_hole(world: &mut World) {
    let (place, first) = (inner(world), of_one_process(world)[0]);
    world.log.data[place] = world.log.data[first].clone();
}

fn totals_that_jump(world: &mut World) {
    let place = inner(world);
    change(&mut world.log.data[place], |event| {
        let started = &mut event["totals"]["started"];
        *started = json!(started.as_u64().expect("a number") + 1);
    });
}

fn a_value_too_many(world: &mut World) {
    let place = inner(world);
    change(&mut world.log.data[place], |event| {
        let count = event["calls"][0]["count"].as_u64().expect("a number");
        let mut values = hist::latency();
        (0..=count).for_each(|_| hist::record(&mut values, 5_000));
        event["calls"][0]["response"] = json!(hist::encode(&values));
    });
}

/// Adds a thousand unplanned arrivals to a row and to all totals of the process from there on.
fn more_than_was_planned(world: &mut World) {
    let from = inner(world);
    let (subject, boot) = (
        world.log.data[from].subject.clone(),
        parsed(&world.log.data[from])["boot_id"].clone(),
    );
    let number = parsed(&world.log.data[from])["seq"].as_u64();
    let more = |count: &mut Value| *count = json!(count.as_u64().unwrap_or(0) + 1_000);
    for record in &mut world.log.data {
        let delta = parsed(record);
        if record.subject != subject || delta["boot_id"] != boot {
            continue;
        }
        let seq = delta["seq"].as_u64();
        if seq >= number {
            change(record, |event| more(&mut event["totals"]["started"]));
        }
        if seq == number {
            change(record, |event| more(&mut event["arrivals"][0]["started"]));
        }
    }
    let Kind::Delta(agent) = world.log.data[from].kind.clone() else {
        panic!("only deltas stand in LP_DATA");
    };
    for record in &mut world.log.ctl {
        if record.kind == Kind::Evt(agent.clone()) && is(record, "ShardsFinished") {
            change(record, |event| {
                more(&mut event["what"]["totals"]["started"])
            });
        }
        if is(record, "RunSealed") {
            change(record, |event| {
                let finals = event["finals"].as_array_mut().expect("a list");
                let own = |last: &&mut Value| last["holder"]["agent"] == json!(agent.as_str());
                let own = finals.iter_mut().find(own).expect("its last words");
                more(&mut own["totals"]["started"]);
            });
        }
    }
}

const DAMAGES: [(Invariant, Damage); 12] = [
    (Invariant::Created, created_twice),
    (Invariant::Holdings, an_unassigned_shard),
    (Invariant::Instants, a_start_in_the_past),
    (Invariant::Seal, a_seal_of_something_else),
    (Invariant::End, another_end),
    (Invariant::Readable, noise),
    (Invariant::Held, a_foreign_generation),
    (Invariant::Identity, two_deltas_of_one_number),
    (Invariant::Sequence, a_hole),
    (Invariant::Totals, totals_that_jump),
    (Invariant::Histograms, a_value_too_many),
    (Invariant::Books, more_than_was_planned),
];

fn broken(found: &Verification) -> Vec<Invariant> {
    assert_eq!(found.invariants.len(), Invariant::ALL.len());
    let broken = found.invariants.iter().filter(|one| !one.holds);
    broken.map(|one| one.invariant).collect()
}

fn judged(world: &World, known: Option<&Value>) -> Vec<Invariant> {
    broken(&verification(world, known))
}

/// A verification must name the invariant that is broken, and no other.
#[test]
fn each_damage_is_named_as_what_it_is() {
    assert_eq!(judged(&World::played(FAIR), None), []);
    for (invariant, damage) in DAMAGES {
        let mut world = World::played(FAIR);
        damage(&mut world);
        assert_eq!(judged(&world, None), [invariant]);
    }
}

/// A certificate that knew less than the verification would call a log VALID that verification
/// rejects. Records after the end are the exception: the report of a sealed run never changes.
#[test]
fn each_damage_shows_in_the_certificate() {
    let shows = |world: &World| {
        let report = report_of(world);
        let mut findings = report.certificate.findings.iter();
        let kinds = [FindingKind::Quarantined, FindingKind::LostInterval];
        findings.any(|finding| kinds.contains(&finding.kind))
    };
    assert!(!shows(&World::played(FAIR)));
    for (invariant, damage) in DAMAGES {
        let mut world = World::played(FAIR);
        damage(&mut world);
        let expected = invariant != Invariant::End;
        assert_eq!(shows(&world), expected, "{invariant:?}");
    }
}

/// A takeover in the past would give shards to two holders at once.
#[test]
fn a_takeover_in_the_past_is_named() {
    let replaced = |world: &World| {
        world
            .log
            .ctl
            .iter()
            .any(|record| is(record, "ShardsReassigned"))
    };
    let seeds = REPLACED.filter(|seed| seed % 8 == 0 && seed % 5 == 1);
    let mut worlds = seeds.map(World::played).filter(replaced);
    let mut world = worlds.next().expect("an agent is replaced");
    takeover_in_the_past(&mut world);
    assert_eq!(judged(&world, None), [Invariant::Generations]);
}

/// A second answer to a request would be a second pause, or a second rate, without a request.
#[test]
fn a_second_answer_is_named() {
    let names = ["RateChanged", "Paused", "Resumed", "SteeringRefused"];
    let answers = |world: &World| -> Vec<usize> {
        let answer = |record: &Record| names.iter().any(|name| is(record, name));
        let places = world.log.ctl.iter().enumerate();
        places
            .filter(|(_, record)| answer(record))
            .map(|(place, _)| place)
            .collect()
    };
    let fair = (0..4_000).filter(|seed| seed % FAIR == 0);
    let steered = |world: &World| answers(world).len() > 1;
    let mut world = fair.map(World::played).find(steered).expect("users steer");
    assert_eq!(judged(&world, None), []);
    let places = answers(&world);
    let first = parsed(&world.log.ctl[places[0]])["request"].clone();
    change(&mut world.log.ctl[places[1]], |event| {
        event["request"] = first;
    });
    assert_eq!(judged(&world, None), [Invariant::Steering]);
}

/// A results file of another run, or one that was edited, must not pass for this run's.
#[test]
fn a_report_that_is_not_the_logs_is_named() {
    let world = World::played(FAIR);
    let written = |world: &World| {
        let text = serde_json::to_string(&report_of(world)).expect("a report has a JSON form");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let mut report = written(&world);
    assert_eq!(judged(&world, Some(&report)), []);
    report["arrivals"]["started"] = json!(1);
    assert_eq!(judged(&world, Some(&report)), [Invariant::Digest], "edited");
    let other = written(&World::played(FAIR + 40));
    assert_eq!(judged(&world, Some(&other)), [Invariant::Digest], "another");
}

/// Runs are archived and deleted by versions that this one does not know.
#[test]
fn what_follows_an_end_rightly_is_not_named() {
    let mut world = World::played(FAIR);
    let mut archived = named(&mut world, "RunSealed").clone();
    change(&mut archived, |event| {
        *event = json!({"type": "RunArchived"})
    });
    world.log.ctl.push(archived);
    assert_eq!(judged(&world, None), []);
}

/// A fold that counts a repeated record gives another report to a reader that reads twice.
#[cfg(feature = "bugbank")]
#[test]
fn a_fold_that_counts_twice_is_named() {
    use loadpilot_engine::bugs::{Bug, plant};
    let world = World::played(FAIR);
    plant(Some(Bug::CountedTwice));
    let found = judged(&world, None);
    plant(None);
    assert_eq!(found, [Invariant::Order]);
}
