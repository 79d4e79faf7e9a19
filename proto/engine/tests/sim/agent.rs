//! An agent: one process after the other, and its wire to the world, which may be bad.

use loadpilot_engine::decide::Policy;
use loadpilot_events::heartbeat::News;
use loadpilot_events::subject::Kind;
use loadpilot_events::units::Timestamp;

use crate::coordinator::Coordinator;
use crate::log::Log;
use crate::process::Process;
use crate::rules::dice::Dice;
use crate::rules::plans;
use crate::world::{Faults, Run, Sent};

/// How often it gives a sign of life, in µs.
const BEAT_EVERY_US: u64 = 200_000;

/// NATS but no coordinator for this long: it stops.
const NO_COORDINATOR_US: u64 = 12_000_000;

/// An agent.
#[derive(Debug)]
pub(crate) struct Agent {
    number: u64,
    boots: u64,
    pub(crate) process: Process,
    /// It is dead until then and comes back as a new process.
    pub(crate) dead_until: Option<Timestamp>,
    /// It does nothing before this instant, and does not know it.
    pub(crate) frozen_until: Timestamp,
    /// Nothing it sends arrives before this instant.
    pub(crate) cut_until: Timestamp,
    /// When the last answered sign of life left: by anybody, by a coordinator.
    contact: (Timestamp, Timestamp),
    beat_at: Timestamp,
}

impl Agent {
    pub(crate) fn new(number: u64, now: Timestamp) -> Self {
        Self {
            number,
            boots: 0,
            process: Process::new(plans::holder(number, 0), now),
            dead_until: None,
            frozen_until: now,
            cut_until: now,
            contact: (now, now),
            beat_at: now,
        }
    }

    fn runs(&self, now: Timestamp) -> bool {
        self.dead_until.is_none() && now >= self.frozen_until
    }

    /// A decision is told to everybody at once, on the way that may lose it.
    pub(crate) fn told(&mut self, news: &News, now: Timestamp) {
        if self.runs(now) && now >= self.cut_until {
            self.process.told(news, now);
        }
    }

    /// One round of its life.
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
            self.dead_until = None;
            self.boots += 1;
            self.process = Process::new(plans::holder(self.number, self.boots), now);
            self.contact = (now, now);
        }
        if !self.runs(now) {
            return;
        }
        // Threads that fire may thaw before the one that fences.
        let fires_first = dice.chance(50);
        if fires_first {
            self.process.pace(run, now, sent, dice);
        }
        self.fence(policy, now);
        if now >= self.beat_at {
            self.beat(coordinators, faults, now, dice);
        }
        self.process.answer(now);
        self.process.pace(run, now, sent, dice);
        self.process.count(run, now);
        if now >= self.cut_until {
            self.publish(log, faults, now, dice);
        }
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
        if now < self.cut_until || dice.chance(faults.lose_pct) {
            return;
        }
        let mut answered = false;
        for coordinator in coordinators.iter_mut().filter(|c| c.is_awake(now)) {
            // Some are started again by somebody who knows that the earlier process is gone.
            let predecessor_dead = self.boots > 0 && self.number.is_multiple_of(2);
            coordinator.hear(&self.process.me, predecessor_dead, now);
            if answered || dice.chance(faults.lose_pct) {
                continue;
            }
            answered = true;
            let seen = self.process.view.ctl_seq();
            for news in coordinator.news(seen) {
                self.process.told(news, now);
            }
        }
        self.contact.0 = now;
        if answered {
            self.contact.1 = now;
        }
    }

    /// At least once: what was stored without an acknowledgement is stored again.
    fn publish(&mut self, log: &mut Log, faults: &Faults, now: Timestamp, dice: &mut Dice) {
        let agent = self.process.me.agent.clone();
        while let Some(payload) = self.process.outbox.front() {
            if dice.chance(faults.lose_pct) {
                break;
            }
            log.append_delta(&agent, payload.clone());
            if dice.chance(faults.lose_pct) {
                break;
            }
            self.process.outbox.pop_front();
        }
        while let Some(fact) = self.process.facts.front() {
            if dice.chance(faults.lose_pct) {
                break;
            }
            log.append(Kind::Evt(agent.clone()), now, fact);
            if dice.chance(faults.lose_pct) {
                break;
            }
            self.process.facts.pop_front();
        }
    }
}
