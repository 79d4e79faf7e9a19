//! Replays the records of a ring as the events that its thread had tallied. Pure.
//!
//! Must never leave out a finished call: a call without a known name is counted with the other
//! calls of its task.

use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::RowKey;
use loadpilot_engine::tally::crash_recovery::{InFlight, TallyEvent, Thread};
use loadpilot_events::limits::OTHER_CALLS;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::script::CallName;

use crate::fire::{ArrivalId, CallRecord, RingContents, RingEvent, RingEventKind};

/// Replays the ring of one thread.
pub(super) fn thread(ring: &RingContents, plan: &Plan, workload: &Workload) -> Thread {
    let reader = Reader {
        ring,
        workload,
        in_plan: plan.calls().count(),
    };
    let mut thread = Thread {
        unrecorded: ring.unrecorded.saturating_add(ring.seatless),
        ..Thread::default()
    };
    for record in &ring.finished {
        reader.finished(record, &mut thread);
    }
    for record in &ring.in_flight {
        reader.in_flight(record, &mut thread);
    }
    for event in &ring.events {
        match reader.tally_event(event) {
            Some(event) => thread.events.push(event),
            None => thread.unrecorded = thread.unrecorded.saturating_add(1),
        }
    }
    thread
}

struct Reader<'a> {
    ring: &'a RingContents,
    workload: &'a Workload,
    in_plan: usize,
}

impl Reader<'_> {
    fn finished(&self, record: &CallRecord, thread: &mut Thread) {
        let Some(mut end) = record.call_end() else {
            return;
        };
        self.began(record, thread);
        end.call = self.call_number(record, thread);
        let (block, index) = record.arrival.draw_key();
        if self.workload.is_sampled(block, index, record.call) {
            let sample = end.sample(record.arrival.user_and_number(), record.due_us);
            thread.events.push(TallyEvent::Sample(sample));
        }
        thread.last_us = thread.last_us.max(record.due_us + end.response_us);
        thread.events.push(TallyEvent::Call(end));
    }

    fn in_flight(&self, record: &CallRecord, thread: &mut Thread) {
        self.began(record, thread);
        let call = self.call_number(record, thread);
        thread.last_us = thread.last_us.max(record.dispatched_us);
        let waited_us = record.dispatched_us.saturating_sub(record.due_us);
        thread.in_flight.push(InFlight {
            key: self.key(record),
            arrival: record.arrival.draw_key(),
            call,
            waited_us,
            schedule_lag_us: record.schedule_lag_us,
        });
    }

    /// The first call of an arrival implies its start, unless the start has an event of its own.
    fn began(&self, record: &CallRecord, thread: &mut Thread) {
        let is_first = record.schedule_lag_us.is_some();
        if is_first && !self.ring.closed.covers_turn(record.epoch) {
            thread.events.push(TallyEvent::Started(self.key(record)));
        }
    }

    /// Number of a call; adds the call's name, unless the plan contains it.
    fn call_number(&self, record: &CallRecord, thread: &mut Thread) -> u16 {
        if usize::from(record.call) < self.in_plan {
            return record.call;
        }
        let name = self.ring.texts.calls.get(&record.call).cloned();
        let name = name.unwrap_or_else(|| {
            let task = self.key(record).task;
            // The first numbers are reserved for the other calls of each task.
            CallName {
                call: task,
                task,
                name: OTHER_CALLS.to_owned(),
            }
        });
        let call = name.call;
        thread.events.push(TallyEvent::Name(name));
        call
    }

    fn key(&self, record: &CallRecord) -> RowKey {
        RowKey {
            tick: record.tick,
            generation: record.generation,
            task: match record.arrival {
                ArrivalId::Planned(n) => self.workload.task_of(n),
                ArrivalId::Iteration { user, k } => self.workload.task_of_user(user, k),
            },
        }
    }

    /// Event for the tally; `None` if its text is missing.
    fn tally_event(&self, event: &RingEvent) -> Option<TallyEvent> {
        let key = event.key;
        Some(match event.kind {
            RingEventKind::Started => TallyEvent::Started(key),
            RingEventKind::Dropped(reason) => TallyEvent::Dropped(key, reason),
            RingEventKind::TaskError => TallyEvent::TaskError(key),
            RingEventKind::TaskRaised(last) => TallyEvent::TaskRaised(key, last),
            RingEventKind::Check { passed } => TallyEvent::Check(key, passed),
            RingEventKind::Session { follows } => TallyEvent::Session(key, follows),
            RingEventKind::Metric { text, value } => {
                TallyEvent::Metric(key, self.ring.texts.metrics.get(&text)?.clone(), value)
            }
            RingEventKind::Raised { text } => {
                let (task, by, words) = self.ring.texts.raised.get(&text)?.clone();
                TallyEvent::Raised(task, by, words)
            }
        })
    }
}
