//! The kernel's time of a request, compared with the client's clock, which is the same clock.
//! Nothing here sleeps: its own slow accept keeps the server from reading.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use loadpilot_oracle::clock::Moment;
use loadpilot_oracle::{Config, Server};

/// Maximum time until the kernel stamps packets: one of its workers enables that, and may have to
/// wait for a processor.
const EARLY_MAX: Duration = Duration::from_secs(20);

/// Maximum difference of the wall clock from the monotonic one within a test, µs.
const CLOCK_SLACK_US: u64 = 1_000;

/// A server with a log of its own, which is removed at the end.
struct Oracle {
    server: Server,
    log: PathBuf,
}

impl Oracle {
    fn start(name: &str, kernel_times: bool) -> Self {
        let file = format!("oracle-{name}-{}.jsonl", std::process::id());
        let log = std::env::temp_dir().join(file);
        let mut config = Config::new(&log);
        config.kernel_times = kernel_times;
        Self {
            server: Server::start(&config).expect("the server starts"),
            log,
        }
    }

    fn obey(&self, line: &str) {
        let answer = self.server.command(line);
        assert!(answer.starts_with("{\"ok\":true"), "{line}: {answer}");
    }

    fn connect(&self) -> TcpStream {
        let address = (Ipv4Addr::LOCALHOST, self.server.port());
        let stream = TcpStream::connect(address).expect("the server accepts");
        stream.set_nodelay(true).expect("a socket option");
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).expect("a time-out");
        stream
    }

    /// The newest line of the log after a flush.
    fn last(&self) -> String {
        self.obey("flush");
        let text = std::fs::read_to_string(&self.log).expect("the log is readable");
        text.lines().last().expect("a line").to_owned()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.log);
    }
}

fn send(client: &mut TcpStream) {
    let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    client.write_all(request).expect("sent");
}

fn read_answer(client: &mut TcpStream) {
    let mut answer = Vec::new();
    while !answer.ends_with(b"{\"status\":200}") {
        let mut byte = [0];
        client.read_exact(&mut byte).expect("an answer");
        answer.push(byte[0]);
    }
}

fn get(client: &mut TcpStream) {
    send(client);
    read_answer(client);
}

/// The number after `"key":` in a JSON line.
fn number(line: &str, key: &str) -> Option<u64> {
    let (_, rest) = line.split_once(&format!("\"{key}\":"))?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Without the kernel's time a bench would count the wake-up of the target's thread as an
/// irregularity of the generator.
#[test]
#[cfg(target_os = "linux")]
fn the_kernel_knows_when_unread_bytes_came() {
    let oracle = Oracle::start("kernel", true);
    let mut early = oracle.connect();
    let begin = Instant::now();
    loop {
        get(&mut early);
        if number(&oracle.last(), "kernel_us").is_some() {
            break;
        }
        assert!(begin.elapsed() < EARLY_MAX, "{}", oracle.last());
    }
    oracle.obey("slow-accept 60");
    let begun_us = Moment::now().wall_us;
    let mut client = oracle.connect();
    let before_us = Moment::now().wall_us;
    send(&mut client);
    let sent_us = Moment::now().wall_us;
    read_answer(&mut client);
    let line = oracle.last();
    let kernel_us = number(&line, "kernel_us").expect("a kernel time");
    let read_us = number(&line, "arrival_us").expect("an arrival");
    // Both clocks are the same, so the time lies between the client's two readings, although the
    // server was kept from accepting, and so from reading.
    assert!(before_us <= kernel_us && kernel_us <= sent_us, "{line}");
    assert!(read_us + CLOCK_SLACK_US >= begun_us + 60_000, "{line}");

    get(&mut client);
    let line = oracle.last();
    let next_us = number(&line, "kernel_us").expect("a kernel time");
    assert!(next_us > kernel_us, "each request has its own: {line}");
}

/// Kernel times are off by default: only the bench needs them, and they make each read slower.
#[test]
fn kernel_times_are_logged_on_request_only() {
    let oracle = Oracle::start("no-kernel", false);
    get(&mut oracle.connect());
    assert_eq!(number(&oracle.last(), "kernel_us"), None);
}
