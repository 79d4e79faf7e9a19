//! Notes about a run: what people wrote, in the order of the log, also after the seal.

use loadpilot_engine::control::ControlLog;
use loadpilot_events::answers::annotations::Annotations;
use loadpilot_events::id::{EventId, RunId};
use loadpilot_events::limits::NOTES_MAX;
use loadpilot_events::log::ctl::{Decision, RunRefused};
use loadpilot_events::log::req::{Request, RunAnnotated};
use loadpilot_events::wire::subject::Kind;
use loadpilot_events::{Envelope, Timestamp};
use serde::Serialize;

/// Minutes after the epoch of the record at `seq`.
fn at(seq: u64) -> Timestamp {
    Timestamp::default().plus_us(seq * 60_000_000)
}

fn add<E: Serialize>(log: &mut ControlLog, seq: u64, kind: &Kind, event: E) {
    let id = EventId::parse(&format!("event-{seq}")).expect("a token");
    let envelope = Envelope {
        v: 1,
        id,
        at: at(seq),
        event,
    };
    let payload = serde_json::to_vec(&envelope).expect("it has a form");
    log.add("subject", kind, seq, &payload);
}

fn note(text: Option<&str>, baseline: Option<bool>) -> Request {
    Request::RunAnnotated(RunAnnotated {
        by: "ann@host".to_owned(),
        text: text.map(str::to_owned),
        baseline,
    })
}

/// The notes of a log with these records after its end, folded at once and one by one.
fn folded(requests: Vec<Request>) -> Annotations {
    let mut log = ControlLog::new(RunId::parse("run-1").expect("a token"));
    let problems = Vec::new();
    add(
        &mut log,
        1,
        &Kind::Ctl,
        Decision::RunRefused(RunRefused { problems }),
    );
    let mut control = log.close();
    for (seq, request) in (2..).zip(requests) {
        add(&mut log, seq, &Kind::Req, request);
        log.catch_up(&mut control);
    }
    assert_eq!(log.close().annotations, control.annotations);
    control.annotations
}

#[test]
fn the_last_mark_counts_and_each_note_remains() {
    let found = folded(vec![
        note(Some("first"), Some(true)),
        note(Some("second"), None),
        note(None, Some(false)),
        note(None, Some(true)),
    ]);
    let texts: Vec<(&str, Timestamp)> =
        found.notes.iter().map(|one| (&*one.text, one.at)).collect();
    assert_eq!(texts, [("first", at(2)), ("second", at(3))]);
    assert_eq!(found.baseline.expect("it is marked").at, at(5));
    assert!(
        folded(vec![note(None, Some(true)), note(None, Some(false))])
            .baseline
            .is_none()
    );
}

#[test]
fn the_number_of_notes_is_limited() {
    let many = (0..=NOTES_MAX).map(|_| note(Some("again"), None));
    assert_eq!(folded(many.collect()).notes.len(), NOTES_MAX);
}
