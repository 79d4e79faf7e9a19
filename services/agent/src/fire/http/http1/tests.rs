//! The pool, against a socket of the test's own.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use loadpilot_events::id::RunId;
use loadpilot_events::plan::Plan;
use tokio::runtime::{Builder, LocalOptions};

use super::*;
use crate::fire::clock::MonoTime;
use crate::fire::request::progress::Progress;

const PLAN: &str = r#"{
    "schema": "loadpilot.plan/1", "scenario": "Reset", "target": "http://TARGET",
    "profile": {"shape": "constant", "pieces": []},
    "tasks": [{"name": "t", "weight": 1, "steps": [
        {"name": "s", "method": "POST", "path": "/order", "body": {"text": "one"}}]}],
    "warm_up_us": 0, "timeout_us": 1, "max_wait_us": 1, "max_lateness_us": 1, "tick_us": 1
}"#;

fn http(address: &str, quota: ConnectionQuota) -> Http1 {
    let plan: Plan = serde_json::from_str(&PLAN.replace("TARGET", address)).expect("a plan");
    let run = RunId::parse("01run").expect("a token");
    let program = Program::compile(&plan, &run, &BTreeMap::new()).expect("a sendable plan");
    let program = Arc::new(program);
    let dialer = Rc::new(Dialer::new(Arc::clone(&program), 0));
    Http1::new(program, dialer, quota)
}

/// Reads one request with its body of three bytes, and answers.
fn serve_one(stream: &mut TcpStream) {
    let mut request = Vec::new();
    let mut chunk = [0; 1024];
    while !request.ends_with(b"\r\n\r\none") {
        let bytes = stream.read(&mut chunk).expect("a request");
        assert!(bytes > 0, "the request was cut off");
        request.extend(&chunk[..bytes]);
    }
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(answer).expect("a reader");
}

/// Broken if a reset that the reactor has not reported yet cost a request of which nothing was
/// written. The second request must come, and come once, on a new connection.
#[test]
fn a_reset_before_the_first_byte_moves_the_request_to_a_new_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    let address = listener.local_addr().expect("its address").to_string();
    let http = http(&address, ConnectionQuota::default());
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(async {
        let progress = Progress::new(MonoTime::now());
        let order = Order {
            call: &http.program.tasks[0][0][0],
            id: None,
            may_reuse: true,
            progress: &progress,
            tokens: None,
            shown: None,
            capture: None,
            location: None,
        };
        for round in 0..2 {
            let mut trace = Trace::default();
            let own = listener.try_clone().expect("a second handle");
            let server = std::thread::spawn(move || {
                let (mut stream, _) = own.accept().expect("a connection");
                serve_one(&mut stream);
                stream
            });
            assert_eq!(
                http.send(&order, &mut trace).await,
                Ok(200),
                "round {round}"
            );
            assert_eq!(trace.phases.connection, Some(ConnectionUse::Opened));
            // No await from here to the next write: the reactor learns nothing of the reset.
            let stream = server.join().expect("the server's part went well");
            reset(stream);
        }
    });
}

/// Broken if unused connections stayed open for the rest of a run, if more than a few were closed
/// while arrivals are due, or if the plan had fewer open than it wants.
#[test]
fn connections_that_nobody_needs_are_closed_but_for_those_of_the_plan() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    let address = listener.local_addr().expect("its address").to_string();
    let quota = ConnectionQuota {
        open_first: 10,
        ..ConnectionQuota::default()
    };
    let http = http(&address, quota);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(async {
        let before = MonoTime::now();
        let mut peers = Vec::new();
        for _ in 0..10 + CLOSED_AT_ONCE + 1 {
            let stream = http.dialer.open_unused(Offer::Http1).await;
            http.keep(stream.expect("a listener"));
            peers.push(listener.accept().expect("a connection").0);
        }
        let open = |peers: &mut [TcpStream]| {
            let still_open = peers.iter_mut().filter(|peer| {
                peer.set_nonblocking(true).expect("a socket");
                (&mut &**peer).read(&mut [0]).is_err()
            });
            still_open.count()
        };
        http.close_idle(before);
        assert_eq!(open(&mut peers), 10 + CLOSED_AT_ONCE + 1, "just opened");
        let unused_since = MonoTime::now();
        for left in [11, 10, 10] {
            http.close_idle(unused_since);
            assert_eq!(open(&mut peers), left);
        }
        assert_eq!(http.idle.borrow().len(), 10);
    });
}

/// Closes with a reset.
fn reset(stream: TcpStream) {
    stream.set_nonblocking(true).expect("a socket");
    let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
    stream.set_zero_linger().expect("an open socket");
}
