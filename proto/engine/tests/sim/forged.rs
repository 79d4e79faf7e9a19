//! Forged deltas in the log of a whole run: none of them changes a figure or passes with a VALID
//! certificate.

use loadpilot_engine::control::ControlLog;
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::verify::Invariant;
use loadpilot_events::answers::report::{FindingKind, Report};
use loadpilot_events::log::hist;
use loadpilot_events::rules::Rules;
use loadpilot_events::wire::subject::Kind;
use serde_json::json;

use crate::checker::{report_of, verification};
use crate::corrupt::{FAIR, change, inner, named, parsed};
use crate::log::Record;
use crate::world::World;

/// Number of calls in the forged delta.
const FORGED: u64 = 655_760;

/// A delta of a real process, numbered 900, with calls that no agent made.
fn forged(world: &mut World) -> Record {
    let mut record = world.log.data[inner(world)].clone();
    let mut values = hist::latency();
    values.record_n(3, FORGED).expect("in range");
    let values = json!(hist::encode(&values));
    change(&mut record, |event| {
        let row = &mut event["calls"][0];
        row["count"] = json!(FORGED);
        (row["response"], row["service"]) = (values.clone(), values);
        let outcome = row["outcome"].as_str().expect("an outcome").to_owned();
        event["seq"] = json!(900);
        (event["arrivals"], event["anatomy"]) = (json!([]), json!([]));
        event["calls"] = json!([event["calls"][0]]);
        event["totals"]["calls"][outcome] = json!(FORGED + 1_000);
    });
    record
}

/// Inserts a record after all that the seal covers, and makes the seal cover it.
fn store(world: &mut World, record: Record) -> u64 {
    let sealed = parsed(named(world, "RunSealed"))["data_seq"].as_u64();
    let place = sealed.expect("a number") as usize;
    world.log.data.insert(place, record);
    change(named(world, "RunSealed"), |event| {
        event["data_seq"] = json!(place + 1);
    });
    place as u64 + 1
}

fn finding(report: &Report) -> bool {
    let mut findings = report.certificate.findings.iter();
    findings.any(|finding| finding.kind == FindingKind::Quarantined)
}

/// The forged delta of a real boot id changed a report of some hundred calls to one of 655,760,
/// with nothing set aside.
#[test]
fn a_delta_after_the_last_words_is_set_aside() {
    let mut world = World::played(FAIR);
    let clean = report_of(&world);
    assert!(!finding(&clean));
    let forged = forged(&mut world);
    let seq = store(&mut world, forged);
    let found = report_of(&world);
    assert_eq!(found.calls, clean.calls);
    assert_eq!(found.arrivals, clean.arrivals);
    assert_eq!(found.run.holders, clean.run.holders);
    let set_aside = &found.gaps.quarantined;
    assert_eq!(set_aside.len(), 1, "{set_aside:?}");
    assert_eq!(set_aside[0].seq, seq);
    assert!(set_aside[0].reason.contains("follows its last words"));
    assert!(finding(&found));
    let verified = verification(&world, None);
    let broken = verified.invariants.iter().filter(|one| !one.holds);
    let broken: Vec<Invariant> = broken.map(|one| one.invariant).collect();
    assert_eq!(broken, [Invariant::Sequence]);
}

/// A fold of a running run counts the forged delta until the last words are known, and then has to
/// start again. The fold of an honest log does not.
#[test]
fn a_fold_before_the_last_words_does_not_stand() {
    let mut world = World::played(FAIR);
    let forged = forged(&mut world);
    let mut open = ControlLog::new(world.log.run.clone());
    let mut whole = open.clone();
    for (record, seq) in world.log.ctl.iter().zip(1..) {
        let (subject, payload) = (&record.subject, &record.payload);
        whole.add(subject, &record.kind, seq, payload);
        let last_words = matches!(&record.kind, Kind::Evt(_))
            && parsed(record)["what"]["type"] == "ShardsFinished";
        if !(last_words || parsed(record)["type"] == "RunSealed") {
            open.add(subject, &record.kind, seq, payload);
        }
    }
    let (open, whole) = (open.close(), whole.close());
    let mut data = Projection::default();
    let honest = world.log.data.clone();
    let take = |data: &mut Projection, record: &Record, seq: u64| {
        let Kind::Delta(agent) = &record.kind else {
            panic!("only deltas stand in LP_DATA");
        };
        data.add(&open, agent, &record.subject, seq, &record.payload);
    };
    for (record, seq) in honest.iter().zip(1..) {
        take(&mut data, record, seq);
    }
    assert!(data.is_valid_under(&open) && data.is_valid_under(&whole));
    take(&mut data, &forged, honest.len() as u64 + 1);
    assert!(data.is_valid_under(&open) && !data.is_valid_under(&whole));
}

/// A log of an earlier version is judged as before: its report has the same digest.
#[test]
fn the_first_rules_set_nothing_more_aside() {
    let mut world = World::played(FAIR);
    change(named(&mut world, "RunCreated"), |event| {
        event.as_object_mut().expect("an object").remove("rules");
    });
    assert_eq!(report_of(&world).run.rules, Rules::V1);
    let clean = report_of(&world);
    let forged = forged(&mut world);
    store(&mut world, forged);
    let found = report_of(&world);
    assert_eq!(found.gaps.quarantined, []);
    assert!(found.calls.attempted >= clean.calls.attempted + FORGED);
}

/// A forged delta stored before an honest one with the same number: the number has two contents.
#[test]
fn a_number_that_was_taken_before_is_named() {
    let mut world = World::played(FAIR);
    let place = inner(&world);
    let mut forged = world.log.data[place].clone();
    change(&mut forged, |event| {
        let row = &mut event["calls"][0];
        let received = row["received_bytes"].as_u64().unwrap_or(0);
        row["received_bytes"] = json!(received + 1);
    });
    let honest = std::mem::replace(&mut world.log.data[place], forged);
    store(&mut world, honest);
    let found = report_of(&world);
    let mut named = found.gaps.quarantined.iter();
    assert!(named.any(|one| one.reason.contains("another delta")));
    assert!(finding(&found));
}
