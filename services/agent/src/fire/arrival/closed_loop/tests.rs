//! Users, with a clock that the tests set.

use loadpilot_engine::schedule::share::Share;
use loadpilot_events::plan::{Plan, Rest, SessionLength, UserStage};

use super::*;

const PLAN: &str = include_str!("../../../../../../proto/golden/plan-closed.v1.json");
const SECOND_US: u64 = 1_000_000;

/// Four users for ten seconds, all of them held.
fn closed_loop(rest: Rest) -> ClosedLoop {
    let mut plan: Plan = serde_json::from_str(PLAN).expect("a plan");
    plan.users = Some(4);
    plan.rest = Some(rest);
    started(&mut plan)
}

/// The same users, of which 0 to 4 become active in 4 s, two stay for 2 s, and none do in 2 s;
/// then all are active.
fn staged(rest: Option<Rest>) -> ClosedLoop {
    let mut plan: Plan = serde_json::from_str(PLAN).expect("a plan");
    plan.rest = rest;
    plan.users = Some(4);
    let stages = [(4, 0, 4), (2, 2, 2), (2, 0, 0), (2, 4, 4)];
    let stages = stages.map(|(seconds, from, to)| UserStage {
        duration_us: seconds * SECOND_US,
        from,
        to,
    });
    plan.user_stages = Some(stages.to_vec());
    started(&mut plan)
}

fn started(plan: &mut Plan) -> ClosedLoop {
    plan.profile.pieces[0].duration_us = 10 * SECOND_US;
    let closed_loop = ClosedLoop::new(Arc::new(Workload::new(plan, 1))).expect("it has users");
    closed_loop.replace(vec![held()]);
    closed_loop
}

fn held() -> CoreHold {
    CoreHold {
        generation: 1,
        from_tick: 0,
        until_tick: None,
        share: Share::new(1, vec![0]),
    }
}

fn joined(closed_loop: &ClosedLoop, now_us: u64) -> Vec<(u32, u64)> {
    let joined = closed_loop.join(now_us).into_iter();
    joined.map(|turn| (turn.user, turn.k)).collect()
}

/// Broken if a paced user drifted with its waits, or caught up what it missed.
#[test]
fn paced_users_keep_their_places() {
    let every_us = 2 * SECOND_US;
    let closed_loop = closed_loop(Rest::Pacing { every_us });
    assert_eq!(joined(&closed_loop, 0), [(0, 0)]);
    assert_eq!(closed_loop.next_join_us(), Some(500_000));
    assert_eq!(joined(&closed_loop, 1_500_000), [(1, 0), (2, 0), (3, 0)]);
    assert_eq!(closed_loop.follow(0, 1_600_000), None);
    // It is noticed late, and its next place is where it was.
    assert_eq!(joined(&closed_loop, every_us + 3_000), [(0, 1)]);
    assert_eq!(closed_loop.follow(0, every_us + 4_000), None);
    assert_eq!(closed_loop.next_join_us(), Some(2 * every_us));
    assert_eq!(joined(&closed_loop, 2 * every_us), [(0, 2)]);
    // Its answer takes three seconds: it goes on at once, and once only.
    let next = closed_loop.follow(0, 7 * SECOND_US).expect("a turn");
    assert_eq!((next.user, next.k), (0, 3));
    assert_eq!(closed_loop.follow(0, 7 * SECOND_US + 1), None);
    assert_eq!(closed_loop.next_join_us(), Some(9 * SECOND_US));
}

/// Broken if a resting user began anew because the same hold came again, or one after its last
/// iteration did.
#[test]
fn holding_the_same_once_more_wakes_nobody() {
    let every_us = 6 * SECOND_US;
    let closed_loop = closed_loop(Rest::Pacing { every_us });
    let begun = [joined(&closed_loop, 0), joined(&closed_loop, every_us - 2)].concat();
    assert_eq!(begun, [(0, 0), (1, 0), (2, 0), (3, 0)]);
    for user in 0..4 {
        assert_eq!(closed_loop.follow(user, every_us - 1), None);
    }
    closed_loop.replace(vec![held()]);
    assert_eq!(joined(&closed_loop, every_us), [(0, 1)]);
    // The last one's next place is after the end.
    closed_loop.replace(vec![held()]);
    assert_eq!(joined(&closed_loop, 9_999_999), [(1, 1), (2, 1)]);
    closed_loop.replace(Vec::new());
    assert_eq!(closed_loop.follow(0, 9_999_999), None);
}

/// Broken if a resting user came back after a stop, or were forgotten in a pause.
#[test]
fn a_pause_keeps_those_who_think_and_a_stop_does_not() {
    let (from_us, to_us) = (SECOND_US, SECOND_US);
    let closed_loop = closed_loop(Rest::Wait { from_us, to_us });
    let begun = [joined(&closed_loop, 0), joined(&closed_loop, SECOND_US)].concat();
    assert_eq!(begun.len(), 4);
    for user in 0..4 {
        assert_eq!(closed_loop.follow(user, 2 * SECOND_US), None);
    }
    closed_loop.pause(true);
    assert_eq!(closed_loop.next_join_us(), None);
    assert_eq!(joined(&closed_loop, 5 * SECOND_US), []);
    closed_loop.pause(false);
    assert_eq!(joined(&closed_loop, 5 * SECOND_US).len(), 4);
    assert_eq!(closed_loop.follow(0, 6 * SECOND_US), None);
    closed_loop.close();
    assert_eq!(closed_loop.follow(1, 6 * SECOND_US), None);
    assert_eq!(closed_loop.next_join_us(), None);
}

/// Broken if the number of agents changed when users begin: each agent plays its users alone.
#[test]
fn think_times_are_the_same_for_any_number_of_agents() {
    let begins = |agents: u32| {
        let mut begins = Vec::new();
        for agent in 0..agents {
            let closed_loop = closed_loop(Rest::Lognormal {
                median_us: 300_000,
                p99_us: 1_500_000,
            });
            let share = Share::new(agents, vec![agent]);
            closed_loop.replace(vec![CoreHold { share, ..held() }]);
            while let Some(at_us) = closed_loop.next_join_us() {
                for turn in closed_loop.join(at_us) {
                    begins.push((turn.user, turn.k, at_us));
                    assert_eq!(closed_loop.follow(turn.user, at_us + 1_000), None);
                }
            }
        }
        begins.sort_unstable();
        begins
    };
    let alone = begins(1);
    assert!(alone.len() > 60, "{}", alone.len());
    assert_eq!(alone, begins(4));
}

/// Broken if a user began before it is active, went on after that, or did not come back.
#[test]
fn users_are_active_as_the_stages_say() {
    let closed_loop = staged(None);
    assert_eq!(joined(&closed_loop, 0), []);
    assert_eq!(closed_loop.next_join_us(), Some(SECOND_US));
    assert_eq!(joined(&closed_loop, SECOND_US - 1), []);
    assert_eq!(joined(&closed_loop, SECOND_US), [(0, 0)]);
    // It is noticed late; user 3 would be active at 4 s, when only two are.
    assert_eq!(joined(&closed_loop, 3_500_000), [(1, 0), (2, 0)]);
    assert_eq!(closed_loop.follow(2, 3_900_000).expect("active").k, 1);
    assert_eq!(closed_loop.follow(2, 4_000_000), None);
    assert_eq!(closed_loop.next_join_us(), Some(8 * SECOND_US));
    // The same hold once more, as after a change of another agent's.
    closed_loop.replace(vec![held()]);
    assert_eq!(joined(&closed_loop, 5 * SECOND_US), []);
    assert_eq!(closed_loop.follow(1, 5 * SECOND_US).expect("active").k, 1);
    assert_eq!(closed_loop.follow(1, 6 * SECOND_US), None);
    // User 0's call ends when all are active again: it never stopped.
    let all = [(1, 2), (2, 2), (3, 0)];
    assert_eq!(joined(&closed_loop, 8 * SECOND_US), all);
    assert_eq!(closed_loop.follow(0, 8 * SECOND_US).expect("active").k, 1);
    assert_eq!(closed_loop.follow(0, 10 * SECOND_US), None);
    assert_eq!(closed_loop.next_join_us(), None);
}

/// Broken if a pause, a stop or the loss of a hold forgot who was active, or if one who joins
/// late rested before its first task.
#[test]
fn users_that_are_not_active_outlive_a_pause() {
    let every_us = 3 * SECOND_US;
    let closed_loop = staged(Some(Rest::Pacing { every_us }));
    assert_eq!(joined(&closed_loop, 0), []);
    assert_eq!(joined(&closed_loop, 2 * SECOND_US), [(0, 0), (1, 0)]);
    // User 0 began at 1 s, and its place at 7 s is where none is active.
    assert_eq!(closed_loop.follow(0, 2_100_000), None);
    assert_eq!(joined(&closed_loop, 4 * SECOND_US), [(0, 1)]);
    assert_eq!(closed_loop.follow(0, 4_100_000), None);
    closed_loop.pause(true);
    assert_eq!(joined(&closed_loop, 7 * SECOND_US), []);
    assert_eq!(closed_loop.follow(1, 7 * SECOND_US), None);
    closed_loop.pause(false);
    assert_eq!(joined(&closed_loop, 7_500_000), []);
    closed_loop.replace(Vec::new());
    closed_loop.replace(vec![held()]);
    let mut back = joined(&closed_loop, 8 * SECOND_US);
    back.sort_unstable();
    assert_eq!(back, [(0, 2), (1, 1), (2, 0), (3, 0)]);
    closed_loop.close();
    assert_eq!(closed_loop.next_join_us(), None);
}

/// Two users for ten seconds whose sessions last two seconds, and the end of the first of each.
fn with_sessions(rest: Option<Rest>) -> (ClosedLoop, [u64; 2]) {
    let mut plan: Plan = serde_json::from_str(PLAN).expect("a plan");
    plan.users = Some(2);
    plan.rest = rest;
    let (from_us, to_us) = (2 * SECOND_US, 2 * SECOND_US);
    plan.session = Some(SessionLength::Between { from_us, to_us });
    let closed_loop = started(&mut plan);
    let left = |user| closed_loop.workload.session_length_us(user, 0);
    let left = [0, 1].map(|user| left(user).expect("sessions"));
    (closed_loop, left)
}

/// Broken if a user starts a task after the end of its session, if the next one waits for the rest
/// of the one before, or if a late task moved later sessions.
#[test]
fn a_new_user_begins_where_a_session_is_over() {
    let (from_us, to_us) = (90 * SECOND_US, 90 * SECOND_US);
    let (closed_loop, [left, _]) = with_sessions(Some(Rest::Wait { from_us, to_us }));
    let begun = closed_loop.join(0);
    assert_eq!(
        (begun[0].user, begun[0].k, begun[0].session),
        (0, 0, Some(0))
    );
    // Its task is over before its session is: the rest is not.
    assert_eq!(closed_loop.follow(0, left - 1), None);
    assert_eq!(closed_loop.next_join_us(), Some(left));
    let next = closed_loop.join(left);
    assert_eq!((next[0].user, next[0].k, next[0].session), (0, 1, Some(1)));
    // Its task takes longer than two sessions: the third goes on until its own end.
    let late_us = left + 4 * SECOND_US + 5;
    let next = closed_loop.follow(0, late_us).expect("a new user");
    assert_eq!((next.k, next.session), (2, Some(3)));
    assert_eq!(closed_loop.follow(0, late_us + 5), None);
    assert_eq!(closed_loop.next_join_us(), Some(left + 6 * SECOND_US));
}

/// Broken if users without a rest stayed for ever, or a successor began with the first session.
#[test]
fn whoever_holds_a_place_plays_its_present_session() {
    let (closed_loop, [left, other]) = with_sessions(None);
    assert_eq!(closed_loop.join(0).len(), 2);
    let sessions = [left - 1, left, left + 2 * SECOND_US].map(|now_us| {
        let next = closed_loop.follow(0, now_us).expect("no rest");
        next.session.expect("sessions")
    });
    assert_eq!(sessions, [0, 1, 2]);
    let (successor, _) = with_sessions(None);
    successor.replace(Vec::new());
    successor.replace(vec![held()]);
    let now_us = other + 3 * SECOND_US;
    let next = successor.join(now_us).pop().expect("user 1");
    assert_eq!((next.user, next.k, next.session), (1, 0, Some(2)));
}
