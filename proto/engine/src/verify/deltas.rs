//! Rules about the deltas of each process: its identity, completeness and totals.
//!
//! Each delta is judged alone here, and together with the others of its process by
//! [`crate::fold::chain`]. Must never count a repetition as a second delta.

use std::collections::BTreeMap;

use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::log::delta::DeltaReported;
use loadpilot_events::log::hist::EncodedHistogram;

use crate::control::Control;
use crate::fold::chain::{Chain, Taken, follows, judge};
use crate::fold::delta_record::{DeltaRecord, ParsedDelta};
use crate::fold::delta_validation::plausible;
use crate::fold::invariants::{Breaches, Invariant};
use crate::fold::project::may_speak;

/// The deltas of a run, judged so far.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    holders: BTreeMap<Holder, OfHolder>,
    /// Number of unreadable deltas of each agent: gaps that are already named.
    unreadable: BTreeMap<AgentId, u64>,
}

/// The deltas of one process.
#[derive(Debug, Default)]
struct OfHolder {
    subject: String,
    chain: Chain,
    /// The stream sequence of each number.
    seqs: BTreeMap<u64, u64>,
}

impl Deltas {
    /// Judges one record of LP_DATA that counts.
    pub(super) fn take(
        &mut self,
        control: &Control,
        record: &DeltaRecord,
        breaches: &mut Breaches,
    ) {
        let (agent, subject, seq) = (&record.agent, record.subject.as_str(), record.seq);
        let parsed = match &record.parsed {
            Ok(parsed) => parsed,
            Err(why) => {
                *self.unreadable.entry(agent.clone()).or_default() += 1;
                return breaches.note(Invariant::Readable, subject, seq, why.as_str());
            }
        };
        let delta = &parsed.delta;
        let holder = Holder {
            agent: agent.clone(),
            boot_id: delta.boot_id.clone(),
        };
        if !control.state.ever_held.contains(&holder) {
            let what = format!("{holder} never held shards");
            return breaches.note(Invariant::Held, subject, seq, what);
        }
        if let Some(what) = foreign(control, &holder, delta) {
            breaches.note(Invariant::Held, subject, seq, what);
        }
        if let Err(why) = plausible(control, delta) {
            // Its figures must not be used in any arithmetic.
            *self.unreadable.entry(agent.clone()).or_default() += 1;
            return breaches.note(Invariant::Readable, subject, seq, why);
        }
        uncounted(parsed, |invariant, what| {
            breaches.note(invariant, subject, seq, what);
        });
        if let Some(what) = follows(control, &holder, delta) {
            return breaches.note(Invariant::Sequence, subject, seq, what);
        }
        let known = self.holders.entry(holder.clone()).or_default();
        subject.clone_into(&mut known.subject);
        known.seqs.entry(delta.seq).or_insert(seq);
        if known.chain.take(delta, parsed.content) == Taken::Another {
            let what = format!("{holder}: another delta has number {}", delta.seq);
            breaches.note(Invariant::Identity, subject, seq, what);
        }
    }

    /// Judges all processes, after the last record.
    pub(super) fn close(self, control: &Control, ctl: &str, breaches: &mut Breaches) {
        let chains = self.holders.iter();
        let chains = chains.map(|(holder, known)| (holder, &known.chain));
        let excused = |holder: &Holder| self.unreadable.get(&holder.agent).copied().unwrap_or(0);
        for (holder, broken) in judge(control, &chains.collect(), excused) {
            if broken.invariant == Invariant::Identity {
                // The violation was named when the delta was taken.
                continue;
            }
            let known = self.holders.get(holder);
            let subject = known.map_or(ctl, |known| &known.subject);
            let seq = known.and_then(|known| known.seqs.get(&broken.number));
            let seq = seq.copied().unwrap_or(0);
            breaches.note(broken.invariant, subject, seq, broken.what);
        }
    }
}

/// Why this process may not report a row.
fn foreign(control: &Control, holder: &Holder, delta: &DeltaReported) -> Option<String> {
    let arrivals = delta.arrivals.iter().map(|row| (row.tick, row.generation));
    let calls = delta.calls.iter().map(|row| (row.tick, row.generation));
    let anatomy = delta.anatomy.iter().map(|row| (row.tick, row.generation));
    let metrics = delta.metrics.iter().map(|row| (row.tick, row.generation));
    let mut named = arrivals.chain(calls).chain(anatomy).chain(metrics);
    named.find_map(|(tick, generation)| may_speak(control, holder, tick, generation).err())
}

/// Names rows whose histograms are unreadable or disagree with their counts.
fn uncounted(parsed: &ParsedDelta, mut note: impl FnMut(Invariant, String)) {
    for (number, row) in parsed.delta.calls.iter().enumerate() {
        let of_row = |what: &str| format!("call {} of tick {}: {what}", row.call, row.tick);
        let mut judge = |index: usize, encoded: &EncodedHistogram, name: &str| match parsed
            .histogram(index, encoded)
        {
            Err(why) => note(Invariant::Readable, of_row(&why)),
            Ok(values) if values.len() == row.count => {}
            Ok(values) => {
                let (held, count) = (values.len(), row.count);
                let what = format!("{count} calls, and {held} {name} times");
                note(Invariant::Histograms, of_row(&what));
            }
        };
        judge(2 * number, &row.response, "response");
        judge(2 * number + 1, &row.service, "service");
    }
}
