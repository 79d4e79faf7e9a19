//! Prepares a holder for the start: secrets, bodies, compiled requests, threads, users of the
//! scenario, connections that the plan opens before the start, and the offset of the clocks. Must
//! never send a request to the target, except those of the users and of the ownership check.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use loadpilot_engine::check::target_policy::TenantTargets;
use loadpilot_engine::control::agent_view::Hold;
use loadpilot_engine::control::created_run::CreatedRun;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::RunId;
use loadpilot_events::plan::script;
use loadpilot_events::plan::{Object, Plan, Text};
use loadpilot_events::refusal::Problem;
use thiserror::Error;

use crate::crash::spool::{SPOOL_BYTES_DEFAULT, Spool};
use crate::fire::{self, Bodies, Lease, Preconnected, Program, Secrets, VirtualUsersSetup};
use crate::process::nats_servers::UnknownServer;
use crate::process::shell::Shell;
use crate::runs::clock::{self, Alignment};
use crate::runs::cores::{Common, Cores};
use crate::runs::preflight::{self, TooFewFiles};
use crate::runs::{bodies, row_files, secrets};
use crate::users::compiled::Compiled;
use crate::users::prepared_users::{self, States};

/// A holder that is ready for the start.
pub(super) struct Prepared {
    /// Firing threads.
    pub(super) cores: Arc<Cores>,
    /// File of the spool.
    spool_path: Option<PathBuf>,
    /// Offset of the coordinator's clock.
    pub(super) alignment: Alignment,
    /// Maximum number of arrivals in flight over all threads.
    pub(super) max_in_flight: u32,
}

/// Why a holder cannot execute its shards. Shows no value of a secret.
#[derive(Debug, Error)]
pub(super) enum PrepareError {
    /// The plan and its hash differ.
    #[error("the plan does not match its hash")]
    OtherPlan,
    /// The process may have too few open files.
    #[error(
        "its share needs {} open files, connections and the agent's own, but it may have {}: \
         raise the limit (ulimit -n {}), or spread the run over more agents",
        .0.needed, .0.limit, .0.needed
    )]
    Files(TooFewFiles),
    /// The secrets are absent.
    #[error(transparent)]
    Secrets(#[from] secrets::Fault),
    /// The bodies are absent or invalid.
    #[error(transparent)]
    Bodies(#[from] bodies::Fault),
    /// The files of rows are absent or invalid.
    #[error(transparent)]
    RowFiles(#[from] row_files::Fault),
    /// The scenario is in Python, and this agent has no interpreter.
    #[error("the scenario runs in Python, and this agent has none")]
    NoPython,
    /// The states of prepared users are unusable.
    #[error(transparent)]
    States(#[from] prepared_users::Fault),
    /// The run has prepared users, but none for this agent.
    #[error("the run has {users} prepared users, and none of them belongs to this agent")]
    NoUser {
        /// Number of users of the run.
        users: u32,
    },
    /// The addresses of a NATS server of this agent are unknown, so none of them can be denied.
    #[error(transparent)]
    UnknownServer(#[from] UnknownServer),
    /// The list of the tenant's targets is invalid.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    TenantTargets(Vec<Problem>),
    /// A target does not show that the tenant owns it.
    #[error(transparent)]
    Unproven(#[from] Box<fire::Unproven>),
    /// The requests cannot be compiled, or the threads cannot be started.
    #[error(transparent)]
    Fire(#[from] fire::Fault),
}

impl Prepared {
    /// Removes the files: everything in them is reported. The spool goes first, since recovery
    /// ignores rings without a spool.
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

/// Prepares for the shards `holds` of a run; also returns its spool. The threads start no arrival
/// after the end of `lease`.
pub(super) async fn prepare(
    shell: &Shell,
    run: &RunId,
    created: &CreatedRun,
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
    let row_files = row_files::fetch(shell, plan).await?;
    let policy = shell.nats_servers.denied_in(&shell.targets).await?;
    let policy = match &created.targets {
        None => policy,
        Some(texts) => {
            let list = TenantTargets::parse(shell.subjects.tenant_id(), "targets", texts);
            policy.narrowed_to(list.map_err(PrepareError::TenantTargets)?)
        }
    };
    let program = Program::compile_with(plan, run, &secrets.0, &bodies, policy)?;
    let program = program.with_row_files(&row_files);
    fire::check_targets(&program).await?;
    let program = match &created.proof {
        None => program,
        Some(proof) => fire::with_proven_targets(program, proof).await?,
    };
    let workload = Arc::new(Workload::new(plan, created.seed));
    let mut users_setup = virtual_users(shell, (created, &workload), holds, &bodies, &secrets)?;
    if let Some(setup) = &mut users_setup {
        setup.row_files = row_files;
    }
    let common = Common {
        run: run.clone(),
        plan: Arc::new(plan.clone()),
        workload,
        program: Arc::new(program),
        shards: created.shards,
        me: shell.me.clone(),
        rings: shell.rings.clone(),
        users_setup,
        lease: lease.clone(),
    };
    let wanted = plan.max_in_flight.unwrap_or(shell.max_in_flight);
    let max_in_flight = wanted.min(shell.max_in_flight).max(1);
    let cores = Arc::new(Cores::spawn(&common, shell.cores, max_in_flight, holds)?);
    let spool = spool(shell, run, &cores).inspect_err(|_| cores.remove_rings())?;
    if plan.connections.open_first.is_some() {
        log_preconnect(run, cores.preconnected().await);
    }
    let subject = shell.home.clock();
    let prepared = Prepared {
        spool_path: spool.as_ref().map(|spool| spool.path().to_owned()),
        cores,
        alignment: clock::measure(&shell.bus, &subject, &shell.timeouts).await,
        max_in_flight,
    };
    Ok((prepared, spool))
}

/// Creates the spool for these threads, if rings are written.
fn spool(shell: &Shell, run: &RunId, cores: &Cores) -> Result<Option<Spool>, fire::Fault> {
    let Some(settings) = &shell.rings else {
        return Ok(None);
    };
    let owner = (run, &shell.me);
    let spool = Spool::create(&settings.folder, owner, cores.count(), SPOOL_BYTES_DEFAULT);
    spool.map(Some).map_err(|error| fire::Fault::Ring {
        folder: settings.folder.clone(),
        error,
    })
}

/// Setup of the virtual users whose shards are held, if the scenario has users. A user belongs to a
/// shard, as an arrival does.
fn virtual_users(
    shell: &Shell,
    (created, workload): (&CreatedRun, &Arc<Workload>),
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
    let is_held = |user: &u32| held.contains(&workload.shard_of((*user).into(), created.shards));
    let mut users: Vec<u32> = (0..count).filter(is_held).collect();
    if users.is_empty() && plan.users.is_none() {
        // The arrivals of these shards need a user, however few users the plan has.
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
        types: plan.types.iter().map(|one| one.name.clone()).collect(),
        tasks: plan.tasks.iter().map(|task| task.name.clone()).collect(),
        target: plan.target.clone(),
        type_targets: type_targets(plan),
        parameters: parameters(plan, secrets),
        feeds: plan.feeds().to_vec(),
        row_files: Vec::new(),
        workload: Arc::clone(workload),
        users,
        states: plan.prepared().map(open).transpose()?,
    }))
}

/// The target of each user type, if two targets are compared.
fn type_targets(plan: &Plan) -> Vec<String> {
    let targets = plan.targets().filter(|_| plan.paired);
    targets.map(str::to_owned).collect()
}

/// Parameters of a plan by name. `secrets` contains all secrets of the plan.
fn parameters(plan: &Plan, secrets: &Secrets) -> Secrets {
    let value = |text: &Text| match text {
        Text::Literal(text) => Some(text.clone()),
        Text::Secret { secret } => secrets.0.get(secret).cloned(),
    };
    let parameters = plan.parameters.iter();
    let values = parameters.filter_map(|(name, text)| Some((name.clone(), value(text)?)));
    Secrets(values.collect())
}

/// Logs connections that could not be opened before the start. The run starts nevertheless: the
/// calls that need one try again and are counted.
fn log_preconnect(run: &RunId, preconnected: Preconnected) {
    let Preconnected { opened, failed, .. } = preconnected;
    match preconnected.last_failure {
        None => tracing::info!(%run, opened, "connections opened before the start"),
        Some(failure) => tracing::warn!(
            %run, opened, failed, last_failure = ?failure,
            "connections could not be opened before the start"
        ),
    }
}
