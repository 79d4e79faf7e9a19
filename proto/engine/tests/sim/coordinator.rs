//! A coordinator: reads when it gets to it, decides on what it knows, appends when it is first.

use std::collections::BTreeSet;

use loadpilot_engine::control::Parsed;
use loadpilot_engine::decide::{Heard, Hearing, Policy, decide};
use loadpilot_engine::state::RunState;
use loadpilot_events::ctl::Decision;
use loadpilot_events::heartbeat::News;
use loadpilot_events::id::{Holder, OwnerId};
use loadpilot_events::units::Timestamp;

use crate::log::Log;
use crate::rules::dice::Dice;

/// A decision on its way into the log.
#[derive(Debug)]
struct Draft {
    at: Timestamp,
    expected: u64,
    leaves_at: Timestamp,
    decision: Decision,
}

/// A coordinator process, or the hole that it left.
#[derive(Debug)]
pub(crate) struct Coordinator {
    /// Its clock is ahead of the true time by this.
    ahead_us: u64,
    /// It does nothing before this instant.
    pub(crate) asleep_until: Timestamp,
    /// Whether it wakes with its memory.
    pub(crate) remembers: bool,
    was_asleep: bool,
    read: usize,
    state: RunState,
    hearing: Hearing,
    feed: Vec<News>,
    draft: Option<Draft>,
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
            hearing: Hearing::default(),
            feed: Vec::new(),
            draft: None,
        }
    }

    pub(crate) fn is_awake(&self, now: Timestamp) -> bool {
        now >= self.asleep_until
    }

    /// Takes note of a sign of life.
    pub(crate) fn hear(&mut self, holder: &Holder, predecessor_dead: bool, now: Timestamp) {
        let at = now.plus_us(self.ahead_us);
        let heard = Heard {
            at,
            predecessor_dead,
            has: BTreeSet::new(),
            recovering: BTreeSet::new(),
        };
        self.hearing.agents.insert(holder.clone(), heard);
    }

    /// Takes note of an owner's sign of life.
    pub(crate) fn hear_owner(&mut self, owner: &OwnerId, now: Timestamp) {
        self.hearing
            .owners
            .insert(owner.clone(), now.plus_us(self.ahead_us));
    }

    /// What somebody lacks who has seen the decisions up to `seen`.
    pub(crate) fn news(&self, seen: u64) -> impl Iterator<Item = &News> {
        self.feed.iter().filter(move |news| news.seq > seen)
    }

    /// One round: reads, decides, appends; with success comes what agents are told at once.
    pub(crate) fn act(
        &mut self,
        log: &mut Log,
        policy: &Policy,
        now: Timestamp,
        dice: &mut Dice,
    ) -> Option<News> {
        if !self.is_awake(now) {
            self.was_asleep = true;
            return None;
        }
        let clock = now.plus_us(self.ahead_us);
        if std::mem::take(&mut self.was_asleep) {
            self.wake(clock);
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
            return log.append_at(draft.expected, draft.at, &draft.decision);
        }
        self.hearing.data_head = log.data.len() as u64;
        let decision = decide(&self.state, &self.hearing, policy, clock)?;
        self.draft = Some(Draft {
            at: clock,
            expected: self.state.ctl_seq,
            leaves_at: now.plus_us(dice.one_of(&[0, 0, 100_000, 300_000])),
            decision,
        });
        None
    }

    fn wake(&mut self, clock: Timestamp) {
        // A thawed one throws away what it was about to write, and has not listened meanwhile.
        self.draft = None;
        self.hearing.since = clock;
        if !self.remembers {
            *self = Self {
                hearing: Hearing {
                    since: clock,
                    ..Hearing::default()
                },
                asleep_until: self.asleep_until,
                was_asleep: false,
                ..Self::new(self.ahead_us, clock)
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
                self.feed.push(News {
                    run: log.run.clone(),
                    seq,
                    previous_seq: self.feed.last().map_or(0, |news| news.seq),
                    event,
                });
            }
        }
    }
}
