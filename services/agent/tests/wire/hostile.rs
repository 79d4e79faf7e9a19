//! Hostile targets: endless floods, random bytes, numbers out of range. The memory that the engine
//! uses for them has a limit, and the call's time-out holds in every case.

use std::sync::LazyLock;
use std::time::Duration;

use loadpilot_events::Outcome;

use crate::support::memory::Alone;
use crate::support::peer::Peer;
use crate::support::run::{Ask, CallCount, TIMEOUT, run_each_until};
use crate::support::server::Server;

/// Maximum memory that a core may use for a hostile response, above its use without one: its
/// buffers for heads and for bodies, and its connections. A flood sends hundreds of times as much.
const HELD_MAX_BYTES: usize = 2 << 20;

/// Time-out of a call whose attack does not end by itself.
const SHORT: Duration = Duration::from_millis(300);

/// Time-out of an unanswered call that must outlast the attacked one.
const LONG: Duration = Duration::from_millis(700);

/// Maximum number of tries of an attack, if the machine stalls until a time-out has passed.
const TRIES: usize = 5;

/// Number of calls to a friendly server beside each attack.
const FRIENDLY: usize = 10;

/// The server's action after it has read the request.
type Attack = fn(&mut Peer);

/// Memory that a core uses for the same calls if the server closes the first one.
static QUIET_BYTES: LazyLock<usize> = LazyLock::new(|| play(Peer::finish, TIMEOUT, &[]).1);

/// Runs an attack on a call that has enough time; returns the call's outcome.
fn end_of(attack: Attack) -> Outcome {
    play_measured(attack, TIMEOUT, &[]).0
}

/// Runs an attack that may go on for ever. The call must end at its time-out, which is compared
/// with a silent call beside it: a stall of the machine may delay both.
fn end_in_time_of(attack: Attack) -> Outcome {
    let mut times = Vec::new();
    for _ in 0..TRIES {
        let (outcome, counts) = play_measured(attack, SHORT, &[Ask::get("/silent").within(LONG)]);
        let silent = &counts[2 + FRIENDLY];
        assert_eq!(silent.outcome(), Outcome::Timeout);
        // The friendly calls end before the silent one begins, and the silent one waits longer.
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

/// Runs an attack, and checks the memory that the core used.
fn play_measured(attack: Attack, timeout: Duration, last: &[Ask]) -> (Outcome, Vec<CallCount>) {
    let quiet_bytes = *QUIET_BYTES;
    let (counts, peak_bytes) = play(attack, timeout, last);
    let held_bytes = peak_bytes.saturating_sub(quiet_bytes);
    assert!(held_bytes <= HELD_MAX_BYTES, "{held_bytes} bytes held");
    assert!(counts[0].statuses.is_empty(), "no answer was complete");
    (counts[0].outcome(), counts)
}

/// Runs an attack beside a task of friendly calls, which must still be answered.
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

/// One test per attack, so that a test that hangs names its attack.
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

/// Broken if endless data is collected before it is examined, or keeps the core from checking its
/// clock. A limit of the engine may end these calls before the time-out does.
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

/// These responses are valid but very large. Broken if they are kept in memory, or if reading them
/// keeps the core from its clock and from its other calls.
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

/// Broken if an impossible number is believed, or if memory is allocated for it.
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

/// Broken if the engine waits for random bytes to become a response.
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
