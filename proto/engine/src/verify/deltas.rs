//! What must hold of the deltas of each process: who it is, that all are there, that they add up.
//!
//! Deltas are taken in the order of the log and judged in the order of their numbers; what comes
//! early waits. Must never take a repetition for a second delta.

use std::collections::BTreeMap;

use loadpilot_events::delta::{DeltaReported, Totals};
use loadpilot_events::envelope::Envelope;
use loadpilot_events::hist::{self, EncodedHistogram};
use loadpilot_events::id::{AgentId, Holder};
use sha2::{Digest, Sha256};

use super::{Breaches, Invariant};
use crate::control::{Control, envelope};
use crate::plausible::plausible;
use crate::project::{SeqSet, may_speak};
use crate::sums::add_counts;

/// The deltas of a run, judged so far.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    holders: BTreeMap<Holder, OfHolder>,
    /// How many deltas of each agent cannot be read: holes that are named already.
    unreadable: BTreeMap<AgentId, u64>,
}

/// The deltas of one process.
#[derive(Debug, Default)]
struct OfHolder {
    subject: String,
    seqs: SeqSet,
    /// What each number stands for, hashed.
    contents: BTreeMap<u64, [u8; 16]>,
    /// The last one of those that follow each other without a hole, from the first on.
    judged: u64,
    /// Its totals.
    totals: Totals,
    /// Those that came before their predecessors.
    waiting: BTreeMap<u64, Grown>,
}

/// What a delta says that it adds, twice.
#[derive(Debug)]
struct Grown {
    seq: u64,
    rows: Totals,
    totals: Totals,
}

impl Deltas {
    /// Judges one record of LP_DATA that counts.
    pub(super) fn take(
        &mut self,
        control: &Control,
        agent: &AgentId,
        (subject, seq, payload): (&str, u64, &[u8]),
        breaches: &mut Breaches,
    ) {
        let read = envelope::<DeltaReported>(payload);
        let Envelope { event: delta, .. } = match read {
            Ok(read) => read,
            Err(why) => {
                *self.unreadable.entry(agent.clone()).or_default() += 1;
                return breaches.note(Invariant::Readable, subject, seq, why);
            }
        };
        let holder = Holder {
            agent: agent.clone(),
            boot_id: delta.boot_id.clone(),
        };
        if !control.state.ever_held.contains(&holder) {
            let what = format!("{holder} never held shards");
            return breaches.note(Invariant::Held, subject, seq, what);
        }
        if let Some(what) = foreign(control, &holder, &delta) {
            breaches.note(Invariant::Held, subject, seq, what);
        }
        if let Err(why) = plausible(control, &delta) {
            // Its figures must not meet any arithmetic.
            *self.unreadable.entry(agent.clone()).or_default() += 1;
            return breaches.note(Invariant::Readable, subject, seq, why);
        }
        uncounted(&delta, |invariant, what| {
            breaches.note(invariant, subject, seq, what);
        });
        let known = self.holders.entry(holder.clone()).or_default();
        subject.clone_into(&mut known.subject);
        known.take(&holder, &delta, seq, breaches);
    }

    /// Judges what is missing: everything that counts was taken.
    pub(super) fn close(mut self, control: &Control, ctl: &str, breaches: &mut Breaches) {
        for (holder, known) in &mut self.holders {
            known.close(holder, breaches);
        }
        if control.sealed.is_none() {
            return;
        }
        let nothing = OfHolder::default();
        let finals = control.finals().into_iter();
        let finals = finals.map(|(holder, (final_seq, totals))| (holder, final_seq, totals));
        let tails = &control.state.tails;
        let whole = tails.iter().filter(|(holder, tail)| {
            let spoke = control.state.finished.contains_key(*holder);
            tail.lost.is_none() && !spoke && control.state.ever_held.contains(*holder)
        });
        let whole = whole.map(|(holder, tail)| (holder, tail.final_seq, &tail.totals));
        for (holder, final_seq, totals) in finals.chain(whole) {
            let known = self.holders.get(holder).unwrap_or(&nothing);
            let excused = self.unreadable.get(&holder.agent).copied().unwrap_or(0);
            let missing = known.seqs.missing_up_to(final_seq);
            let last = known.seqs.last();
            // Killed before it knew that its last words were stored: what its next process
            // publishes adds nothing, and its own last words may come too late.
            let named = tails.get(holder).map_or(0, |tail| tail.final_seq);
            let subject = if known.subject.is_empty() {
                ctl
            } else {
                &known.subject
            };
            let mut note = |invariant, what| breaches.note(invariant, subject, 0, what);
            if missing > excused {
                let what = format!("{holder}: {missing} of {final_seq} deltas are missing");
                note(Invariant::Sequence, what);
            } else if last > final_seq.max(named) && known.totals != *totals {
                let what = format!("{holder}: delta {last} follows its last words at {final_seq}");
                note(Invariant::Sequence, what);
            } else if missing == 0 && known.totals != *totals {
                let what = format!("{holder}: its last words name other totals");
                note(Invariant::Totals, what);
            }
        }
        self.holes(control, breaches);
    }

    /// Whoever never said its last words may lack a tail, but nothing before what is there.
    fn holes(&self, control: &Control, breaches: &mut Breaches) {
        for (holder, known) in &self.holders {
            let tail = control.state.tails.get(holder);
            if tail.is_some() || control.state.finished.contains_key(holder) {
                continue;
            }
            let last = known.seqs.last();
            let missing = known.seqs.missing_up_to(last);
            let excused = self.unreadable.get(&holder.agent).copied().unwrap_or(0);
            if missing > excused {
                let what = format!("{holder}: {missing} deltas before number {last} are missing");
                breaches.note(Invariant::Sequence, &known.subject, 0, what);
            }
        }
    }
}

impl OfHolder {
    fn take(&mut self, holder: &Holder, delta: &DeltaReported, seq: u64, breaches: &mut Breaches) {
        let content = content(delta);
        let known = self.contents.entry(delta.seq).or_insert(content);
        if *known != content {
            let what = format!("{holder}: another delta has number {}", delta.seq);
            breaches.note(Invariant::Identity, &self.subject, seq, what);
        }
        if !self.seqs.insert(delta.seq) {
            return;
        }
        let grown = Grown {
            seq,
            rows: rows(delta),
            totals: delta.totals.clone(),
        };
        self.waiting.insert(delta.seq, grown);
        while let Some(next) = self.waiting.remove(&(self.judged + 1)) {
            self.judged += 1;
            let sum = plus(&self.totals, &next.rows);
            self.grow(holder, sum == next.totals, next, breaches);
        }
    }

    /// Beyond a hole totals may have grown by more than the rows, never by less.
    fn close(&mut self, holder: &Holder, breaches: &mut Breaches) {
        while let Some((number, next)) = self.waiting.pop_first() {
            self.judged = number;
            let least = plus(&self.totals, &next.rows);
            self.grow(holder, covers(&next.totals, &least), next, breaches);
        }
    }

    fn grow(&mut self, holder: &Holder, agrees: bool, next: Grown, breaches: &mut Breaches) {
        if !agrees {
            let what = format!(
                "{holder}: the totals of delta {} are not those before it and its rows",
                self.judged
            );
            breaches.note(Invariant::Totals, &self.subject, next.seq, what);
        }
        self.totals = next.totals;
    }
}

/// Why a row is not this process's to report.
fn foreign(control: &Control, holder: &Holder, delta: &DeltaReported) -> Option<String> {
    let arrivals = delta.arrivals.iter().map(|row| (row.tick, row.generation));
    let calls = delta.calls.iter().map(|row| (row.tick, row.generation));
    let anatomy = delta.anatomy.iter().map(|row| (row.tick, row.generation));
    let metrics = delta.metrics.iter().map(|row| (row.tick, row.generation));
    let mut named = arrivals.chain(calls).chain(anatomy).chain(metrics);
    named.find_map(|(tick, generation)| may_speak(control, holder, tick, generation).err())
}

/// Names rows whose histograms hold more or less than they count, or nothing that can be read.
fn uncounted(delta: &DeltaReported, mut note: impl FnMut(Invariant, String)) {
    for row in &delta.calls {
        let of_row = |what: &str| format!("call {} of tick {}: {what}", row.call, row.tick);
        let mut judge = |encoded: &EncodedHistogram, name: &str| match hist::decode(encoded) {
            Err(why) => note(Invariant::Readable, of_row(&why.to_string())),
            Ok(values) if values.len() == row.count => {}
            Ok(values) => {
                let (held, count) = (values.len(), row.count);
                let what = format!("{count} calls, and {held} {name} times");
                note(Invariant::Histograms, of_row(&what));
            }
        };
        judge(&row.response, "response");
        judge(&row.service, "service");
    }
}

fn content(delta: &DeltaReported) -> [u8; 16] {
    let json = serde_json::to_vec(delta).unwrap_or_default();
    let mut content = [0; 16];
    content.copy_from_slice(&Sha256::digest(json)[..16]);
    content
}

/// What the rows of a delta add up to.
fn rows(delta: &DeltaReported) -> Totals {
    let mut sums = Totals::default();
    for row in &delta.arrivals {
        sums.started = sums.started.saturating_add(row.started);
        add_counts(&mut sums.dropped, &row.dropped);
    }
    for row in &delta.calls {
        let count = sums.calls.entry(row.outcome).or_default();
        *count = count.saturating_add(row.count);
    }
    sums
}

fn plus(totals: &Totals, more: &Totals) -> Totals {
    let mut sums = totals.clone();
    sums.started = sums.started.saturating_add(more.started);
    add_counts(&mut sums.dropped, &more.dropped);
    add_counts(&mut sums.calls, &more.calls);
    sums
}

/// Whether no figure of `totals` is below that of `least`.
fn covers(totals: &Totals, least: &Totals) -> bool {
    let dropped = |reason| totals.dropped.get(reason).copied().unwrap_or(0);
    let calls = |outcome| totals.calls.get(outcome).copied().unwrap_or(0);
    totals.started >= least.started
        && least
            .dropped
            .iter()
            .all(|(reason, &count)| dropped(reason) >= count)
        && least
            .calls
            .iter()
            .all(|(outcome, &count)| calls(outcome) >= count)
}
