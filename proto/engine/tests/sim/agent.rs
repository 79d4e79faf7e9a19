//! An agent: its processes, one after the other, and their connection, which may fail.

use std::collections::BTreeSet;

use loadpilot_engine::control::agent_view::Stage;
use loadpilot_engine::control::decide::Policy;
use loadpilot_events::id::{AgentId, BootId};
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::heartbeat::News;

use crate::coordinator::Coordinator;
use crate::crash_files::{Recovery, Remains};
use crate::log::{Answer, Log, Write};
use crate::process::Process;
use crate::rules::dice::Dice;
use crate::rules::plans;
use crate::world::{Faults, Run, Sent};

/// Interval between heartbeats, in µs.
const BEAT_EVERY_US: u64 = 200_000;

/// Maximum time without an answer of a coordinator, in µs; then the agent fences itself.
const NO_COORDINATOR_US: u64 = 12_000_000;

/// Interval between attempts to publish, in µs.
const RETRY_US: u64 = 400_000;

/// Maximum time to read the files of a killed process, in µs.
const RECOVERY_US_MAX: u64 = 700_000;

/// An agent.
#[derive(Debug)]
pub(crate) struct Agent {
    number: u64,
    pub(crate) boots: u64,
    pub(crate) process: Process,
    /// The agent is dead until then and returns as a new process.
    pub(crate) dead_until: Option<Timestamp>,
    /// The agent does nothing before this instant, and does not notice it.
    frozen_until: Timestamp,
    /// Nothing that it sends arrives before this instant.
    pub(crate) mute_until: Timestamp,
    /// Nothing that others send reaches it before this instant, answers included.
    pub(crate) deaf_until: Timestamp,
    /// Error of its wall clock, in µs: its time stamps prove nothing.
    wall_us: i64,
    /// Files of killed processes.
    remains: Vec<Remains>,
    recoveries: Vec<Recovery>,
    /// Send times of the last heartbeat that the server answered, and of the last that a
    /// coordinator answered.
    contact: (Timestamp, Timestamp),
    beat_at: Timestamp,
    publish_at: Timestamp,
    /// When the files of killed processes are read and their tails closed.
    recover_at: Timestamp,
}

impl Agent {
    pub(crate) fn new(number: u64, now: Timestamp, astray_us: i64, wall_us: i64) -> Self {
        let mut process = Process::new(plans::holder(number, 0), now);
        process.astray_us = astray_us;
        Self {
            number,
            boots: 0,
            process,
            dead_until: None,
            frozen_until: now,
            mute_until: now,
            deaf_until: now,
            wall_us,
            remains: Vec::new(),
            recoveries: Vec::new(),
            contact: (now, now),
            beat_at: now,
            publish_at: now,
            recover_at: now,
        }
    }

    pub(crate) fn runs(&self, now: Timestamp) -> bool {
        self.dead_until.is_none() && now >= self.frozen_until
    }

    /// Kills the process, with or without the machine that holds its files.
    pub(crate) fn kill(&mut self, now: Timestamp, until: Timestamp, files_too: bool) {
        if self.dead_until.is_none() {
            self.remains.extend(self.process.remains(now));
        }
        if files_too {
            self.remains.clear();
        }
        self.recoveries.clear();
        self.dead_until = Some(until);
    }

    /// Suspends the process.
    pub(crate) fn freeze(&mut self, until: Timestamp) {
        self.frozen_until = until;
        self.process.thawed = true;
    }

    /// Receives a decision by the core message that follows its append; the message can be lost.
    pub(crate) fn receive(&mut self, news: &News, now: Timestamp) {
        if self.runs(now) && now >= self.deaf_until {
            self.process.receive(news, now);
        }
    }

    /// One step of the agent.
    pub(crate) fn act(
        &mut self,
        world: (&Run, &Policy, &Faults),
        coordinators: &mut [Coordinator],
        log: &mut Log,
        sent: &mut Vec<Sent>,
        (now, dice): (Timestamp, &mut Dice),
    ) {
        let (run, policy, faults) = world;
        if self.dead_until.is_some_and(|until| now >= until) {
            self.boot(now, dice);
        }
        if !self.runs(now) {
            return;
        }
        // Firing threads may wake before the thread that fences.
        let fires_first = dice.chance(50);
        if fires_first {
            self.process.pace(run, now, sent, dice);
        }
        self.process.thawed = false;
        self.fence(policy, now);
        if now >= self.beat_at && now >= log.down_until {
            self.beat(coordinators, faults, now, dice);
        }
        self.process.answer(now);
        self.process.pace(run, now, sent, dice);
        self.process.count(run, now);
        if now >= self.mute_until && now >= self.publish_at {
            self.publish(log, faults, now, dice);
        }
    }

    fn boot(&mut self, now: Timestamp, dice: &mut Dice) {
        let astray_us = self.process.astray_us;
        self.dead_until = None;
        self.boots += 1;
        self.process = Process::new(plans::holder(self.number, self.boots), now);
        self.process.astray_us = astray_us;
        self.contact = (now, now);
        self.recoveries = self.remains.iter().map(Remains::recovery).collect();
        self.recover_at = now.plus_us(dice.pick(0..RECOVERY_US_MAX));
    }

    fn fence(&mut self, policy: &Policy, now: Timestamp) {
        let (server, coordinator) = self.contact;
        if now.since_us(server) >= policy.fence_us
            || now.since_us(coordinator) >= NO_COORDINATOR_US
            || self.process.is_behind(now, policy.behind_us)
        {
            self.process.isolate(now);
        }
    }

    fn beat(
        &mut self,
        coordinators: &mut [Coordinator],
        faults: &Faults,
        now: Timestamp,
        dice: &mut Dice,
    ) {
        self.beat_at = now.plus_us(BEAT_EVERY_US);
        if now < self.mute_until || dice.chance(faults.lose_pct) {
            return;
        }
        let recovering: BTreeSet<BootId> = self
            .recoveries
            .iter()
            .map(|recovery| recovery.boot_id.clone())
            .collect();
        let deaf = now < self.deaf_until;
        let mut answered = false;
        for coordinator in coordinators.iter_mut().filter(|c| c.is_awake(now)) {
            // The operators of some agents know that the earlier process is gone.
            let predecessor_dead = self.boots > 0 && self.number.is_multiple_of(2);
            coordinator.hear(&self.process.me, predecessor_dead, &recovering, now);
            if deaf || answered || dice.chance(faults.lose_pct) {
                continue;
            }
            answered = true;
            let seen = self.process.view.ctl_seq();
            let me = self.process.me.agent.clone();
            for news in coordinator.news(&me, seen) {
                self.process.receive(&news, now);
            }
        }
        if deaf {
            return;
        }
        self.contact.0 = now;
        if answered {
            self.contact.1 = now;
        }
    }

    /// At least once: an event that was stored without an acknowledgement is stored again.
    fn publish(&mut self, log: &mut Log, faults: &Faults, now: Timestamp, dice: &mut Dice) {
        let agent = self.process.me.agent.clone();
        let at = Timestamp(now.0.saturating_add_signed(self.wall_us));
        let deaf = now < self.deaf_until;
        let mut acked =
            |write: Write| log.offer(write, faults.lose_pct, now, dice) == Answer::Stored && !deaf;
        let is_published = say(&mut self.process, &agent, at, &mut acked);
        let recovered =
            now < self.recover_at || recover(&mut self.recoveries, &agent, at, &mut acked);
        if !(is_published && recovered) {
            self.publish_at = now.plus_us(RETRY_US);
        }
        let over = self.process.view.stage() == Stage::Over;
        if over {
            self.recoveries.clear();
        }
        let open = |remains: &Remains| {
            self.recoveries
                .iter()
                .any(|one| one.boot_id == remains.boot_id)
        };
        self.remains.retain(|remains| !over && open(remains));
    }
}

/// Publishes the outbox of a process; returns whether all of it was acknowledged.
fn say(
    process: &mut Process,
    agent: &AgentId,
    at: Timestamp,
    acked: &mut impl FnMut(Write) -> bool,
) -> bool {
    while let Some(payload) = process.outbox.front() {
        if !acked(Write::delta(agent, payload.clone())) {
            return false;
        }
        process.outbox.pop_front();
    }
    while let Some(fact) = process.facts.front() {
        if !acked(Write::fact(agent, at, fact)) {
            return false;
        }
        process.facts.pop_front();
    }
    true
}

/// Publishes the tails of killed processes and forgets those that are in the log; returns whether
/// all are.
fn recover(
    recoveries: &mut Vec<Recovery>,
    agent: &AgentId,
    at: Timestamp,
    acked: &mut impl FnMut(Write) -> bool,
) -> bool {
    while let Some(recovery) = recoveries.first_mut() {
        while let Some(payload) = recovery.outbox.front() {
            if !acked(Write::delta(agent, payload.clone())) {
                return false;
            }
            recovery.outbox.pop_front();
        }
        if !acked(Write::fact(agent, at, &recovery.last_words)) {
            return false;
        }
        recoveries.remove(0);
    }
    true
}
