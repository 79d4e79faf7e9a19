//! Takes over a run whose command line is gone: its plan, and the ownership of the run.
//!
//! A run that is over is refused.

use loadpilot_events::RunId;
use loadpilot_events::log::assign::AgentsWanted;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::Problem;
use serde::Serialize;

use super::session::{Session, SessionError};

/// A run that is not over.
#[derive(Debug, Clone, Serialize)]
pub struct Unfinished {
    /// Its plan.
    pub plan: Plan,
    /// The agents that the run requested.
    pub agents: AgentsWanted,
}

impl Session {
    /// Plan and agents of a run that is not over.
    ///
    /// # Errors
    /// When the log holds no such run, or it is over; or a fault of the bus.
    pub async fn unfinished(&self, run: &RunId) -> Result<Unfinished, SessionError> {
        let request = self.requested(run).await?;
        Ok(Unfinished {
            plan: request.plan,
            agents: request.agents,
        })
    }

    /// Sends the owner's heartbeats of a run from now on, in place of the command line that
    /// submitted it. Has no effect for a run that was submitted without an owner.
    ///
    /// # Errors
    /// As for [`Session::unfinished`].
    pub async fn adopt(&mut self, run: &RunId) -> Result<(), SessionError> {
        if let Some(owner) = self.requested(run).await?.owner {
            self.start_owner_beat(run, &owner);
        }
        Ok(())
    }

    async fn requested(&self, run: &RunId) -> Result<RunRequested, SessionError> {
        let state = self.control(run).await?.state;
        let rule = match state.requested {
            Some(request) if !state.over => return Ok(*request),
            Some(_) => "must not be over",
            None => "must be a run of this log",
        };
        Err(Problem::new("run", rule, run).into())
    }
}
