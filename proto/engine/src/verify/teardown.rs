//! Rules about setup and teardown, judged from the requests and the end of a run alone.
//!
//! Must never judge whether a claimant was alive: the log does not say.

use std::collections::BTreeSet;

use loadpilot_events::id::OwnerId;
use loadpilot_events::log::req::Request;

use crate::fold::invariants::{Breaches, Invariant};

/// A request, or the end of the run.
pub(super) enum TeardownRecord<'a> {
    /// A request.
    Request(&'a Request),
    /// The run was sealed or refused.
    End,
}

/// The state after the records so far.
#[derive(Debug, Default)]
struct State {
    /// All owners that ever claimed the teardown.
    claimants: BTreeSet<OwnerId>,
    /// Its current owner.
    owner: Option<OwnerId>,
    requested: bool,
    ended: bool,
    begun: bool,
    settled: bool,
}

/// Judges the records of one run, in the order of the log.
pub(super) fn owed<'a>(
    log: impl IntoIterator<Item = (&'a str, u64, TeardownRecord<'a>)>,
    breaches: &mut Breaches,
) {
    let mut state = State::default();
    for (subject, seq, record) in log {
        for what in state.take(&record) {
            breaches.note(Invariant::Owed, subject, seq, what);
        }
    }
}

impl State {
    /// Takes one record and returns its violations.
    fn take(&mut self, record: &TeardownRecord<'_>) -> Vec<&'static str> {
        let mut wrong = Vec::new();
        let mut rule = |holds: bool, what| {
            if !holds {
                wrong.push(what);
            }
        };
        match record {
            TeardownRecord::End => self.ended = true,
            TeardownRecord::Request(Request::RunRequested(_)) => {
                rule(!self.begun, "the run is requested after its teardown began");
                self.requested = true;
            }
            TeardownRecord::Request(Request::SetupClaimed(claim)) => {
                rule(self.owner.is_none(), "there was a setup before");
                rule(!self.requested, "the run was requested before its setup");
                self.claimants.insert(claim.claimant.clone());
                self.owner.get_or_insert_with(|| claim.claimant.clone());
            }
            TeardownRecord::Request(Request::SetupKept(saved)) => {
                let own = self.owner.as_ref() == Some(&saved.claimant) && !self.begun;
                rule(own, "its claimant is not the owner of the setup");
                rule(!self.requested, "the run was already requested");
            }
            TeardownRecord::Request(Request::TeardownClaimed(claim)) => {
                let owes = claim.instead_of.as_ref().unwrap_or(&claim.claimant);
                rule(self.owner.is_some(), "there was no setup");
                rule(!self.settled, "the teardown was already finished");
                rule(!self.requested || self.ended, "the run is not over");
                let known = self.owner.is_none() || self.owner.as_ref() == Some(owes);
                rule(
                    known,
                    "it does not take over from the owner of the teardown",
                );
                if claim.instead_of.is_some() {
                    let new = self.claimants.insert(claim.claimant.clone());
                    rule(new, "the claimant was found gone earlier");
                }
                self.begun = true;
                self.owner = Some(claim.claimant.clone());
            }
            TeardownRecord::Request(Request::TeardownFinished(end)) => {
                let own = self.begun && self.owner.as_ref() == Some(&end.claimant);
                rule(own, "its claimant is not the owner of the teardown");
                rule(!self.settled, "it was already finished");
                self.settled = true;
            }
            TeardownRecord::Request(_) => {}
        }
        wrong
    }
}
