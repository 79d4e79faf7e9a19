//! Each mistake of the bug bank is made in worlds of all kinds until the promise that it breaks is
//! found broken. A test fails when that is never found.
//!
//! `./dev bugbank` plays them all and shows which promise detected each.

use std::panic::{catch_unwind, resume_unwind};

use loadpilot_engine::bugs::{Bug, plant};

use crate::play;

/// Maximum number of worlds in which to look for a mistake.
const WORLDS: u64 = 10_000;

/// Plays worlds with a mistake in them until one breaks `promise`. Other promises may be broken
/// before.
fn hunt(bug: Bug, promise: &str) {
    plant(Some(bug));
    for world in 0..WORLDS {
        if let Err(broken) = catch_unwind(|| play(world))
            && broken
                .downcast_ref::<String>()
                .is_some_and(|what| what.contains(promise))
        {
            resume_unwind(broken);
        }
    }
    plant(None);
}

macro_rules! bank {
    ($($name:ident: $bug:ident, $promise:literal;)*) => {
        $(
            #[test]
            #[should_panic(expected = $promise)]
            fn $name() {
                hunt(Bug::$bug, $promise);
            }
        )*

        /// A mistake without a test would have no purpose.
        #[test]
        fn every_mistake_has_its_test() {
            assert_eq!(Bug::ALL.to_vec(), [$(Bug::$bug),*]);
        }
    };
}

bank! {
    identity_from_payload: IdentityFromPayload, "the digest depends on the order";
    lost_subtracted_twice: LostSubtractedTwice, "completed before its end";
    two_slots_per_agent: TwoSlotsPerAgent, "stands in it twice";
    stop_not_heard: StopNotHeard, "sent after the stop";
    first_task_only: FirstTaskOnly, "weights do not hold";
    coarse_ticks: CoarseTicks, "arrivals off";
    failures_at_zero: FailuresAtZero, "took 1 µs";
    no_generation_fence: NoGenerationFence, "honest parts contradict each other";
    counted_twice: CountedTwice, "the digest depends on the order";
    late_deltas_count: LateDeltasCount, "what came after the seal counts";
    loss_unnamed: LossUnnamed, "planned = started + dropped + lost";
    lost_before_listened: LostBeforeListened, "is called lost after";
    lost_before_fenced: LostBeforeFenced, "is called lost after";
    takeover_now: TakeoverNow, "has begun";
    lost_get_shards: LostGetShards, "was lost, and gets shards";
    sealed_before_last_words: SealedBeforeLastWords, "a good world";
    tail_not_awaited: TailNotAwaited, "sent more than it reported";
    tail_forgotten: TailForgotten, "sent more than it reported";
    tail_reuses_numbers: TailReusesNumbers, "honest parts contradict each other";
    clock_runs_back: ClockRunsBack, "the start lacks its lead";
    decided_after_the_end: DecidedAfterTheEnd, "the run was over";
    gaps_ignored: GapsIgnored, "";
}
