//! Several tenants on one fleet: the run of each record, the live owners, and the news of agents.

use loadpilot_engine::control::tenants::{TenantRules, Tenants};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::wire::heartbeat::AgentBeat;
use loadpilot_events::wire::subject::Subjects;
use loadpilot_events::{Capability, OwnerId, TenantId};
use serde_json::json;

use super::world::{
    SECOND, T0, World, agent, beat, offer, ready, request, run, settings, subjects,
};
use crate::coordinator::Coordinator;
use crate::run_state::Effect;

fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).expect("a token")
}

/// A heartbeat of an agent that can serve several tenants.
fn hear(world: &mut World) {
    let able = AgentBeat {
        has: [Capability::tenants()].into(),
        ..beat(&[])
    };
    world.coordinator.heard_agent(agent("a"), &able, world.now);
}

fn of(name: &str) -> Subjects {
    subjects().of_tenant(&tenant(name))
}

/// A coordinator of the home tenant that serves `shop` and `search`.
fn shared() -> World {
    let mut settings = settings(false);
    let names = ["shop", "search"];
    settings.policy.tenants = Some(Tenants {
        file: "fleet.toml".to_owned(),
        rules: names
            .map(|name| (tenant(name), TenantRules::default()))
            .into(),
        max_runs_per_agent: None,
        ownership_key: None,
    });
    let mut world = World::new(false);
    world.coordinator = Coordinator::new(settings, T0);
    world.coordinator.caught_up();
    world
}

/// Broken if a run of a tenant is decided on another tenant's subject, if agents do not learn its
/// tenant, or if its secrets are handed to another tenant or stay stored.
#[test]
fn a_run_belongs_to_the_tenant_of_its_subject() {
    let mut world = shared();
    hear(&mut world);
    world.tell(&of("shop").req(&run("r1")), &request());
    let created = world.pending();
    assert_eq!(created.subject, of("shop").ctl(&run("r1")));
    world.win(&created);
    world.none();
    let (news, _) = world.news(&[]).expect("it has caught up");
    assert_eq!(news[0].tenant, Some(tenant("shop")));

    let facts = of("shop").evt(&run("r1"), &agent("a"));
    world.tell(&facts, &offer(world.now));
    let assigned = world.pending();
    world.win(&assigned);
    let holds = |world: &World, name: &str| {
        let tenant = tenant(name);
        world
            .coordinator
            .is_holder(&tenant, &run("r1"), &agent("a"))
    };
    assert!(holds(&world, "shop") && !holds(&world, "search") && !holds(&world, "local"));
    world.none();
    world.tell(&facts, &ready());
    let scheduled = world.pending();
    world.win(&scheduled);
    world.none();
    let stop = json!({"type": "StopRequested", "by": "me"});
    world.tell(&of("shop").req(&run("r1")), &stop);
    world.now = world.now.plus_us(SECOND);
    let stopped = world.pending();
    world.win(&stopped);
    world.now = world.now.plus_us(60 * SECOND);
    world.head(0);
    world.seal();
    assert_eq!(world.effect(), Effect::Shred(tenant("shop"), run("r1")));
}

/// Broken if a tenant can change the run of another.
#[test]
fn a_record_of_another_tenant_is_skipped_and_names_both() {
    let mut world = shared();
    hear(&mut world);
    world.tell(&of("shop").req(&run("r1")), &request());
    let created = world.pending();
    world.win(&created);
    world.none();
    let stop = json!({"v": 1, "id": "x", "at": 1,
        "event": {"type": "StopRequested", "by": "search"}});
    let sealed = json!({"v": 1, "id": "x", "at": 1, "event": {"type": "RunSealed",
        "ending": "aborted", "ctl_seq": 9, "evt_seq": 9, "data_seq": 9}});
    let left = json!({"v": 1, "id": "x", "at": 1,
        "event": {"boot_id": "b1", "what": {"type": "AgentLeaving"}}});
    for (subject, forged) in [
        (of("search").req(&run("r1")), stop),
        (of("search").ctl(&run("r1")), sealed),
        (of("search").evt(&run("r1"), &agent("a")), left),
    ] {
        let poison = world.store(&subject, forged.to_string().as_bytes());
        let poison = poison.expect_err("it is of another tenant").to_string();
        let both = "the run belongs to tenant shop, not to tenant search";
        assert!(
            poison.starts_with(&subject) && poison.ends_with(both),
            "{poison}"
        );
        world.none();
    }
    let facts = of("shop").evt(&run("r1"), &agent("a"));
    world.tell(&facts, &offer(world.now));
    let assigned = world.pending();
    assert!(matches!(assigned.decision, Decision::ShardsAssigned(_)));
    world.win(&assigned);
}

/// Broken if one tenant's command keeps another's run alive.
#[test]
fn an_owner_is_alive_by_heartbeats_of_its_own_tenant() {
    for (name, lives) in [("shop", true), ("search", false), ("unknown", false)] {
        let mut world = shared();
        hear(&mut world);
        let mut request = request();
        request["owner"] = json!("o1");
        world.tell(&of("shop").req(&run("r1")), &request);
        let created = world.pending();
        world.win(&created);
        world.none();
        world.now = world.now.plus_us(9 * SECOND);
        let owner = OwnerId::parse("o1").expect("a token");
        world
            .coordinator
            .heard_owner(tenant(name), owner, world.now);
        hear(&mut world);
        world.now = world.now.plus_us(2 * SECOND);
        let facts = of("shop").evt(&run("r1"), &agent("a"));
        world.tell(&facts, &offer(world.now));
        let next = world.pending().decision;
        match lives {
            true => assert!(!matches!(next, Decision::StartCancelled(_)), "{next:?}"),
            false => assert!(matches!(next, Decision::StartCancelled(_)), "{next:?}"),
        }
    }
}

/// Broken if a run of a tenant that the file does not name is created, or is refused without a
/// reason.
#[test]
fn a_run_of_an_unknown_tenant_is_refused_on_its_own_subject() {
    let mut world = shared();
    for name in ["unknown", "local"] {
        world.tell(&of(name).req(&run(name)), &request());
        let refused = world.pending();
        assert_eq!(refused.subject, of(name).ctl(&run(name)));
        let Decision::RunRefused(problems) = &refused.decision else {
            panic!("{refused:?}")
        };
        let rule = &problems.problems[0].rule;
        assert!(
            rule.contains(&format!("[tenants.{name}] in fleet.toml")),
            "{rule}"
        );
        world.win(&refused);
        assert_eq!(world.effect(), Effect::Shred(tenant(name), run(name)));
    }
}
