//! A coordinator: it reads with a delay, decides by what it has read, and appends if it is first.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::control::Parsed;
use loadpilot_engine::control::created_run::with_plan;
use loadpilot_engine::control::decide::{LastSeen, Observations, Policy, decide};
use loadpilot_engine::control::per_agent_view::for_agent;
use loadpilot_engine::control::run_state::RunState;
use loadpilot_events::id::{AgentId, BootId, Holder, OwnerId};
use loadpilot_events::log::assign::{Loss, LossReason};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::plan::capability::Capability;
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::heartbeat::News;

use crate::log::{Answer, Log, Write};
use crate::rules::dice::Dice;
use crate::world::Faults;

/// A decision that is being appended.
#[derive(Debug)]
struct Draft {
    at: Timestamp,
    expected: u64,
    leaves_at: Timestamp,
    decision: Decision,
}

/// A coordinator process, or its place while there is none.
#[derive(Debug)]
pub(crate) struct Coordinator {
    /// How far its clock is ahead of the true time.
    ahead_us: u64,
    /// It does nothing before this instant.
    pub(crate) asleep_until: Timestamp,
    /// Whether it still has its state when it wakes.
    pub(crate) remembers: bool,
    was_asleep: bool,
    read: usize,
    state: RunState,
    hearing: Observations,
    feed: Vec<News>,
    draft: Option<Draft>,
    /// When it began to listen, in true time. The test checks its statements about an agent's
    /// silence against this and `last_signs`.
    listens_since: Timestamp,
    /// Last heartbeat of each process, in true time.
    last_signs: BTreeMap<Holder, Timestamp>,
}

impl Coordinator {
    pub(crate) fn new(ahead_us: u64, now: Timestamp) -> Self {
        Self {
            ahead_us,
            asleep_until: now,
            remembers: false,
            was_asleep: true,
            read: 0,
            state: RunState::default(),
            hearing: Observations::default(),
            feed: Vec::new(),
            draft: None,
            listens_since: now,
            last_signs: BTreeMap::new(),
        }
    }

    pub(crate) fn is_awake(&self, now: Timestamp) -> bool {
        now >= self.asleep_until
    }

    /// Records a heartbeat.
    pub(crate) fn hear(
        &mut self,
        holder: &Holder,
        predecessor_dead: bool,
        recovering: &BTreeSet<BootId>,
        now: Timestamp,
    ) {
        let at = now.plus_us(self.ahead_us);
        let seen = LastSeen {
            at,
            predecessor_dead,
            has: BTreeSet::from([
                Capability::user_types(),
                Capability::request_rows(),
                Capability::pairs(),
                Capability::trace_context(),
                Capability::hold(),
                Capability::sessions(),
            ]),
            recovering: recovering.clone(),
        };
        self.hearing.agents.insert(holder.clone(), seen);
        self.last_signs.insert(holder.clone(), now);
    }

    /// Records a heartbeat of an owner.
    pub(crate) fn hear_owner(&mut self, owner: &OwnerId, now: Timestamp) {
        self.hearing
            .owners
            .insert(owner.clone(), now.plus_us(self.ahead_us));
    }

    /// The decisions after `seen`, each reduced to the part about `agent`.
    pub(crate) fn news(&self, agent: &AgentId, seen: u64) -> impl Iterator<Item = News> {
        let lacking = self.feed.iter().filter(move |news| news.seq > seen);
        lacking.map(|news| {
            let mut news = news.clone();
            news.event.event = for_agent(&news.event.event, agent).into_owned();
            news
        })
    }

    /// One step: reads, decides, appends. Returns the news for all agents after a success.
    pub(crate) fn act(
        &mut self,
        log: &mut Log,
        policy: &Policy,
        faults: &Faults,
        now: Timestamp,
        dice: &mut Dice,
    ) -> Option<News> {
        if !self.is_awake(now) {
            self.was_asleep = true;
            return None;
        }
        let clock = now.plus_us(self.ahead_us);
        if std::mem::take(&mut self.was_asleep) {
            self.wake(clock, now);
        }
        if now < log.down_until {
            // It receives no heartbeats, and knows that.
            self.hearing.since = clock;
            self.listens_since = now;
            return None;
        }
        let unread = log.ctl.len() - self.read;
        let reads = if dice.chance(70) {
            unread
        } else {
            dice.pick(0..unread as u64 + 1) as usize
        };
        self.read(log, reads);
        if let Some(draft) = self.draft.take() {
            if now < draft.leaves_at {
                self.draft = Some(draft);
                return None;
            }
            let write = Write::Decision {
                expected: draft.expected,
                at: draft.at,
                decision: Box::new(draft.decision),
            };
            let answer = log.offer(write, faults.lose_pct, now, dice);
            return (answer == Answer::Stored).then(|| log.news()).flatten();
        }
        if now < log.no_leader_until {
            // The end of the data stream cannot be read, and without it nothing is decided.
            return None;
        }
        self.hearing.data_head = log.data.len() as u64;
        let decision = decide(&self.state, &self.hearing, policy, clock)?;
        self.has_listened(&decision, policy, now);
        self.draft = Some(Draft {
            at: clock,
            expected: self.state.ctl_seq,
            leaves_at: now.plus_us(dice.one_of(&[0, 0, 100_000, 300_000])),
            decision,
        });
        None
    }

    /// A coordinator calls an agent silent only after it has itself listened for the lost time.
    fn has_listened(&self, decision: &Decision, policy: &Policy, now: Timestamp) {
        let losses: &[Loss] = match decision {
            Decision::ShardsReassigned(next) => &next.losses,
            Decision::CapacityReduced(reduced) => &reduced.losses,
            _ => &[],
        };
        let silent = losses
            .iter()
            .filter(|loss| loss.reason == LossReason::Silent);
        for loss in silent {
            let last = self
                .last_signs
                .get(&loss.holder)
                .copied()
                .unwrap_or_default();
            let silent_us = now.since_us(last.max(self.listens_since));
            assert!(
                silent_us >= policy.lost_us,
                "{} is called lost after {silent_us} µs of silence",
                loss.holder
            );
        }
    }

    fn wake(&mut self, clock: Timestamp, now: Timestamp) {
        // A coordinator that wakes discards the decision that it was about to append; it has not
        // listened meanwhile.
        self.draft = None;
        self.hearing.since = clock;
        self.listens_since = now;
        if !self.remembers {
            *self = Self {
                hearing: Observations {
                    since: clock,
                    ..Observations::default()
                },
                asleep_until: self.asleep_until,
                was_asleep: false,
                ..Self::new(self.ahead_us, now)
            };
        }
    }

    fn read(&mut self, log: &Log, count: usize) {
        for record in &log.ctl[self.read..self.read + count] {
            self.read += 1;
            let seq = self.read as u64;
            let parsed = Parsed::from_payload(&record.kind, &record.payload).expect("readable");
            let (at, entry) = parsed.record();
            self.state = std::mem::take(&mut self.state).evolve(seq, at, entry);
            if let Parsed::Decision(event) = parsed {
                let event = with_plan(event, self.state.requested_plan());
                self.feed.push(News {
                    tenant: None,
                    run: log.run.clone(),
                    seq,
                    previous_seq: self.feed.last().map_or(0, |news| news.seq),
                    event,
                });
            }
        }
    }
}
