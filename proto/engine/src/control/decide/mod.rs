//! The next decision about a run: a pure function of the log, the heartbeats and the time.
//!
//! Any number of coordinators evaluate it. The first to append wins, and the others fold again.
//! [`decide`] returns one decision at a time; [`deadline`] says when time alone may change its
//! answer. Must never read a clock or keep state: all input is in the arguments, and a decision
//! states the input that it used.
//!
//! - `initial_assignment`: the first assignment, or a refusal
//! - `failover`: lost holders and their successors
//! - [`scale_up`]: planned moves, to newcomers and from agents that leave
//! - `steer`: answers to requests to steer
//! - [`mod@unanswered`]: the stop of a run none of whose calls reached a server
//! - `tails`: the wait for what killed agents left behind
//! - `seal`: the end of a run
//! - [`timeouts`]: how long holders may take
//! - `inputs`: the inputs of a decision

pub(crate) mod failover;
pub(crate) mod initial_assignment;
mod inputs;
pub mod scale_up;
mod seal;
mod steer;
mod tails;
pub mod timeouts;
pub mod unanswered;

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::Capability;
use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::log::admission::RunQueued;
use loadpilot_events::log::assign::{Loss, LossReason};
use loadpilot_events::log::ctl::{
    Decision, Ending, OwnershipProof, RunCreated, RunRefused, ShardsReassigned, StartCancelled,
    StartScheduled, StopReason, StopScheduled, Unanswered,
};
use loadpilot_events::log::req::{RunRequested, StopRequested};
use loadpilot_events::refusal::Problem;
use loadpilot_events::rules::Rules;
use loadpilot_events::units::{SECOND_US, Timestamp};

use crate::bugs::{Bug, bug};
use crate::check;
use crate::check::target_policy::TargetPolicy;
use crate::control::assign::{shard_count, take_over};
use crate::control::created_run::CreatedRun;
use crate::control::decide::unanswered::unanswered;
use crate::control::name_list::name_list;
use crate::control::run_state::RunState;
use crate::control::tenants::TenantRules;

pub use inputs::{LastSeen, NotAdmitted, Observations, Policy};

/// Minimum time between two decisions that change only the reason why a run waits, and not its
/// place. Coordinators with different tenants files or agents disagree about the reason.
const REASON_US: u64 = 30 * SECOND_US;

/// The next decision about a run, or `None` while there is nothing to decide.
#[must_use]
pub fn decide(
    state: &RunState,
    observed: &Observations,
    policy: &Policy,
    now: Timestamp,
) -> Option<Decision> {
    let clock = now;
    let latest = if bug(Bug::ClockRunsBack) {
        now
    } else {
        state.latest_at
    };
    let now = now.max(latest);
    if state.over && !bug(Bug::DecidedAfterTheEnd) {
        return None;
    }
    let Some(created) = state.created.as_deref() else {
        let run = state.requested.as_deref()?;
        return create(run, state, observed, policy, now);
    };
    let run = Run {
        state,
        created,
        observed,
        policy,
        now,
        clock,
    };
    if observed.left_over {
        let waits = observed.waits_for_tails && run.awaits_tails();
        return (!waits).then(|| run.seal(Ending::Aborted));
    }
    if state.cancelled.is_some() {
        let stopped = state.stop_requested.is_some();
        return Some(run.seal(if stopped {
            Ending::Stopped
        } else {
            Ending::Failed
        }));
    }
    if state.stop.is_none()
        && let Some(reason) = run.reason_to_stop()
    {
        return Some(run.stop(reason));
    }
    if state.start.is_some() {
        return run.after_start();
    }
    if state.generation == 0 {
        run.assign_first()
    } else {
        run.prepare()
    }
}

/// The earliest instant after `now` at which time alone may lead to a decision.
///
/// It may be early, never late: a caller that then gets no decision computes the next deadline.
#[must_use]
pub fn deadline(
    state: &RunState,
    observed: &Observations,
    policy: &Policy,
    now: Timestamp,
) -> Option<Timestamp> {
    if state.over {
        return None;
    }
    let Some(created) = state.created.as_deref() else {
        let gone_at = waiting_owner_gone_at(state, observed, policy);
        let queued = state.queued.iter().zip(&observed.not_admitted);
        let reason_at = queued.map(|_| state.queued_at.plus_us(REASON_US));
        let instants = gone_at.into_iter().chain(reason_at);
        return instants.filter(|&instant| instant > now).min();
    };
    let run = Run {
        state,
        created,
        observed,
        policy,
        now,
        clock: now,
    };
    // Later processes of an agent that held shards count too: while one is alive, an older one is
    // replaced rather than silent, which is another decision.
    let seen = |holder: &Holder| run.last_seen_at(holder).plus_us(policy.lost_us);
    let held: BTreeSet<&AgentId> = state.ever_held.iter().map(|old| &old.agent).collect();
    let is_heir = |new: &&Holder| held.contains(&new.agent);
    let heirs = observed.agents.keys().filter(is_heir);
    let mut instants: Vec<Timestamp> = state.ever_held.iter().chain(heirs).map(seen).collect();
    if observed.left_over {
        instants.extend(run.tails_by());
    }
    if let Some(owner) = state.owner() {
        instants.push(run.owner_seen_at(owner).plus_us(policy.owner_us));
    }
    match &state.start {
        None if state.generation == 0 => instants.push(created.gather_by),
        None => instants.extend(state.ready_by),
        Some(_) => {
            let holders = state.holdings.iter().map(|holding| &holding.holder);
            let unready = holders.filter(|holder| !state.ready.contains_key(*holder));
            instants.extend(unready.map(|holder| run.ready_deadline(holder)));
            instants.push(run.takeover_at());
            instants.push(run.offered_until());
            instants.push(run.finish_by());
        }
    }
    instants.extend(
        state
            .no_holder_since
            .map(|since| since.plus_us(policy.no_holder_us)),
    );
    instants.into_iter().filter(|&instant| instant > now).min()
}

/// Creates the run, refuses it, or says its place while it waits for its admission.
fn create(
    run: &RunRequested,
    state: &RunState,
    observed: &Observations,
    policy: &Policy,
    now: Timestamp,
) -> Option<Decision> {
    let mut problems = check::request(run);
    let rules = tenant_rules(observed, policy);
    let rules = rules.map_err(|problem| problems.push(problem));
    let rules = rules.ok().flatten();
    if let Some((rules, tenant)) = rules.zip(observed.tenant.as_ref()) {
        problems.extend(rules.quotas.exceeded(run, tenant));
        if let Some(waiting) = &observed.not_admitted {
            let place = waiting.must_wait.then_some(waiting.queued.place);
            problems.extend(rules.admission.exceeded(tenant, place, waiting.today));
        }
    }
    let proof = proof(run, rules, observed, policy).unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    let list = rules.and_then(|rules| rules.targets.clone());
    let targets = list.as_ref().map(|list| list.texts().to_vec());
    let open = policy.targets.clone();
    let open = list.into_iter().fold(open, TargetPolicy::narrowed_to);
    problems.extend(open.judge_plan(&run.plan).err());
    if let Some(script) = run.plan.script.as_ref().filter(|_| policy.compiled_only) {
        let rule = "must compile, since this fleet takes compiled plans only; \
                    `loadpilot explain` says what keeps the scenario in Python";
        problems.push(Problem::new("scenario", rule, &script.file));
    }
    if observed.left_over {
        let rule = "must be requested while its local stack is running";
        problems.push(Problem::new("run", rule, "left over from an earlier stack"));
    }
    if waiting_owner_gone_at(state, observed, policy).is_some_and(|gone_at| now >= gone_at) {
        let rule = "must send heartbeats while its run waits for its admission";
        let silent = format!("none for {} s", policy.owner_us / SECOND_US);
        problems.push(Problem::new("owner", rule, silent));
    }
    if !problems.is_empty() {
        return Some(Decision::RunRefused(RunRefused { problems }));
    }
    // A run that is stopped while it waits is created and then cancelled: it uses no agent.
    if let (Some(waiting), None) = (&observed.not_admitted, &state.stop_requested) {
        let is_news = waiting.must_wait && is_news(&waiting.queued, state, now);
        return is_news.then(|| Decision::RunQueued(waiting.queued.clone()));
    }
    let shared = policy.tenants.iter().map(|_| Capability::tenants());
    let checks = proof.iter().map(|_| Capability::ownership());
    Some(Decision::RunCreated(Box::new(RunCreated {
        plan: None,
        request: Some(state.request_seq),
        plan_hash: run.plan.hash(),
        seed: run.seed,
        agents: run.agents.clone(),
        owner: run.owner.clone(),
        lead_us: run.lead_us,
        shards: shard_count(run.agents.want, run.plan.users),
        gather_by: now.plus_us(run.agents.wait_us),
        needs: run
            .needs
            .iter()
            .cloned()
            .chain(shared)
            .chain(checks)
            .collect(),
        targets,
        proof,
        rules: Rules::CURRENT,
    })))
}

/// The proof of ownership that a run needs, by the rules of its tenant.
fn proof(
    run: &RunRequested,
    rules: Option<&TenantRules>,
    observed: &Observations,
    policy: &Policy,
) -> Result<Option<OwnershipProof>, Problem> {
    let (Some(rules), Some(tenant)) = (rules, &observed.tenant) else {
        return Ok(None);
    };
    let key = policy.tenants.as_ref();
    let key = key.and_then(|tenants| tenants.ownership_key.as_ref());
    rules.unproven.required(&run.plan, tenant, key)
}

/// Whether the place of a waiting run has changed, or its reason has changed while the known one is
/// at least [`REASON_US`] old.
fn is_news(queued: &RunQueued, state: &RunState, now: Timestamp) -> bool {
    let Some(known) = &state.queued else {
        return true;
    };
    let is_old = now >= state.queued_at.plus_us(REASON_US);
    known.place != queued.place || (is_old && !known.is_same_place(queued))
}

/// When the owner of a run that waits for its admission is gone; `None` while it does not wait, or
/// has no owner.
fn waiting_owner_gone_at(
    state: &RunState,
    observed: &Observations,
    policy: &Policy,
) -> Option<Timestamp> {
    state.queued.as_ref().filter(|_| state.created.is_none())?;
    let owner = state.requested.as_deref()?.owner.as_ref()?;
    let seen = observed.owners.get(owner).copied();
    let seen = seen.unwrap_or(state.latest_at).max(observed.since);
    Some(seen.plus_us(policy.owner_us))
}

/// The rules of the run's tenant; `None` where the fleet serves one.
fn tenant_rules<'p>(
    observed: &Observations,
    policy: &'p Policy,
) -> Result<Option<&'p TenantRules>, Problem> {
    let (Some(tenants), Some(tenant)) = (&policy.tenants, &observed.tenant) else {
        return Ok(None);
    };
    tenants.rules_of(tenant).map(Some)
}

/// The arguments of one decision, together.
pub(crate) struct Run<'a> {
    pub(crate) state: &'a RunState,
    pub(crate) created: &'a CreatedRun,
    pub(crate) observed: &'a Observations,
    pub(crate) policy: &'a Policy,
    /// The time, but never before that of an earlier decision.
    pub(crate) now: Timestamp,
    /// The time by the clock that stamped the heartbeats: only this clock says how long a process
    /// has been silent.
    pub(crate) clock: Timestamp,
}

impl Run<'_> {
    fn reason_to_stop(&self) -> Option<StopReason> {
        if let Some(StopRequested { by, .. }) = &self.state.stop_requested {
            return Some(StopReason::Requested { by: by.clone() });
        }
        if self.state.log_full {
            return Some(StopReason::LogFull);
        }
        let owner = self.state.owner()?;
        let gone = self.clock >= self.owner_seen_at(owner).plus_us(self.policy.owner_us);
        gone.then_some(StopReason::OwnerGone)
    }

    fn stop(&self, reason: StopReason) -> Decision {
        if self.state.start.is_some() {
            return self.stop_now(reason, None);
        }
        let reason = format!("stopped before it started: {}", reason.words());
        Decision::StartCancelled(StartCancelled { reason })
    }

    fn stop_now(&self, reason: StopReason, unanswered: Option<Unanswered>) -> Decision {
        Decision::StopScheduled(StopScheduled {
            stop_at: self.now,
            reason,
            unanswered,
        })
    }

    /// Stops a run whose every call failed to connect, unless its request forbids that.
    fn stop_unanswered(&self) -> Option<Decision> {
        let goes_on = self.state.requested.as_ref();
        let goes_on = goes_on.is_some_and(|requested| requested.no_early_abort);
        if goes_on || self.created.rules < Rules::V2 {
            return None;
        }
        let found = unanswered(&self.state.ever_held, &self.observed.unreached)?;
        let by = format!("a coordinator: {}", found.words(&self.created.plan.target));
        Some(self.stop_now(StopReason::Requested { by }, Some(found)))
    }

    fn prepare(&self) -> Option<Decision> {
        let state = self.state;
        let is_ready = |holder: &Holder| {
            state.ready.contains_key(holder) && !state.resigned.contains_key(holder)
        };
        if !state.holdings.is_empty() && state.holdings.iter().all(|h| is_ready(&h.holder)) {
            let start_at = self.now.plus_us(self.created.lead_us);
            return Some(Decision::StartScheduled(StartScheduled { start_at }));
        }
        let late = state.ready_by.is_some_and(|by| self.now >= by);
        let mut losses = self.losses();
        if late {
            let named: BTreeSet<Holder> = losses.iter().map(|loss| loss.holder.clone()).collect();
            let holders = state.holdings.iter().map(|holding| &holding.holder);
            let laggards = holders.filter(|holder| !is_ready(holder) && !named.contains(holder));
            losses.extend(laggards.cloned().map(|holder| Loss {
                holder,
                reason: LossReason::NotReady,
            }));
        }
        if losses.is_empty() && !state.holdings.is_empty() {
            return None;
        }
        let gone = losses.iter().map(|loss| loss.holder.clone()).collect();
        let no_newcomers = BTreeSet::new();
        let none = BTreeMap::new();
        let holdings = take_over(
            self.created.shards,
            &state.holdings,
            &gone,
            &none,
            &no_newcomers,
            &BTreeSet::new(),
        );
        if holdings.len() < self.created.agents.min.max(1) as usize {
            let gone = losses.iter();
            let gone = gone.map(|loss| format!("{} {}", loss.holder.agent, loss.reason.words()));
            let reason = format!("too few agents got ready in time ({})", name_list(gone));
            return Some(Decision::StartCancelled(StartCancelled { reason }));
        }
        let generation = state.generation + 1;
        let next = ShardsReassigned {
            generation,
            holdings,
            takeover_tick: 0,
            losses,
        };
        Some(Decision::ShardsReassigned(next))
    }

    fn after_start(&self) -> Option<Decision> {
        let lost = 2 * self.state.lost.len();
        if bug(Bug::LostSubtractedTwice) && lost > 0 && lost >= self.state.ever_held.len() {
            return Some(self.seal(Ending::Completed));
        }
        let offering = self.now < self.offered_until();
        if !offering || self.state.stop.is_some() {
            return self.finish();
        }
        let losses = self.losses();
        let abandoned = self.state.holdings.is_empty() || !losses.is_empty();
        if abandoned && let Some(decision) = self.fail_over(losses) {
            return Some(decision);
        }
        if !abandoned && let Some(decision) = self.planned_move() {
            return Some(decision);
        }
        let unheld_for_too_long = self
            .state
            .no_holder_since
            .is_some_and(|since| self.now >= since.plus_us(self.policy.no_holder_us));
        if unheld_for_too_long {
            return Some(self.stop_now(StopReason::NobodyLeft, None));
        }
        self.stop_unanswered().or_else(|| self.steer())
    }

    pub(crate) fn start_at(&self) -> Timestamp {
        self.state
            .start
            .as_ref()
            .map_or(self.now, |start| start.start_at)
    }

    /// Length of the run: of its profile, unless a feed ends it before.
    pub(crate) fn length_us(&self) -> u64 {
        let whole_us = || self.created.plan.profile.duration_us();
        let by_rows = self.state.ended_by_rows.as_deref();
        by_rows.map_or_else(whole_us, |workload| {
            let workload = workload.clone();
            workload.steered(&self.state.steering.rates).duration_us()
        })
    }

    /// When the offered load ends.
    fn offered_until(&self) -> Timestamp {
        let planned = self.start_at().plus_us(self.length_us());
        self.state
            .stop
            .as_ref()
            .map_or(planned, |stop| stop.stop_at.min(planned))
    }
}
