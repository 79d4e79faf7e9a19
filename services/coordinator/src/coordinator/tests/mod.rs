//! The laws of [`Coordinator`], against a log that is a list. No I/O, no clock.

use loadpilot_bus::Fault;
use loadpilot_events::limits::NEWS_EVENTS_MAX;
use loadpilot_events::log::ctl::{Decision, Ending};
use loadpilot_events::{BootId, Envelope, EventId};
use serde_json::json;

use super::*;

mod admission;
mod newer;
mod teardown;
mod tenants;
mod world;
use world::{SECOND, T0, World, agent, beat, home, offer, ready, request, run, subjects};

/// Broken if a run does not go from request to seal by the log and time alone.
#[test]
fn a_run_goes_from_request_to_seal() {
    let mut world = World::caught_up();
    world.schedule("r1");
    let wake = world.coordinator.wake_at().expect("the profile ends");
    assert_eq!(wake, T0.plus_us(SECOND));
    world.finish("r1");
    world.none();
    world.now = wake;
    world.head(7);
    let seal = world.seal();
    assert_eq!(
        (seal.ending, seal.data_seq, seal.evt_seq),
        (Ending::Completed, 7, 7)
    );
    assert_eq!(
        world.effect(),
        Effect::Shred(home(), run("r1")),
        "its secrets end with it"
    );
    world.none();
    assert_eq!(world.coordinator.wake_at(), None);
}

/// Broken if a coordinator that has read half a log contradicts the other half.
#[test]
fn nothing_is_decided_or_answered_before_the_log_is_read_or_while_the_link_is_down() {
    let mut world = World::new(false);
    world.ask_for("r1");
    world.none();
    assert!(world.news(&[]).is_none());
    assert_eq!(
        world.coordinator.wake_at(),
        None,
        "nothing to wake for: it would spin"
    );
    world.coordinator.caught_up();
    world.coordinator.link(false);
    world.none();
    world.coordinator.link(true);
    world.pending();
}

/// Broken if two appends of one run are in progress: both could be stored, one after the other.
#[test]
fn one_effect_at_a_time_and_nothing_before_the_tail_has_brought_its_event() {
    let mut world = World::caught_up();
    world.ask_for("r1");
    let pending = world.pending();
    world.tell(
        &subjects().req(&run("r1")),
        &json!({"type": "StopRequested", "by": "me"}),
    );
    world.hear();
    world.none();
    world
        .coordinator
        .appended(&pending.run, &Outcome::Stored { seq: 3 }, world.now);
    world.none();
    world.tell(
        &pending.subject,
        &serde_json::to_value(&pending.decision).expect("JSON"),
    );
    assert!(matches!(
        world.pending().decision,
        Decision::StartCancelled(_)
    ));
}

/// Broken if the loser of a race does not fold the winner's event, or waits for ever for it.
#[test]
fn a_lost_race_waits_for_the_tail_then_asks_the_subject() {
    let mut world = World::caught_up();
    world.ask_for("r1");
    let pending = world.pending();
    world
        .coordinator
        .appended(&pending.run, &Outcome::Lost, world.now);
    world.none();
    world.now = world.coordinator.wake_at().expect("the timeout ends");
    assert_eq!(world.effect(), Effect::ReadCtlLast(home(), run("r1")));
    world.coordinator.ctl_last(&pending.run, Some(2), world.now);
    world.none();
    world.tell(
        &pending.subject,
        &serde_json::to_value(&pending.decision).expect("JSON"),
    );
    world.none();
    assert!(
        world.coordinator.wake_at().is_some(),
        "it waits for agents now"
    );

    // No event was stored: it decides again.
    world.ask_for("r2");
    let pending = world.pending();
    world
        .coordinator
        .appended(&pending.run, &Outcome::Lost, world.now);
    world.now = world.now.plus_us(SECOND);
    assert_eq!(world.effect(), Effect::ReadCtlLast(home(), run("r2")));
    world.coordinator.ctl_last(&pending.run, Some(0), world.now);
    assert_eq!(world.pending().run, run("r2"));
}

/// Broken if the loser waits when the winner's event came before the loss was known.
#[test]
fn a_tail_faster_than_the_acknowledgement_costs_no_time() {
    let mut world = World::caught_up();
    world.ask_for("r1");
    let pending = world.pending();
    world.tell(
        &pending.subject,
        &serde_json::to_value(&pending.decision).expect("JSON"),
    );
    world
        .coordinator
        .appended(&pending.run, &Outcome::Lost, world.now);
    world.hear();
    world.state("r1", &offer(world.now));
    assert!(matches!(
        world.pending().decision,
        Decision::ShardsAssigned(_)
    ));
}

/// Broken if appends for a run whose log was pruned are retried for ever.
#[test]
fn a_run_whose_log_was_removed_is_forgotten() {
    let mut world = World::caught_up();
    world.schedule("r1");
    world.now = world.now.plus_us(60 * SECOND);
    world.head(0);
    let pending = world.pending();
    world
        .coordinator
        .appended(&pending.run, &Outcome::Lost, world.now);
    world.now = world.now.plus_us(SECOND);
    assert_eq!(world.effect(), Effect::ReadCtlLast(home(), run("r1")));
    world.coordinator.ctl_last(&pending.run, Some(0), world.now);
    world.none();
    assert_eq!(world.coordinator.wake_at(), None);
}

/// Broken if a seal counts a final fact, but not the deltas stored before it.
#[test]
fn a_seal_reads_the_data_head_after_the_last_record_it_counts() {
    let mut world = World::caught_up();
    world.schedule("r1");
    world.now = world.now.plus_us(12 * SECOND);
    let Effect::ReadDataHead(run) = world.effect() else {
        panic!("no head wanted")
    };
    // The agent was slow, not dead: its final fact comes while the head is being read.
    let evt_seq = world.finish("r1");
    world.coordinator.data_head(&run, Some(5), world.now);
    world.head(9);
    let seal = world.seal();
    assert_eq!((seal.data_seq, seal.evt_seq), (9, evt_seq));
    assert_eq!((seal.finals.len(), seal.missing.len()), (1, 0));
}

/// Broken if one unreadable event stops a coordinator or makes it lose every append on that run.
#[test]
fn poison_is_named_and_skipped() {
    let mut world = World::caught_up();
    world.ask_for("r1");
    let ctl = subjects().ctl(&run("r1"));
    let poison = world.store(&ctl, b"{\"v\":1,").expect_err("no JSON");
    assert_eq!((poison.subject.as_str(), poison.seq), (ctl.as_str(), 2));
    let newer = br#"{"v":99,"id":"x","at":1,"event":{"type":"RunMoved"}}"#;
    world
        .store(&subjects().evt(&run("r1"), &agent("a")), newer)
        .expect_err("a newer version");
    world
        .store("lp.local.adm", b"{}")
        .expect_err("no subject of a run");
    let pending = world.pending();
    assert_eq!(
        (pending.expected, pending.previous_seq),
        (2, 0),
        "after it, and agents skip it too"
    );
    let seq = world.win(&pending);
    let (news, _) = world.news(&[]).expect("it has caught up");
    assert_eq!((news[0].seq, news[0].previous_seq), (seq, 0));
}

/// Broken if news have a gap: agents have no other way to learn what they missed.
#[test]
fn an_agent_that_missed_everything_gets_it_in_parts_without_gaps() {
    let mut world = World::caught_up();
    for n in 0..40 {
        world.ask_for(&format!("r{n}"));
        let pending = world.pending();
        world.win(&pending);
    }
    world.hear();
    for n in 0..40 {
        world.state(&format!("r{n}"), &offer(world.now));
        let pending = world.pending();
        world.win(&pending);
    }
    let mut seen: BTreeMap<RunId, u64> = BTreeMap::new();
    let mut parts = Vec::new();
    loop {
        let known = seen.iter().map(|(run, &ctl_seq)| Seen {
            run: run.clone(),
            ctl_seq,
        });
        let known: Vec<Seen> = known.collect();
        let (news, more) = world.news(&known).expect("it has caught up");
        assert!(news.len() <= NEWS_EVENTS_MAX);
        parts.push(news.len());
        for news in news {
            let before = seen.insert(news.run, news.seq).unwrap_or_default();
            assert_eq!(news.previous_seq, before);
        }
        if !more {
            break;
        }
    }
    assert_eq!(parts, [64, 16]);
}

/// Broken if an agent that was cut off does not learn that its run is over, or other agents get the
/// news of old runs.
#[test]
fn news_of_a_finished_run_go_to_agents_that_name_it() {
    let mut world = World::caught_up();
    world.schedule("r1");
    world.finish("r1");
    world.now = world.now.plus_us(SECOND);
    world.head(0);
    world.seal();
    assert_eq!(world.news(&[]), Some((vec![], false)));
    let (news, more) = world.news(&beat(&[("r1", 2)]).seen).expect("caught up");
    let last = news.last().map(|news| &news.event.event);
    assert!(matches!(last, Some(Decision::RunSealed(_))) && !more);
    assert_eq!(news.len(), 3);
    // A late fact of its agent, or a repeated request, does not reopen the run.
    world.finish("r1");
    world.ask_for("r1");
    assert_eq!(world.effect(), Effect::Shred(home(), run("r1")));
    world.none();
}

/// Broken if a run goes on, or ends without that reason, when the log is full, or if its seal
/// leaves out deltas that were stored before it.
#[test]
fn a_full_log_ends_the_run() {
    let mut world = World::caught_up();
    world.hear();
    world.ask_for("r1");
    let pending = world.pending();
    world.win(&pending);
    world.state("r1", &offer(world.now));
    let pending = world.pending();
    world
        .coordinator
        .appended(&pending.run, &Outcome::Full, world.now);
    world.head(3);
    let pending = world.pending();
    world
        .coordinator
        .appended(&pending.run, &Outcome::Full, world.now);
    world.none();
    world.now = world.coordinator.wake_at().expect("it tries again");
    // Agents stored deltas meanwhile.
    world.head(5);
    let seal = world.seal();
    assert_eq!((seal.ending, seal.data_seq), (Ending::LogFull, 5));

    // A run whose creation does not fit is refused.
    let (bytes, limit) = (2_000_000, 1_048_576);
    let too_large = Outcome::TooLarge { bytes, limit };
    for (name, outcome) in [("r2", Outcome::Full), ("r3", too_large)] {
        world.ask_for(name);
        let effects = world.coordinator.next(world.now);
        let pending = effects.into_iter().find_map(|effect| match effect {
            Effect::Append(pending) => Some(pending),
            _ => None,
        });
        world
            .coordinator
            .appended(&pending.expect("a pending").run, &outcome, world.now);
        let pending = world.pending();
        assert!(
            matches!(pending.decision, Decision::RunRefused(_)),
            "{pending:?}"
        );
        world.win(&pending);
    }
}

/// Broken if a new local stack generates the load of an earlier one.
#[test]
fn left_over_runs_end_only_where_that_is_wanted() {
    for seal_unfinished in [true, false] {
        let mut before = World::caught_up();
        before.schedule("r1");
        before.ask_for("r2");
        let mut world = World::new(seal_unfinished);
        world.now = before.now.plus_us(SECOND / 2);
        for (subject, payload) in before.log {
            world.store(&subject, &payload).expect("it can be read");
        }
        world.coordinator.caught_up();
        let first = world.coordinator.next(world.now);
        if !seal_unfinished {
            assert_eq!(first.len(), 1, "r1 goes on");
            continue;
        }
        let [Effect::Append(refused)] = &first[..] else {
            panic!("{first:?}")
        };
        assert!(matches!(refused.decision, Decision::RunRefused(_)));
        world.win(refused);
        assert_eq!(
            world.coordinator.next(world.now),
            [Effect::Shred(home(), run("r2"))]
        );
        // No agent reports data of r1 to recover.
        world.now = T0.plus_us(3 * SECOND);
        world.head(4);
        let seal = world.seal();
        assert_eq!((seal.ending, seal.data_seq), (Ending::Aborted, 4));
        assert_eq!(world.effect(), Effect::Shred(home(), run("r1")));
        // New requests are taken as before.
        world.ask_for("r9");
        assert!(matches!(world.pending().decision, Decision::RunCreated(_)));
    }
}

/// Broken if the seal of a left-over run does not wait until the next stack's agents have reported
/// the data of killed ones, or waits for ever.
#[test]
fn a_left_over_run_waits_for_what_its_agents_left() {
    for is_reported in [true, false] {
        let mut before = World::caught_up();
        before.schedule("r1");
        let mut world = World::new(true);
        for (subject, payload) in before.log {
            world.store(&subject, &payload).expect("it can be read");
        }
        world.coordinator.caught_up();
        world.none();
        let mut heir = beat(&[]);
        let killed = std::mem::replace(&mut heir.boot_id, BootId::parse("b2").expect("a token"));
        heir.recovering = vec![killed];
        world.coordinator.heard_agent(agent("a"), &heir, world.now);
        world.none();
        world.now = T0.plus_us(9 * SECOND);
        world.coordinator.heard_agent(agent("a"), &heir, world.now);
        world.none();
        if is_reported {
            heir.recovering.clear();
        } else {
            world.now = T0.plus_us(15 * SECOND);
        }
        world.coordinator.heard_agent(agent("a"), &heir, world.now);
        // Heartbeats that come together share one decision.
        world.now = world.coordinator.wake_at().expect("soon").max(world.now);
        world.head(4);
        assert_eq!(world.seal().ending, Ending::Aborted);
    }
}

/// Broken if the stack of `loadpilot resume` seals the run that it is to resume.
#[test]
fn a_run_that_is_spared_goes_on() {
    let mut before = World::caught_up();
    before.schedule("r1");
    let mut world = World::new(true);
    world.coordinator.settings.spared = Some(run("r1"));
    for (subject, payload) in before.log {
        world.store(&subject, &payload).expect("it can be read");
    }
    world.coordinator.caught_up();
    world.now = T0.plus_us(4 * SECOND);
    world.none();
}

/// Broken if a run that is requested while a new stack starts is taken for a left-over run.
#[test]
fn a_request_from_before_the_log_was_read_but_newer_than_the_stack_is_no_left_over() {
    let mut world = World::new(true);
    world.coordinator.settings.seal_asked_before = Some(world.now);
    world.ask_for("new");
    world.now = Timestamp(T0.0 - 1);
    world.ask_for("old");
    world.now = T0;
    world.coordinator.caught_up();
    let effects = world.coordinator.next(world.now);
    let [Effect::Append(new), Effect::Append(old)] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(matches!(new.decision, Decision::RunCreated(_)), "{new:?}");
    assert!(matches!(old.decision, Decision::RunRefused(_)), "{old:?}");
}

/// Broken if a coordinator that was asleep takes silent agents for dead.
#[test]
fn no_agent_is_lost_to_a_coordinator_that_did_not_listen() {
    for slept in [true, false] {
        let mut world = World::caught_up();
        let mut long = request();
        long["plan"]["profile"]["pieces"][0]["duration_us"] = json!(600 * SECOND);
        world.hear();
        world.tell(&subjects().req(&run("r1")), &long);
        let pending = world.pending();
        world.win(&pending);
        world.state("r1", &offer(world.now));
        let pending = world.pending();
        world.win(&pending);
        world.state("r1", &ready());
        let pending = world.pending();
        world.win(&pending);
        world.now = world.now.plus_us(30 * SECOND);
        if slept {
            world.coordinator.listen_again(world.now);
            world.none();
        } else {
            assert!(matches!(
                world.pending().decision,
                Decision::CapacityReduced(_)
            ));
        }
    }
}

/// Broken if a fault is not retried, or without a delay.
#[test]
fn a_fault_is_a_pause() {
    let mut world = World::caught_up();
    world.ask_for("r1");
    let pending = world.pending();
    let fault = Outcome::Fault(Fault::Disconnected);
    world.coordinator.appended(&pending.run, &fault, world.now);
    world.none();
    world.now = world.coordinator.wake_at().expect("a delay ends");
    world.pending();
}

/// Broken if secrets stay when a coordinator dies right after the seal.
#[test]
fn secrets_of_the_newest_finished_runs_are_shredded_at_the_start() {
    let mut before = World::caught_up();
    before.schedule("r1");
    before.finish("r1");
    before.now = before.now.plus_us(SECOND);
    before.head(0);
    before.seal();
    let mut world = World::new(false);
    for (subject, payload) in before.log {
        world.store(&subject, &payload).expect("it can be read");
    }
    world.coordinator.caught_up();
    assert_eq!(world.effect(), Effect::Shred(home(), run("r1")));
    world.none();
}

/// Broken if the largest legal events make a reply too large to send.
#[test]
fn a_reply_fits_a_message() {
    let mut world = World::caught_up();
    let mut large = request();
    large["plan"]["tasks"][0]["steps"][0]["body"] = json!({"text": "x".repeat(500 * 1024)});
    for name in ["r1", "r2"] {
        world.tell(&subjects().req(&run(name)), &large);
        let pending = world.pending();
        world.win(&pending);
    }
    let (news, more) = world.news(&[]).expect("it has caught up");
    assert_eq!((news.len(), more), (1, true));
    let event: &Envelope<Decision> = &news[0].event;
    assert_eq!(event.id, EventId::parse("e1").expect("a token"));
}
