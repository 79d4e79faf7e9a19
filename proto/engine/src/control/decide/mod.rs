//! What happens next to a run: a pure function of the log, of who was heard, and of now.
//!
//! Any number of coordinators evaluate it; whoever appends first wins and the others fold again.
//! [`decide`] yields one decision at a time, [`deadline`] says when time alone may change its
//! answer. Must never read a clock or remember anything: what it needs is in its arguments, and
//! what it used of them is written into the decision.

pub(crate) mod failover;
pub(crate) mod initial_assignment;
pub mod scale_up;
mod steer;
mod tails;
pub mod timeouts;
pub mod unanswered;

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::Capability;
use loadpilot_events::id::{AgentId, BootId, Holder, OwnerId};
use loadpilot_events::limits::SEAL_NAMES_MAX;
use loadpilot_events::log::assign::{Loss, LossReason};
use loadpilot_events::log::ctl::{
    Decision, Ending, Final, RunCreated, RunRefused, RunSealed, ShardsReassigned, StartCancelled,
    StartScheduled, StopReason, StopScheduled, Unanswered, Unnamed,
};
use loadpilot_events::log::evt::ShardsFinished;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::refusal::Problem;
use loadpilot_events::rules::Rules;
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::heartbeat::Unreached;

use crate::bugs::{Bug, bug};
use crate::check;
use crate::check::target_policy::TargetPolicy;
use crate::control::assign::{shard_count, take_over};
use crate::control::decide::timeouts::longest_arrival_us;
use crate::control::decide::unanswered::unanswered;
use crate::control::name_list::name_list;
use crate::control::run_state::{Resignation, RunState};

/// The rules by which a fleet lives; times are in µs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Not heard for this long: lost.
    pub lost_us: u64,
    /// A holder that hears nothing fences itself after this long; less than `lost_us`.
    pub fence_us: u64,
    /// A holder whose view of the decisions is older than this fences itself.
    pub behind_us: u64,
    /// Room between a decision and the tick at which it takes effect.
    pub takeover_us: u64,
    /// An owner that was not heard for this long is gone.
    pub owner_us: u64,
    /// How long holders may take to get ready, beside fetching bodies: see
    /// [`crate::control::decide::timeouts::OBJECT_BYTE_US`].
    pub ready_us: u64,
    /// How long after the last possible call holders may take to say their last words.
    pub finish_us: u64,
    /// How long a run waits for a new holder when it has none.
    pub no_holder_us: u64,
    /// Whether runs that need Python on agents are refused: a fleet that several share must not run
    /// everybody's code.
    pub compiled_only: bool,
    /// Which targets are refused before any agent is asked, as far as a plan names addresses.
    pub targets: TargetPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            lost_us: 10_000_000,
            fence_us: 7_000_000,
            behind_us: 2_000_000,
            takeover_us: 1_000_000,
            owner_us: 10_000_000,
            ready_us: 15_000_000,
            finish_us: 15_000_000,
            no_holder_us: 30_000_000,
            compiled_only: false,
            // Which private networks agents may enter is known to them alone.
            targets: TargetPolicy::local(),
        }
    }
}

/// What a coordinator has heard outside the log.
#[derive(Debug, Clone, Default)]
pub struct Observations {
    /// Since when it has listened: silence before that proves nothing.
    pub since: Timestamp,
    /// When each process was last heard.
    pub agents: BTreeMap<Holder, LastSeen>,
    /// When each owner was last heard.
    pub owners: BTreeMap<OwnerId, Timestamp>,
    /// The last stream sequence of LP_DATA; read after the last words that a seal counts.
    pub data_head: u64,
    /// Whether the run was left unfinished by an earlier local stack.
    pub left_over: bool,
    /// Whether it waits, then, for what its killed agents left in files of this stack.
    pub waits_for_tails: bool,
    /// The longest message that the server takes, in bytes; `None` while nobody knows.
    pub message_bytes_max: Option<u64>,
    /// Processes all of whose rate is promised already: they get no shards while a run goes on.
    pub at_capacity: BTreeSet<Holder>,
    /// Processes that said of the run in question that no call of theirs reached a server.
    pub unreached: BTreeMap<Holder, Unreached>,
}

/// The last sign of life of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSeen {
    /// When.
    pub at: Timestamp,
    /// Whether it knows that the earlier process of its agent is dead.
    pub predecessor_dead: bool,
    /// What it can do that others cannot.
    pub has: BTreeSet<Capability>,
    /// Killed processes of its agent that it still reports for.
    pub recovering: BTreeSet<BootId>,
}

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
        return state
            .requested
            .as_deref()
            .map(|run| create(run, observed, policy, now));
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

/// The earliest instant after `now` at which time alone may bring a decision.
///
/// It may be early, never late: whoever wakes then and finds nothing to decide asks again.
#[must_use]
pub fn deadline(
    state: &RunState,
    observed: &Observations,
    policy: &Policy,
    now: Timestamp,
) -> Option<Timestamp> {
    let created = state.created.as_deref().filter(|_| !state.over)?;
    let run = Run {
        state,
        created,
        observed,
        policy,
        now,
        clock: now,
    };
    // Somebody else's process counts too: while it is heard, an older one of its agent is replaced,
    // not silent, and that is decided otherwise.
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
            instants.extend([run.takeover_at(), run.ready_deadline()]);
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

fn create(
    run: &RunRequested,
    observed: &Observations,
    policy: &Policy,
    now: Timestamp,
) -> Decision {
    let mut problems = check::request(run);
    problems.extend(policy.targets.judge_plan(&run.plan).err());
    if let Some(script) = run.plan.script.as_ref().filter(|_| policy.compiled_only) {
        let rule = "must compile, since this fleet takes compiled plans only; \
                    `loadpilot explain` says what keeps the scenario in Python";
        problems.push(Problem::new("scenario", rule, &script.file));
    }
    if observed.left_over {
        let rule = "must be asked for while its local stack is running";
        problems.push(Problem::new("run", rule, "left over from an earlier stack"));
    }
    if !problems.is_empty() {
        return Decision::RunRefused(RunRefused { problems });
    }
    Decision::RunCreated(Box::new(RunCreated {
        plan: run.plan.clone(),
        plan_hash: run.plan.hash(),
        seed: run.seed,
        agents: run.agents.clone(),
        owner: run.owner.clone(),
        lead_us: run.lead_us,
        shards: shard_count(run.agents.want, run.plan.users),
        gather_by: now.plus_us(run.agents.wait_us),
        needs: run.needs.clone(),
        rules: Rules::CURRENT,
    }))
}

/// The arguments of one decision, together.
pub(crate) struct Run<'a> {
    pub(crate) state: &'a RunState,
    pub(crate) created: &'a RunCreated,
    pub(crate) observed: &'a Observations,
    pub(crate) policy: &'a Policy,
    /// Now, but never before the decisions that were made already.
    pub(crate) now: Timestamp,
    /// Now by the clock that stamped what was heard: only it can tell how long somebody is silent.
    pub(crate) clock: Timestamp,
}

impl Run<'_> {
    fn reason_to_stop(&self) -> Option<StopReason> {
        if let Some(by) = &self.state.stop_requested {
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

    /// Stops a run whose every call failed to connect, unless it was asked to go on.
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
        let nobody = BTreeSet::new();
        let none = BTreeMap::new();
        let holdings = take_over(self.created.shards, &state.holdings, &gone, &none, &nobody);
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
        if !abandoned && let Some(decision) = self.scale_up() {
            return Some(decision);
        }
        let nobody_for_too_long = self
            .state
            .no_holder_since
            .is_some_and(|since| self.now >= since.plus_us(self.policy.no_holder_us));
        if nobody_for_too_long {
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

    pub(crate) fn profile_us(&self) -> u64 {
        self.created.plan.profile.duration_us()
    }

    /// Until when arrivals are started.
    fn offered_until(&self) -> Timestamp {
        let planned = self.start_at().plus_us(self.profile_us());
        self.state
            .stop
            .as_ref()
            .map_or(planned, |stop| stop.stop_at.min(planned))
    }

    /// Until when last words are waited for.
    fn finish_by(&self) -> Timestamp {
        let last_call = self
            .offered_until()
            .plus_us(longest_arrival_us(&self.created.plan));
        last_call.plus_us(self.policy.finish_us)
    }

    fn finish(&self) -> Option<Decision> {
        let may_speak = |holder: &Holder| {
            !self.state.lost.contains_key(holder)
                && self.state.resigned.get(holder) != Some(&Resignation::Failed)
                && !self.is_silent(holder)
                && !self.was_replaced(holder)
        };
        let waited_for = |holder: &&Holder| {
            !self.state.finished.contains_key(holder)
                && !self.state.tails.contains_key(holder)
                && (may_speak(holder) || self.is_recovered(holder))
        };
        let pending = self
            .state
            .ever_held
            .iter()
            .any(|holder| waited_for(&holder));
        let over = !pending || bug(Bug::SealedBeforeLastWords);
        (over || self.now >= self.finish_by()).then(|| self.seal(self.ending()))
    }

    pub(crate) fn was_replaced(&self, holder: &Holder) -> bool {
        self.later_processes(holder).next().is_some()
    }

    /// Whether a later process of its agent is about to report what it left.
    pub(crate) fn is_recovered(&self, holder: &Holder) -> bool {
        let older = self.observed.agents.range(..holder).rev();
        let older = older.take_while(|(other, _)| other.agent == holder.agent);
        let mut others = self.later_processes(holder).chain(older);
        let reports = others.any(|(other, seen)| {
            seen.recovering.contains(&holder.boot_id) && !self.is_silent(other)
        });
        reports && !bug(Bug::TailNotAwaited)
    }

    fn ending(&self) -> Ending {
        match self.state.stop_reason() {
            None => Ending::Completed,
            Some(StopReason::Requested { .. }) => Ending::Stopped,
            Some(StopReason::OwnerGone | StopReason::NobodyLeft) => Ending::Abandoned,
            Some(StopReason::LogFull) => Ending::LogFull,
        }
    }

    fn seal(&self, ending: Ending) -> Decision {
        let state = self.state;
        let finals = state
            .finished
            .iter()
            .filter(|(holder, _)| state.ever_held.contains(holder));
        let missing = state
            .ever_held
            .iter()
            .filter(|holder| !state.finished.contains_key(holder));
        let mut seal = RunSealed {
            ending,
            ctl_seq: state.ctl_seq,
            evt_seq: state.evt_seq,
            data_seq: self.observed.data_head,
            finals: Vec::new(),
            missing: Vec::new(),
            unnamed: None,
        };
        if state.ever_held.len() > SEAL_NAMES_MAX {
            seal.unnamed = Some(Unnamed {
                finished: number(finals.count()),
                missing: number(missing.count()),
            });
            return Decision::RunSealed(seal);
        }
        let last_words = |(holder, finished): (&Holder, &ShardsFinished)| Final {
            holder: holder.clone(),
            final_seq: finished.final_seq,
            totals: finished.totals.clone(),
        };
        seal.finals = finals.map(last_words).collect();
        seal.missing = missing.cloned().collect();
        Decision::RunSealed(seal)
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
