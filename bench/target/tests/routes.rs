//! The server as a process, seen through plain sockets: each route, and each way to end it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running server, which ends with its stdin when this is dropped.
struct Target {
    child: Child,
    port: u16,
}

impl Target {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_loadpilot-target"))
            .args(["--port", "0", "--until-eof"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("a ready line");
        let port = line
            .strip_prefix("listening on http://127.0.0.1:")
            .expect("the address");
        let port = port.trim_end().parse().expect("a port");
        Self { child, port }
    }

    /// Sends one request and reads to the end of the connection: status, whole answer.
    fn ask(&self, start: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("accepts");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a timeout");
        let length = body.len();
        let text = format!(
            "{start} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\
             {headers}\r\n{body}"
        );
        stream.write_all(text.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        (answer[9..12].parse().expect("a status"), answer)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[test]
fn the_last_line_says_how_many_requests_were_answered() {
    let mut target = Target::start();
    for (start, wanted) in [
        ("GET /health", 200),
        ("GET /api/user", 401),
        ("GET /no", 404),
    ] {
        assert_eq!(target.ask(start, "", "").0, wanted);
    }
    drop(target.child.stdin.take());
    let mut rest = String::new();
    let stdout = target.child.stdout.as_mut().expect("piped");
    stdout.read_to_string(&mut rest).expect("its last line");
    assert_eq!(rest, "answered 3, refused 2\n");
}

#[test]
fn each_route_answers_as_its_page_says() {
    let target = Target::start();
    let bearer = "Authorization: Bearer abc\r\n";
    let cases = [
        ("GET /health", "", "", 200, "{\"status\":\"ok\"}"),
        ("GET /health?probe=1", "", "", 200, "{\"status\":\"ok\"}"),
        ("GET /api/products", "", "", 200, "\"products\":["),
        (
            "POST /auth/login",
            "",
            "{\"username\":\"u\"}",
            200,
            "{\"access_token\":\"demo-token\",\"token\":\"demo-token\"}",
        ),
        ("GET /api/user", bearer, "", 200, "{\"id\":1,"),
        ("GET /api/user", "", "", 401, "www-authenticate: Bearer"),
        (
            "GET /api/user",
            "Authorization: Bearer \r\n",
            "",
            401,
            "error",
        ),
        (
            "GET /api/user",
            "Authorization: Basic abc\r\n",
            "",
            401,
            "error",
        ),
        ("POST /api/orders", "", "{\"item\":", 400, "error"),
        ("POST /api/orders", "", "", 400, "error"),
        (
            "POST /api/orders",
            "",
            "{\"item\":2}",
            201,
            "{\"id\":1,\"order\":{\"item\":2}}",
        ),
        (
            "POST /api/orders",
            "",
            "{\"item\":3}",
            201,
            "{\"id\":2,\"order\":{\"item\":3}}",
        ),
        ("GET /api/orders", "", "", 405, "allow: POST"),
        ("DELETE /health", "", "", 405, "allow: GET, HEAD"),
        ("GET /nowhere", "", "", 404, "error"),
    ];
    for (start, headers, body, status, part) in cases {
        let (got, answer) = target.ask(start, headers, body);
        assert_eq!(got, status, "{start}: {answer}");
        assert!(answer.contains(part), "{start}: {answer}");
        assert!(
            answer.contains("content-type: application/json"),
            "{start}: {answer}"
        );
    }
    let (status, answer) = target.ask("HEAD /health", "", "");
    assert!(status == 200 && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[test]
fn a_body_above_the_limit_is_refused() {
    let target = Target::start();
    let (status, answer) = target.ask("POST /api/orders", "", &"1".repeat(1024 * 1024 + 1));
    assert_eq!(status, 413, "{answer}");
}

#[test]
fn a_connection_serves_more_than_one_request() {
    let target = Target::start();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, target.port)).expect("accepts");
    let mut answers = BufReader::new(stream.try_clone().expect("a second handle"));
    for _ in 0..3 {
        stream
            .write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            .expect("sent");
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert_ne!(
                answers.read_line(&mut line).expect("a line"),
                0,
                "it stays open"
            );
        }
        answers.read_exact(&mut [0; 15]).expect("the body");
    }
}

#[test]
fn sigterm_sigint_and_the_end_of_stdin_end_it() {
    for end in [Some(libc::SIGTERM), Some(libc::SIGINT), None] {
        let mut target = Target::start();
        match end {
            Some(signal) => {
                let pid = libc::pid_t::try_from(target.child.id()).expect("a pid");
                // SAFETY: kill touches no memory; the child is ours and not yet waited for.
                assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
            }
            None => drop(target.child.stdin.take()),
        }
        assert!(target.child.wait().expect("it ends").success(), "{end:?}");
    }
}

#[test]
fn a_taken_port_is_an_error() {
    let target = Target::start();
    let port = target.port.to_string();
    let out = Command::new(env!("CARGO_BIN_EXE_loadpilot-target"))
        .args(["--port", &port])
        .output();
    let out = out.expect("the binary starts");
    assert!(!out.status.success());
    assert!(String::from_utf8_lossy(&out.stderr).contains(&port));
}
