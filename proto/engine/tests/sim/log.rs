//! The log: two streams, appends at an expected sequence, and nothing is ever changed. Its server
//! may be away, without a leader, or late.
//!
//! It recognises no message by its id: the fold has to count a message once that is stored twice.

use loadpilot_engine::control::created_run::{RequestedPlan, with_plan};
use loadpilot_events::Envelope;
use loadpilot_events::id::{AgentId, EventId, RunId};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::req::{Request, RunRequested};
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::heartbeat::News;
use loadpilot_events::wire::subject::{Kind, Subjects};
use serde::Serialize;

use crate::rules::dice::Dice;
use crate::rules::invariants::Stored;

/// One record of either stream.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) subject: String,
    pub(crate) payload: Vec<u8>,
}

/// A write that is on its way into the log.
#[derive(Debug, Clone)]
pub(crate) enum Write {
    /// A decision, if the control subject still ends at `expected`.
    Decision {
        expected: u64,
        at: Timestamp,
        decision: Box<Decision>,
    },
    /// A fact, a delta or a request, encoded.
    Event { kind: Kind, payload: Vec<u8> },
}

/// The server's answer to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The write is stored.
    Stored,
    /// Another writer was first: 10071 from one server, 10164 from a replicated stream.
    Conflict,
    /// No answer: the write may be stored, now or later, or never.
    Unknown,
}

/// The streams of one run.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) run: RunId,
    subjects: Subjects,
    /// LP_CTL; the sequence of a record is its index, from 1.
    pub(crate) ctl: Vec<Record>,
    /// LP_DATA, likewise.
    pub(crate) data: Vec<Record>,
    /// The decisions once more, in the form that the invariants need.
    pub(crate) decided: Vec<Stored>,
    /// When each of them was stored, by the true time.
    pub(crate) stored_at: Vec<Timestamp>,
    /// A replicated stream takes nothing before this instant, though its servers answer.
    pub(crate) no_leader_until: Timestamp,
    /// No server answers anything before this instant.
    pub(crate) down_until: Timestamp,
    /// Writes that are stored after their writer has stopped waiting.
    late: Vec<(Timestamp, Write)>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            run: RunId::parse("01run").expect("a token"),
            subjects: Subjects::new("lp", "local").expect("tokens"),
            ctl: Vec::new(),
            data: Vec::new(),
            decided: Vec::new(),
            stored_at: Vec::new(),
            no_leader_until: Timestamp(0),
            down_until: Timestamp(0),
            late: Vec::new(),
        }
    }

    /// The last sequence of the run's control subject; 0 when it is empty.
    pub(crate) fn ctl_last(&self) -> u64 {
        self.decided.last().map_or(0, |stored| stored.seq)
    }

    /// The subject of the run's decisions.
    pub(crate) fn ctl_subject(&self) -> String {
        self.subjects.ctl(&self.run)
    }

    /// Whether the run is sealed or refused.
    pub(crate) fn is_over(&self) -> bool {
        let last = self.decided.last().map(|stored| &stored.decision);
        matches!(last, Some(Decision::RunSealed(_) | Decision::RunRefused(_)))
    }

    /// Stores `write` unless a fault prevents it; `lose_pct` of the messages are lost.
    pub(crate) fn offer(
        &mut self,
        write: Write,
        lose_pct: u64,
        now: Timestamp,
        dice: &mut Dice,
    ) -> Answer {
        let away_until = self.down_until.max(self.no_leader_until);
        let away = now < away_until;
        if !away && !dice.chance(lose_pct) {
            return self.store(write, now);
        }
        match dice.pick(0..3) {
            // The write was lost, or its answer was.
            0 => {}
            1 if !away => {
                self.store(write, now);
            }
            // A write to a dead server is lost; a write that waits for a leader is stored by the
            // next one.
            _ if now < self.down_until => {}
            _ => {
                let from = now.max(away_until);
                let at = from.plus_us(dice.pick(50_000..1_000_000));
                self.late.push((at, write));
            }
        }
        Answer::Unknown
    }

    /// Stores the delayed writes that are due by `now`.
    pub(crate) fn settle(&mut self, now: Timestamp) {
        let late = std::mem::take(&mut self.late);
        for (at, write) in late {
            if at <= now {
                self.store(write, now);
            } else {
                self.late.push((at, write));
            }
        }
    }

    /// Stores `write` now, if its expected sequence fits.
    pub(crate) fn store(&mut self, write: Write, now: Timestamp) -> Answer {
        match write {
            Write::Event { kind, payload } => {
                let subject = self.subject(&kind);
                let stream = match kind {
                    Kind::Delta(_) => &mut self.data,
                    Kind::Req | Kind::Ctl | Kind::Evt(_) => &mut self.ctl,
                };
                stream.push(Record {
                    kind,
                    subject,
                    payload,
                });
            }
            Write::Decision { expected, .. } if expected != self.ctl_last() => {
                return Answer::Conflict;
            }
            Write::Decision { at, decision, .. } => {
                let (kind, subject) = (Kind::Ctl, self.ctl_subject());
                let payload = encode(at, &decision);
                self.ctl.push(Record {
                    kind,
                    subject,
                    payload,
                });
                let seq = self.ctl.len() as u64;
                let decision = *decision;
                self.decided.push(Stored { seq, at, decision });
                self.stored_at.push(now);
            }
        }
        Answer::Stored
    }

    /// The last decision, as agents receive it.
    pub(crate) fn news(&self) -> Option<News> {
        let before = self.decided.iter().rev().nth(1);
        let seq = self.ctl_last();
        let record = self.ctl.get(usize::try_from(seq).ok()?.checked_sub(1)?)?;
        Some(News {
            tenant: None,
            run: self.run.clone(),
            seq,
            previous_seq: before.map_or(0, |stored| stored.seq),
            event: self.with_plan(serde_json::from_slice(&record.payload).ok()?),
        })
    }

    /// A decision as agents receive it.
    pub(crate) fn with_plan(&self, event: Envelope<Decision>) -> Envelope<Decision> {
        let requested = self.requested();
        let requested = requested.as_ref().map(|(seq, run)| RequestedPlan {
            seq: *seq,
            plan: &run.plan,
        });
        with_plan(event, requested)
    }

    /// The request for the run, and its sequence.
    pub(crate) fn requested(&self) -> Option<(u64, RunRequested)> {
        let parsed = |record: &Record| {
            serde_json::from_slice::<Envelope<Request>>(&record.payload)
                .expect("our own request")
                .event
        };
        let requests = (1..).zip(&self.ctl);
        let mut requests = requests.filter(|(_, record)| record.kind == Kind::Req);
        requests.find_map(|(seq, record)| match parsed(record) {
            Request::RunRequested(run) => Some((seq, *run)),
            _ => None,
        })
    }

    fn subject(&self, kind: &Kind) -> String {
        match kind {
            Kind::Req => self.subjects.req(&self.run),
            Kind::Ctl => self.subjects.ctl(&self.run),
            Kind::Evt(agent) => self.subjects.evt(&self.run, agent),
            Kind::Delta(agent) => self.subjects.delta(&self.run, agent),
        }
    }
}

impl Write {
    /// A fact of `agent`.
    pub(crate) fn fact<E: Serialize>(agent: &AgentId, at: Timestamp, fact: &E) -> Self {
        let payload = encode(at, fact);
        let kind = Kind::Evt(agent.clone());
        Self::Event { kind, payload }
    }

    /// A delta of `agent`, as encoded.
    pub(crate) fn delta(agent: &AgentId, payload: Vec<u8>) -> Self {
        let kind = Kind::Delta(agent.clone());
        Self::Event { kind, payload }
    }

    /// A request event.
    pub(crate) fn request<E: Serialize>(at: Timestamp, request: &E) -> Self {
        let payload = encode(at, request);
        let kind = Kind::Req;
        Self::Event { kind, payload }
    }
}

/// The JSON of an event in its envelope.
pub(crate) fn encode<E: Serialize>(at: Timestamp, event: &E) -> Vec<u8> {
    let id = EventId::parse("id").expect("a token");
    let v = loadpilot_events::log::envelope::EVENT_VERSION;
    serde_json::to_vec(&Envelope { v, id, at, event }).expect("an event has a JSON form")
}
