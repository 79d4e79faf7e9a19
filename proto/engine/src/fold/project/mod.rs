//! The data side of a run's log, folded: rows of deltas, each counted once.
//!
//! Deltas may come in any order, twice, or not at all. Delivery is at least once; the fold counts
//! each delta once, by the set of sequence numbers of each process. Must never read a clock, and
//! never average.
//!
//! - `standing`: whether a row of a holder counts in its tick
//! - `prepared`: a delta, read and judged before it is added up
//! - `failed_calls`: examples of failed calls
//! - `memory_limits`: limits on the histograms of a run
//! - `window`: warm-up or measured time

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::answers::report::Quarantined;
use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::limits;
use loadpilot_events::log::delta::{ArrivalRow, CallRow, DeltaReported, Gauges};
use loadpilot_events::log::exchange::ExchangeSeen;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::Shape;
use loadpilot_events::plan::script::RaisedBy;
use loadpilot_events::rules::Rules;
use serde::{Deserialize, Serialize};

use crate::bugs::{Bug, bug};
use crate::control::Control;
use crate::fold::chain::{Chain, Taken, adds, follows, last_number};
use crate::fold::delta_record::{DeltaRecord, ParsedDelta};
use crate::fold::delta_validation::plausible;
use crate::fold::delta_window::Reported;
use crate::fold::index::Index;
use crate::tally::aggregates::{AnatomySums, ArrivalSums, CallSums, pack};
use crate::tally::arrival_rows::ArrivalRows;
use crate::tally::cache_codec;
use crate::tally::call_ids::{CallId, CallNames};
use crate::tally::metrics::MetricSums;
use crate::tally::packed_histogram::{PackedHistogram, Precision};
pub use crate::tally::seq_set::SeqSet;

mod failed_calls;
mod memory_limits;
pub(crate) mod prepared;
mod standing;
mod window;

use prepared::{Latencies, Prepared};
use window::window;

pub use failed_calls::FailureSeen;
pub(crate) use standing::{counts, may_speak};
pub use window::{Window, first_measured_tick};

/// Calls due in one tick.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TickCalls {
    /// Finished.
    pub finished: u64,
    /// Finished and not ok.
    pub errors: u64,
    /// Their response times, packed: there are many ticks.
    pub responses: PackedHistogram,
    /// Their service times, packed; empty when the profile has one piece, and no levels.
    pub services: PackedHistogram,
}

/// Number of ticks after which the sums by tick are packed again.
const PACKED_TICKS: usize = 8_192;

/// The sums of one process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HolderSums {
    /// Its deltas, each compared with the one before it.
    pub chain: Chain,
    /// The greatest number of a delta that adds something.
    pub last_adding: u64,
    /// Arrivals started, in all rows including excess: compared with the totals.
    pub started: u64,
    /// Calls ended in all rows including excess.
    pub calls: u64,
    /// The end of its newest delta, in µs after the start.
    pub covered_us: u64,
    /// The cumulative counters of its newest delta: `(seq, started, calls)`.
    pub claimed: (u64, u64, u64),
    /// Arrivals reported, by due tick, without excess.
    pub reported: BTreeMap<u32, u64>,
    /// TCP segments that the kernel of its machine retransmitted during the run.
    pub retransmits: u64,
    /// Connections that overflowed a listen queue of its machine during the run.
    pub listen_overflows: u64,
    /// Its deltas by sequence number, in a closed loop only, which has no plan to show a gap.
    pub windows: BTreeMap<u64, Reported>,
}

impl HolderSums {
    /// Adds the totals, the window and the kernel counters of a delta.
    fn add_totals(&mut self, delta: &DeltaReported, prepared: &Prepared<'_>, is_closed_loop: bool) {
        let totals = &delta.totals;
        if is_closed_loop {
            let arrivals = prepared.arrivals.iter();
            let reported = Reported {
                from_us: delta.from_us,
                to_us: delta.to_us,
                arrivals: arrivals.map(|(_, sums, _)| sums.reported()).sum(),
                total: totals.started + totals.dropped_total(),
            };
            self.windows.insert(delta.seq, reported);
        }
        self.covered_us = self.covered_us.max(delta.to_us);
        let claim = (delta.seq, totals.started, totals.calls_total());
        self.claimed = self.claimed.max(claim);
        self.retransmits += delta.gauges.retransmits;
        self.listen_overflows += delta.gauges.listen_overflows;
    }
}

/// The data side of a run, folded so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Projection {
    /// By window, call and outcome.
    pub calls: BTreeMap<(Window, CallId, Outcome), CallSums>,
    /// By window and call.
    pub anatomy: BTreeMap<(Window, CallId), AnatomySums>,
    /// Errors raised in Python: number by task, part and text.
    pub raised: BTreeMap<(u16, RaisedBy, String), u64>,
    /// Traceback of each, if any: the smallest text, so that the order of deltas does not matter.
    pub traces: BTreeMap<(u16, RaisedBy, String), String>,
    /// The scenario's own metrics, by window and task.
    pub metrics: BTreeMap<(Window, u16), MetricSums>,
    /// By due tick and task.
    pub arrivals: ArrivalRows,
    /// By due tick.
    pub ticks: BTreeMap<u32, TickCalls>,
    /// By process.
    pub holders: BTreeMap<Holder, HolderSums>,
    /// Arrivals offered by superseded holders.
    pub excess_arrivals: u64,
    /// Calls of these arrivals.
    pub excess_calls: u64,
    /// Deltas stored after the seal.
    pub late_deltas: u64,
    /// Quarantined records, by stream sequence.
    pub quarantined: BTreeMap<u64, Quarantined>,
    /// Of each process the least number of a delta that was quarantined since it follows the final
    /// totals.
    pub beyond: BTreeMap<Holder, u64>,
    /// Exchanges shown in full, up to [`limits::DEBUG_REQUESTS_MAX`] of them.
    #[serde(with = "cache_codec::json")]
    pub exchanges: BTreeSet<ExchangeSeen>,
    /// Examples of failed calls.
    #[serde(with = "cache_codec::json")]
    pub failures: BTreeSet<FailureSeen>,
    /// Histogram counts by the agent of the deltas.
    pub counts: BTreeMap<AgentId, u64>,
    /// Figures of the generator over all deltas.
    pub generator: GeneratorSums,
}

/// Figures of the generator over all deltas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorSums {
    /// Number of deltas.
    pub deltas: u64,
    /// Deltas in which a firing thread used more than 90 % of its core.
    pub busy_deltas: u64,
    /// The busiest firing thread, in thousandths of its core.
    pub busiest_core_permille: u64,
    /// The longest stall in µs.
    pub stall_us: u64,
}

/// Use of its core, in thousandths, above which a firing thread counts as busy.
const BUSY_PERMILLE: u64 = 900;

impl GeneratorSums {
    fn add(&mut self, gauges: &Gauges) {
        self.deltas += 1;
        self.busy_deltas += u64::from(gauges.busiest_core_permille > BUSY_PERMILLE);
        self.busiest_core_permille = self.busiest_core_permille.max(gauges.busiest_core_permille);
        self.stall_us = self.stall_us.max(gauges.stall_us);
    }
}

impl Projection {
    /// Adds one record of LP_DATA; `agent` is the last token of its subject. Returns the delta if
    /// it counts for the first time.
    pub fn add(
        &mut self,
        control: &Control,
        agent: &AgentId,
        subject: &str,
        seq: u64,
        payload: &[u8],
    ) -> Option<DeltaReported> {
        let record = DeltaRecord::parse(agent.clone(), subject.to_owned(), seq, payload);
        let is_new = self.add_parsed(control, &record, None);
        let parsed = record.parsed.ok().filter(|_| is_new);
        parsed.map(|parsed| parsed.delta)
    }

    /// The same for a parsed record; rows that count are added to `index`, too, if there is one.
    /// Returns whether the delta counts for the first time.
    pub fn add_parsed(
        &mut self,
        control: &Control,
        record: &DeltaRecord,
        index: Option<&mut Index>,
    ) -> bool {
        let (subject, seq) = (&record.subject, record.seq);
        let sealed = control.sealed.as_ref();
        if sealed.is_some_and(|sealed| seq > sealed.data_seq) && !bug(Bug::LateDeltasCount) {
            self.late_deltas += 1;
            return false;
        }
        let parsed = record.parsed.as_ref().map_err(Clone::clone);
        let result = parsed.and_then(|parsed| self.fold(control, &record.agent, parsed, index));
        result.unwrap_or_else(|reason| {
            let quarantined = Quarantined {
                subject: subject.clone(),
                seq,
                reason,
            };
            self.quarantined.insert(seq, quarantined);
            false
        })
    }

    /// Whether the final totals in `control` lead to the same judgement of every delta as those
    /// that were known at the time of its fold. If not, the log has to be folded again.
    #[must_use]
    pub fn is_valid_under(&self, control: &Control) -> bool {
        let last = |holder| last_number(control, holder);
        let mut counted = self.holders.iter();
        let counted =
            counted.all(|(holder, sums)| last(holder).is_none_or(|last| sums.last_adding <= last));
        let mut beyond = self.beyond.iter();
        let beyond = beyond.all(|(holder, first)| last(holder).is_some_and(|last| *first > last));
        (counted && beyond) || control.rules() < Rules::V2
    }

    /// A copy without the sums that depend on the window, and without those by tick.
    pub(crate) fn without_calls(&self) -> Self {
        Self {
            calls: BTreeMap::new(),
            anatomy: BTreeMap::new(),
            metrics: BTreeMap::new(),
            ticks: BTreeMap::new(),
            raised: self.raised.clone(),
            traces: self.traces.clone(),
            arrivals: self.arrivals.clone(),
            holders: self.holders.clone(),
            excess_arrivals: self.excess_arrivals,
            excess_calls: self.excess_calls,
            late_deltas: self.late_deltas,
            quarantined: self.quarantined.clone(),
            beyond: self.beyond.clone(),
            exchanges: self.exchanges.clone(),
            failures: self.failures.clone(),
            counts: self.counts.clone(),
            generator: self.generator,
        }
    }

    /// Takes less memory with the same sums: most of the memory is for sums by tick.
    fn pack(&mut self) {
        pack(&mut self.ticks);
        self.arrivals.pack();
        for sums in self.holders.values_mut() {
            pack(&mut sums.reported);
        }
    }

    /// Adds a delta; returns whether it counts for the first time.
    ///
    /// # Errors
    /// Why it is quarantined.
    fn fold(
        &mut self,
        control: &Control,
        agent: &AgentId,
        parsed: &ParsedDelta,
        index: Option<&mut Index>,
    ) -> Result<bool, String> {
        let delta = &parsed.delta;
        let mut holder = Holder {
            agent: agent.clone(),
            boot_id: delta.boot_id.clone(),
        };
        if bug(Bug::IdentityFromPayload)
            && let Some(first) = control.state.ever_held.first()
        {
            holder.agent = first.agent.clone();
        }
        if !control.state.ever_held.contains(&holder) {
            return Err(format!("{holder} never held shards"));
        }
        plausible(control, delta)?;
        let prepared = Prepared::new(control, &holder, parsed)?;
        if let Some(reason) = follows(control, &holder, delta) {
            let first = self.beyond.entry(holder).or_insert(delta.seq);
            *first = delta.seq.min(*first);
            return Err(reason);
        }
        let names = CallNames::of(delta);
        let counts = memory_limits::grown(self, (control, agent), &prepared, &names)?;
        let sums = self.holders.entry(holder.clone()).or_default();
        let taken = sums.chain.take(delta, parsed.content);
        if taken != Taken::New && !bug(Bug::CountedTwice) {
            return Ok(false);
        }
        *self.counts.entry(agent.clone()).or_default() += counts;
        if adds(delta) {
            sums.last_adding = sums.last_adding.max(delta.seq);
        }
        let created = control.state.created.as_ref();
        let is_closed_loop = created.is_some_and(|created| created.plan.users.is_some());
        sums.add_totals(delta, &prepared, is_closed_loop);
        self.add_rows(control, &holder, (delta, &names), &prepared);
        if let Some(index) = index {
            index.add(control, &holder.agent, delta, &prepared);
        }
        Ok(true)
    }

    /// Adds the rows of a delta that counts.
    fn add_rows(
        &mut self,
        control: &Control,
        holder: &Holder,
        (delta, names): (&DeltaReported, &CallNames),
        prepared: &Prepared<'_>,
    ) {
        let ticks = self.ticks.len();
        self.generator.add(&delta.gauges);
        self.exchanges.extend(delta.exchanges.iter().cloned());
        while self.exchanges.len() > limits::DEBUG_REQUESTS_MAX as usize {
            // The first exchanges stay, whatever the order of deltas.
            self.exchanges.pop_last();
        }
        for seen in &delta.failures {
            failed_calls::add(&mut self.failures, names.call_id(seen.call), seen);
        }
        self.add_arrivals(holder, &prepared.arrivals);
        for (row, latencies, excess) in &prepared.calls {
            let call = (*row, names.call_id(row.call));
            self.call(control, holder, call, latencies, *excess);
        }
        for row in &delta.raised {
            let key = (row.task, row.by, row.text.clone());
            if let Some(trace) = &row.trace {
                let known = self.traces.entry(key.clone());
                let known = known.or_insert_with(|| trace.clone());
                *known = std::mem::take(known).min(trace.clone());
            }
            *self.raised.entry(key).or_default() += row.count;
        }
        for (row, sums) in &prepared.metrics {
            let key = (window(control, row.tick), row.task);
            self.metrics.entry(key).or_default().add(sums);
        }
        for (row, phases) in &prepared.anatomy {
            let key = (window(control, row.tick), names.call_id(row.call));
            let phases = phases.iter().map(|(phase, filled)| (*phase, &**filled));
            self.anatomy.entry(key).or_default().add_row(row, phases);
        }
        if self.ticks.len() / PACKED_TICKS > ticks / PACKED_TICKS {
            self.pack();
        }
    }

    fn add_arrivals(&mut self, holder: &Holder, rows: &[(&ArrivalRow, ArrivalSums, bool)]) {
        let of_holder = self.holders.entry(holder.clone()).or_default();
        let mut by_tick = BTreeMap::<u32, BTreeMap<u16, ArrivalSums>>::new();
        for (row, sums, excess) in rows {
            of_holder.started += sums.started;
            if *excess {
                self.excess_arrivals += sums.started;
                continue;
            }
            *of_holder.reported.entry(row.tick).or_default() += sums.reported();
            let of_tick = by_tick.entry(row.tick).or_default();
            of_tick.entry(row.task).or_default().add(sums);
        }
        for (tick, of_tick) in by_tick {
            self.arrivals.add(tick, of_tick);
        }
    }

    fn call(
        &mut self,
        control: &Control,
        holder: &Holder,
        (row, call_id): (&CallRow, CallId),
        latencies: &Latencies<'_>,
        excess: bool,
    ) {
        self.holders.entry(holder.clone()).or_default().calls += row.count;
        if excess {
            self.excess_calls += row.count;
            return;
        }
        let key = (window(control, row.tick), call_id, row.outcome);
        let Latencies { response, service } = latencies;
        let sums = self.calls.entry(key).or_default();
        sums.add_row(row, response, service);
        if row.outcome.is_finished() {
            let tick = self.ticks.entry(row.tick).or_default();
            tick.finished += row.count;
            tick.errors += if row.outcome.is_error() { row.count } else { 0 };
            let responses = PackedHistogram::of_filled(response, Precision::Latency);
            tick.responses.add(&responses);
            if has_pieces(control) {
                let services = PackedHistogram::of_filled(service, Precision::Latency);
                tick.services.add(&services);
            }
        }
    }
}

/// Whether the profile of the run may hold several levels, each judged alone.
fn has_pieces(control: &Control) -> bool {
    let created = control.state.created.as_ref();
    created.is_some_and(|created| {
        let profile = &created.plan.profile;
        profile.pieces.len() > 1 && profile.shape != Shape::Replay
    })
}
