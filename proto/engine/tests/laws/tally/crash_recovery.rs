//! The tail of a killed process: together with its deltas it contains everything that the process
//! recorded, once.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::control::decide::{LastSeen, Observations, Policy, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_engine::tally::crash_recovery::{
    self, Checkpoint, InFlight, TallyEvent, Thread, Watermark,
};
use loadpilot_engine::tally::{CallEnd, Ledger, Phases, RowKey, Tally};
use loadpilot_events::id::{BootId, Holder};
use loadpilot_events::log::assign::{Holding, Loss, LossReason};
use loadpilot_events::log::ctl::{
    Decision, RunSealed, ShardsAssigned, ShardsReassigned, StartScheduled,
};
use loadpilot_events::log::delta::{
    DeltaReported, Gauges, LastCall, SessionCounts, TaskRaises, Totals,
};
use loadpilot_events::log::evt::{Fact, FinishReason, ShardsFinished, TailReported, What};
use loadpilot_events::log::hist;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::log::req::Request;
use loadpilot_events::units::Timestamp;
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

fn boot() -> BootId {
    BootId::parse("b1").expect("a token")
}

fn key(tick: u32) -> RowKey {
    RowKey {
        tick,
        generation: 1,
        task: 0,
    }
}

/// An event of a thread, or a step of the process between two events.
#[derive(Debug, Clone)]
enum Step {
    Call(u32, u64),
    Drop(u32),
    TaskError(u32),
    TaskRaised(u32, LastCall),
    Check(bool),
    Session(u32, bool),
    /// All threads are harvested.
    Harvest,
    /// The harvest is closed into deltas, and the checkpoint moves.
    Close,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        6 => (0_u32..3, 0_u64..100_000).prop_map(|(tick, us)| Step::Call(tick, us)),
        2 => (0_u32..3).prop_map(Step::Drop),
        2 => (0_u32..3).prop_map(Step::TaskError),
        2 => (0_u32..3, prop::sample::select(&LastCall::ALL[..]))
            .prop_map(|(tick, last)| Step::TaskRaised(tick, last)),
        2 => any::<bool>().prop_map(Step::Check),
        2 => (0_u32..3, any::<bool>()).prop_map(|(tick, follows)| Step::Session(tick, follows)),
        2 => Just(Step::Harvest),
        2 => Just(Step::Close),
    ];
    prop::collection::vec((0_usize..THREADS, step), 0..80)
}

const THREADS: usize = 3;

/// A thread with all of its events, numbered from 1.
#[derive(Default)]
struct Recorder {
    events: Vec<TallyEvent>,
    tally: Tally,
    turn: u32,
}

impl Recorder {
    fn record(&mut self, event: TallyEvent) {
        match &event {
            TallyEvent::Call(end) => {
                self.tally.started(key(end.tick));
                self.events.push(TallyEvent::Started(key(end.tick)));
                self.tally.call(end);
            }
            TallyEvent::Dropped(key, reason) => self.tally.dropped(*key, *reason),
            TallyEvent::TaskError(key) => self.tally.task_error(*key),
            TallyEvent::TaskRaised(key, last) => self.tally.task_raised(*key, *last),
            TallyEvent::Check(key, passed) => self.tally.check(*key, *passed),
            TallyEvent::Session(key, follows) => self.tally.session(*key, *follows),
            other => panic!("no step records {other:?}"),
        }
        self.events.push(event);
    }

    /// The events after the watermark, as a ring gives them.
    fn left(&self, mark: Watermark) -> Thread {
        let numbered = self.events.iter().zip(1..);
        let open = numbered.filter(|(_, number)| !mark.covers(*number));
        Thread {
            events: open.map(|(event, _)| event.clone()).collect(),
            ..Thread::default()
        }
    }
}

fn call(tick: u32, us: u64) -> CallEnd {
    CallEnd {
        tick,
        generation: 1,
        call: 0,
        outcome: Outcome::Ok,
        response_us: us,
        service_us: us / 2,
        status: Some(200),
        cause: None,
        sent_bytes: 3,
        received_bytes: 5,
        phases: Phases {
            schedule_lag_us: Some(us % 50),
            ..Phases::default()
        },
    }
}

/// Every figure of deltas, added up without regard to their boundaries.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    arrivals: BTreeMap<u32, ArrivalsOf>,
    calls: BTreeMap<(u32, Outcome), CallsOf>,
}

/// Started, dropped, task errors, checks passed, checks failed, raises and sessions.
type ArrivalsOf = (u64, u64, u64, u64, u64, TaskRaises, SessionCounts);

/// Count, answers, bytes, and the number of calls of each latency.
type CallsOf = (u64, u64, u64, Vec<(u64, u64)>);

fn sums(deltas: &[DeltaReported]) -> Sums {
    let mut sums = Sums::default();
    for row in deltas.iter().flat_map(|delta| &delta.arrivals) {
        let sum = sums.arrivals.entry(row.tick).or_default();
        sum.0 += row.started;
        sum.1 += row.dropped.values().sum::<u64>();
        sum.2 += row.task_errors;
        sum.3 += row.checks_passed;
        sum.4 += row.checks_failed;
        sum.5.add(row.raises);
        sum.6.add(row.sessions);
    }
    let mut latencies: BTreeMap<_, hist::Hist> = BTreeMap::new();
    for row in deltas.iter().flat_map(|delta| &delta.calls) {
        let sum = sums.calls.entry((row.tick, row.outcome)).or_default();
        sum.0 += row.count;
        sum.1 += row.status.values().sum::<u64>();
        sum.2 += row.sent_bytes + row.received_bytes;
        let more = hist::decode(&row.response).expect("a histogram");
        let known = latencies.entry((row.tick, row.outcome));
        *known.or_insert_with(hist::latency) += more;
    }
    for (key, latency) in latencies {
        let values = latency.iter_recorded();
        let values = values.map(|step| (step.value_iterated_to(), step.count_at_value()));
        sums.calls.entry(key).or_default().3 = values.collect();
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Broken if a kill at any moment loses something, counts it twice, or gives two deltas the
    /// same number.
    #[test]
    fn deltas_and_tail_are_what_was_recorded(steps in steps()) {
        let mut recorders: Vec<Recorder> = (0..THREADS).map(|_| Recorder::default()).collect();
        let mut whole = Tally::new();
        let mut ledger = Ledger::new(boot());
        let mut pending = loadpilot_engine::tally::Rows::default();
        let mut marks = vec![Watermark::default(); THREADS];
        let mut books = Checkpoint::default();
        let mut closed = Vec::new();
        for (thread, step) in steps {
            let event = match step {
                Step::Call(tick, us) => TallyEvent::Call(call(tick, us)),
                Step::Drop(tick) => TallyEvent::Dropped(key(tick), DropReason::Late),
                Step::TaskError(tick) => TallyEvent::TaskError(key(tick)),
                Step::TaskRaised(tick, last) => TallyEvent::TaskRaised(key(tick), last),
                Step::Check(passed) => TallyEvent::Check(key(0), passed),
                Step::Session(tick, follows) => TallyEvent::Session(key(tick), follows),
                Step::Harvest => {
                    for (recorder, mark) in recorders.iter_mut().zip(&mut marks) {
                        pending.merge(recorder.tally.take());
                        recorder.turn += 1;
                        let (turn, number) = (recorder.turn, recorder.events.len() as u64);
                        *mark = Watermark { turn, number, unrecorded: 0 };
                    }
                    continue;
                }
                Step::Close => {
                    let rows = std::mem::take(&mut pending);
                    closed.extend(ledger.close(rows, 0, 0, Gauges::default()));
                    books = Checkpoint {
                        last_seq: ledger.last_seq(),
                        to_us: 0,
                        totals: ledger.totals().clone(),
                        marks: marks.clone(),
                    };
                    continue;
                }
            };
            if let TallyEvent::Call(end) = &event {
                whole.started(key(end.tick));
                whole.call(end);
            }
            match &event {
                TallyEvent::Dropped(key, reason) => whole.dropped(*key, *reason),
                TallyEvent::TaskError(key) => whole.task_error(*key),
                TallyEvent::TaskRaised(key, last) => whole.task_raised(*key, *last),
                TallyEvent::Check(key, passed) => whole.check(*key, *passed),
                TallyEvent::Session(key, follows) => whole.session(*key, *follows),
                _ => {}
            }
            recorders[thread].record(event);
        }
        let mark = |thread: usize| books.marks.get(thread).copied().unwrap_or_default();
        let left = recorders.iter().enumerate();
        let left: Vec<_> = left.map(|(thread, recorder)| Ok(recorder.left(mark(thread)))).collect();
        let tail = crash_recovery::close(boot(), &books, &left);
        prop_assert_eq!(&tail, &crash_recovery::close(boot(), &books, &left), "the same each time");
        closed.extend(tail.deltas);
        let seqs: Vec<u64> = closed.iter().map(|delta| delta.seq).collect();
        let expected: Vec<u64> = (1..=tail.reported.final_seq).collect();
        prop_assert_eq!(seqs, expected);
        let expected = Ledger::new(boot()).close(whole.take(), 0, 0, Gauges::default());
        prop_assert_eq!(sums(&closed), sums(&expected));
        let totals = closed.last().map(|delta| &delta.totals);
        prop_assert_eq!(totals, Some(&tail.reported.totals));
        prop_assert_eq!(totals, expected.last().map(|delta| &delta.totals));
        prop_assert_eq!(tail.reported.lost, None);
    }
}

fn in_flight(n: u64, call: u16) -> InFlight {
    InFlight {
        key: key(1),
        arrival: (n, 0),
        call,
        waited_us: 70,
        schedule_lag_us: Some(50),
    }
}

/// Broken if a call whose end was not recorded counts as finished, or its arrival as without error.
#[test]
fn calls_in_flight_are_indeterminate_and_spoil_their_arrivals_once() {
    let thread = Thread {
        in_flight: vec![in_flight(1, 0), in_flight(1, 1), in_flight(2, 0)],
        last_us: 9_000,
        ..Thread::default()
    };
    let tail = crash_recovery::close(boot(), &Checkpoint::default(), &[Ok(thread)]);
    assert_eq!(tail.reported.indeterminate, 3);
    let calls = BTreeMap::from([(Outcome::Indeterminate, 3)]);
    assert_eq!(tail.reported.totals.calls, calls);
    let [delta] = &tail.deltas[..] else {
        panic!("one delta: {:?}", tail.deltas);
    };
    assert_eq!(delta.arrivals[0].task_errors, 2);
    assert_eq!((delta.from_us, delta.to_us), (0, 9_000));
}

/// Broken if missing records are not reported, or if the tail claims their window as complete.
#[test]
fn what_is_missing_is_named_and_its_window_stays_open() {
    let books = Checkpoint {
        last_seq: 4,
        to_us: 5_000,
        marks: vec![
            Watermark {
                turn: 1,
                number: 3,
                unrecorded: 2,
            };
            2
        ],
        ..Checkpoint::default()
    };
    let thread = |unrecorded| Thread {
        unrecorded,
        last_us: 9_000,
        ..Thread::default()
    };
    let whole = crash_recovery::close(boot(), &books, &[Ok(thread(2)), Ok(thread(2))]);
    assert_eq!(whole.reported.lost, None);
    // One delta for each thread: the number of a call has a meaning within its thread only.
    assert_eq!((whole.deltas[0].seq, whole.reported.final_seq), (5, 6));
    let gone = Err("the ring of thread 1 is gone".to_owned());
    for (threads, reason) in [
        ([Ok(thread(2)), gone], "the ring of thread 1 is gone"),
        (
            [Ok(thread(2)), Ok(thread(9))],
            "7 records found no room in its rings",
        ),
    ] {
        let tail = crash_recovery::close(boot(), &books, &threads);
        let lost = tail.reported.lost.expect("something is missing");
        assert_eq!((lost.from_us, lost.to_us), (5_000, 9_000));
        assert_eq!(lost.reason, reason);
        let window = (tail.deltas[0].from_us, tail.deltas[0].to_us);
        assert_eq!(window, (5_000, 5_000));
    }
}

/// A run of one agent whose process was killed and replaced, and whose new process has finished.
struct Replaced {
    state: RunState,
    policy: Policy,
    killed: Holder,
    heir: Holder,
    /// A time after everything that is due.
    after: Timestamp,
}

impl Replaced {
    fn new() -> Self {
        let (policy, start) = (Policy::default(), Timestamp(1_800_000_000_000_000));
        let mut dice = Dice::new(1);
        let plan = plans::plan(&mut dice);
        let after = start.plus_us(plan.profile.duration_us() + 1);
        let request = Request::RunRequested(Box::new(plans::request(plan, 1, 1, &mut dice)));
        let (killed, heir) = (plans::holder(0, 0), plans::holder(0, 1));
        let state = RunState::default().evolve(1, start, Record::Request(&request));
        let created =
            decide(&state, &Observations::default(), &policy, start).expect("it is created");
        let held_by = |holder: &Holder| {
            vec![Holding {
                holder: holder.clone(),
                shards: vec![0],
            }]
        };
        let decisions = [
            created,
            Decision::ShardsAssigned(ShardsAssigned {
                generation: 1,
                holdings: held_by(&killed),
                ready_by: start,
            }),
            Decision::StartScheduled(StartScheduled { start_at: start }),
            Decision::ShardsReassigned(ShardsReassigned {
                generation: 2,
                holdings: held_by(&heir),
                takeover_tick: 1,
                losses: vec![Loss {
                    holder: killed.clone(),
                    reason: LossReason::Replaced,
                }],
            }),
        ];
        let decisions = (2..).zip(&decisions);
        let state = decisions.fold(state, |state, (seq, decision)| {
            state.evolve(seq, start, Record::Decision(decision))
        });
        let mut replaced = Self {
            state,
            policy,
            killed,
            heir: heir.clone(),
            after,
        };
        let finished = What::ShardsFinished(ShardsFinished {
            reason: FinishReason::Completed,
            final_seq: 0,
            totals: Totals::default(),
            on_stop_failed: None,
        });
        replaced.state(&heir, finished);
        replaced
    }

    fn state(&mut self, of: &Holder, what: What) {
        let boot_id = of.boot_id.clone();
        let fact = Fact { boot_id, what };
        let state = std::mem::take(&mut self.state);
        self.state = state.evolve(20, self.after, Record::Fact(&of.agent, &fact));
    }

    /// The seal at `now`, if it is due; the heir's last heartbeat came at `beat_at`.
    fn seal(
        &self,
        recovering: &[&Holder],
        beat_at: Timestamp,
        now: Timestamp,
    ) -> Option<RunSealed> {
        let boots = recovering.iter().map(|holder| holder.boot_id.clone());
        let seen = LastSeen {
            at: beat_at,
            predecessor_dead: true,
            recovering: boots.collect(),
            has: BTreeSet::new(),
        };
        let hearing = Observations {
            agents: [(self.heir.clone(), seen)].into(),
            owners: self
                .state
                .owner()
                .map(|owner| (owner.clone(), now))
                .into_iter()
                .collect(),
            ..Observations::default()
        };
        match decide(&self.state, &hearing, &self.policy, now) {
            Some(Decision::RunSealed(sealed)) => Some(sealed),
            None => None,
            other => panic!("{other:?}"),
        }
    }
}

/// Broken if a run is sealed while a successor reports the tail of a killed process, or is never
/// sealed without a successor.
#[test]
fn a_seal_waits_for_a_tail_and_not_for_ever() {
    let mut run = Replaced::new();
    let after = run.after;
    assert!(
        run.seal(&[], after, after).is_some(),
        "no successor reports it"
    );
    let killed = run.killed.clone();
    assert_eq!(run.seal(&[&killed], after, after), None);
    let other = plans::holder(0, 7);
    assert!(run.seal(&[&other], after, after).is_some(), "another's");
    let silent = after.plus_us(run.policy.lost_us);
    assert!(run.seal(&[&killed], after, silent).is_some(), "it is gone");
    let end = after.plus_us(3_600_000_000);
    assert!(run.seal(&[&killed], end, end).is_some(), "out of time");

    let tail = TailReported {
        final_seq: 3,
        totals: Totals::default(),
        indeterminate: 2,
        lost: None,
    };
    run.state(&killed, What::TailReported(tail.clone()));
    let seal = run.seal(&[&killed], after, after).expect("it is reported");
    let missing = std::slice::from_ref(&killed);
    assert_eq!(seal.missing, missing, "it never spoke itself");
    let less = TailReported {
        final_seq: 1,
        ..tail.clone()
    };
    run.state(&killed, What::TailReported(less));
    assert_eq!(
        run.state.tails.get(&killed),
        Some(&tail),
        "the first counts"
    );
    let boots: BTreeSet<_> = run.state.tails.keys().collect();
    assert_eq!(boots.len(), 1);
}
