//! Setup and teardown: at most one command plays them at a time, and in the end no teardown is left
//! open, although processes die at any moment.
//!
//! Commands start, read the log, claim by what they read, play, and die at any moment; the log
//! accepts an append only at its exact last sequence. The test itself counts which commands live
//! and play.

use loadpilot_engine::control::teardown::{ClaimRefusal, TeardownState};
use loadpilot_engine::verify::{Invariant, Verifier};
use loadpilot_events::id::{EventId, OwnerId, RunId};
use loadpilot_events::log::ctl::{Decision, RunRefused};
use loadpilot_events::log::req::Request;
use loadpilot_events::log::teardown::{SetupClaimed, SetupKept, TeardownClaimed, TeardownFinished};
use loadpilot_events::plan::Object;
use loadpilot_events::refusal::Problem;
use loadpilot_events::wire::subject::Kind;
use loadpilot_events::{Envelope, Timestamp};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

/// The stage of a command.
#[derive(Debug, Clone)]
enum Stage {
    Looks,
    /// It has read this state at this last sequence, and whether the run was over.
    Saw(Box<TeardownState>, usize, bool),
    Plays,
    Gone,
}

struct World {
    dice: Dice,
    /// The request subject: the index of a record is its sequence.
    log: Vec<Request>,
    over: bool,
    commands: Vec<(OwnerId, Stage)>,
    /// Number of teardowns that were begun, and of those whose command died while playing.
    begun: usize,
    cut: usize,
}

fn owner(number: usize) -> OwnerId {
    OwnerId::parse(&format!("cli-{number}")).expect("a token")
}

fn object() -> Object {
    Object::of(b"states")
}

fn setup(claimant: OwnerId) -> Request {
    let plan = plans::plan(&mut Dice::new(1));
    Request::SetupClaimed(Box::new(SetupClaimed {
        claimant,
        by: "ann@host".to_owned(),
        plan,
        seed: 1,
        bundle: object(),
        file: "shop.py".to_owned(),
        teardowns: vec!["clear".to_owned()],
        users: false,
    }))
}

fn claim(claimant: OwnerId, instead_of: Option<OwnerId>) -> Request {
    let by = "ann@host".to_owned();
    Request::TeardownClaimed(TeardownClaimed {
        claimant,
        by,
        instead_of,
    })
}

fn finish(claimant: OwnerId) -> Request {
    let failed = Vec::new();
    Request::TeardownFinished(TeardownFinished { claimant, failed })
}

fn run_requested() -> Request {
    let mut dice = Dice::new(1);
    let plan = plans::plan(&mut dice);
    Request::RunRequested(Box::new(plans::request(plan, 1, 1, &mut dice)))
}

fn fold(log: &[Request]) -> TeardownState {
    let mut debt = TeardownState::default();
    log.iter().for_each(|request| debt.evolve(request));
    debt
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            log: Vec::new(),
            over: false,
            commands: Vec::new(),
            begun: 0,
            cut: 0,
        }
    }

    /// The first command: it claims the setup, stores its result and requests the run, and may die
    /// before each of them.
    fn begin(&mut self) {
        let first = owner(0);
        self.commands.push((first.clone(), Stage::Looks));
        self.log.push(setup(first.clone()));
        for next in [
            Request::SetupKept(SetupKept {
                claimant: first.clone(),
                states: object(),
            }),
            run_requested(),
        ] {
            if self.dice.chance(30) {
                self.commands[0].1 = Stage::Gone;
                return;
            }
            if fold(&self.log).may_request(&first) {
                self.log.push(next);
            }
        }
    }

    fn lives(&self, one: &OwnerId) -> bool {
        let known = self.commands.iter().find(|(name, _)| name == one);
        known.is_some_and(|(_, stage)| !matches!(stage, Stage::Gone))
    }

    fn is_requested(&self) -> bool {
        let is_request = |one: &Request| matches!(one, Request::RunRequested(_));
        self.log.iter().any(is_request)
    }

    /// One command takes one step.
    fn step(&mut self, which: usize) {
        let (name, stage) = self.commands[which].clone();
        let next = match stage {
            Stage::Gone => Stage::Gone,
            Stage::Looks => {
                let debt = Box::new(fold(&self.log));
                Stage::Saw(debt, self.log.len(), self.over)
            }
            Stage::Saw(debt, last, over) => {
                let holder = debt.holder.as_ref();
                let gone = holder.filter(|holder| !self.lives(holder));
                match debt.claim(&name, gone, over) {
                    Ok(instead_of) if self.log.len() == last => {
                        self.log.push(claim(name, instead_of));
                        self.begun += 1;
                        Stage::Plays
                    }
                    // The log has advanced: the command reads it again.
                    Ok(_) => Stage::Looks,
                    Err(ClaimRefusal::Settled | ClaimRefusal::Nothing) => Stage::Gone,
                    Err(ClaimRefusal::NotOver | ClaimRefusal::Held(_)) => Stage::Looks,
                }
            }
            Stage::Plays => {
                self.log.push(finish(name));
                Stage::Gone
            }
        };
        self.commands[which].1 = next;
    }

    fn kill(&mut self, which: usize) {
        let stage = std::mem::replace(&mut self.commands[which].1, Stage::Gone);
        self.cut += usize::from(matches!(stage, Stage::Plays));
    }

    fn playing(&self) -> usize {
        let plays = |(_, stage): &&(OwnerId, Stage)| matches!(stage, Stage::Plays);
        self.commands.iter().filter(plays).count()
    }
}

/// The breaches of setup and teardown that verification finds in a log; the run is over at `end`.
fn breaches(log: &[Request], end: Option<usize>) -> Vec<String> {
    let run = RunId::parse("01run").expect("a token");
    let mut verifier = Verifier::new(run, "lp.local.run.01run.ctl".to_owned());
    let mut seq = 0;
    let mut add = |kind: &Kind, json: serde_json::Value| {
        seq += 1;
        let payload = serde_json::to_vec(&json).expect("JSON");
        verifier.add("subject", kind, seq, &payload);
    };
    let id = || EventId::parse("01event").expect("a token");
    for (place, request) in log.iter().enumerate() {
        if end == Some(place) {
            let problems = vec![Problem::new("agents", "must come", 0)];
            let refused = Decision::RunRefused(RunRefused { problems });
            let (v, at) = (1, Timestamp(1));
            let event = Envelope {
                v,
                id: id(),
                at,
                event: refused,
            };
            add(&Kind::Ctl, serde_json::to_value(event).expect("JSON"));
        }
        let (v, at, event) = (1, Timestamp(1), request.clone());
        let event = Envelope {
            v,
            id: id(),
            at,
            event,
        };
        add(&Kind::Req, serde_json::to_value(event).expect("JSON"));
    }
    let read = verifier.control_read().expect("a run");
    let found = read.close(None).expect("a report").invariants;
    let owed = found
        .into_iter()
        .find(|one| one.invariant == Invariant::Owed);
    let evidence = owed.expect("it is judged").evidence;
    evidence.into_iter().map(|one| one.what).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Broken if two commands play a teardown at the same time, if a teardown is played again
    /// without a kill during it, or if a kill leaves a teardown owed for ever.
    #[test]
    fn one_plays_at_a_time_and_in_the_end_nothing_is_owed(seed: u64) {
        let mut world = World::new(seed);
        world.begin();
        let mut end = None;
        for _ in 0..world.dice.pick(0..60) {
            let which = world.dice.pick(0..world.commands.len() as u64) as usize;
            if world.dice.chance(15) && world.commands.len() < 6 {
                let name = owner(world.commands.len());
                world.commands.push((name, Stage::Looks));
            }
            if world.dice.chance(20) && world.is_requested() && end.is_none() {
                world.over = true;
                end = Some(world.log.len());
            }
            match world.dice.chance(15) {
                true => world.kill(which),
                false => world.step(which),
            }
            prop_assert!(world.playing() <= 1, "two play at a time");
        }
        if world.is_requested() && end.is_none() {
            end = Some(world.log.len());
        }
        world.over = true;
        for which in 0..world.commands.len() {
            world.kill(which);
        }
        let last = world.commands.len();
        world.commands.push((owner(last), Stage::Looks));
        for _ in 0..4 {
            world.step(last);
        }
        prop_assert!(!fold(&world.log).is_owed(), "it is owed for ever");
        prop_assert_eq!(world.begun, 1 + world.cut, "played again without need, or never");
        if world.is_requested() {
            prop_assert_eq!(breaches(&world.log, end), Vec::<String>::new());
        }
    }
}

/// Broken if a command that was suspended while another one took its teardown could still request
/// the run: its load would find nothing that was set up.
#[test]
fn a_run_is_not_asked_for_when_its_teardown_was_taken() {
    let mut log = vec![setup(owner(0))];
    assert!(fold(&log).may_request(&owner(0)));
    assert!(!fold(&log).may_request(&owner(1)), "it set nothing up");
    log.push(claim(owner(1), Some(owner(0))));
    assert!(!fold(&log).may_request(&owner(0)));
    log.push(finish(owner(1)));
    assert!(!fold(&log).may_request(&owner(0)));
}

/// Broken if verification does not name a claim that the log should never have accepted.
#[test]
fn what_must_not_stand_there_is_named() {
    let (one, two) = (owner(0), owner(1));
    let taken = || claim(two.clone(), Some(one.clone()));
    let cases = [
        (
            vec![run_requested(), taken()],
            Some(1),
            "there was no setup",
        ),
        (
            vec![setup(one.clone()), setup(two.clone()), run_requested()],
            None,
            "there was a setup before",
        ),
        (
            vec![run_requested(), setup(one.clone())],
            None,
            "the run was requested before its setup",
        ),
        (
            vec![setup(one.clone()), run_requested(), taken()],
            None,
            "the run is not over",
        ),
        (
            vec![setup(one.clone()), taken(), run_requested()],
            None,
            "the run is requested after its teardown began",
        ),
        (
            vec![
                setup(one.clone()),
                run_requested(),
                claim(two.clone(), None),
            ],
            Some(2),
            "it does not take over from the owner of the teardown",
        ),
        (
            vec![
                setup(one.clone()),
                run_requested(),
                taken(),
                finish(one.clone()),
            ],
            Some(2),
            "its claimant is not the owner of the teardown",
        ),
        (
            vec![
                setup(one.clone()),
                run_requested(),
                taken(),
                finish(two.clone()),
                finish(two.clone()),
            ],
            Some(2),
            "it was already finished",
        ),
        (
            vec![
                setup(one.clone()),
                run_requested(),
                taken(),
                claim(one.clone(), Some(two.clone())),
            ],
            Some(2),
            "the claimant was found gone earlier",
        ),
    ];
    for (log, end, what) in cases {
        assert_eq!(breaches(&log, end), [what]);
    }
}
