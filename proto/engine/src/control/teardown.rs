//! What the submitter of a run owes: its teardown, from the moment its setup begins.
//!
//! A fold of the request subject, and who may take the teardown upon himself. The log decides: a
//! claim is appended at the exact last sequence of that subject, so that it holds for the state
//! that it was made of. Must never know who is alive: whoever claims in another's place has found
//! that one gone.

use loadpilot_events::id::OwnerId;
use loadpilot_events::log::req::Request;
use loadpilot_events::log::teardown::{SetupClaimed, TeardownFinished};
use loadpilot_events::plan::Object;

/// What is owed of one run, and by whom.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TeardownState {
    /// The setup, if one was begun.
    pub setup: Option<Box<SetupClaimed>>,
    /// What it left, as it was kept; the last one counts.
    pub kept: Vec<Object>,
    /// Whether the run was asked for.
    pub asked: bool,
    /// Who owes the teardown, or played it last.
    pub holder: Option<OwnerId>,
    /// Whether that one has begun with it.
    pub begun: bool,
    /// How it ended.
    pub finished: Option<TeardownFinished>,
}

/// Why somebody may not play a teardown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// Nothing was set up.
    Nothing,
    /// It was played already.
    Settled,
    /// The run goes on, or can.
    NotOver,
    /// Somebody else owes it who may be alive.
    Held(OwnerId),
}

impl TeardownState {
    /// The debt after one more record of the request subject. Total: what does not fit is passed
    /// over, and named by [`crate::verify`].
    pub fn evolve(&mut self, request: &Request) {
        match request {
            Request::RunRequested(_) => self.asked = true,
            Request::SetupClaimed(claim) if self.setup.is_none() => {
                self.holder = Some(claim.claimant.clone());
                self.setup = Some(claim.clone());
            }
            Request::SetupKept(kept) if self.is_held_by(&kept.claimant) => {
                self.kept.push(kept.states.clone());
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
            | Request::ResumeRequested(_) => {}
        }
    }

    /// Whether a teardown is owed.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        self.setup.is_some() && self.finished.is_none()
    }

    /// Whether `claimant` may ask for the run that it was set up for: nobody has taken the teardown
    /// from it, or begun with it.
    #[must_use]
    pub fn may_request(&self, claimant: &OwnerId) -> bool {
        self.setup.is_none() || self.is_owed() && !self.begun && self.is_held_by(claimant)
    }

    /// In whose place `claimant` takes the teardown upon itself, `None` for its own; `gone` is who
    /// was found to be gone, and `is_over` whether the run is sealed or refused.
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
        if self.asked && !is_over {
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
