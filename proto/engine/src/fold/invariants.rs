//! The invariants of a log, and what was found to break them.
//!
//! The fold and the verification judge a log by these same rules: [`crate::fold::contradictions`]
//! as far as a report can hold them, [`crate::verify`] all of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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

    pub(crate) fn findings(mut self) -> Vec<Finding> {
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
