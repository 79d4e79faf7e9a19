//! Everything that must be there before a holder is ready: secrets, compiled requests, threads,
//! and how far the clocks are apart. It must never send anything to the target.

use std::sync::Arc;

use loadpilot_engine::workload::Workload;
use loadpilot_events::RunId;
use loadpilot_events::ctl::RunCreated;
use thiserror::Error;

use crate::clock::{self, Alignment};
use crate::fire::{self, Program};
use crate::runs::cores::{Common, Cores};
use crate::secrets;
use crate::shell::Shell;

/// A holder that only waits for the start.
pub(super) struct Prepared {
    /// Its threads.
    pub(super) cores: Arc<Cores>,
    /// How the coordinator's clock stands to ours.
    pub(super) alignment: Alignment,
    /// Most arrivals in flight over all threads.
    pub(super) max_in_flight: u32,
}

/// Why a holder cannot do its shards. Names no secret's value.
#[derive(Debug, Error)]
pub(super) enum Unable {
    /// The plan is not the one that its hash names.
    #[error("the plan does not match its hash")]
    OtherPlan,
    /// The secrets are not there.
    #[error(transparent)]
    Secrets(#[from] secrets::Fault),
    /// The requests cannot be compiled, or the threads cannot be started.
    #[error(transparent)]
    Fire(#[from] fire::Fault),
}

/// Gets ready for `created`.
pub(super) async fn prepare(
    shell: &Shell,
    run: &RunId,
    created: &RunCreated,
) -> Result<Prepared, Unable> {
    let plan = &created.plan;
    if plan.hash() != created.plan_hash {
        return Err(Unable::OtherPlan);
    }
    let secrets = secrets::fetch(shell, run, &plan.secrets()).await?;
    let common = Common {
        run: run.clone(),
        plan: Arc::new(plan.clone()),
        workload: Arc::new(Workload::new(plan, created.seed)),
        program: Arc::new(Program::compile(plan, run, &secrets.0)?),
        shards: created.shards,
        me: shell.me.clone(),
        rings: shell.rings.clone(),
    };
    let wanted = plan.max_in_flight.unwrap_or(shell.max_in_flight);
    let max_in_flight = wanted.min(shell.max_in_flight).max(1);
    let cores = Arc::new(Cores::spawn(&common, shell.cores, max_in_flight)?);
    let subject = shell.subjects.clock();
    Ok(Prepared {
        cores,
        alignment: clock::measure(&shell.bus, &subject, &shell.timing).await,
        max_in_flight,
    })
}
