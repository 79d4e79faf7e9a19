//! Targets that mean harm: floods without an end, noise, numbers out of range. What the engine
//! holds of them in memory has a bound, and the call's time-out holds whatever comes.

use std::sync::LazyLock;
use std::time::Duration;

use loadpilot_events::Outcome;

use crate::support::memory::Alone;
use crate::support::peer::Peer;
use crate::support::run::{Ask, CallCount, TIMEOUT, run_each_until};
use crate::support::server::Server;

/// Most that a core may hold for a hostile answer, above what it holds for none: its buffers for
/// heads and for bodies, and its connections. A flood moves hundreds of times as much.
const HELD_MAX_BYTES: usize = 2 << 20;

/// Time-out of a call whose attacker has to be outlasted.
const SHORT: Duration = Duration::from_millis(300);

/// Time-out of an unanswered call that must outlive the other one.
const LONG: Duration = Duration::from_millis(700);

/// How often an attack is tried, should the machine stall until a time-out has passed.
const TRIES: usize = 5;

/// Calls to a friendly server beside each attack.
const FRIENDLY: usize = 10;

/// What the server does once it has read the request.
type Attack = fn(&mut Peer);

/// What a core holds for the same calls when the first one is hung up on.
static QUIET_BYTES: LazyLock<usize> = LazyLock::new(|| play(Peer::finish, TIMEOUT, &[]).1);

/// Plays an attack on a call that has all the time it needs; gives how the call ended.
fn end_of(attack: Attack) -> Outcome {
    play_measured(attack, TIMEOUT, &[]).0
}

/// Plays an attack that may go on for ever. The call must end when its time-out says, for which
/// a call beside it gives the measure: a stall of the machine may hold up both.
fn end_in_time_of(attack: Attack) -> Outcome {
    let mut times = Vec::new();
    for _ in 0..TRIES {
        let (outcome, counts) = play_measured(attack, SHORT, &[Ask::get("/silent").within(LONG)]);
        let silent = &counts[2 + FRIENDLY];
        assert_eq!(silent.outcome(), Outcome::Timeout);
        // The friendly calls are over before the silent one begins, and it waits longer.
        let (own, reference) = (&counts[0].service, silent.service.min());
        if own.max() >= reference {
            times.push((own.max(), reference));
            continue;
        }
        if outcome == Outcome::Timeout {
            let least = u128::from(own.highest_equivalent(own.min()));
            assert!(least >= SHORT.as_micros(), "{least} µs");
        }
        return outcome;
    }
    panic!("never ended before the silent call beside it; µs of both: {times:?}");
}

/// Plays an attack, and judges what it made the core hold.
fn play_measured(attack: Attack, timeout: Duration, last: &[Ask]) -> (Outcome, Vec<CallCount>) {
    let quiet_bytes = *QUIET_BYTES;
    let (counts, peak_bytes) = play(attack, timeout, last);
    let held_bytes = peak_bytes.saturating_sub(quiet_bytes);
    assert!(held_bytes <= HELD_MAX_BYTES, "{held_bytes} bytes held");
    assert!(counts[0].statuses.is_empty(), "no answer was complete");
    (counts[0].outcome(), counts)
}

/// Plays an attack beside a task of friendly calls, which it must not keep from their answers.
fn play(attack: Attack, timeout: Duration, last: &[Ask]) -> (Vec<CallCount>, usize) {
    let attacked = vec![Ask::get(HOSTILE).within(timeout), Ask::get("/probe")];
    let beside = [vec![Ask::get("/friendly"); FRIENDLY], last.to_vec()].concat();
    let tasks = [attacked, beside];
    for _ in 0..TRIES {
        let server = Server::start(move |peer| serve(peer, attack));
        let alone = Alone::begin();
        let mut peak_bytes = 0;
        let counts = run_each_until(&server, &tasks, || peak_bytes = alone.peak_bytes());
        if !server.seen().iter().any(|seen| seen.path == HOSTILE) {
            continue;
        }
        assert_eq!(counts[1].outcome(), Outcome::Ok, "the next request works");
        for friendly in &counts[2..2 + FRIENDLY] {
            assert_eq!(friendly.outcome(), Outcome::Ok, "those beside it go on");
        }
        return (counts, peak_bytes);
    }
    panic!("the request that is to be attacked never came");
}

fn serve(peer: &mut Peer, attack: Attack) {
    while let Some(seen) = peer.request() {
        match seen.path.as_str() {
            HOSTILE => return attack(peer),
            "/silent" => return peer.watch(),
            "/friendly" => {
                peer.log.wait_a_while_for_path(HOSTILE);
                peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
            }
            _ => return peer.answer_probe(),
        }
    }
}

/// One test per attack, so that one that hangs names itself.
macro_rules! attacks {
    ($end:ident: $($name:ident ends as $outcome:pat, $attack:expr;)*) => {$(
        #[test]
        fn $name() {
            let outcome = $end($attack);
            assert!(matches!(outcome, $outcome), "{outcome:?}");
        }
    )*};
}

const HOSTILE: &str = "/hostile";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const HUGE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 18000000000000000000\r\n\r\n";

/// Broken if what never ends were gathered up before it is looked at, or kept the core from
/// looking at its clock. A limit of the engine's own may end these before the time-out does.
mod floods {
    use super::*;

    attacks! {
        end_in_time_of:
        a_status_line ends as Outcome::Io | Outcome::Timeout, |peer| {
            peer.say(b"HTTP/1.1 200 ");
            peer.flood(b"O");
        };
        empty_lines ends as Outcome::Io | Outcome::Timeout, |peer| peer.flood(b"\r\n");
        a_field_name ends as Outcome::Io | Outcome::Timeout, |peer| {
            peer.say(b"HTTP/1.1 200 OK\r\n");
            peer.flood(b"x");
        };
        fields ends as Outcome::Io | Outcome::Timeout, |peer| {
            peer.say(b"HTTP/1.1 200 OK\r\n");
            peer.flood(b"x-a: b\r\n");
        };
        a_fold ends as Outcome::Io | Outcome::Timeout, |peer| {
            peer.say(b"HTTP/1.1 200 OK\r\nx-a: b");
            peer.flood(b"\r\n c");
        };
        zeros_of_a_chunk ends as Outcome::Io | Outcome::Timeout, |peer| {
            peer.say(CHUNKED);
            peer.flood(b"0");
        };
        an_extension_of_a_chunk ends as Outcome::Io | Outcome::Timeout, |peer| {
            peer.say(CHUNKED);
            peer.say(b"5;a=");
            peer.flood(b"b");
        };
        extensions_of_chunks ends as Outcome::Io | Outcome::Timeout, |peer| {
            peer.say(CHUNKED);
            peer.flood(&[b"1;".as_slice(), &[b'a'; 1024], b"\r\nx\r\n"].concat());
        };
        a_trailer ends as Outcome::Io | Outcome::Timeout, |peer| {
            peer.say(CHUNKED);
            peer.say(b"0\r\nx-a: ");
            peer.flood(b"b");
        };
        trailers ends as Outcome::Io | Outcome::Timeout, |peer| {
            peer.say(CHUNKED);
            peer.say(b"0\r\n");
            peer.flood(b"x-a: b\r\n");
        };
        interim_answers ends as Outcome::Io | Outcome::Timeout, |peer| {
            peer.flood(b"HTTP/1.1 100 Continue\r\n\r\n");
        };
    }
}

/// Nothing is wrong with these but their size. Broken if they were kept, or if reading them kept
/// the core from its clock and from its other calls.
mod bombs {
    use super::*;

    attacks! {
        end_in_time_of:
        of_a_length ends as Outcome::Timeout, |peer| {
            peer.say(HUGE);
            peer.flood(b"x");
        };
        in_chunks ends as Outcome::Timeout, |peer| {
            peer.say(CHUNKED);
            peer.flood(&[b"400\r\n".as_slice(), &[b'x'; 1024], b"\r\n"].concat());
        };
        in_chunks_of_one_byte ends as Outcome::Timeout, |peer| {
            peer.say(CHUNKED);
            peer.flood(b"1\r\nx\r\n");
        };
        in_one_chunk ends as Outcome::Timeout, |peer| {
            peer.say(CHUNKED);
            peer.say(b"ffffffffffffff\r\n");
            peer.flood(b"x");
        };
        until_the_end ends as Outcome::Timeout, |peer| {
            peer.say(b"HTTP/1.1 200 OK\r\n\r\n");
            peer.flood(b"x");
        };
    }
}

/// Broken if a number were believed that cannot be, or memory set aside for it.
mod numbers {
    use super::*;

    attacks! {
        end_of:
        digits_of_a_length ends as Outcome::Io, |peer| {
            peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: ");
            peer.flood(b"9");
        };
        digits_of_a_chunk ends as Outcome::Io, |peer| {
            peer.say(CHUNKED);
            peer.flood(b"f");
        };
        a_huge_length_and_the_end ends as Outcome::Io, |peer| {
            let head = b"HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\nx";
            peer.say_pieces_and_finish(&[head]);
        };
        a_huge_chunk_and_the_end ends as Outcome::Io, |peer| {
            peer.say_pieces_and_finish(&[CHUNKED, b"ffffffffffffffff\r\nx"]);
        };
        chunks_that_add_up_to_more_than_there_are_numbers ends as Outcome::Io, |peer| {
            peer.say_pieces_and_finish(&[CHUNKED, b"1\r\nx\r\n", b"ffffffffffffffff\r\nx"]);
        };
    }
}

/// Broken if noise were waited for to make sense.
mod noise {
    use super::*;

    fn noise(seed: u64) -> Vec<u8> {
        let mut state = seed;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[0]
        };
        std::iter::repeat_with(next).take(100_000).collect()
    }

    attacks! {
        end_of:
        alone ends as Outcome::Io, |peer| peer.flood(&noise(0x9e37_79b9_7f4a_7c15));
        for_fields ends as Outcome::Io, |peer| {
            peer.say(b"HTTP/1.1 200 OK\r\n");
            peer.flood(&noise(2));
        };
        for_a_chunk ends as Outcome::Io, |peer| {
            peer.say(CHUNKED);
            peer.flood(&noise(3));
        };
        of_tls ends as Outcome::Io, |peer| peer.say(b"\x15\x03\x01\x00\x02\x02\x0a");
    }
}
