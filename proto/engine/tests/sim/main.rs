//! Whole runs, simulated. One log in memory, whose answers are lost or late and which may have no
//! leader; coordinators that lag, crash and return; agents that come late, are killed, freeze, and
//! may be cut off in either direction; users that steer and stop. All laws are the shipped ones;
//! only the world around them is simulated, and the same seed makes the same world.
//!
//! A plain test plays some hundred seeds, `./dev sim` ten thousand, `./dev sim SEED` one. A seed
//! that failed is added to [`STORIES`], so that every test run plays it.

mod agent;
#[cfg(feature = "bugbank")]
mod bugbank;
mod checker;
mod coordinator;
mod corrupt;
mod crash_files;
mod crowd;
mod forged;
mod log;
mod process;
mod steer;
mod truth;
mod world;

#[path = "../rules/mod.rs"]
mod rules;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Number of seeds of a plain `cargo test`.
const SOME: u64 = 240;

/// Number of seeds of `./dev sim`.
const MANY: u64 = 10_000;

/// Seeds that once failed.
const STORIES: [u64; 3] = [2_232, 7_128, 20_268_557];

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

/// The first seed: the value of `LOADPILOT_SIM_FIRST` at compile time, or 0.
fn first_seed() -> u64 {
    let first = option_env!("LOADPILOT_SIM_FIRST").unwrap_or("0");
    first.parse().expect("a seed is a number")
}

/// Plays those of `count` seeds that fall to this part of `parts`.
fn play_part(count: u64, (part, parts): (u64, u64)) {
    let first = first_seed();
    let seeds = STORIES.into_iter().chain(first..first + count);
    seeds.filter(|seed| seed % parts == part).for_each(play);
}

macro_rules! parts {
    ($($name:ident: $part:literal),* $(,)?) => {
        const PARTS: u64 = [$($part),*].len() as u64;

        /// Tests that play worlds in parallel.
        mod some {
            $(
                #[test]
                fn $name() {
                    super::play_part(super::SOME, ($part, super::PARTS));
                }
            )*
        }

        /// The same with many worlds.
        mod many {
            $(
                #[test]
                #[ignore = "./dev sim plays these"]
                fn $name() {
                    super::play_part(super::MANY, ($part, super::PARTS));
                }
            )*
        }
    };
}

parts! {
    worlds_1: 0, worlds_2: 1, worlds_3: 2, worlds_4: 3,
    worlds_5: 4, worlds_6: 5, worlds_7: 6, worlds_8: 7,
}

/// The seed in `LOADPILOT_SIM_SEED` at compile time.
#[test]
fn the_seed_that_was_asked_for() {
    if let Some(seed) = option_env!("LOADPILOT_SIM_SEED").filter(|seed| !seed.is_empty()) {
        play(seed.parse().expect("a seed is a number"));
    }
}
