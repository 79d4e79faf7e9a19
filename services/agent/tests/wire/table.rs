//! Every response of the table, in every segmentation: whole, byte by byte, and cut in two at every
//! place. The engine must reach the same result each time, and the request that follows must get
//! its own response, on the connection that the rule says.

use std::collections::BTreeMap;

use loadpilot_events::Outcome;
use loadpilot_events::plan::Method;

use crate::cases::{self, Case, Expect, Next, Then};
use crate::support::memory;
use crate::support::peer::{PROBE, Peer};
use crate::support::run::{Ask, CallCount, run_in_turn};
use crate::support::server::{Seen, Server};

const CASE: &str = "/case";

/// The segmentation of a response; its number is that of the arrival.
#[derive(Debug, Clone, Copy)]
enum Cutting {
    Whole,
    ByteByByte,
    /// In two, after this number of bytes.
    After(usize),
}

impl Cutting {
    fn pieces(self, answer: &[u8]) -> Vec<&[u8]> {
        match self {
            Self::Whole => vec![answer],
            Self::ByteByByte => answer.chunks(1).collect(),
            Self::After(bytes) => vec![&answer[..bytes], &answer[bytes..]],
        }
    }
}

/// Serves a case; the arrival's number selects the segmentation of its response.
fn serve(peer: &mut Peer, case: &Case, cuttings: &[Cutting]) {
    while let Some(seen) = peer.request() {
        if seen.path != CASE {
            return peer.answer_probe();
        }
        let number = usize::try_from(seen.arrival).expect("few");
        let mut pieces = cuttings[number].pieces(&case.answer);
        // Unrequested bytes are sent with the last bytes of the response: later they could arrive
        // with the next request, and no client could distinguish them.
        let last = [pieces.pop().unwrap_or_default(), &case.surplus].concat();
        pieces.push(&last);
        match case.then {
            Then::Waits => peer.say_pieces(&pieces),
            Then::Closes => {
                peer.say_pieces_and_finish(&pieces);
                return peer.watch();
            }
        }
    }
}

fn play(case: &Case, cuttings: Vec<Cutting>) -> Result<(), String> {
    let played = case.clone();
    let arrivals = cuttings.len() as u64;
    let server = Server::start(move |peer| serve(peer, &played, &cuttings));
    let body_bytes = if case.method == Method::Post { 3 } else { 0 };
    let ask = Ask {
        method: case.method,
        body_bytes,
        ..Ask::get(CASE)
    };
    let counts = run_in_turn(&server, &[ask, Ask::get("/probe")], arrivals);
    let expect = match case.expect {
        Expect::AnsweredOrBroken(..) if counts[0].outcomes.contains_key(&Outcome::Io) => {
            Expect::Broken
        }
        Expect::AnsweredOrBroken(status, next) => Expect::Answered(status, next),
        certain => certain,
    };
    judge(case, expect, &counts[0], arrivals)?;
    judge_probe(&counts[1], arrivals)?;
    let seen = server.seen();
    (0..arrivals).try_for_each(|arrival| judge_connections(expect, &seen, arrival))
}

fn judge(case: &Case, expect: Expect, call: &CallCount, times: u64) -> Result<(), String> {
    let length = case.answer.len() as u64;
    let most = length + case.surplus.len() as u64;
    let (outcome, status, least) = match expect {
        Expect::Answered(status, _) => (Outcome::of_status(status), Some(status), length),
        _ => (Outcome::Io, None, 0),
    };
    let is_right = call.outcomes == BTreeMap::from([(outcome, times)])
        && call.statuses.keys().copied().eq(status);
    if !is_right {
        let (outcomes, statuses) = (&call.outcomes, &call.statuses);
        let expect = case.expect;
        return Err(format!(
            "{expect:?} × {times}, not {outcomes:?} {statuses:?}"
        ));
    }
    let received = call.received_bytes;
    if !(least * times..=most * times).contains(&received) {
        return Err(format!(
            "{received} bytes received, not {least}..={most} × {times}"
        ));
    }
    Ok(())
}

/// The next request gets its own response, every time.
fn judge_probe(probe: &CallCount, times: u64) -> Result<(), String> {
    let right = (BTreeMap::from([(203, times)]), PROBE.len() as u64 * times);
    let own = (probe.statuses.clone(), probe.received_bytes);
    if own == right {
        return Ok(());
    }
    Err(format!(
        "the next request: {right:?}, not {own:?} {:?}",
        probe.outcomes
    ))
}

/// Both requests came once, the second on the right connection.
fn judge_connections(expect: Expect, seen: &[Seen], arrival: u64) -> Result<(), String> {
    let own = seen.iter().filter(|seen| seen.arrival == arrival);
    let own: Vec<(usize, usize)> = own.map(|seen| (seen.step, seen.connection)).collect();
    let [(0, first), (1, second)] = own[..] else {
        return Err(format!(
            "arrival {arrival}: requests (step, connection) {own:?}"
        ));
    };
    let reused = matches!(expect, Expect::Answered(_, Next::Reused));
    if reused != (first == second) {
        return Err(format!("arrival {arrival}: {expect:?}, not {own:?}"));
    }
    Ok(())
}

/// Plays cases whole first, so that a wrong one costs one exchange, and then cut up.
fn play_all(cases: &[Case]) {
    let _turn = memory::beside_others();
    let mut failed = Vec::new();
    for case in cases {
        let mut result = play(case, vec![Cutting::Whole]);
        if result.is_ok() && case.is_cut && case.answer.len() > 1 {
            let halves = (1..case.answer.len()).map(Cutting::After);
            let cuttings = [Cutting::ByteByByte].into_iter().chain(halves);
            result = play(case, cuttings.collect()).map_err(|why| format!("cut up: {why}"));
        }
        if let Err(why) = result {
            failed.push(format!("{} ({})\n    {why}", case.name, case.rule));
        }
    }
    let (wrong, all) = (failed.len(), cases.len());
    assert!(
        failed.is_empty(),
        "{wrong} of {all}:\n  {}",
        failed.join("\n  ")
    );
}

/// Broken if a body ends elsewhere than its content-length says.
#[test]
fn lengths() {
    play_all(&cases::length::cases());
}

/// Broken if chunks are separated in any other way than the grammar says.
#[test]
fn chunks() {
    play_all(&cases::chunked::cases());
}

/// Broken if a body is awaited where there can be none.
#[test]
fn answers_without_a_body() {
    play_all(&cases::bodiless::cases());
}

/// Broken if an interim response is taken for the final one, or a switch of protocols for any.
#[test]
fn interim_answers() {
    play_all(&cases::interim::cases());
}

/// Broken if a connection is used again that must not be, or dropped that need not be.
#[test]
fn persistence() {
    play_all(&cases::persistence::cases());
}

/// Broken if an invalid status line is accepted.
#[test]
fn status_lines() {
    play_all(&cases::status_line::cases());
}

/// Broken if the engine overlooks a field, or reads one that is not there.
#[test]
fn fields() {
    play_all(&cases::fields::cases());
}

/// Broken if a response that was cut off anywhere counts as one.
#[test]
fn truncated_answers() {
    play_all(&cases::truncated::cases());
}
