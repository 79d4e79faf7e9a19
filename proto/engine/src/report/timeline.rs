//! The timeline of a run: its decisions and facts in order, in words.

use std::collections::BTreeSet;

use loadpilot_events::Capability;
use loadpilot_events::answers::report::StoryLine;
use loadpilot_events::log::assign::{Holding, Loss};
use loadpilot_events::log::ctl::{Decision, ShardsReassigned};
use loadpilot_events::log::evt::{TailReported, What};
use loadpilot_events::log::req::Request;
use loadpilot_events::log::steer::{Change, Steered};
use loadpilot_events::units::{Rate, Timestamp};

use crate::control::name_list::{NAMES_MAX, name_list};
use crate::control::overcommit::overcommit_warnings;
use crate::control::{Assignment, Control, Parsed};
use crate::report::figures::rows_end::rows_used_up;

/// One line per record that counts, oldest first.
#[must_use]
pub fn lines(control: &Control) -> Vec<StoryLine> {
    lines_after(control, 0)
}

/// The lines of records after stream sequence `after`.
#[must_use]
pub fn lines_after(control: &Control, after: u64) -> Vec<StoryLine> {
    let line = |(seq, parsed): &(u64, Parsed)| {
        let (at, _) = parsed.record();
        StoryLine {
            at,
            seq: *seq,
            text: record_lines(control, parsed),
        }
    };
    let first = control.records.partition_point(|&(seq, _)| seq <= after);
    control.records[first..].iter().map(line).collect()
}

/// The line of one record, followed by its warnings.
fn record_lines(control: &Control, parsed: &Parsed) -> String {
    let holdings: &[Holding] = match parsed {
        Parsed::Decision(envelope) => match &envelope.event {
            Decision::ShardsAssigned(assigned) => &assigned.holdings,
            Decision::ShardsReassigned(next) => &next.holdings,
            _ => &[],
        },
        Parsed::Request(_) | Parsed::Fact(..) => &[],
    };
    let mut warnings = overcommit_warnings(&control.state, holdings);
    let more = warnings.len().saturating_sub(NAMES_MAX);
    warnings.truncate(NAMES_MAX);
    warnings.extend((more > 0).then(|| format!("warning: the same holds for {more} more agents")));
    if let Parsed::Fact(agent, envelope) = parsed
        && let What::ShardsFinished(finished) = &envelope.event.what
        && let Some(failed) = &finished.on_stop_failed
    {
        warnings.push(format!("warning: {agent}: {failed}"));
    }
    let lines = std::iter::once(line(control, parsed)).chain(warnings);
    lines.collect::<Vec<_>>().join("\n")
}

/// An event of a run that changes what its figures mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEvent {
    /// Sequence of its record.
    pub seq: u64,
    /// When, by the writer's clock.
    pub at: Timestamp,
    /// Kind of the event.
    pub kind: &'static str,
    /// The event in words.
    pub words: String,
}

/// At most `max` of the newest events, oldest first.
#[must_use]
pub fn events(control: &Control, max: usize) -> Vec<RunEvent> {
    let event = |(seq, parsed): &(u64, Parsed)| {
        let (at, _) = parsed.record();
        Some(RunEvent {
            seq: *seq,
            at: start_of(parsed).unwrap_or(at),
            kind: kind(control, parsed)?,
            words: line(control, parsed),
        })
    };
    let newest = control.records.iter().rev().filter_map(event).take(max);
    let mut events: Vec<RunEvent> = newest.collect();
    events.reverse();
    events
}

/// The instant of a start, which is decided ahead of it.
fn start_of(parsed: &Parsed) -> Option<Timestamp> {
    match parsed {
        Parsed::Decision(envelope) => match &envelope.event {
            Decision::StartScheduled(start) => Some(start.start_at),
            _ => None,
        },
        Parsed::Request(_) | Parsed::Fact(..) => None,
    }
}

/// Kind of an event; `None` for what changes no figure.
fn kind(control: &Control, parsed: &Parsed) -> Option<&'static str> {
    match parsed {
        Parsed::Decision(envelope) => match &envelope.event {
            Decision::StartScheduled(_) => Some("start"),
            Decision::StartCancelled(_) => Some("start_cancelled"),
            Decision::ShardsReassigned(next) if !next.losses.is_empty() => Some("agents_lost"),
            Decision::ShardsReassigned(next) => match joined(control, next).is_empty() {
                true => Some("agents_left"),
                false => Some("agents_joined"),
            },
            Decision::CapacityReduced(_) => Some("agents_lost"),
            Decision::RateChanged(_) => Some("rate_changed"),
            Decision::Paused(_) => Some("paused"),
            Decision::Resumed(_) => Some("resumed"),
            Decision::SteeringRefused(_) => Some("steering_refused"),
            Decision::StopScheduled(_) => Some("stop"),
            Decision::RunSealed(_) => Some("sealed"),
            Decision::RunRefused(_) => Some("refused"),
            Decision::RunQueued(_) | Decision::RunCreated(_) | Decision::ShardsAssigned(_) => None,
        },
        Parsed::Fact(_, envelope) => match &envelope.event.what {
            What::ShardsFailed(_) => Some("agent_failed"),
            What::AgentLeaving => Some("agent_leaving"),
            What::IsolationStop(_) => Some("agent_isolated"),
            _ => None,
        },
        Parsed::Request(envelope) => match &envelope.event {
            Request::RunAnnotated(_) => Some("annotated"),
            _ => None,
        },
    }
}

/// Changes by users during the run, oldest first.
#[must_use]
pub fn steered(control: &Control) -> Vec<Steered> {
    let state = &control.state;
    let start_at = state.start.as_ref().map(|start| start.start_at);
    let since = |at: Timestamp| start_at.map_or(0, |start| at.since_us(start));
    let tick_us = state
        .created
        .as_ref()
        .map_or(0, |created| created.plan.tick_us);
    let change = |(_, parsed): &(u64, Parsed)| {
        let Parsed::Decision(envelope) = parsed else {
            return None;
        };
        let (by, from_us, change) = match &envelope.event {
            Decision::RateChanged(to) => {
                let (was, rate) = (to.was, to.rate);
                let from_us = u64::from(to.from_tick).saturating_mul(tick_us);
                (&to.by, from_us, Change::Rate { was, rate })
            }
            Decision::Paused(paused) => (&paused.by, since(paused.paused_at), Change::Paused),
            Decision::Resumed(back) => (&back.by, since(back.resumed_at), Change::Resumed),
            _ => return None,
        };
        Some(Steered {
            at: envelope.at,
            by: by.clone(),
            from_us,
            change,
        })
    };
    control.records.iter().filter_map(change).collect()
}

/// One record of `control` in words.
fn line(control: &Control, parsed: &Parsed) -> String {
    match parsed {
        Parsed::Request(envelope) => match &envelope.event {
            Request::RunRequested(run) => {
                format!(
                    "run of {} requested on {} agents",
                    run.plan.scenario, run.agents.want
                )
            }
            Request::StopRequested(stop) => match &stop.breach {
                None => format!("stop requested by {}", stop.by),
                Some(breach) => format!("stop requested by {}: {}", stop.by, breach.words()),
            },
            Request::RateChangeRequested(change) => {
                let requested = format!("rate {} requested by {}", change.rate.as_rps(), change.by);
                match &change.hold {
                    None => requested,
                    Some(window) => format!("{requested}: {}", window.words()),
                }
            }
            Request::PauseRequested(pause) => format!("pause requested by {}", pause.by),
            Request::ResumeRequested(resume) => format!("resume requested by {}", resume.by),
            Request::SetupClaimed(claim) => format!("setup begun by {}", claim.by),
            Request::SetupKept(_) => "what the setup left is kept".to_owned(),
            Request::TeardownClaimed(claim) => format!("teardown begun by {}", claim.by),
            Request::RunAnnotated(note) => format!("annotated by {}", note.by),
            Request::TeardownFinished(end) if end.failed.is_empty() => "teardown played".to_owned(),
            Request::TeardownFinished(end) => {
                format!("teardown played; {} failed", end.failed.join(", "))
            }
        },
        Parsed::Decision(envelope) => decision(control, &envelope.event),
        Parsed::Fact(agent, envelope) => format!("{agent}: {}", fact(&envelope.event.what)),
    }
}

fn decision(control: &Control, decision: &Decision) -> String {
    match decision {
        Decision::RunQueued(queued) => queued.words(),
        Decision::RunCreated(created) => {
            let run = control.state.created.as_ref();
            let needed = run.map(|run| run.needed()).unwrap_or_default();
            let needed: Vec<&str> = needed.iter().map(Capability::as_str).collect();
            let needs = match needed.is_empty() {
                true => String::new(),
                false => format!(", needs {}", needed.join(", ")),
            };
            let (shards, seed) = (created.shards, created.seed);
            format!("run created: {shards} shards, seed {seed}{needs}")
        }
        Decision::RunRefused(refused) => {
            let problems: Vec<String> = refused.problems.iter().map(ToString::to_string).collect();
            format!("run refused: {}", problems.join("; "))
        }
        Decision::ShardsAssigned(assigned) => {
            format!(
                "generation {}: {}",
                assigned.generation,
                holders(&assigned.holdings)
            )
        }
        Decision::StartScheduled(_) => "start scheduled".to_owned(),
        Decision::StartCancelled(cancelled) => format!("start cancelled: {}", cancelled.reason),
        Decision::ShardsReassigned(next) => format!(
            "generation {} from tick {}: {} ({})",
            next.generation,
            next.takeover_tick,
            holders(&next.holdings),
            changes(control, next),
        ),
        Decision::CapacityReduced(reduced) => {
            format!("capacity reduced: {}", losses(control, &reduced.losses))
        }
        Decision::RateChanged(changed) => format!(
            "rate {} -> {} by {}, from tick {} on",
            changed.was.as_rps(),
            changed.rate.as_rps(),
            changed.by,
            changed.from_tick,
        ),
        Decision::Paused(paused) => format!("paused by {}", paused.by),
        Decision::Resumed(resumed) => format!("resumed by {}", resumed.by),
        Decision::SteeringRefused(refused) => {
            format!("refused to {}: {}", refused.by, refused.words())
        }
        Decision::StopScheduled(stop) => {
            let created = control.state.created.as_ref();
            let target = created.map_or("the target", |created| created.plan.target.as_str());
            format!("stop scheduled: {}", stop.words(target))
        }
        Decision::RunSealed(sealed) => {
            let used_up = rows_used_up(control).map(|used_up| used_up.words());
            let why = used_up.map_or_else(String::new, |words| format!(": {words}"));
            match sealed.missing_count() {
                0 => format!("run sealed{why}"),
                missing => format!("run sealed, {missing} holders missing{why}"),
            }
        }
    }
}

fn fact(what: &What) -> String {
    match what {
        // A closed loop requires no rate.
        What::CapacityOffered(offer) if offer.rate == Rate(0) => {
            format!("offers {} cores", offer.cores)
        }
        What::CapacityOffered(offer) => {
            format!("offers {} arrivals per second", offer.rate.as_rps())
        }
        What::ShardsReady(ready) => {
            format!(
                "ready, clock {:+} µs ± {} µs",
                ready.clock.offset_us, ready.clock.bound_us
            )
        }
        What::ShardsStarted(_) => "started".to_owned(),
        What::ShardsFinished(finished) => format!(
            "finished: {} arrivals, {} calls, {} deltas",
            finished.totals.started,
            finished.totals.calls_total(),
            finished.final_seq,
        ),
        What::ShardsFailed(failed) => format!("failed: {}", failed.reason),
        What::AgentLeaving => "leaving".to_owned(),
        What::IsolationStop(stop) => format!("stopped by itself: {}", stop.reason),
        What::TailReported(tail) => tail_reported(tail),
    }
}

fn tail_reported(tail: &TailReported) -> String {
    let lost = tail.lost.as_ref().map_or_else(String::new, |lost| {
        format!("; what it did last is lost: {}", lost.reason)
    });
    format!(
        "a killed process is reported for: {} arrivals, {} calls, {} of them in flight, {} \
         deltas{lost}",
        tail.totals.started,
        tail.totals.calls_total(),
        tail.indeterminate,
        tail.final_seq,
    )
}

fn holders(holdings: &[Holding]) -> String {
    let held = |holding: &Holding| format!("{} × {}", holding.holder.agent, holding.shards.len());
    name_list(holdings.iter().map(held))
}

/// The agents that were lost, left and joined, with their numbers of shards.
fn changes(control: &Control, next: &ShardsReassigned) -> String {
    let joined = joined(control, next).into_iter();
    let joined = joined.map(|new| format!("{} joins with {}", new.holder.agent, new.shards.len()));
    let lost = (!next.losses.is_empty()).then(|| losses(control, &next.losses));
    let lists = [
        name_list(left(control, next).into_iter()),
        name_list(joined),
    ];
    let lists = lists.into_iter().filter(|list| !list.is_empty());
    let lines: Vec<String> = lost.into_iter().chain(lists).collect();
    lines.join(", ")
}

/// The map before a decision.
fn map_before<'c>(control: &'c Control, next: &ShardsReassigned) -> Option<&'c Assignment> {
    let mut before = control.assignments.iter().rev();
    before.find(|map| map.generation < next.generation)
}

/// The holders that had no shards before.
fn joined<'n>(control: &Control, next: &'n ShardsReassigned) -> Vec<&'n Holding> {
    let before = map_before(control, next);
    let is_new = |new: &&Holding| before.is_none_or(|old| old.of(&new.holder).is_none());
    next.holdings.iter().filter(is_new).collect()
}

/// The agents that leave while they serve their shards, each with the takers of its shards.
fn left(control: &Control, next: &ShardsReassigned) -> Vec<String> {
    let before = map_before(control, next).into_iter();
    let leaves = |old: &&Holding| {
        let mut stay = next.holdings.iter().map(|new| &new.holder);
        let mut lost = next.losses.iter().map(|loss| &loss.holder);
        !stay.any(|holder| *holder == old.holder) && !lost.any(|holder| *holder == old.holder)
    };
    let hands_over = |old: &Holding| {
        let moved: BTreeSet<u32> = old.shards.iter().copied().collect();
        let takers = next.holdings.iter().filter_map(|new| {
            let count = new.shards.iter().filter(|one| moved.contains(one)).count();
            (count > 0).then(|| format!("{} takes {count}", new.holder.agent))
        });
        let (agent, count, takers) = (&old.holder.agent, moved.len(), name_list(takers));
        format!("{agent} leaves and hands over its {count} shards: {takers}")
    };
    let left = before.flat_map(|map| &map.holdings).filter(leaves);
    left.map(hands_over).collect()
}

fn losses(control: &Control, losses: &[Loss]) -> String {
    let lost = |loss: &Loss| {
        // A lost holder gets no more shards: its last holding is its loss.
        let maps = control.assignments.iter().rev();
        let mut its = maps.filter_map(|map| map.of(&loss.holder));
        let count = its.next().map_or(0, |holding| holding.shards.len());
        format!(
            "lost {} × {count}: {}",
            loss.holder.agent,
            loss.reason.words()
        )
    };
    name_list(losses.iter().map(lost))
}
