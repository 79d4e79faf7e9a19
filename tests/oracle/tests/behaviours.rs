//! Each behaviour, observed by a client that is a plain `TcpStream`. Nothing here sleeps to
//! synchronise: a test reads until an answer or an end comes, or asks the server to wait for a
//! count.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use loadpilot_oracle::{Config, Server};

/// A server with a log of its own, which is removed at the end.
struct Oracle {
    server: Server,
    log: PathBuf,
}

impl Oracle {
    fn start(behaviours: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let log = std::env::temp_dir().join(format!("oracle-test-{}-{nth}.jsonl", process::id()));
        let mut config = Config::new(&log);
        config.log_headers = true;
        config.behaviours = behaviours.iter().map(|&line| line.to_owned()).collect();
        Self {
            server: Server::start(&config).expect("the server starts"),
            log,
        }
    }

    fn connect(&self) -> TcpStream {
        connect(self.server.port()).expect("the server accepts")
    }

    fn obey(&self, line: &str) -> String {
        let answer = self.server.command(line);
        assert!(answer.starts_with("{\"ok\":true"), "{line}: {answer}");
        answer
    }

    /// The lines of the log after a flush.
    fn lines(&self) -> Vec<String> {
        self.obey("flush");
        read_lines(&self.log)
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.log);
    }
}

fn connect(port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    // Read time-out: a test that hangs fails at its place.
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(stream)
}

fn read_lines(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).expect("the log is readable");
    assert!(
        text.is_empty() || text.ends_with('\n'),
        "no half line after a flush"
    );
    text.lines().map(str::to_owned).collect()
}

/// The number after `"key":` in a JSON line.
fn number(line: &str, key: &str) -> u64 {
    let label = format!("\"{key}\":");
    let at = line
        .find(&label)
        .unwrap_or_else(|| panic!("{key} in {line}"))
        + label.len();
    let digits: String = line[at..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits
        .parse()
        .unwrap_or_else(|_| panic!("{key} is a number in {line}"))
}

fn send(stream: &mut TcpStream, target: &str) {
    let text = format!("GET {target} HTTP/1.1\r\nHost: x\r\nX-Request-Id: r{target}\r\n\r\n");
    stream
        .write_all(text.as_bytes())
        .expect("the request is sent");
}

/// Reads one answer with a `content-length`: status and body.
fn answer(stream: &mut TcpStream) -> (u16, String) {
    let mut text = String::new();
    let mut byte = [0];
    while !text.ends_with("\r\n\r\n") {
        stream.read_exact(&mut byte).expect("a head comes");
        text.push(char::from(byte[0]));
    }
    let status = text[9..12].parse().expect("a status");
    let len = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |len| len.parse().expect("a length"));
    let mut body = vec![0; len];
    stream.read_exact(&mut body).expect("the body comes");
    (status, String::from_utf8(body).expect("ASCII"))
}

fn get(stream: &mut TcpStream, target: &str) -> u16 {
    send(stream, target);
    answer(stream).0
}

/// Maximum difference of the wall clock from the monotonic one within a test, µs.
const CLOCK_SLACK_US: u64 = 1_000;

fn now_us() -> u64 {
    loadpilot_oracle::clock::Moment::now().wall_us
}

#[test]
fn every_request_is_counted_and_logged_once() {
    let oracle = Oracle::start(&[]);
    let mut one = oracle.connect();
    assert_eq!(get(&mut one, "/a?x=1"), 200);
    let mut two = oracle.connect();
    // Two requests and a part of a third in one write; bodies in both codings.
    let wire = "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nfoobar\
                PUT /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
                6\r\nfoobar\r\n0\r\n\r\nGET /d";
    two.write_all(wire.as_bytes()).expect("sent");
    assert_eq!(answer(&mut two).0, 200);
    assert_eq!(answer(&mut two).0, 200);
    two.shutdown(Shutdown::Write).expect("no more is sent");
    assert_eq!(two.read(&mut [0]).expect("an orderly end"), 0);
    let count = oracle.obey("count");
    for (key, wanted) in [("received", 3), ("broken", 1), ("connections", 2)] {
        assert_eq!(number(&count, key), wanted, "{key}");
    }
    let mut lines = oracle.lines();
    // The log has the order of ends, which differs between two connections.
    lines.sort_by_key(|line| number(line, "seq"));
    assert_eq!(
        lines.len(),
        4,
        "the piece of the third is there, too: {lines:#?}"
    );
    assert!(lines[0].contains("\"method\":\"GET\",\"path\":\"/a?x=1\",\"id\":\"r/a?x=1\""));
    assert!(lines[0].contains("\"headers\":[[\"host\",\"x\"],[\"x-request-id\",\"r/a?x=1\"]]"));
    for line in &lines[1..3] {
        assert!(
            line.contains("\"body_len\":6,\"body_fnv1a\":\"85944171f73967e8\""),
            "{line}"
        );
        assert!(
            line.contains("\"status\":200,\"outcome\":\"answered\""),
            "{line}"
        );
        assert!(number(line, "end_us") >= number(line, "arrival_us"));
        assert_eq!(number(line, "conn"), 2);
    }
    assert!(
        lines[3].contains("\"outcome\":\"incomplete\""),
        "{}",
        lines[3]
    );
}

#[test]
fn a_broken_request_is_answered_400_and_not_counted_as_received() {
    let oracle = Oracle::start(&[]);
    let mut client = oracle.connect();
    client
        .write_all(b"GET /no-host HTTP/1.1\r\n\r\n")
        .expect("sent");
    assert_eq!(answer(&mut client).0, 400);
    assert_eq!(client.read(&mut [0]).expect("an orderly end"), 0);
    let lines = oracle.lines();
    assert!(
        lines[0].contains("\"outcome\":\"malformed\",\"error\":\"host\""),
        "{lines:?}"
    );
    let count = oracle.obey("count");
    assert_eq!(
        (number(&count, "received"), number(&count, "broken")),
        (0, 1)
    );
}

#[test]
fn head_has_no_body_and_expect_is_answered() {
    let oracle = Oracle::start(&[]);
    let mut client = oracle.connect();
    client
        .write_all(b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut all = String::new();
    client.read_to_string(&mut all).expect("read to the end");
    assert!(
        all.starts_with("HTTP/1.1 200 ") && all.ends_with("\r\n\r\n"),
        "{all:?}"
    );

    let mut client = oracle.connect();
    client
        .write_all(
            b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
        )
        .expect("sent");
    assert_eq!(answer(&mut client).0, 100);
    client.write_all(b"hi").expect("sent");
    assert_eq!(answer(&mut client).0, 200);
}

#[test]
fn an_answer_is_not_given_before_its_delay() {
    let oracle = Oracle::start(&["delay 50"]);
    let mut client = oracle.connect();
    for _ in 0..5 {
        let sent = Instant::now();
        assert_eq!(get(&mut client, "/"), 200);
        assert!(sent.elapsed() >= Duration::from_millis(50));
    }
    for line in oracle.lines() {
        assert!(
            number(&line, "end_us") - number(&line, "arrival_us") + CLOCK_SLACK_US >= 50_000,
            "{line}"
        );
    }
}

#[test]
fn a_scheduled_freeze_holds_every_answer_until_its_end() {
    let oracle = Oracle::start(&["freeze after_first_ms=100 for_ms=300"]);
    let mut client = oracle.connect();
    assert_eq!(get(&mut client, "/"), 200);
    let (from, until) = freeze(&oracle);
    let first_us = number(&oracle.obey("count"), "first_us");
    assert_eq!((from, until), (first_us + 100_000, first_us + 400_000));
    while now_us() < until {
        assert_eq!(get(&mut client, "/"), 200);
    }
    let (mut held, mut answered_in_it) = (Vec::new(), 0);
    for line in oracle.lines() {
        if number(&line, "end_us") + CLOCK_SLACK_US >= until {
            held.push(line);
        } else if number(&line, "arrival_us") > from {
            answered_in_it += 1;
        }
    }
    assert_eq!(answered_in_it, 0, "arrived and answered within the freeze");
    let arrival_us = number(&held[0], "arrival_us");
    assert!(
        arrival_us < until && arrival_us + 50_000 > from,
        "{held:#?}"
    );
}

/// Begin and end of the only freeze, µs of wall time.
fn freeze(oracle: &Oracle) -> (u64, u64) {
    let text = oracle.obey("freezes");
    let list = text
        .split("[[")
        .nth(1)
        .expect("a freeze")
        .trim_end_matches("]]}");
    let (from, until) = list.split_once(',').expect("two times");
    (
        from.parse().expect("a begin"),
        until.parse().expect("an end"),
    )
}

fn last(oracle: &Oracle) -> String {
    oracle.lines().pop().expect("a line")
}

#[test]
fn an_open_freeze_ends_when_it_is_lifted() {
    let oracle = Oracle::start(&[]);
    oracle.obey("freeze");
    let mut clients: Vec<TcpStream> = (0..20).map(|_| oracle.connect()).collect();
    for client in &mut clients {
        send(client, "/");
    }
    let reached = oracle.obey("wait-count 20 timeout_ms=20000");
    assert!(reached.contains("\"reached\":true"), "{reached}");
    assert_eq!(
        number(&reached, "ended"),
        0,
        "received, yet none was answered"
    );
    let open = oracle.lines();
    assert!(open.len() == 20 && open.iter().all(|l| l.contains("\"outcome\":\"open\"")));
    let lifted_us = now_us();
    oracle.obey("unfreeze");
    for client in &mut clients {
        assert_eq!(answer(client).0, 200);
    }
    assert!(
        oracle
            .obey("wait-count 20 timeout_ms=20000 of=ended")
            .contains("\"reached\":true")
    );
    let ended: Vec<String> = oracle.lines().split_off(20);
    assert_eq!(ended.len(), 20, "each is written again when it ends");
    assert!(ended.iter().all(|line| number(line, "end_us") >= lifted_us));
}

#[test]
fn statuses_follow_path_and_fraction() {
    let oracle = Oracle::start(&["status 503 fraction=0.25", "status 404 path=/none"]);
    let mut client = oracle.connect();
    let failed = (0..40).filter(|_| get(&mut client, "/") == 503).count();
    assert_eq!(failed, 10);
    assert_eq!(get(&mut client, "/none?x"), 404);
    oracle.obey("clear");
    assert_eq!(get(&mut client, "/none"), 200);
    oracle.obey("status 204");
    send(&mut client, "/");
    assert_eq!(answer(&mut client), (204, String::new()));
}

#[test]
fn a_reset_is_a_reset() {
    let oracle = Oracle::start(&["reset"]);
    let mut client = oracle.connect();
    send(&mut client, "/");
    let error = client.read(&mut [0]).expect_err("not an orderly end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert!(last(&oracle).contains("\"status\":null,\"outcome\":\"reset\""));
}

#[test]
fn a_dripped_body_comes_whole_and_slowly() {
    let oracle = Oracle::start(&["size 5", "drip 10"]);
    let mut client = oracle.connect();
    let sent = Instant::now();
    send(&mut client, "/");
    assert_eq!(answer(&mut client), (200, "xxxxx".to_owned()));
    assert!(sent.elapsed() >= Duration::from_millis(50));
    assert!(last(&oracle).contains("\"outcome\":\"answered\""));
}

#[test]
fn a_truncated_answer_ends_in_its_body() {
    let oracle = Oracle::start(&["truncate", "size 10"]);
    let mut client = oracle.connect();
    send(&mut client, "/");
    let mut all = String::new();
    client.read_to_string(&mut all).expect("read to the end");
    assert!(
        all.contains("content-length: 10\r\n") && all.ends_with("\r\n\r\nxxxxx"),
        "{all:?}"
    );
    assert!(last(&oracle).contains("\"outcome\":\"truncated\""));
}

#[test]
fn silence_lasts_until_the_client_gives_up() {
    let oracle = Oracle::start(&["silent"]);
    let mut client = oracle.connect();
    send(&mut client, "/");
    assert!(
        oracle
            .obey("wait-count 1 timeout_ms=20000")
            .contains("\"reached\":true")
    );
    assert!(last(&oracle).contains("\"outcome\":\"open\""));
    drop(client);
    assert!(
        oracle
            .obey("wait-count 1 timeout_ms=20000 of=ended")
            .contains("\"reached\":true")
    );
    assert!(last(&oracle).contains("\"status\":null,\"outcome\":\"unanswered\""));
}

#[test]
fn a_client_that_leaves_during_a_freeze_is_noted() {
    let oracle = Oracle::start(&[]);
    // A busy kernel may deliver the client's end after the freeze: then there was nothing to
    // record, and the next round decides.
    let noted = (1..=100).any(|round| {
        oracle.obey("freeze");
        let mut client = oracle.connect();
        send(&mut client, "/");
        let received = format!("wait-count {round} timeout_ms=20000");
        assert!(oracle.obey(&received).contains("\"reached\":true"));
        drop(client);
        oracle.obey("unfreeze");
        assert!(
            oracle
                .obey(&format!("{received} of=ended"))
                .contains("\"reached\":true")
        );
        last(&oracle).contains("\"client_closed\":true")
    });
    assert!(noted, "{}", last(&oracle));
}

#[test]
fn refuse_closes_the_door_and_accept_opens_it_on_the_same_port() {
    let oracle = Oracle::start(&[]);
    let mut old = oracle.connect();
    assert_eq!(get(&mut old, "/"), 200);
    oracle.obey("refuse");
    let error = connect(oracle.server.port()).expect_err("the port is closed");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(get(&mut old, "/"), 200, "accepted connections stay");
    oracle.obey("accept");
    assert_eq!(get(&mut oracle.connect(), "/"), 200);
}

#[test]
fn a_slow_accept_delays_the_first_answer_only() {
    let oracle = Oracle::start(&["slow-accept 60"]);
    let begun = Instant::now();
    let mut client = oracle.connect();
    assert_eq!(get(&mut client, "/"), 200);
    assert!(begun.elapsed() >= Duration::from_millis(60));
    let line = last(&oracle);
    assert!(
        number(&line, "end_us") - number(&line, "arrival_us") < 60_000,
        "{line}"
    );
}

#[test]
fn waiting_ends_at_its_timeout_and_a_bad_line_is_refused() {
    let oracle = Oracle::start(&[]);
    assert!(
        oracle
            .obey("wait-count 1 timeout_ms=1")
            .contains("\"reached\":false")
    );
    for line in [
        "",
        "nap",
        "wait-count 1",
        "wait-count x timeout_ms=1",
        "freeze 5",
        "count 1",
    ] {
        let answer = oracle.server.command(line);
        assert!(
            answer.starts_with("{\"ok\":false,\"error\":\""),
            "{line:?}: {answer}"
        );
    }
    let mut config = Config::new(&oracle.log);
    config.behaviours = vec!["nap".to_owned()];
    let error = Server::start(&config).expect_err("a bad behaviour");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_waiting_thread_is_woken_by_the_count_not_by_the_timeout() {
    const TIMEOUT: Duration = Duration::from_secs(60);
    let oracle = Oracle::start(&[]);
    std::thread::scope(|scope| {
        let (ready, waiting) = std::sync::mpsc::channel();
        for line in [
            "wait-count 100",
            "wait-count 200",
            "wait-count 200 of=ended",
        ] {
            let (oracle, ready) = (&oracle, ready.clone());
            scope.spawn(move || {
                ready.send(()).expect("the test listens");
                let begun = Instant::now();
                let answer = oracle.obey(&format!("{line} timeout_ms={}", TIMEOUT.as_millis()));
                assert!(answer.contains("\"reached\":true"), "{line}: {answer}");
                assert!(begun.elapsed() < TIMEOUT, "{line} was not woken");
            });
        }
        for _ in 0..3 {
            waiting.recv().expect("a waiter begins");
        }
        let mut client = oracle.connect();
        for _ in 0..200 {
            assert_eq!(get(&mut client, "/"), 200);
        }
    });
}
