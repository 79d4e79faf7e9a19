//! Rules about a seal, judged together with the facts before it.

use loadpilot_events::log::ctl::{Decision, RunSealed};

use crate::control::{Control, Parsed};
use crate::fold::invariants::{Breaches, Invariant};

/// Checks that a seal repeats the facts before it. `subject` is that of the run's decisions.
pub(crate) fn seal(control: &Control, subject: &str, breaches: &mut Breaches) {
    let Some((seq, seal)) = found(control) else {
        return;
    };
    let mut note = |what: String| breaches.note(Invariant::Seal, subject, seq, what);
    let state = &control.state;
    let has_fact = |seq: u64| {
        let mut records = control.records.iter();
        records.any(|(at, parsed)| *at == seq && matches!(parsed, Parsed::Fact(..)))
    };
    if seal.evt_seq >= seq || seal.evt_seq > 0 && !has_fact(seal.evt_seq) {
        note(format!(
            "no fact at {}, up to which facts count",
            seal.evt_seq
        ));
    }
    for last in &seal.finals {
        let fact = state.finished.get(&last.holder);
        if fact.is_none_or(|fact| (fact.final_seq, &fact.totals) != (last.final_seq, &last.totals))
        {
            note(format!("{}: these are not its last words", last.holder));
        }
    }
    if let Some(unnamed) = seal.unnamed {
        let named = seal.finals.len() + seal.missing.len();
        let finished = state.ever_held.iter();
        let finished = finished.filter(|holder| state.finished.contains_key(holder));
        let finished = finished.count();
        let missing = state.ever_held.len() - finished;
        let counted = (unnamed.finished as usize, unnamed.missing as usize);
        if named > 0 || counted != (finished, missing) {
            note(format!(
                "it names {named} and counts {counted:?}: {finished} said their last words, \
                 {missing} never did"
            ));
        }
    }
    for holder in &seal.missing {
        if state.finished.contains_key(holder) {
            note(format!(
                "{holder} is named as missing and said its last words"
            ));
        }
    }
}

fn found(control: &Control) -> Option<(u64, &RunSealed)> {
    let mut records = control.records.iter();
    records.find_map(|(seq, parsed)| match parsed {
        Parsed::Decision(envelope) => match &envelope.event {
            Decision::RunSealed(seal) => Some((*seq, seal)),
            _ => None,
        },
        _ => None,
    })
}
