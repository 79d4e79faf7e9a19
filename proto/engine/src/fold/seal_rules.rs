//! Rules about a seal, judged together with the facts before it.

use loadpilot_events::log::ctl::{Decision, RunSealed};

use crate::control::{Control, Parsed};
use crate::fold::invariants::{Breaches, Invariant};

/// A seal repeats what the log says before it. `subject` is that of the run's decisions.
pub(crate) fn seal(control: &Control, subject: &str, breaches: &mut Breaches) {
    let Some((seq, seal)) = found(control) else {
        return;
    };
    let mut note = |what: String| breaches.note(Invariant::Seal, subject, seq, what);
    let state = &control.state;
    let fact = |seq: u64| {
        let mut records = control.records.iter();
        records.any(|(at, parsed)| *at == seq && matches!(parsed, Parsed::Fact(..)))
    };
    if seal.evt_seq >= seq || seal.evt_seq > 0 && !fact(seal.evt_seq) {
        note(format!(
            "no fact at {}, up to which facts count",
            seal.evt_seq
        ));
    }
    for last in &seal.finals {
        let said = state.finished.get(&last.holder);
        if said.is_none_or(|said| (said.final_seq, &said.totals) != (last.final_seq, &last.totals))
        {
            note(format!("{}: these are not its last words", last.holder));
        }
    }
    if let Some(unnamed) = seal.unnamed {
        let named = seal.finals.len() + seal.missing.len();
        let spoke = state.ever_held.iter();
        let spoke = spoke.filter(|holder| state.finished.contains_key(holder));
        let spoke = spoke.count();
        let silent = state.ever_held.len() - spoke;
        let said = (unnamed.finished as usize, unnamed.missing as usize);
        if named > 0 || said != (spoke, silent) {
            note(format!(
                "it names {named} and counts {said:?}: {spoke} said their last words, {silent} \
                 never did"
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
