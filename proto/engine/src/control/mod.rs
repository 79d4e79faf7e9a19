//! The control side of a run: its requests, decisions and facts, folded, and what to decide next.
//!
//! The fold takes records in any order and more than once, sorts them by stream sequence, and stops
//! at what the seal names. It must never fail: an unreadable record is quarantined. Decisions use
//! only the log, the heartbeats and the time that is passed in.
//!
//! The fold:
//! - [`run_state`]: the state of one run according to its log
//! - [`created_run`]: a run as it was created, with the plan of its request
//! - [`steering`]: changes of the rate and pauses
//! - [`teardown`]: setup and teardown of the submitter
//! - [`annotations`]: notes about a run, and its mark as a baseline
//!
//! Decisions:
//! - [`tenants`]: the tenants of a shared fleet
//! - [`quotas`]: limits of one run of a tenant
//! - [`ownership`]: proof that a tenant may load its targets
//! - [`admission`]: which of the requested runs a shared fleet serves at the same time
//! - [`assign`]: shards dealt to holders
//! - [`decide`]: the next decision
//! - [`hold`]: the next rate of a run that holds gates
//! - [`overcommit`]: warnings about agents beyond their offers
//! - `name_list`: a list of holders in a sentence
//!
//! For agents:
//! - [`per_agent_view`]: the part of a decision that one agent needs
//! - [`agent_view`]: the fold of these parts in the agent

pub mod annotations;
pub mod created_run;
pub mod run_state;
pub mod steering;
pub mod teardown;

pub mod admission;
pub mod assign;
pub mod decide;
pub mod hold;
pub(crate) mod name_list;
pub mod overcommit;
pub mod ownership;
pub mod quotas;
pub mod tenants;

pub mod agent_view;
pub mod per_agent_view;

use std::collections::BTreeMap;

use loadpilot_events::answers::annotations::Annotations;
use loadpilot_events::answers::report::Quarantined;
use loadpilot_events::id::{AgentId, Holder, RunId};
use loadpilot_events::log::assign::{Generation, Holding};
use loadpilot_events::log::ctl::{Decision, RunSealed};
use loadpilot_events::log::delta::Totals;
use loadpilot_events::log::envelope::{EVENT_VERSION_NEWEST, Envelope};
use loadpilot_events::log::evt::Fact;
use loadpilot_events::log::req::Request;
use loadpilot_events::refusal::Problem;
use loadpilot_events::rules::Rules;
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::subject::Kind;
use serde::de::DeserializeOwned;

use crate::control::annotations::annotate;
use crate::control::run_state::{Record, RunState};
use crate::control::teardown::TeardownState;

/// A record of LP_CTL, parsed.
#[derive(Debug, Clone)]
pub enum Parsed {
    /// A request of a user or an owner.
    Request(Envelope<Request>),
    /// A decision of a coordinator.
    Decision(Envelope<Decision>),
    /// A fact that an agent published.
    Fact(AgentId, Envelope<Fact>),
}

impl Parsed {
    /// Parses a record by the kind of its subject.
    ///
    /// # Errors
    /// Why it is unreadable, in words.
    pub fn from_payload(kind: &Kind, payload: &[u8]) -> Result<Self, String> {
        match kind {
            Kind::Req => envelope(payload).map(Self::Request),
            Kind::Ctl => envelope(payload).map(Self::Decision),
            Kind::Evt(agent) => envelope(payload).map(|fact| Self::Fact(agent.clone(), fact)),
            Kind::Delta(_) => Err("a delta in the control stream".to_owned()),
        }
    }

    /// The record that the state of a run folds, with its writer's time.
    #[must_use]
    pub fn record(&self) -> (Timestamp, Record<'_>) {
        match self {
            Self::Request(envelope) => (envelope.at, Record::Request(&envelope.event)),
            Self::Decision(envelope) => (envelope.at, Record::Decision(&envelope.event)),
            Self::Fact(agent, envelope) => (envelope.at, Record::Fact(agent, &envelope.event)),
        }
    }
}

#[derive(serde::Deserialize)]
struct Version {
    v: u16,
}

#[derive(serde::Deserialize)]
struct Typed {
    v: u16,
    event: Type,
}

#[derive(serde::Deserialize)]
struct Type {
    #[serde(rename = "type")]
    name: String,
}

/// Whether a later version of the product took a decision in an unknown form: a coordinator that
/// went on without it would contradict it. A decision of an unknown kind may be skipped: later
/// versions must make sure of that.
#[must_use]
pub fn is_newer(payload: &[u8]) -> bool {
    let typed = serde_json::from_slice::<Typed>(payload);
    typed.is_ok_and(|typed| {
        typed.v > EVENT_VERSION_NEWEST && Decision::TYPES.contains(&typed.event.name.as_str())
    })
}

/// Parses an envelope of any known version.
///
/// # Errors
/// Why it is unreadable, in words.
pub fn envelope<E: DeserializeOwned>(payload: &[u8]) -> Result<Envelope<E>, String> {
    let whole = match serde_json::from_slice::<Envelope<E>>(payload) {
        Ok(envelope) if envelope.v <= EVENT_VERSION_NEWEST => return Ok(envelope),
        whole => whole,
    };
    // Of an unreadable record of a newer version, the version says more than the error.
    let version: Version = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
    if version.v > EVENT_VERSION_NEWEST {
        return Err(format!(
            "event version {} is newer than {EVENT_VERSION_NEWEST}",
            version.v
        ));
    }
    whole.map_err(|error| error.to_string())
}

/// The records of one run, as read.
#[derive(Debug, Clone)]
pub struct ControlLog {
    run: RunId,
    records: BTreeMap<u64, Parsed>,
    unreadable: BTreeMap<u64, (Kind, Quarantined)>,
}

/// One assignment of shards.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// Number of the assignment.
    pub generation: Generation,
    /// First due tick of the assignment.
    pub from_tick: u32,
    /// The whole map.
    pub holdings: Vec<Holding>,
    /// Position of each holder in the map: looked up for every row of every delta.
    places: BTreeMap<Holder, usize>,
}

impl Assignment {
    /// An assignment in force from a due tick on.
    #[must_use]
    pub fn new(generation: Generation, from_tick: u32, holdings: Vec<Holding>) -> Self {
        let places = holdings.iter().enumerate().rev();
        let places = places.map(|(position, holding)| (holding.holder.clone(), position));
        Self {
            generation,
            from_tick,
            places: places.collect(),
            holdings,
        }
    }

    /// The holding of `holder`.
    #[must_use]
    pub fn of(&self, holder: &Holder) -> Option<&Holding> {
        let &position = self.places.get(holder)?;
        self.holdings.get(position)
    }
}

/// The folded control side of a run.
#[derive(Debug, Clone)]
pub struct Control {
    /// The run.
    pub run: RunId,
    /// The state after the last record that counts.
    pub state: RunState,
    /// When the run was created.
    pub created_at: Timestamp,
    /// All assignments, oldest first.
    pub assignments: Vec<Assignment>,
    /// The seal, if the run is sealed.
    pub sealed: Option<RunSealed>,
    /// Why the run was refused.
    pub refused: Vec<Problem>,
    /// Accepted records by stream sequence, in order; the timeline shows them.
    pub records: Vec<(u64, Parsed)>,
    /// Records that were set aside.
    pub quarantined: Vec<Quarantined>,
    /// State of the teardown, folded from all records: unlike the rest it does not end with the
    /// seal.
    pub teardown: TeardownState,
    /// Notes about the run, folded from all records, too.
    pub annotations: Annotations,
    /// The instant of the run, in µs after its start, up to which records count; `None` for all.
    pub as_of_us: Option<u64>,
}

impl ControlLog {
    /// The empty log of a run.
    #[must_use]
    pub fn new(run: RunId) -> Self {
        Self {
            run,
            records: BTreeMap::new(),
            unreadable: BTreeMap::new(),
        }
    }

    /// Adds one record of LP_CTL.
    pub fn add(&mut self, subject: &str, kind: &Kind, seq: u64, payload: &[u8]) {
        match Parsed::from_payload(kind, payload) {
            Ok(parsed) => {
                self.records.insert(seq, parsed);
            }
            Err(reason) => {
                let subject = subject.to_owned();
                let set_aside = Quarantined {
                    subject,
                    seq,
                    reason,
                };
                self.unreadable.insert(seq, (kind.clone(), set_aside));
            }
        }
    }

    /// The log as it was when it ended at `seq`.
    #[must_use]
    pub(crate) fn up_to(&self, seq: u64) -> Self {
        let records = self.records.range(..=seq);
        let unreadable = self.unreadable.range(..=seq);
        Self {
            run: self.run.clone(),
            records: records.map(|(&at, one)| (at, one.clone())).collect(),
            unreadable: unreadable.map(|(&at, one)| (at, one.clone())).collect(),
        }
    }

    /// What does not end with the seal: the teardown, and notes about the run.
    fn after_the_seal(&self) -> (TeardownState, Annotations) {
        let (mut teardown, mut annotations) = Default::default();
        for parsed in self.records.values() {
            if let Parsed::Request(envelope) = parsed {
                TeardownState::evolve(&mut teardown, &envelope.event);
                annotate(&mut annotations, envelope.at, &envelope.event);
            }
        }
        (teardown, annotations)
    }

    /// The log as it was at an instant, by the times of the writers of its records. An unreadable
    /// record has no time and belongs to the readable record before it.
    #[must_use]
    pub(crate) fn as_of(&self, instant: Timestamp) -> Self {
        // The request with the plan belongs to the decision that names it, even where the clock of
        // its writer was ahead.
        let named = self.records.values().find_map(|one| match one {
            Parsed::Decision(Envelope {
                at,
                event: Decision::RunCreated(created),
                ..
            }) if *at <= instant => created.request,
            _ => None,
        });
        let records = self.records.iter();
        let records =
            records.filter(|(seq, one)| one.record().0 <= instant || named == Some(**seq));
        let records: BTreeMap<u64, Parsed> = records.map(|(&at, one)| (at, one.clone())).collect();
        let unreadable = self.unreadable.iter().filter(|(seq, _)| {
            let before = self.records.range(..*seq).next_back();
            before.is_none_or(|(at, _)| records.contains_key(at))
        });
        Self {
            run: self.run.clone(),
            unreadable: unreadable.map(|(&at, one)| (at, one.clone())).collect(),
            records,
        }
    }

    /// Number of records, readable or not.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.records.len() + self.unreadable.len()
    }

    /// Folds the records so far.
    #[must_use]
    pub fn close(&self) -> Control {
        let seal = self.records.iter().find_map(|(&seq, parsed)| match parsed {
            Parsed::Decision(Envelope {
                event: Decision::RunSealed(sealed),
                ..
            }) => Some((seq, sealed)),
            _ => None,
        });
        let counts = |seq: u64, is_fact: bool| match seal {
            None => true,
            Some((_, sealed)) if is_fact => seq <= sealed.evt_seq,
            Some((seal_seq, _)) => seq <= seal_seq,
        };
        let unreadable = self.unreadable.values();
        let quarantined = unreadable
            .filter(|(kind, poison)| counts(poison.seq, matches!(kind, Kind::Evt(_))))
            .map(|(_, poison)| poison.clone());
        let mut control = Control {
            run: self.run.clone(),
            state: RunState::default(),
            created_at: Timestamp::default(),
            assignments: Vec::new(),
            sealed: seal.map(|(_, sealed)| sealed.clone()),
            refused: Vec::new(),
            records: Vec::new(),
            quarantined: quarantined.collect(),
            teardown: TeardownState::default(),
            annotations: Annotations::default(),
            as_of_us: None,
        };
        for (&seq, parsed) in &self.records {
            if counts(seq, matches!(parsed, Parsed::Fact(..))) {
                control.evolve(seq, parsed);
            }
        }
        (control.teardown, control.annotations) = self.after_the_seal();
        control
    }

    /// Brings `control`, an earlier fold of this log, up to date. When the new records are at the
    /// end of an open log, the cost is theirs alone; a seal or an earlier record costs a whole
    /// [`ControlLog::close`], with the same result.
    pub fn catch_up(&self, control: &mut Control) {
        let known = control.records.last().map_or(0, |&(seq, _)| seq);
        for (&seq, parsed) in self.records.range(known + 1..) {
            control.evolve(seq, parsed);
        }
        let poison = control.quarantined.last().map_or(0, |poison| poison.seq);
        let poisons = self.unreadable.range(poison + 1..);
        let set_aside = poisons.map(|(_, (_, poison))| poison.clone());
        control.quarantined.extend(set_aside);
        let whole = control.records.len() == self.records.len()
            && control.quarantined.len() == self.unreadable.len();
        if control.state.over || !whole {
            *control = self.close();
        }
    }
}

impl Control {
    /// The assignment in force for arrivals due in `tick`.
    #[must_use]
    pub fn in_force(&self, tick: u32) -> Option<&Assignment> {
        self.assignments
            .iter()
            .rev()
            .find(|assignment| assignment.from_tick <= tick)
    }

    /// Whether `holder` holds shards in assignment `generation`.
    #[must_use]
    pub fn holds(&self, holder: &Holder, generation: Generation) -> bool {
        let mut named = self
            .assignments
            .iter()
            .filter(|a| a.generation == generation);
        named.any(|assignment| assignment.of(holder).is_some())
    }

    /// Final sequence number and totals of each holder that finished, as the seal names them or as
    /// the facts before it say. Empty without a seal.
    #[must_use]
    pub fn finals(&self) -> BTreeMap<&Holder, (u64, &Totals)> {
        let Some(sealed) = &self.sealed else {
            return BTreeMap::new();
        };
        if sealed.unnamed.is_none() {
            let named = sealed.finals.iter();
            let named = named.map(|last| (&last.holder, (last.final_seq, &last.totals)));
            return named.collect();
        }
        let state = &self.state;
        let held = |(holder, _): &(&Holder, _)| state.ever_held.contains(*holder);
        let facts = state.finished.iter().filter(held);
        facts
            .map(|(holder, finished)| (holder, (finished.final_seq, &finished.totals)))
            .collect()
    }

    /// The rules by which the run is judged; the first version while the run is not created.
    #[must_use]
    pub fn rules(&self) -> Rules {
        let created = self.state.created.as_ref();
        created.map_or_else(Rules::default, |created| created.rules)
    }

    /// When the run was stopped before its end, in µs after the start.
    #[must_use]
    pub fn stopped_at_us(&self) -> Option<u64> {
        let (start, stop) = (self.state.start.as_ref()?, self.state.stop.as_ref()?);
        Some(stop.stop_at.since_us(start.start_at))
    }

    fn evolve(&mut self, seq: u64, parsed: &Parsed) {
        let (at, record) = parsed.record();
        match record {
            Record::Decision(decision) => self.on_decision(at, decision),
            Record::Request(request) => {
                self.teardown.evolve(request);
                annotate(&mut self.annotations, at, request);
            }
            Record::Fact(..) => {}
        }
        self.state = std::mem::take(&mut self.state).evolve(seq, at, record);
        self.records.push((seq, parsed.clone()));
    }

    fn on_decision(&mut self, at: Timestamp, decision: &Decision) {
        match decision {
            Decision::RunCreated(_) => self.created_at = at,
            Decision::RunRefused(refused) => self.refused.clone_from(&refused.problems),
            Decision::ShardsAssigned(assigned) => {
                let holdings = assigned.holdings.clone();
                let assignment = Assignment::new(assigned.generation, 0, holdings);
                self.assignments.push(assignment);
            }
            Decision::ShardsReassigned(next) => {
                let holdings = next.holdings.clone();
                let assignment = Assignment::new(next.generation, next.takeover_tick, holdings);
                self.assignments.push(assignment);
            }
            Decision::RateChanged(changed) => {
                let holdings = changed.holdings.clone();
                let assignment = Assignment::new(changed.generation, changed.from_tick, holdings);
                self.assignments.push(assignment);
            }
            Decision::StartCancelled(cancelled) => {
                let rule = format!("must be able to start: {}", cancelled.reason);
                self.refused
                    .push(Problem::new("run", rule, self.run.as_str()));
            }
            Decision::RunQueued(_)
            | Decision::StartScheduled(_)
            | Decision::CapacityReduced(_)
            | Decision::Paused(_)
            | Decision::Resumed(_)
            | Decision::SteeringRefused(_)
            | Decision::StopScheduled(_)
            | Decision::RunSealed(_) => {}
        }
    }
}
