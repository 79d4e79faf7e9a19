//! What users made up, sent: one request, or several at a time.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::Arc;

use loadpilot_events::limits::NAME_BYTES_MAX;

use super::{Held, Stage, all, cut};
use crate::fire::arrival::arrival_runner::{Begin, Calls, Ended};
use crate::fire::arrival_id::Arrival;
use crate::fire::clock::MonoTime;
use crate::fire::http::wire::{Order, Trace, Wire};
use crate::fire::request::call_registry::Made;
use crate::fire::request::progress::Progress;
use crate::fire::request::response_capture::Kept;
use crate::fire::request::scratch::Kit;
use crate::fire::request::stream_tokens::Tokens;
use crate::users::script::{Answer, Heard, Request};

/// A request that is about to be sent.
pub(super) struct Sending<'a> {
    arrival: Option<&'a Arrival>,
    /// The call and its name, or why there is none.
    made: Result<Made, String>,
    /// Its place among the calls of its part.
    step: usize,
    /// If nothing was sent for the arrival before: when it was given to the user, and how long that
    /// has rested since.
    prelude: Option<(MonoTime, u64)>,
    is_seen: bool,
}

impl<W: Wire> Calls<W> {
    /// Sends what a user made up.
    pub(super) async fn answer(
        &self,
        request: &Request,
        stage: &mut Stage<'_>,
        now: MonoTime,
    ) -> Heard {
        self.settle(stage);
        let one = self.sending(request, stage, 0);
        let (heard, held) = self.converse(&one, now, stage.kit).await;
        stage.calls += 1;
        stage.held = held;
        heard
    }

    /// Sends several requests at a time, as many as there may be connections. The last of them is
    /// the last call of the task so far.
    pub(super) async fn answers(&self, requests: &[Arc<Request>], stage: &mut Stage<'_>) -> Heard {
        self.settle(stage);
        let width = requests.len().min(self.wire().calls_max());
        let mut kits = std::mem::take(&mut stage.kit.others);
        kits.resize_with(width.max(kits.len()), || self.kit_beside(stage.kit));
        let mut answers = Vec::with_capacity(requests.len());
        for requests in requests.chunks(width.max(1)) {
            let heard: Vec<_> = requests.iter().map(|_| RefCell::new(None)).collect();
            let lanes = requests.iter().zip(&mut kits).zip(&heard).enumerate();
            let lanes = lanes.map(|(place, ((request, kit), heard))| {
                let one = self.sending(request, stage, place);
                Box::pin(async move {
                    *heard.borrow_mut() = Some(self.converse(&one, MonoTime::now(), kit).await);
                }) as _
            });
            all(lanes.collect()).await;
            for (heard, held) in heard.into_iter().filter_map(RefCell::into_inner) {
                self.settle(stage);
                stage.calls += 1;
                stage.held = held;
                answers.push(heard);
            }
        }
        stage.kit.others = kits;
        Heard::Batch(answers)
    }

    /// What is known of a request before it is sent; `place` is its place in its batch.
    pub(super) fn sending<'a>(
        &self,
        request: &Request,
        stage: &Stage<'a>,
        place: usize,
    ) -> Sending<'a> {
        Sending {
            arrival: stage.arrival,
            made: self.made(stage.arrival, request),
            step: stage.calls + place,
            prelude: (stage.calls == 0).then_some((stage.dispatched, stage.rested_us)),
            is_seen: stage
                .arrival
                .is_some_and(|arrival| self.is_to_be_seen(arrival)),
        }
    }

    /// The call that a request is, made anew only if it was not made before.
    fn made(&self, arrival: Option<&Arrival>, request: &Request) -> Result<Made, String> {
        let Some(arrival) = arrival else {
            let call = Arc::new(self.program.compose(request, 0, false)?);
            return Ok(Made { named: None, call });
        };
        let (task, is_seen) = (arrival.key.task, self.is_to_be_seen(arrival));
        if let Some(made) = request.composed.of(task).filter(|_| !is_seen) {
            return Ok(made);
        }
        let tasks = self.program.tasks.len();
        let name = self.mask(&name_of(request));
        let named = self.names.number(task, cut(&name, NAME_BYTES_MAX), tasks);
        let call = Arc::new(self.program.compose(request, named.call, is_seen)?);
        let named = Some(named);
        let made = Made { named, call };
        if !is_seen {
            request.composed.keep(task, &made);
        }
        Ok(made)
    }

    /// One exchange, dispatched `now`: what the user hears, and what is to be counted for its
    /// arrival.
    pub(super) async fn converse(
        &self,
        one: &Sending<'_>,
        now: MonoTime,
        kit: &mut Kit,
    ) -> (Heard, Option<Held>) {
        let Made { named, call, .. } = match &one.made {
            Ok(made) => made,
            Err(why) => return (Heard::Unsendable(why.clone()), None),
        };
        let mut begin = Begin {
            due: now,
            dispatched: now,
        };
        let mut trace = Trace::default();
        let mut may_reuse = true;
        if let Some(arrival) = one.arrival {
            if let Some((given, rested_us)) = one.prelude {
                // What Python did before its first request is the generator's own lateness, but for
                // the time in which it wished to rest.
                begin.due = arrival.due.plus_us(rested_us);
                let reached_us = arrival.reached.since_us(arrival.due);
                let prelude_us = now.since_us(given).saturating_sub(rested_us);
                trace.phases.schedule_lag_us = Some(reached_us + prelude_us);
                trace.phases.queue_us = Some(given.since_us(arrival.reached));
            }
            self.write_id(arrival, one.step, &mut kit.id);
            may_reuse = self.may_reuse(arrival, one.step);
        } else {
            kit.id.clear();
            write!(kit.id, "{}/-/{}", self.run, one.step).expect("a String takes what is written");
        }
        let progress = Progress::new(now);
        let (kept, seen) = (
            RefCell::new(Kept::default()),
            one.is_seen.then(RefCell::default),
        );
        let tokens = call.stream.map(|stream| {
            let tokens = kit.tokens.get_or_init(|| RefCell::new(Tokens::new()));
            tokens.borrow_mut().begin(stream, call.tokens_max);
            tokens
        });
        let order = Order {
            call,
            id: self.program.has_ids.then_some(kit.id.as_str()),
            may_reuse,
            progress: &progress,
            tokens,
            seen: seen.as_ref(),
            kept: Some(&kept),
        };
        let times = (begin.due, begin.dispatched);
        if let Some(named) = named {
            // Before its call: what is in flight has a name, too.
            self.recorder.name(named);
        }
        let begun = one.arrival.and_then(|arrival| {
            self.recorder
                .begin(kit.seat, arrival, call.number, times, &trace.phases)
        });
        let is_counted = one.arrival.is_some();
        let ended = self
            .exchange(&order, now, &mut trace, &mut kit.time_out, is_counted)
            .await;
        let end = MonoTime::now();
        let held = one.arrival.zip(named.as_ref()).map(|(arrival, named)| {
            let call_end = Self::call_end(arrival, &order, begin, end, ended, &trace);
            if order.tokens.is_some() || order.seen.is_some() {
                // What is counted here goes with its name; the call itself is counted later.
                self.tally.borrow_mut().name(named);
                self.count_tokens(&order, &call_end);
                self.write_out(&order, arrival, &call_end);
            }
            self.recorder.hold(kit.seat, begun, &call_end);
            Held {
                end: call_end,
                due: begin.due,
                named: Arc::clone(named),
                begun: (kit.seat, begun),
            }
        });
        (heard(ended, kept.into_inner(), end.since_us(now)), held)
    }
}

/// What a user hears of an exchange.
fn heard(ended: Ended, kept: Kept, elapsed_us: u64) -> Heard {
    match (ended.status, kept.cut) {
        (Some(_), Some(why)) => Heard::Unsendable(why.into()),
        (Some(status), None) => Heard::Answer(Answer {
            status,
            head: kept.head,
            body: kept.body,
            elapsed_us,
            counted: kept.counted,
        }),
        (None, _) => Heard::Broken {
            outcome: ended.outcome,
            cause: ended.cause,
        },
    }
}

/// What a request is called: as its task says, or by its method and its path without the query.
fn name_of(request: &Request) -> String {
    match &request.name {
        Some(name) => name.clone(),
        None => {
            let path = request.path.split('?').next().unwrap_or_default();
            // A redirect to outside the target's base path is written with two.
            let path = path
                .strip_prefix('/')
                .filter(|rest| rest.starts_with('/'))
                .unwrap_or(path);
            format!("{} {path}", request.method.name())
        }
    }
}
