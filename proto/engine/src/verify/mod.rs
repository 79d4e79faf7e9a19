//! Verifying a run: its log is read again, and everything that must hold of any log is looked at.
//!
//! Each [`Invariant`] is judged by itself and comes with evidence, so that a log that was damaged
//! says where. What is judged is the log as stored, not the report: a report sets aside what it
//! cannot believe, here that is named as broken. Must never repair anything, read a clock, or know
//! a rule that depends on how a fleet was configured.

use std::collections::BTreeMap;

use loadpilot_events::answers::report::RunState;
use loadpilot_events::id::{AgentId, RunId};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::wire::subject::Kind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control::{Control, ControlLog, Parsed};
use crate::report::{NoReport, run_state};

mod decisions;
mod deltas;
mod folds;
mod seal;
mod teardown;

use deltas::Deltas;
use folds::Folds;
use teardown::Stood;

pub use decisions::{Decided, decisions};

/// Most pieces of evidence that are written out for one invariant; the others are counted.
pub const EVIDENCE_MAX: usize = 8;

/// What must hold of every log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Invariant {
    /// See [`Invariant::rule`], here and below.
    Created,
    /// Numbers of assignments, and their order in time.
    Generations,
    /// Who holds what.
    Holdings,
    /// Start and stop.
    Instants,
    /// Rates and pauses.
    Steering,
    /// Setup and teardown.
    Owed,
    /// What the seal says.
    Seal,
    /// What follows the end.
    End,
    /// Whether events can be read.
    Readable,
    /// Whether deltas come from holders.
    Held,
    /// Whether a number means one delta.
    Identity,
    /// Whether deltas are all there.
    Sequence,
    /// Whether rows and totals agree.
    Totals,
    /// Whether histograms and counts agree.
    Histograms,
    /// Whether the report adds up.
    Books,
    /// Whether the way of reading matters.
    Order,
    /// Whether the report is the one that was written.
    Digest,
}

impl Invariant {
    /// All of them, in the order in which people want to read them.
    pub const ALL: [Self; 17] = [
        Self::Created,
        Self::Generations,
        Self::Holdings,
        Self::Instants,
        Self::Steering,
        Self::Owed,
        Self::Seal,
        Self::End,
        Self::Readable,
        Self::Held,
        Self::Identity,
        Self::Sequence,
        Self::Totals,
        Self::Histograms,
        Self::Books,
        Self::Order,
        Self::Digest,
    ];

    /// What must hold, in a sentence.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::Created => "a run is created or refused once, before anything else is decided",
            Self::Generations => {
                "generations count 1, 2, 3 …, and none begins before the one it follows"
            }
            Self::Holdings => {
                "each assignment gives every shard to one holder; who lost shards had some, \
                 and gets none again"
            }
            Self::Instants => {
                "a run starts at most once, with its lead, then stops at most once, and no \
                 decision changes the past"
            }
            Self::Steering => {
                "each request to steer is answered once, while the run runs, and what is changed \
                 is the rate or the pause alone"
            }
            Self::Owed => {
                "a setup is begun once, before its run is asked for; its teardown is on one at a \
                 time, after the end, and is played to its end once"
            }
            Self::Seal => {
                "the seal names the decision before it and everybody who ever held shards, with \
                 the last words in the log or as missing"
            }
            Self::End => "after the end nothing is decided but to archive or to delete the run",
            Self::Readable => "every event can be read, and its figures are possible for this run",
            Self::Held => {
                "every row of a delta names a generation in which its process held shards"
            }
            Self::Identity => "a number of a process means one delta, however often it is stored",
            Self::Sequence => {
                "the deltas of a process count 1, 2, 3 … up to its last words, or the log says \
                 that some are missing"
            }
            Self::Totals => "the rows of a delta are what its totals grew by, up to the last words",
            Self::Histograms => "a histogram holds as many values as its row counts calls",
            Self::Books => {
                "planned = started + dropped + lost, in the run, each task and each tick, and \
                 attempted = the sum of outcomes"
            }
            Self::Order => {
                "the report is the same whatever the order, the repetition or the pause in which \
                 the log is read"
            }
            Self::Digest => "the report has the digest that it had",
        }
    }
}

/// Where a rule is broken, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The subject of the event; that of the run's decisions where no single event is to blame.
    pub subject: String,
    /// Its stream sequence; 0 where no single event is to blame.
    pub seq: u64,
    /// What is wrong, for people.
    pub what: String,
}

/// One invariant, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which one.
    pub invariant: Invariant,
    /// What it says.
    pub rule: String,
    /// Whether it holds.
    pub holds: bool,
    /// Where it does not: the first [`EVIDENCE_MAX`] places.
    pub evidence: Vec<Evidence>,
    /// In how many places more.
    pub more: u64,
}

/// A log, verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// `loadpilot.verification/1`.
    pub schema: String,
    /// Which run.
    pub run: RunId,
    /// Where it stands: of a run that goes on, only what is stored is judged.
    pub state: RunState,
    /// Whether everything holds.
    pub holds: bool,
    /// Requests, decisions and facts that were read.
    pub events: u64,
    /// Deltas that were read, repetitions among them.
    pub deltas: u64,
    /// Deltas stored after the seal: they count for nothing and are not judged.
    pub late_deltas: u64,
    /// The digest of the report of this log.
    pub digest: String,
    /// All invariants, in the order of [`Invariant::ALL`].
    pub invariants: Vec<Finding>,
}

/// What was found broken so far.
#[derive(Debug, Clone, Default)]
pub struct Breaches {
    found: BTreeMap<Invariant, (Vec<Evidence>, u64)>,
}

impl Breaches {
    /// Notes that a rule is broken at an event.
    pub(crate) fn note(
        &mut self,
        invariant: Invariant,
        subject: &str,
        seq: u64,
        what: impl Into<String>,
    ) {
        let (evidence, more) = self.found.entry(invariant).or_default();
        if evidence.len() == EVIDENCE_MAX {
            *more += 1;
            return;
        }
        evidence.push(Evidence {
            subject: subject.to_owned(),
            seq,
            what: what.into(),
        });
    }

    /// What was found, one line each, for whoever wants nothing found.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let found = self.found.iter();
        let lines = found.flat_map(|(invariant, (evidence, _))| {
            evidence
                .iter()
                .map(move |one| format!("{invariant:?} at {}: {}", one.seq, one.what))
        });
        lines.collect()
    }

    /// The first piece of evidence of each broken rule, and how many more there are.
    pub(crate) fn first(&self) -> impl Iterator<Item = (&Evidence, u64)> {
        let found = self.found.values();
        found.filter_map(|(evidence, more)| {
            let first = evidence.first()?;
            Some((first, evidence.len() as u64 - 1 + more))
        })
    }

    fn findings(mut self) -> Vec<Finding> {
        let finding = |invariant: Invariant| {
            let found = self.found.remove(&invariant);
            let (evidence, more) = found.unwrap_or_default();
            Finding {
                invariant,
                rule: invariant.rule().to_owned(),
                holds: evidence.is_empty(),
                evidence,
                more,
            }
        };
        Invariant::ALL.into_iter().map(finding).collect()
    }
}

/// The control side of a log that is being verified.
#[derive(Debug)]
pub struct Verifier {
    run: RunId,
    log: ControlLog,
    /// Every record, in the order of the log: what follows a seal, too.
    records: BTreeMap<u64, (String, Result<Parsed, String>)>,
    /// What is decided on, for evidence without an event.
    subject: String,
}

/// The data side of it: the control side is known.
#[derive(Debug)]
pub struct DataVerifier {
    verifier: Verifier,
    control: Control,
    deltas: Deltas,
    folds: Folds,
    breaches: Breaches,
    read: u64,
    late: u64,
}

impl Verifier {
    /// Of a log of which nothing was read yet; `subject` is that of the run's decisions.
    #[must_use]
    pub fn new(run: RunId, subject: String) -> Self {
        Self {
            log: ControlLog::new(run.clone()),
            run,
            records: BTreeMap::new(),
            subject,
        }
    }

    /// Takes one record of LP_CTL.
    pub fn add(&mut self, subject: &str, kind: &Kind, seq: u64, payload: &[u8]) {
        self.log.add(subject, kind, seq, payload);
        let parsed = Parsed::from_payload(kind, payload);
        let parsed = parsed.map_err(|why| match (kind, later_decision(payload)) {
            (Kind::Ctl, Some(name)) => name,
            _ => why,
        });
        self.records.insert(seq, (subject.to_owned(), parsed));
    }

    /// All of LP_CTL was read: what comes now is LP_DATA.
    ///
    /// # Errors
    /// When nobody ever asked for the run.
    pub fn control_read(self) -> Result<DataVerifier, NoReport> {
        let control = self.log.close();
        let state = &control.state;
        if state.requested.is_none() && state.created.is_none() {
            return Err(NoReport::Unknown(self.run.to_string()));
        }
        let mut breaches = decisions(self.records.iter().filter_map(
            |(&seq, (subject, parsed))| match parsed {
                Ok(Parsed::Decision(envelope)) => Some(Decided {
                    subject,
                    seq,
                    at: envelope.at,
                    decision: &envelope.event,
                }),
                _ => None,
            },
        ));
        self.owed(&mut breaches);
        self.unreadable(&mut breaches);
        seal::seal(&control, &self.subject, &mut breaches);
        Ok(DataVerifier {
            deltas: Deltas::default(),
            folds: Folds::new(&self.log, self.records.keys().copied()),
            verifier: self,
            control,
            breaches,
            read: 0,
            late: 0,
        })
    }

    fn owed(&self, breaches: &mut Breaches) {
        let records = self.records.iter();
        let stood = records.filter_map(|(&seq, (subject, parsed))| {
            let stood = match parsed.as_ref().ok()? {
                Parsed::Request(envelope) => Stood::Request(&envelope.event),
                Parsed::Decision(envelope) if is_end(&envelope.event) => Stood::End,
                Parsed::Decision(_) | Parsed::Fact(..) => return None,
            };
            Some((subject.as_str(), seq, stood))
        });
        teardown::owed(stood, breaches);
    }

    fn unreadable(&self, breaches: &mut Breaches) {
        let mut over = false;
        for (&seq, (subject, parsed)) in &self.records {
            match parsed {
                Ok(Parsed::Decision(envelope)) => over |= is_end(&envelope.event),
                Ok(_) => {}
                // Known by name only; before the end they would be out of place.
                Err(why) if LATER.contains(&why.as_str()) && over => {}
                Err(why) => breaches.note(Invariant::Readable, subject, seq, why),
            }
        }
    }
}

impl DataVerifier {
    /// Takes one record of LP_DATA, in the order of the log: `agent` is the last token of its
    /// subject.
    pub fn add(&mut self, agent: &AgentId, subject: &str, seq: u64, payload: &[u8]) {
        self.read += 1;
        let sealed = self.control.sealed.as_ref();
        if sealed.is_some_and(|sealed| seq > sealed.data_seq) {
            self.late += 1;
        } else {
            let breaches = &mut self.breaches;
            self.deltas
                .take(&self.control, agent, (subject, seq, payload), breaches);
        }
        self.folds
            .take(&self.control, (agent, subject, seq, payload));
    }

    /// Everything was read. `known` is a report that was made of this log before, as it was written
    /// down: read into Rust and out again its floats are not always the same.
    ///
    /// # Errors
    /// Never: the run is known.
    pub fn close(mut self, known: Option<&Value>) -> Result<Verification, NoReport> {
        let subject = &self.verifier.subject;
        self.deltas
            .close(&self.control, subject, &mut self.breaches);
        let digest = self
            .folds
            .close(&self.control, subject, known, &mut self.breaches)?;
        let invariants = self.breaches.findings();
        Ok(Verification {
            schema: "loadpilot.verification/1".to_owned(),
            state: run_state(&self.control),
            holds: invariants.iter().all(|finding| finding.holds),
            events: self.verifier.records.len() as u64,
            deltas: self.read,
            late_deltas: self.late,
            digest,
            invariants,
            run: self.verifier.run,
        })
    }
}

/// Holds what counts of the control side to what must hold of it. `subject` is that of the run's
/// decisions.
pub(crate) fn control_side(control: &Control, subject: &str) -> Breaches {
    let decided = control.records.iter();
    let decided = decided.filter_map(|(seq, parsed)| match parsed {
        Parsed::Decision(envelope) => Some(Decided {
            subject,
            seq: *seq,
            at: envelope.at,
            decision: &envelope.event,
        }),
        _ => None,
    });
    let mut breaches = decisions(decided);
    seal::seal(control, subject, &mut breaches);
    breaches
}

/// Decisions that a later version takes after the end of a run.
const LATER: [&str; 2] = ["RunArchived", "RunDeleted"];

/// Which of them it is.
fn later_decision(payload: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Event {
        event: Named,
    }
    #[derive(Deserialize)]
    struct Named {
        #[serde(rename = "type")]
        name: String,
    }
    let event: Event = serde_json::from_slice(payload).ok()?;
    LATER
        .contains(&event.event.name.as_str())
        .then_some(event.event.name)
}

fn is_end(decision: &Decision) -> bool {
    matches!(decision, Decision::RunSealed(_) | Decision::RunRefused(_))
}
