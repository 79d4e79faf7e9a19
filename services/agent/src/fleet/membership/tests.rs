//! Stories of what is heard, in which order, and what follows.

use std::time::Duration;

use loadpilot_events::log::assign::{AgentsWanted, Holding};
use loadpilot_events::log::ctl::{
    Decision, Ending, RunCreated, RunSealed, ShardsAssigned, StartScheduled,
};
use loadpilot_events::log::envelope::EVENT_VERSION;
use loadpilot_events::rules::Rules;
use loadpilot_events::wire::heartbeat::ClockSample;
use loadpilot_events::{AgentId, BootId, Envelope, EventId, Plan};

use super::*;
use crate::runs::run_commands::Isolation;

fn me() -> Holder {
    Holder {
        agent: AgentId::parse("a").expect("a token"),
        boot_id: BootId::parse("boot").expect("a token"),
    }
}

fn run(name: &str) -> RunId {
    RunId::parse(name).expect("a token")
}

/// A plan of this peak; nothing else of it matters here.
fn plan(peak: Rate) -> Plan {
    let plan = serde_json::json!({
        "schema": "loadpilot.plan/1", "scenario": "S", "target": "http://127.0.0.1:1",
        "profile": {"shape": "constant", "pieces": [
            {"duration_us": 1_000_000, "from": peak.0, "to": peak.0}
        ]},
        "tasks": [{"name": "t", "weight": 1, "steps": [
            {"name": "GET /", "method": "GET", "path": "/"}
        ]}],
        "warm_up_us": 0, "timeout_us": 30_000_000, "max_wait_us": 30_000_000,
        "max_lateness_us": 500_000, "tick_us": 1_000_000,
    });
    serde_json::from_value(plan).expect("a plan")
}

fn created(peak: Rate) -> Decision {
    let plan = plan(peak);
    Decision::RunCreated(Box::new(RunCreated {
        plan_hash: plan.hash(),
        plan: Some(plan),
        request: None,
        seed: 1,
        agents: AgentsWanted {
            want: 1,
            min: 1,
            wait_us: 0,
        },
        owner: None,
        lead_us: 0,
        shards: 4,
        gather_by: Timestamp(7),
        needs: Vec::new(),
        targets: None,
        proof: None,
        rules: Rules::CURRENT,
    }))
}

fn assigned(shards: &[u32]) -> Decision {
    Decision::ShardsAssigned(ShardsAssigned {
        generation: 1,
        holdings: vec![Holding {
            holder: me(),
            shards: shards.to_vec(),
        }],
        ready_by: Timestamp(9),
    })
}

fn scheduled() -> Decision {
    Decision::StartScheduled(StartScheduled {
        start_at: Timestamp(10),
    })
}

fn sealed() -> Decision {
    Decision::RunSealed(RunSealed {
        ending: Ending::Completed,
        ctl_seq: 0,
        evt_seq: 0,
        data_seq: 0,
        finals: Vec::new(),
        missing: Vec::new(),
        unnamed: None,
    })
}

fn news(name: &str, previous_seq: u64, seq: u64, decision: Decision) -> News {
    News {
        tenant: None,
        run: run(name),
        seq,
        previous_seq,
        event: Envelope {
            v: EVENT_VERSION,
            id: EventId::parse("e").expect("a token"),
            at: Timestamp(0),
            event: decision,
        },
    }
}

fn reply(news: Vec<News>, more: bool) -> HeartbeatReply {
    HeartbeatReply {
        clock: ClockSample {
            received_at: Timestamp(0),
            replied_at: Timestamp(0),
            bound_us: 0,
        },
        news,
        more,
    }
}

fn commands_of(membership: &Membership, name: &str) -> Option<RunCommands> {
    let run = run(name);
    membership
        .commands()
        .find(|(found, ..)| **found == run)
        .map(|(.., commands)| commands)
}

/// Live events come at most once: one that follows a lost one must wait, and the heartbeat must
/// ask from the last one seen.
#[test]
fn a_lost_event_is_asked_for_and_comes_with_the_reply() {
    let now = Instant::now();
    let mut agent = Membership::new(me(), false, BTreeSet::new(), now);
    assert_eq!(
        agent.apply(&news("r", 0, 5, created(Rate(1))), now),
        Applied::Applied
    );
    assert_eq!(
        agent.apply(&news("r", 8, 9, scheduled()), now),
        Applied::Gap
    );
    let seen = agent.beat(Rate::per_second(100)).seen;
    assert_eq!((seen[0].run.clone(), seen[0].ctl_seq), (run("r"), 5));
    assert_eq!(
        commands_of(&agent, "r").expect("known").stage,
        Stage::Gathering
    );

    let lacking = vec![
        news("r", 5, 8, assigned(&[0, 1])),
        news("r", 8, 9, scheduled()),
    ];
    assert!(
        !agent.on_reply(&reply(lacking, false), now, now),
        "nothing more to ask for"
    );
    let commands = commands_of(&agent, "r").expect("known");
    assert_eq!(commands.start_at(), Some(Timestamp(10)));
    assert_eq!(commands.holds[0].shards, [0, 1]);
    assert_eq!(
        agent.fence_at(&Timeouts::default()),
        Some(now + Timeouts::default().fence)
    );
}

/// An agent that knows that it lacks decisions, and cannot get them, may be firing for others.
#[test]
fn a_holder_that_stays_behind_fences_itself_and_others_do_not() {
    let timeouts = Timeouts::default();
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let mut agent = Membership::new(me(), false, BTreeSet::new(), start);
    agent.apply(&news("held", 0, 1, created(Rate(1))), start);
    agent.apply(&news("held", 1, 2, assigned(&[0])), start);
    agent.apply(&news("other", 0, 3, created(Rate(1))), start);
    agent.apply(&news("other", 9, 10, scheduled()), start);
    agent.on_reply(&reply(Vec::new(), false), at(1_000), at(1_000));

    agent.fence(at(4_000), Timestamp(4), &timeouts);
    assert_eq!(commands_of(&agent, "held").expect("known").isolated, None);
    agent.apply(&news("held", 7, 8, scheduled()), at(4_000));
    assert_eq!(agent.fence_at(&timeouts), Some(at(6_000)));
    agent.fence(at(6_000), Timestamp(6), &timeouts);
    let fenced = commands_of(&agent, "held")
        .expect("known")
        .isolated
        .expect("fenced");
    assert_eq!((fenced.why, fenced.ctl_seq), (Isolation::Behind, 2));
    assert_eq!(
        commands_of(&agent, "other").expect("known").isolated,
        None,
        "it holds nothing"
    );

    agent.on_reply(&reply(Vec::new(), false), at(6_500), at(6_500));
    agent.fence(at(6_600), Timestamp(7), &timeouts);
    assert!(
        commands_of(&agent, "held")
            .expect("known")
            .isolated
            .is_some(),
        "it stays fenced"
    );
}

/// A reply that does not hold everything means that the view is old, whatever the runs say.
#[test]
fn an_incomplete_reply_counts_as_being_behind() {
    let timeouts = Timeouts::default();
    let start = Instant::now();
    let mut agent = Membership::new(me(), false, BTreeSet::new(), start);
    let first = vec![
        news("r", 0, 1, created(Rate(1))),
        news("r", 1, 2, assigned(&[0])),
    ];
    assert!(
        agent.on_reply(&reply(first, true), start, start),
        "asks again at once"
    );
    assert_eq!(agent.fence_at(&timeouts), Some(start + timeouts.behind));
    agent.on_reply(&reply(Vec::new(), false), start, start);
    assert_eq!(agent.fence_at(&timeouts), Some(start + timeouts.fence));
}

/// Two runs that gather at once must not both be promised the whole agent; a share that was
/// assigned counts, and comes back when the run is over.
#[test]
fn capacity_is_promised_once() {
    let now = Instant::now();
    let rps = Rate::per_second;
    let mut agent = Membership::new(me(), false, BTreeSet::new(), now);
    agent.apply(&news("one", 0, 1, created(rps(80))), now);
    agent.apply(&news("two", 0, 2, created(rps(80))), now);
    let rates = |offers: Vec<Offer>| offers.into_iter().map(|o| o.rate).collect::<Vec<_>>();
    assert_eq!(rates(agent.offers(rps(100))), [rps(80), rps(20)]);
    assert!(agent.offers(rps(100)).is_empty(), "each run once");
    assert!(agent.beat(rps(100)).full && !agent.beat(rps(101)).full);

    agent.apply(&news("one", 1, 3, assigned(&[0, 1])), now);
    agent.apply(&news("two", 2, 4, assigned(&[])), now);
    agent.apply(&news("three", 0, 5, created(rps(90))), now);
    assert_eq!(
        rates(agent.offers(rps(100))),
        [rps(60)],
        "half of 80 is held"
    );

    agent.apply(&news("one", 3, 6, sealed()), now);
    assert_eq!(agent.remove_over(), [run("one")]);
    agent.apply(&news("four", 0, 7, created(rps(90))), now);
    assert_eq!(rates(agent.offers(rps(100))), [rps(40)], "100 less 60");
    agent.leave();
    agent.apply(&news("five", 0, 8, created(rps(1))), now);
    assert!(
        agent.offers(rps(100)).is_empty(),
        "who leaves takes nothing on"
    );
    assert!(agent.beat(rps(1_000)).full, "and says so");
}

/// An agent that cannot do what a run needs must not promise it anything, nor keep quiet about what
/// it can do.
#[test]
fn it_offers_to_runs_that_it_suits() {
    let now = Instant::now();
    let zone = |text| Capability::label("label", text).expect("a label");
    let mut agent = Membership::new(me(), false, [zone("zone=eu")].into(), now);
    assert_eq!(
        agent.beat(Rate::per_second(100)).has,
        [zone("zone=eu")].into()
    );
    for (seq, name, needs) in [
        (1, "eu", vec![zone("zone=eu")]),
        (2, "us", vec![zone("zone=us")]),
    ] {
        let Decision::RunCreated(mut created) = created(Rate::per_second(1)) else {
            panic!("it is created");
        };
        created.needs = needs;
        agent.apply(&news(name, 0, seq, Decision::RunCreated(created)), now);
    }
    let offers = agent.offers(Rate::per_second(100));
    let runs: Vec<&str> = offers.iter().map(|offer| offer.run.as_str()).collect();
    assert_eq!(runs, ["eu"]);
}

/// A coordinator that lags behind may tell of a run again that was sealed: firing it twice would
/// be the worst that could happen.
#[test]
fn a_run_that_is_over_never_comes_back() {
    let now = Instant::now();
    let mut agent = Membership::new(me(), false, BTreeSet::new(), now);
    let story = [
        news("r", 0, 1, created(Rate(1))),
        news("r", 1, 2, assigned(&[0])),
        news("r", 2, 3, sealed()),
    ];
    assert!(
        story
            .iter()
            .all(|news| agent.apply(news, now) == Applied::Applied)
    );
    assert_eq!(agent.remove_over(), [run("r")]);
    assert!(
        story
            .iter()
            .all(|news| agent.apply(news, now) == Applied::Duplicate)
    );
    assert!(agent.commands().next().is_none() && agent.beat(Rate::per_second(100)).seen.is_empty());
}

/// The kill switch and the last words end a holder for good.
#[test]
fn halted_and_finished_runs_hold_nothing() {
    let now = Instant::now();
    let mut agent = Membership::new(me(), false, BTreeSet::new(), now);
    agent.apply(&news("r", 0, 1, created(Rate(1))), now);
    agent.apply(&news("r", 1, 2, assigned(&[0])), now);
    agent.halt(None, &run("unknown"));
    agent.halt(None, &run("r"));
    assert!(commands_of(&agent, "r").expect("known").halted);
    agent.finished(&run("r"), Some(FinishReason::Isolated));
    assert!(
        !agent.must_rejoin(),
        "an agent does not rejoin a halted run"
    );
    assert_eq!(commands_of(&agent, "r"), None, "no worker starts again");
    assert_eq!(agent.fence_at(&Timeouts::default()), None);
    assert_eq!(
        agent.beat(Rate::per_second(100)).seen.len(),
        1,
        "but it goes on listening"
    );
}

/// Broken if a run goes on after its tenant's halt, or stops by that of another; or if news about
/// it change its tenant.
#[test]
fn a_run_obeys_its_own_tenant() {
    let now = Instant::now();
    let mut agent = Membership::new(me(), false, BTreeSet::new(), now);
    let [shop, search] = ["shop", "search"].map(|name| TenantId::parse(name).expect("a token"));
    let of = |tenant: &TenantId, previous_seq, seq, decision| News {
        tenant: Some(tenant.clone()),
        ..news("r", previous_seq, seq, decision)
    };
    agent.apply(&of(&shop, 0, 1, created(Rate(1))), now);
    assert_eq!(agent.tenant(&run("r")), Some(&shop));
    assert_eq!(agent.tenants().collect::<Vec<_>>(), [&shop]);
    let sealed = of(&search, 1, 2, sealed());
    assert_eq!(agent.apply(&sealed, now), Applied::Duplicate);
    assert_eq!(agent.remove_over(), []);
    agent.apply(&of(&shop, 1, 3, assigned(&[0])), now);
    for foreign in [None, Some(&search)] {
        agent.halt(foreign, &run("r"));
        assert!(!commands_of(&agent, "r").expect("known").halted);
    }
    agent.halt(Some(&shop), &run("r"));
    assert!(commands_of(&agent, "r").expect("known").halted);
}
