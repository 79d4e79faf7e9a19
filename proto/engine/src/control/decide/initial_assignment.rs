//! The first assignment of a run.
//!
//! The part of [`crate::control::decide`] that assigns a run, or refuses it. Must never make an
//! assignment whose later maps could exceed a message of the server.

use loadpilot_events::id::Holder;
use loadpilot_events::log::ctl::{Decision, RunRefused, ShardsAssigned};
use loadpilot_events::refusal::Problem;

use crate::control::assign::{deal, map_bytes_max};
use crate::control::decide::Run;
use crate::control::decide::timeouts::readiness_us;

impl Run<'_> {
    /// Assigns the run as soon as the wanted number of agents has offered capacity. When the wait
    /// is over, assigns it to the agents that have offered, if they are at least the minimum, and
    /// refuses it otherwise.
    pub(crate) fn assign_first(&self) -> Option<Decision> {
        let live = |holder: &Holder| {
            let offer = self.state.offers.get(holder);
            offer.is_some_and(|offer| offer.expires > self.now)
        };
        let offered: Vec<Holder> = self.available().into_iter().filter(live).collect();
        let wanted = &self.created.agents;
        let enough = offered.len() >= wanted.want as usize;
        let wait_is_over = self.now >= self.created.gather_by;
        if enough || wait_is_over && offered.len() >= wanted.min.max(1) as usize {
            let chosen = &offered[..offered.len().min(wanted.want as usize)];
            if let Some(problem) = self.too_many(chosen) {
                let problems = vec![problem];
                return Some(Decision::RunRefused(RunRefused { problems }));
            }
            return Some(Decision::ShardsAssigned(ShardsAssigned {
                generation: 1,
                holdings: deal(self.created.shards, chosen),
                ready_by: self
                    .now
                    .plus_us(readiness_us(&self.created.plan, self.policy.ready_us)),
            }));
        }
        wait_is_over.then(|| {
            let seconds = wanted.wait_us / 1_000_000;
            let (min, missing) = (wanted.min, self.missing_capabilities());
            let rule = format!("at least {min} must offer capacity within {seconds} s{missing}");
            let problem = Problem::new("agents", rule, offered.len());
            Decision::RunRefused(RunRefused {
                problems: vec![problem],
            })
        })
    }

    /// The problem of too many holders for this server: each map of the run has to fit into one
    /// message, however often agents come and leave.
    fn too_many(&self, chosen: &[Holder]) -> Option<Problem> {
        let limit = self.observed.message_bytes_max?;
        let bytes = map_bytes_max(self.created.shards, chosen);
        (bytes > limit).then(|| {
            let rule = format!(
                "must be few enough that a map of their {} shards fits one message of the server: \
                 it may reach {bytes} bytes, and the server accepts {limit} (max_payload)",
                self.created.shards
            );
            Problem::new("agents.want", rule, chosen.len())
        })
    }
}
