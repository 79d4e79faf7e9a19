//! The teardown that the submitter of a run owes from the moment its setup begins: a fold of the
//! request subject, and the rules of claiming it.
//!
//! The log decides: a claim is appended at the exact last sequence of that subject, so that it
//! holds for the state that it was computed from. Must never judge which owner is alive: a claimant
//! that takes over has found the earlier owner gone.

use loadpilot_events::id::OwnerId;
use loadpilot_events::log::req::Request;
use loadpilot_events::log::teardown::{SetupClaimed, TeardownFinished};
use loadpilot_events::plan::Object;

/// The state of a run's setup and teardown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TeardownState {
    /// The setup, if it was begun.
    pub setup: Option<Box<SetupClaimed>>,
    /// The states that the setup saved; the last one counts.
    pub saved_states: Vec<Object>,
    /// Whether the run was requested.
    pub requested: bool,
    /// The owner of the teardown: it has to run it, or ran it last.
    pub holder: Option<OwnerId>,
    /// Whether the owner has begun the teardown.
    pub begun: bool,
    /// The end of the teardown.
    pub finished: Option<TeardownFinished>,
}

/// Why a claimant may not run the teardown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// There was no setup.
    Nothing,
    /// The teardown is finished.
    Settled,
    /// The run goes on, or may still be requested.
    NotOver,
    /// Another owner, which may be alive, has it.
    Held(OwnerId),
}

impl TeardownState {
    /// Applies one more record of the request subject. Total: a record that does not fit is
    /// ignored, and [`crate::verify`] names it.
    pub fn evolve(&mut self, request: &Request) {
        match request {
            Request::RunRequested(_) => self.requested = true,
            Request::SetupClaimed(claim) if self.setup.is_none() => {
                self.holder = Some(claim.claimant.clone());
                self.setup = Some(claim.clone());
            }
            Request::SetupKept(saved) if self.is_held_by(&saved.claimant) => {
                self.saved_states.push(saved.states.clone());
            }
            Request::TeardownClaimed(claim) => {
                let owes = claim.instead_of.as_ref().unwrap_or(&claim.claimant);
                if self.is_owed() && self.is_held_by(owes) {
                    self.holder = Some(claim.claimant.clone());
                    self.begun = true;
                }
            }
            Request::TeardownFinished(end) => {
                if self.is_owed() && self.begun && self.is_held_by(&end.claimant) {
                    self.finished = Some(end.clone());
                }
            }
            Request::SetupClaimed(_)
            | Request::SetupKept(_)
            | Request::StopRequested(_)
            | Request::RateChangeRequested(_)
            | Request::PauseRequested(_)
            | Request::ResumeRequested(_)
            | Request::RunAnnotated(_) => {}
        }
    }

    /// Whether a teardown is still to be run.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        self.setup.is_some() && self.finished.is_none()
    }

    /// Whether `claimant` may request the run that it set up: no other owner has taken the teardown
    /// over or begun it.
    #[must_use]
    pub fn may_request(&self, claimant: &OwnerId) -> bool {
        self.setup.is_none() || self.is_owed() && !self.begun && self.is_held_by(claimant)
    }

    /// The owner that `claimant` takes the teardown over from, `None` for its own. `gone` is the
    /// owner that was found gone, and `is_over` says whether the run is sealed or refused.
    ///
    /// # Errors
    /// [`ClaimRefusal`].
    pub fn claim(
        &self,
        claimant: &OwnerId,
        gone: Option<&OwnerId>,
        is_over: bool,
    ) -> Result<Option<OwnerId>, ClaimRefusal> {
        let holder = self.holder.as_ref().ok_or(ClaimRefusal::Nothing)?;
        if self.finished.is_some() {
            return Err(ClaimRefusal::Settled);
        }
        if self.requested && !is_over {
            return Err(ClaimRefusal::NotOver);
        }
        if holder == claimant {
            return Ok(None);
        }
        match gone == Some(holder) {
            true => Ok(Some(holder.clone())),
            false => Err(ClaimRefusal::Held(holder.clone())),
        }
    }

    fn is_held_by(&self, one: &OwnerId) -> bool {
        self.holder.as_ref() == Some(one)
    }
}
