//! Whole runs, simulated: one log in memory, coordinators that lag, crash and come back, agents
//! that crash, freeze and lose messages, users that steer and stop. All laws are the shipped ones;
//! only the world around them is made up, and the same seed makes the same world.
//!
//! `./dev sim` plays thousands of seeds, `./dev sim SEED` one; the test plays some hundred. A seed
//! that failed is added to [`STORIES`], so that it is played for ever.

mod agent;
mod checker;
mod coordinator;
mod log;
mod process;
mod steer;
mod world;

#[path = "../rules/mod.rs"]
mod rules;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Seeds of a plain `cargo test`.
const SOME: u64 = 240;

/// Seeds of `./dev sim`.
const MANY: u64 = 2_000;

/// Seeds that once failed.
const STORIES: [u64; 0] = [];

/// Parts that are played side by side.
const PARTS: u64 = 4;

fn play(seed: u64) {
    let played = catch_unwind(AssertUnwindSafe(|| {
        checker::check(&world::World::played(seed))
    }));
    if let Err(broken) = played {
        let what = broken.downcast_ref::<String>().map(String::as_str);
        let what = what.or_else(|| broken.downcast_ref::<&str>().copied());
        match what {
            Some(what) => panic!("{what}\nplay it again: ./dev sim {seed}"),
            None => resume_unwind(broken),
        }
    }
}

/// `LOADPILOT_SIM_SEED` at build time: a seed, or nothing for many; unset for some.
fn play_part(part: u64) {
    let seeds = match option_env!("LOADPILOT_SIM_SEED") {
        None => 0..SOME,
        Some("") => 0..MANY,
        Some(seed) if part == 0 => return play(seed.parse().expect("a seed is a number")),
        Some(_) => return,
    };
    let stories = STORIES.into_iter().chain(seeds);
    stories.filter(|seed| seed % PARTS == part).for_each(play);
}

#[test]
fn runs_end_and_their_books_balance_1() {
    play_part(0);
}

#[test]
fn runs_end_and_their_books_balance_2() {
    play_part(1);
}

#[test]
fn runs_end_and_their_books_balance_3() {
    play_part(2);
}

#[test]
fn runs_end_and_their_books_balance_4() {
    play_part(3);
}
