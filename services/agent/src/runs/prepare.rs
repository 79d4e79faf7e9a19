//! Everything that must be there before a holder is ready: secrets, bodies, compiled requests,
//! threads, connections if the plan wants some open, users of a scenario in Python, and how far the
//! clocks are apart. It must never send a request to the target but what those users send.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use loadpilot_engine::control::agent_view::Hold;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::RunId;
use loadpilot_events::log::ctl::RunCreated;
use loadpilot_events::plan::script;
use loadpilot_events::plan::{Object, Plan, Text};
use thiserror::Error;

use crate::fire::{self, Bodies, Lease, Preconnected, Program, Secrets, VirtualUsersSetup};
use crate::runs::bodies;
use crate::runs::clock::{self, Alignment};
use crate::runs::cores::{Common, Cores};
use crate::runs::preflight::{self, TooFewFiles};
use crate::users::compiled::Compiled;

use crate::crash::spool::{SPOOL_BYTES_DEFAULT, Spool};
use crate::process::shell::Shell;
use crate::runs::secrets;
use crate::users::prepared_users::{self, States};

/// A holder that only waits for the start.
pub(super) struct Prepared {
    /// Its threads.
    pub(super) cores: Arc<Cores>,
    /// The file of its spool.
    spool_path: Option<PathBuf>,
    /// How the coordinator's clock stands to ours.
    pub(super) alignment: Alignment,
    /// Most arrivals in flight over all threads.
    pub(super) max_in_flight: u32,
}

/// Why a holder cannot do its shards. Names no secret's value.
#[derive(Debug, Error)]
pub(super) enum PrepareError {
    /// The plan is not the one that its hash names.
    #[error("the plan does not match its hash")]
    OtherPlan,
    /// This machine cannot hold it.
    #[error(
        "its share needs {} open files, connections and the agent's own, but it may have {}: \
         raise the limit (ulimit -n {}), or spread the run over more agents",
        .0.needed, .0.limit, .0.needed
    )]
    Files(TooFewFiles),
    /// The secrets are not there.
    #[error(transparent)]
    Secrets(#[from] secrets::Fault),
    /// The bodies are not there.
    #[error(transparent)]
    Bodies(#[from] bodies::Fault),
    /// The scenario runs in Python, and this agent does not.
    #[error("the scenario runs in Python, and this agent has none")]
    NoPython,
    /// What was prepared for the scenario cannot be used.
    #[error(transparent)]
    States(#[from] prepared_users::Fault),
    /// There are prepared users, and none of them is this agent's.
    #[error("the run has {users} prepared users, and none of them belongs to this agent")]
    NoUser {
        /// How many.
        users: u32,
    },
    /// The requests cannot be compiled, or the threads cannot be started.
    #[error(transparent)]
    Fire(#[from] fire::Fault),
}

impl Prepared {
    /// Nothing of it is open any more: removes its files. The spool goes first: without one nobody
    /// takes what is in the rings for something that was never reported.
    pub(super) fn remove_files(&self) {
        if let Some(path) = &self.spool_path
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::warn!(path = %path.display(), %error, "a spool stays behind");
        }
        self.cores.remove_rings();
    }
}

impl From<TooFewFiles> for PrepareError {
    fn from(files: TooFewFiles) -> Self {
        Self::Files(files)
    }
}

/// Gets ready for `created`, of which it has `holds`; with the spool for what it will count. The
/// threads start nothing beyond the end of `lease`.
pub(super) async fn prepare(
    shell: &Shell,
    run: &RunId,
    created: &RunCreated,
    holds: &[Hold],
    lease: &Lease,
) -> Result<(Prepared, Option<Spool>), PrepareError> {
    let plan = &created.plan;
    if plan.hash() != created.plan_hash {
        return Err(PrepareError::OtherPlan);
    }
    preflight::check(shell, created, holds)?;
    let secrets = secrets::fetch(shell, run, &plan.secrets()).await?;
    let bodies = bodies::fetch(shell, plan).await?;
    let policy = fire::with_own_servers(&shell.targets).await;
    let program = Program::compile_with(plan, run, &secrets.0, &bodies, policy)?;
    fire::check_target(&program).await?;
    let workload = Arc::new(Workload::new(plan, created.seed));
    let troupe = troupe(shell, (created, &workload), holds, &bodies, &secrets)?;
    let common = Common {
        run: run.clone(),
        plan: Arc::new(plan.clone()),
        workload,
        program: Arc::new(program),
        shards: created.shards,
        me: shell.me.clone(),
        rings: shell.rings.clone(),
        troupe,
        lease: lease.clone(),
    };
    let wanted = plan.max_in_flight.unwrap_or(shell.max_in_flight);
    let max_in_flight = wanted.min(shell.max_in_flight).max(1);
    let cores = Arc::new(Cores::spawn(&common, shell.cores, max_in_flight, holds)?);
    let spool = spool(shell, run, &cores).inspect_err(|_| cores.remove_rings())?;
    if plan.connections.open_first.is_some() {
        log_preconnect(run, cores.warmed().await);
    }
    let subject = shell.subjects.clock();
    let prepared = Prepared {
        spool_path: spool.as_ref().map(|spool| spool.path().to_owned()),
        cores,
        alignment: clock::measure(&shell.bus, &subject, &shell.timeouts).await,
        max_in_flight,
    };
    Ok((prepared, spool))
}

/// The spool for what these threads count; none without a place for it.
fn spool(shell: &Shell, run: &RunId, cores: &Cores) -> Result<Option<Spool>, fire::Fault> {
    let Some(place) = &shell.rings else {
        return Ok(None);
    };
    let whose = (run, &shell.me);
    let spool = Spool::create(&place.folder, whose, cores.count(), SPOOL_BYTES_DEFAULT);
    spool.map(Some).map_err(|error| fire::Fault::Ring {
        folder: place.folder.clone(),
        error,
    })
}

/// Who performs the arrivals of a scenario whose tasks look at answers: its users whose shards are
/// held. A user belongs to a shard as an arrival does.
fn troupe(
    shell: &Shell,
    (created, workload): (&RunCreated, &Arc<Workload>),
    holds: &[Hold],
    bodies: &Bodies,
    secrets: &Secrets,
) -> Result<Option<VirtualUsersSetup>, PrepareError> {
    let plan = &created.plan;
    let Some(count) = plan.scenario_users() else {
        return Ok(None);
    };
    let body = |object: &Object| {
        let missing = || fire::Fault::NoBody(object.sha256.clone());
        bodies.get(&object.sha256).cloned().ok_or_else(missing)
    };
    let open = |prepared: &script::Prepared| {
        let key = secrets.0.get(&prepared.key_secret);
        let key = key.map(String::as_str).unwrap_or_default();
        Ok::<_, PrepareError>(Arc::new(States::open(&body(&prepared.states)?, key)?))
    };
    let (scripting, bundle, file) = match (&plan.code, &plan.script) {
        (Some(code), _) => {
            let rows = code.rows.as_ref().map(body).transpose()?;
            let rows = rows.unwrap_or_default();
            (Compiled::scripting(code), rows, code.file.clone())
        }
        (None, Some(script)) => {
            let scripting = shell.scripting.clone().ok_or(PrepareError::NoPython)?;
            (scripting, body(&script.bundle)?, script.file.clone())
        }
        (None, None) => return Ok(None),
    };
    let held: BTreeSet<u32> = holds
        .iter()
        .flat_map(|hold| &hold.shards)
        .copied()
        .collect();
    let is_held = |user: &u32| held.contains(&(user % created.shards));
    let mut users: Vec<u32> = (0..count).filter(is_held).collect();
    if users.is_empty() && plan.users.is_none() {
        // Its arrivals need somebody, however few users the plan has.
        if plan.prepared().is_some_and(|one| one.users) {
            return Err(PrepareError::NoUser { users: count });
        }
        users.push(count);
    }
    Ok(Some(VirtualUsersSetup {
        scripting,
        bundle,
        file,
        scenario: plan.scenario.clone(),
        tasks: plan.tasks.iter().map(|task| task.name.clone()).collect(),
        target: plan.target.clone(),
        parameters: parameters(plan, secrets),
        feeds: plan.feeds().to_vec(),
        workload: Arc::clone(workload),
        users,
        states: plan.prepared().map(open).transpose()?,
    }))
}

/// The parameters of a plan by name; the values of its secrets were proved to be there.
fn parameters(plan: &Plan, secrets: &Secrets) -> Secrets {
    let value = |text: &Text| match text {
        Text::Literal(text) => Some(text.clone()),
        Text::Secret { secret } => secrets.0.get(secret).cloned(),
    };
    let given = plan.parameters.iter();
    let values = given.filter_map(|(name, text)| Some((name.clone(), value(text)?)));
    Secrets(values.collect())
}

/// A connection that could not be opened ahead of time is no reason not to start: the calls that
/// need one try again, and are counted. But it must not go unsaid.
fn log_preconnect(run: &RunId, warmed: Preconnected) {
    let Preconnected { opened, failed, .. } = warmed;
    match warmed.last_failure {
        None => tracing::info!(%run, opened, "connections opened before the start"),
        Some(failure) => tracing::warn!(
            %run, opened, failed, last_failure = ?failure,
            "connections could not be opened before the start"
        ),
    }
}
