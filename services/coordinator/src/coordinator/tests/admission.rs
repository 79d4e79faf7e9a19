//! Admission to a shared fleet: which runs are created, and what the others learn.

use loadpilot_engine::control::admission::rules::AdmissionRules;
use loadpilot_engine::control::tenants::{TenantRules, Tenants};
use loadpilot_events::log::admission::AdmissionDecision;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{OwnerId, TenantId};
use serde_json::json;

use super::world::{SECOND, T0, World, agent, beat, request, run, settings, subjects};
use crate::append::{Outcome, PendingAppend};
use crate::coordinator::Coordinator;
use crate::run_state::Effect;

fn shop() -> TenantId {
    TenantId::parse("shop").expect("a token")
}

fn of_shop() -> Subjects {
    subjects().of_tenant(&shop())
}

/// A coordinator of a fleet whose only tenant has these limits.
fn limited(admission: AdmissionRules) -> World {
    fleet(admission, None)
}

/// The same of a fleet whose agents serve this number of runs at a time.
fn fleet(admission: AdmissionRules, max_runs_per_agent: Option<u32>) -> World {
    let mut settings = settings(false);
    let rules = TenantRules {
        admission,
        ..TenantRules::default()
    };
    settings.policy.tenants = Some(Tenants {
        file: "fleet.toml".to_owned(),
        rules: [(shop(), rules)].into(),
        max_runs_per_agent,
        ownership_key: None,
    });
    let mut world = World::new(false);
    world.coordinator = Coordinator::new(settings, T0);
    world.coordinator.caught_up();
    world
}

fn one_at_a_time() -> AdmissionRules {
    AdmissionRules {
        max_runs: Some(1),
        ..AdmissionRules::default()
    }
}

fn ask(world: &mut World, name: &str) {
    world.tell(&of_shop().req(&run(name)), &request());
}

/// The effect that is due, which must be an append about the admission of runs.
fn admission(world: &mut World) -> PendingAppend<AdmissionDecision> {
    match world.effect() {
        Effect::Admit(pending) => *pending,
        other => panic!("{other:?} instead of an admission"),
    }
}

/// Stores an admission decision as the bus would and reports it.
fn win_admission(world: &mut World, pending: &PendingAppend<AdmissionDecision>) {
    let subject = |(subject, _): &(String, Vec<u8>)| *subject == pending.subject;
    let last = world.log.iter().rposition(subject);
    let last = last.map_or(0, |place| place as u64 + 1);
    assert_eq!(pending.expected, last, "a conflict");
    let decision = serde_json::to_value(&pending.decision).expect("JSON");
    let seq = world.tell(&pending.subject, &decision);
    let outcome = Outcome::Stored { seq };
    world.coordinator.admission_appended(&outcome, world.now);
}

/// Stores the one decision that is due, which must be about the admission of `name`.
fn decide(world: &mut World, what: &str, name: &str) {
    let pending = admission(world);
    assert_eq!(pending.subject, subjects().admission());
    assert_eq!((pending.decision.name(), &pending.run), (what, &run(name)));
    win_admission(world, &pending);
}

/// Stores the one decision about a run that is due, and returns it.
fn store(world: &mut World) -> Decision {
    let pending = world.pending();
    world.win(&pending);
    pending.decision
}

/// Stores every place that is due, and returns each in words.
fn places(world: &mut World) -> Vec<String> {
    let effects = world.coordinator.next(world.now);
    let place = |effect| {
        let Effect::Append(pending) = effect else {
            panic!("{effect:?}")
        };
        world.win(&pending);
        match pending.decision {
            Decision::RunQueued(queued) => format!("{}: {}", pending.run, queued.words()),
            other => panic!("{other:?}"),
        }
    };
    effects.into_iter().map(place).collect()
}

/// Takes a run that was admitted to its creation.
fn create(world: &mut World) {
    let created = store(world);
    assert!(matches!(created, Decision::RunCreated(_)), "{created:?}");
}

/// A fleet with these limits, where r1 is created and r2 waits for its end.
fn with_a_run_that_waits(admission: AdmissionRules) -> World {
    let mut world = limited(admission);
    ask(&mut world, "r1");
    decide(&mut world, "RunAdmitted", "r1");
    create(&mut world);
    ask(&mut world, "r2");
    assert_eq!(places(&mut world).len(), 1);
    world
}

/// Broken if a run above the limit is created, does not learn its place, or is not admitted when
/// another one has ended.
#[test]
fn a_run_above_the_limit_waits_until_another_one_ends() {
    let mut world = limited(one_at_a_time());
    ask(&mut world, "r1");
    decide(&mut world, "RunAdmitted", "r1");
    create(&mut world);
    world.none();
    ask(&mut world, "r2");
    ask(&mut world, "r3");
    assert_eq!(
        places(&mut world),
        [
            "r2: waiting: place 1 of 2 of tenant shop; 1 of 1 runs at a time",
            "r3: waiting: place 2 of 2 of tenant shop; 1 of 1 runs at a time",
        ]
    );
    world.none();
    let wanted = world.coordinator.facts(world.now).agents_wanted;
    assert_eq!(wanted, 1, "more agents would not end the wait");
    // No agent comes: the run is over.
    world.now = world.now.plus_us(5 * SECOND);
    let over = store(&mut world);
    assert!(matches!(over, Decision::RunRefused(_)), "{over:?}");
    let effects = world.coordinator.next(world.now);
    let [Effect::Shred(..), Effect::Admit(released)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    win_admission(&mut world, released);
    assert_eq!(released.decision.name(), "RunReleased");
    decide(&mut world, "RunAdmitted", "r2");
    let effects = world.coordinator.next(world.now);
    let decisions: Vec<&Decision> = effects
        .iter()
        .map(|effect| match effect {
            Effect::Append(pending) => &pending.decision,
            other => panic!("{other:?}"),
        })
        .collect();
    let [Decision::RunCreated(_), Decision::RunQueued(queued)] = decisions.as_slice() else {
        panic!("{decisions:?}")
    };
    assert_eq!(queued.place, 1);
}

/// Broken if a run starts that was stopped while it waited, or if it counts as a running one.
#[test]
fn a_run_that_is_stopped_while_it_waits_never_starts() {
    let mut world = with_a_run_that_waits(one_at_a_time());
    let stop = json!({"type": "StopRequested", "by": "me"});
    world.tell(&of_shop().req(&run("r2")), &stop);
    create(&mut world);
    let cancelled = store(&mut world);
    let Decision::StartCancelled(cancelled) = cancelled else {
        panic!("{cancelled:?}")
    };
    assert!(cancelled.reason.contains("stopped before it started"));
    world.head(0);
    world.seal();
}

/// Broken if a run whose command is gone keeps its place, or one whose command lives loses it.
#[test]
fn a_run_waits_while_its_owner_lives() {
    let mut world = limited(one_at_a_time());
    let mut patient = request();
    patient["agents"]["wait_us"] = json!(60 * SECOND);
    world.tell(&of_shop().req(&run("r1")), &patient);
    decide(&mut world, "RunAdmitted", "r1");
    create(&mut world);
    patient["owner"] = json!("o1");
    world.tell(&of_shop().req(&run("r2")), &patient);
    assert_eq!(places(&mut world).len(), 1);
    world.none();
    world.now = T0.plus_us(9 * SECOND);
    let owner = OwnerId::parse("o1").expect("a token");
    world.coordinator.heard_owner(shop(), owner, world.now);
    world.now = world.coordinator.wake_at().expect("it may be gone");
    assert_eq!(world.now, T0.plus_us(10 * SECOND));
    world.none();
    world.now = world.coordinator.wake_at().expect("it may be gone");
    assert_eq!(world.now, T0.plus_us(19 * SECOND));
    let refused = store(&mut world);
    let Decision::RunRefused(refused) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        refused.problems[0].to_string(),
        "owner: must send heartbeats while its run waits for its admission (got \"none for 10 s\")"
    );
}

/// Broken if a coordinator that lost a race admits a run twice, or too many.
#[test]
fn a_coordinator_that_lost_a_race_reads_before_it_decides() {
    let mut world = limited(one_at_a_time());
    ask(&mut world, "r1");
    ask(&mut world, "r2");
    let ours = admission(&mut world);
    assert_eq!(ours.run, run("r1"));
    let theirs = json!({"type": "RunAdmitted", "run": "r1", "tenant": "shop", "agents": 1});
    world
        .coordinator
        .admission_appended(&Outcome::Lost, world.now);
    world.none();
    world.tell(&ours.subject, &theirs);
    let effects = world.coordinator.next(world.now);
    let decisions = effects.iter().map(|effect| match effect {
        Effect::Append(pending) => (pending.run.to_string(), pending.decision.clone()),
        other => panic!("{other:?}"),
    });
    let [(first, created), (second, queued)] = decisions.collect::<Vec<_>>().try_into().expect("2");
    assert!(matches!(
        (first.as_str(), created),
        ("r1", Decision::RunCreated(_))
    ));
    assert!(matches!(
        (second.as_str(), queued),
        ("r2", Decision::RunQueued(_))
    ));
}

/// Broken if an admission is never decided again after its log was removed, or while the tail is
/// late.
#[test]
fn the_log_is_asked_when_the_tail_brings_nothing() {
    let mut world = with_a_run_that_waits(one_at_a_time());
    world.now = world.now.plus_us(5 * SECOND);
    store(&mut world);
    let effects = world.coordinator.next(world.now);
    assert!(matches!(effects[1], Effect::Admit(_)), "{effects:?}");
    world
        .coordinator
        .admission_appended(&Outcome::Lost, world.now);
    world.none();
    world.now = world.coordinator.wake_at().expect("it asks");
    assert_eq!(world.effect(), Effect::ReadAdmissionLast);
    world.coordinator.admission_last(Some(0), world.now);
    let again = admission(&mut world);
    assert_eq!((again.expected, &again.run), (0, &run("r2")));
}

/// Broken if a run above the limit of waiting runs, or above that of a day, waits or runs, or if
/// its refusal lacks the reason.
#[test]
fn runs_that_may_not_wait_are_refused() {
    let waiting = AdmissionRules {
        max_waiting: 1,
        ..one_at_a_time()
    };
    let daily = AdmissionRules {
        max_runs_per_day: Some(2),
        ..one_at_a_time()
    };
    for (rules, problem) in [
        (
            waiting,
            "waiting runs: must be at most 1 of tenant shop (got \"2\")",
        ),
        (
            daily,
            "runs in 24 hours: must be at most 2 of tenant shop (got \"3\")",
        ),
    ] {
        let mut world = with_a_run_that_waits(rules);
        ask(&mut world, "r3");
        let refused = store(&mut world);
        let Decision::RunRefused(refused) = refused else {
            panic!("{refused:?}")
        };
        let problems: Vec<String> = refused.problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, [problem]);
    }
}

/// A fleet of two agents where r1 uses one, r2 has a reservation for both, and the place of r2 is
/// being stored.
fn with_a_reservation() -> (World, PendingAppend) {
    let mut world = fleet(AdmissionRules::default(), Some(1));
    for name in ["a", "b"] {
        let now = world.now;
        world.coordinator.heard_agent(agent(name), &beat(&[]), now);
    }
    ask(&mut world, "r1");
    decide(&mut world, "RunAdmitted", "r1");
    create(&mut world);
    let mut large = request();
    large["agents"]["want"] = json!(2);
    world.tell(&of_shop().req(&run("r2")), &large);
    decide(&mut world, "AgentsReserved", "r2");
    let place = world.pending();
    assert!(matches!(place.decision, Decision::RunQueued(_)));
    (world, place)
}

/// Broken if a run is admitted past a reservation, or takes it over, while something about the
/// reserved run is being stored: the tail may be faster than the acknowledgement.
#[test]
fn a_reservation_holds_while_the_place_of_its_run_is_stored() {
    let (mut world, place) = with_a_reservation();
    let decision = serde_json::to_value(&place.decision).expect("JSON");
    let seq = world.tell(&place.subject, &decision);
    ask(&mut world, "r3");
    let found = places(&mut world);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("r3: waiting: place 2 of 2"),
        "{found:?}"
    );
    world.none();

    // No agent offers capacity to r1: it is over, and both agents are free.
    world.now = world.now.plus_us(5 * SECOND);
    let over = store(&mut world);
    assert!(matches!(over, Decision::RunRefused(_)), "{over:?}");
    let effects = world.coordinator.next(world.now);
    let [Effect::Shred(..), Effect::Admit(released)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    win_admission(&mut world, released);
    assert_eq!(released.decision.name(), "RunReleased");
    world.none();
    let outcome = Outcome::Stored { seq };
    world.coordinator.appended(&place.run, &outcome, world.now);
    decide(&mut world, "RunAdmitted", "r2");
}

/// Broken if a clock that is set back delays the next admission by as much.
#[test]
fn a_clock_set_back_does_not_delay_an_admission() {
    let mut world = limited(one_at_a_time());
    world.now = T0.plus_us(3_600 * SECOND);
    ask(&mut world, "r1");
    admission(&mut world);
    let fault = loadpilot_bus::Fault::Disconnected;
    let outcome = Outcome::Fault(fault);
    world.coordinator.admission_appended(&outcome, world.now);
    world.none();
    world.now = T0;
    world.coordinator.listen_again(world.now);
    world.none();
    let retried_at = world.coordinator.wake_at().expect("it tries again");
    assert!(retried_at <= T0.plus_us(5 * SECOND), "{retried_at:?}");
    world.now = retried_at;
    decide(&mut world, "RunAdmitted", "r1");
}
