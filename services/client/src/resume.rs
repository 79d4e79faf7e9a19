//! Going on with a run whose command line is gone: what it is, and becoming its owner.
//!
//! Must never touch a run that is over.

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
    /// What it runs.
    pub plan: Plan,
    /// On how many agents.
    pub agents: AgentsWanted,
}

impl Session {
    /// What a run is that is not over.
    ///
    /// # Errors
    /// When the log holds no such run, or it is over; or the world.
    pub async fn unfinished(&self, run: &RunId) -> Result<Unfinished, SessionError> {
        let asked = self.asked(run).await?;
        Ok(Unfinished {
            plan: asked.plan,
            agents: asked.agents,
        })
    }

    /// Keeps a run owned from now on, in place of the command line that asked for it. One that was
    /// asked for without an owner needs none.
    ///
    /// # Errors
    /// As those of [`Session::unfinished`].
    pub async fn adopt(&mut self, run: &RunId) -> Result<(), SessionError> {
        if let Some(owner) = self.asked(run).await?.owner {
            self.start_owner_beat(run, &owner);
        }
        Ok(())
    }

    async fn asked(&self, run: &RunId) -> Result<RunRequested, SessionError> {
        let state = self.control(run).await?.state;
        let rule = match state.requested {
            Some(asked) if !state.over => return Ok(*asked),
            Some(_) => "must not be over",
            None => "must be a run of this log",
        };
        Err(Problem::new("run", rule, run).into())
    }
}
