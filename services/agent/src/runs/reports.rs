//! Closes the counts of the threads into numbered deltas, which wait for their acknowledgement.
//!
//! While the outbox is full no tick is closed: rows merge and go into a later delta. A delta is in
//! the spool before it is published. Must never drop a row.

use loadpilot_engine::tally::crash_recovery::{Checkpoint, Watermark};
use loadpilot_engine::tally::{Ledger, Rows};
use loadpilot_events::log::delta::Totals;
use loadpilot_events::{AgentId, BootId, RunId};

use crate::crash::spool::Spool;
use crate::fire::MonoTime;
use crate::process::gauges::{CoreFigures, Meter, ProcessFigures};
use crate::process::shell::Shell;
use crate::runs::cores::Harvest;
use crate::runs::envelope::envelope;
use crate::runs::outbox::{Outbox, PendingDelta, msg_id};

/// Counts of one run that are not stored yet.
pub(super) struct Reports {
    run: RunId,
    start: MonoTime,
    ledger: Ledger,
    pending: Rows,
    figures: CoreFigures,
    meter: Meter,
    closed_at: MonoTime,
    outbox: Outbox,
    boot: BootId,
    /// Stores deltas that are not acknowledged, in case the process is killed.
    spool: Option<Spool>,
    /// Watermark of each thread: the last record that is merged here.
    marks: Vec<Watermark>,
}

impl Reports {
    /// Reports of a run that starts at `start`.
    pub(super) fn new(shell: &Shell, run: RunId, start: MonoTime, spool: Option<Spool>) -> Self {
        let timeouts = &shell.timeouts;
        Self {
            run,
            start,
            ledger: Ledger::new(shell.me.boot_id.clone()),
            pending: Rows::default(),
            figures: CoreFigures::default(),
            meter: Meter::new(ProcessFigures::read()),
            closed_at: start,
            outbox: Outbox::new(timeouts.outbox_ticks_max, timeouts.outbox_bytes_max),
            boot: shell.me.boot_id.clone(),
            spool,
            marks: Vec::new(),
        }
    }

    /// Merges a harvest.
    pub(super) fn add(&mut self, harvest: Harvest) {
        if harvest.unrecorded > 0 {
            let calls = harvest.unrecorded;
            tracing::warn!(run = %self.run, calls, "the ring is full: a kill loses them");
        }
        self.marks.resize(harvest.marks.len(), Watermark::default());
        for (known, mark) in self.marks.iter_mut().zip(&harvest.marks) {
            // A dead thread has no watermark.
            *known = mark.unwrap_or(*known);
        }
        self.pending.merge(harvest.rows);
        self.meter.stalled(harvest.figures.stall_us);
        self.figures = harvest.figures;
    }

    /// Closes the tick, unless the outbox is full; returns whether it did.
    pub(super) fn close(&mut self, now: MonoTime) -> bool {
        let has_room = self.outbox.has_room();
        if has_room {
            self.close_last(now);
        } else {
            tracing::warn!(run = %self.run, "deltas are not acknowledged: rows merge meanwhile");
        }
        has_room
    }

    /// Closes the last tick, even if the outbox is full.
    pub(super) fn close_last(&mut self, now: MonoTime) {
        let rows = std::mem::take(&mut self.pending);
        let gauges = self.meter.close(&self.figures, ProcessFigures::read());
        let (from_us, to_us) = (
            self.closed_at.since_us(self.start),
            now.since_us(self.start),
        );
        self.closed_at = now;
        let deltas = self.ledger.close(rows, from_us, to_us, gauges);
        let last_seq = self.ledger.last_seq();
        let pending_deltas = deltas.into_iter().map(|delta| {
            let seq = delta.seq;
            let payload = serde_json::to_vec(&envelope(delta)).expect("a delta has a JSON form");
            PendingDelta {
                seq,
                msg_id: msg_id(&self.run, &self.boot, seq),
                payload: payload.into(),
                ends_tick: seq == last_seq,
            }
        });
        let pending_deltas: Vec<PendingDelta> = pending_deltas.collect();
        self.save(&pending_deltas, to_us);
        pending_deltas
            .into_iter()
            .for_each(|delta| self.outbox.push(delta));
    }

    /// Writes closed deltas to the spool. The checkpoint comes last: this one store also tells
    /// recovery which records of the rings are already in a delta.
    fn save(&mut self, pending_deltas: &[PendingDelta], to_us: u64) {
        let Some(spool) = &mut self.spool else {
            return;
        };
        let unsaved = spool.unsaved();
        for delta in pending_deltas {
            spool.save(delta.seq, &delta.payload);
        }
        if spool.unsaved() > unsaved {
            let deltas = spool.unsaved();
            tracing::warn!(
                run = %self.run, deltas,
                "the spool is full: what is not acknowledged yet is lost if this process is killed"
            );
        }
        spool.close(&Checkpoint {
            last_seq: self.ledger.last_seq(),
            to_us,
            totals: self.ledger.totals().clone(),
            marks: self.marks.clone(),
        });
    }

    /// The delta to store next.
    pub(super) fn front(&self) -> Option<&PendingDelta> {
        self.outbox.front()
    }

    /// The delta at the front is stored.
    pub(super) fn acknowledge(&mut self) {
        if let (Some(seq), Some(spool)) = (self.outbox.acknowledge(), &mut self.spool) {
            spool.acknowledge(seq);
        }
    }

    /// Whether every closed delta is stored.
    pub(super) fn all_stored(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Number of the last delta, and totals of all deltas.
    pub(super) fn sums(&self) -> (u64, Totals) {
        (self.ledger.last_seq(), self.ledger.totals().clone())
    }
}

/// The next instant after `now` at which an agent closes a tick: the end of the tick plus the
/// agent's delay, so that the agents of a fleet do not all publish at the same time.
pub(super) fn next_close(start: MonoTime, tick_us: u64, phase_us: u64, now: MonoTime) -> MonoTime {
    let first = start.plus_us(tick_us.saturating_add(phase_us));
    if now < first {
        return first;
    }
    let ticks = now.since_us(first) / tick_us.max(1) + 1;
    first.plus_us(ticks.saturating_mul(tick_us))
}

/// Delay of `agent` inside a tick, in µs; the same for all processes of the agent.
#[must_use]
pub fn phase_us(agent: &AgentId, tick_us: u64) -> u64 {
    // FNV-1a, 64 bits: only its spread matters.
    let hash = agent
        .as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    hash % tick_us.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if ticks drift: the agent would publish later and later, or twice in one tick.
    #[test]
    fn closes_lie_one_tick_apart_after_the_start() {
        let start = MonoTime::from_ns(5_000_000_000);
        let at = |us: u64| start.plus_us(us);
        let next = |now| next_close(start, 1_000_000, 300_000, now);
        assert_eq!(
            next(MonoTime::from_ns(0)),
            at(1_300_000),
            "before the start"
        );
        assert_eq!(next(at(0)), at(1_300_000));
        assert_eq!(next(at(1_299_999)), at(1_300_000));
        assert_eq!(next(at(1_300_000)), at(2_300_000));
        assert_eq!(
            next(at(7_900_000)),
            at(8_300_000),
            "skipped ticks are not made up for"
        );
    }

    /// Broken if the agents of a fleet have the same delay: they would all publish at one instant.
    #[test]
    fn agents_spread_over_the_tick() {
        let phases: Vec<u64> = (0..100)
            .map(|n| {
                phase_us(
                    &AgentId::parse(&format!("agent-{n}")).expect("a token"),
                    1_000_000,
                )
            })
            .collect();
        for tenth in 0..10 {
            let range = tenth * 100_000..(tenth + 1) * 100_000;
            assert!(
                phases.iter().any(|phase| range.contains(phase)),
                "none in {range:?}"
            );
        }
    }
}
