//! Small random plans that the checker accepts.

use loadpilot_engine::check;
use loadpilot_engine::check::pairs::{Side, paired};
use loadpilot_events::id::{AgentId, BootId, Holder};
use loadpilot_events::log::assign::AgentsWanted;
use loadpilot_events::log::req::RunRequested;
use loadpilot_events::plan::connections::Connections;
use loadpilot_events::plan::user_types::UserType;
use loadpilot_events::plan::{
    Arrivals, Method, PhaseTimeouts, Piece, Plan, PlanSchema, Profile, Shape, Step, Task,
};
use loadpilot_events::units::Rate;

use super::dice::Dice;

/// A few seconds of a few tasks: a few hundred arrivals at most.
pub(crate) fn plan(dice: &mut Dice) -> Plan {
    let tasks = (0..dice.pick(1..4))
        .map(|number| task(number, dice))
        .collect();
    let mut pieces: Vec<Piece> = (0..dice.pick(1..4)).map(|_| piece(dice)).collect();
    pieces.push(steady(dice));
    let profile = Profile {
        shape: Shape::Stages,
        pieces,
    };
    let tick_us = dice.one_of(&[1_000_000, 500_000, 700_000]);
    let ticks = profile.duration_us() / tick_us;
    let warm_up_us = if dice.chance(50) {
        dice.pick(0..ticks.max(1)) * tick_us * 9 / 10
    } else {
        0
    };
    let plan = Plan {
        schema: PlanSchema::V1,
        scenario: "Laws".to_owned(),
        target: "http://127.0.0.1:8080".to_owned(),
        profile,
        arrivals: dice.one_of(&[Arrivals::Uniform, Arrivals::Poisson]),
        users: None,
        user_stages: None,
        rest: None,
        session: None,
        types: Vec::new(),
        paired: false,
        hold: Vec::new(),
        tasks,
        warm_up_us,
        timeout_us: 1_000_000,
        timeouts: PhaseTimeouts::default(),
        max_wait_us: 500_000,
        max_lateness_us: 300_000,
        tick_us,
        max_in_flight: None,
        thresholds: Vec::new(),
        id_header: None,
        debug_requests: 0,
        connections: Connections::default(),
        samples_ppm: Some(1_000_000),
        script: None,
        code: None,
        requests: None,
        parameters: std::collections::BTreeMap::new(),
        tags: std::collections::BTreeMap::new(),
    };
    assert_eq!(check::plan(&plan), [], "the plans of the laws are sound");
    plan
}

/// A plan: for one of four seeds a mix, and for another one a comparison of two targets.
pub(crate) fn some(dice: &mut Dice, seed: u64) -> Plan {
    let plan = plan(dice);
    match seed % 4 {
        0 => mixed(plan, &mut Dice::new(seed)),
        1 => paired(&plan, &sides()).expect("the plans of the laws can be compared"),
        _ => plan,
    }
}

/// Two targets to compare.
pub(crate) fn sides() -> [Side; 2] {
    [("A", 8080), ("B", 8081)].map(|(name, port)| Side {
        name: name.to_owned(),
        target: format!("http://127.0.0.1:{port}"),
    })
}

/// The plan as a mix of user types, each with some of its tasks.
pub(crate) fn mixed(mut plan: Plan, dice: &mut Dice) -> Plan {
    plan.schema = PlanSchema::V2;
    let mut left = plan.tasks.as_mut_slice();
    while !left.is_empty() {
        let count = dice.pick(1..left.len() as u64 + 1);
        let name = format!("type-{}", plan.types.len());
        let (own, others) = left.split_at_mut(usize::try_from(count).expect("few"));
        for task in own {
            task.name = format!("{name}/{}", task.name);
        }
        left = others;
        plan.types.push(UserType {
            name,
            share: u32::try_from(dice.pick(1..9)).expect("small"),
            tasks: u16::try_from(count).expect("few"),
            rest: None,
            session: None,
        });
    }
    assert_eq!(check::plan(&plan), [], "the mixes of the laws are sound");
    plan
}

/// A request for `plan` on `want` agents, of which `min` suffice.
pub(crate) fn request(plan: Plan, want: u32, min: u32, dice: &mut Dice) -> RunRequested {
    RunRequested {
        plan,
        seed: dice.pick(0..1 << 53),
        agents: AgentsWanted {
            want,
            min,
            wait_us: dice.pick(0..3_000_000),
        },
        owner: None,
        lead_us: dice.pick(0..1_000_000),
        needs: Vec::new(),
        no_early_abort: false,
    }
}

/// The `boot`-th process of the `number`-th agent; later boots have greater ids.
pub(crate) fn holder(number: u64, boot: u64) -> Holder {
    Holder {
        agent: AgentId::parse(&format!("agent-{number}")).expect("a token"),
        boot_id: BootId::parse(&format!("boot-{boot:04}")).expect("a token"),
    }
}

fn piece(dice: &mut Dice) -> Piece {
    let mut rate = || Rate(dice.one_of(&[0, 3_333_333, 17_000_000, 40_000_000, 60_000_000]));
    let (from, to) = (rate(), rate());
    Piece {
        duration_us: dice.pick(1..3_000_000),
        from,
        to,
    }
}

fn steady(dice: &mut Dice) -> Piece {
    let rate = Rate(dice.pick(5_000_000..50_000_000));
    Piece {
        duration_us: dice.pick(1_500_000..3_000_000),
        from: rate,
        to: rate,
    }
}

fn task(number: u64, dice: &mut Dice) -> Task {
    let step = |place: u64| Step {
        name: format!("GET /{number}/{place}"),
        method: Method::Get,
        path: format!("/{number}/{place}"),
        target: 0,
        headers: Vec::new(),
        body: None,
        timeout_us: None,
        stream: None,
        tokens_max: None,
        listen_us: None,
    };
    Task {
        name: format!("task-{number}"),
        weight: u32::try_from(dice.pick(1..6)).expect("small"),
        steps: (0..dice.pick(1..3)).map(step).collect(),
    }
}
