//! Time-outs of parts of a call: each ends the call in its own part, early, and names the part.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_events::plan::Plan;
use loadpilot_events::{Cause, Outcome};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::support::cores::{Cores, Counted, plan, step, task};
use crate::support::target::{Act, Gate, Target};

/// Time-out of a part; that of the whole call is a minute, which no test waits for.
const PART_US: u64 = 200_000;

/// 5 arrivals in 100 ms.
fn short(url: String) -> Plan {
    let mut plan = plan(url, 50, 100, vec![task("only", 1, vec![step("/only")])]);
    plan.timeout_us = 60_000_000;
    plan
}

async fn all_end_in(plan: Plan, cause: Cause) {
    let counted = Cores::new(plan, 1, 50).start().finish().await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Timeout, 5)]));
    assert_eq!(counted.causes(), BTreeMap::from([(cause, 5)]));
    assert_lasted(&counted, PART_US);
}

fn assert_lasted(counted: &Counted, least_us: u64) {
    let (_, service) = counted.times(0);
    assert!(service.highest_equivalent(service.min()) >= least_us);
    assert!(service.max() < 30_000_000, "the call's own time-out did it");
}

/// A listener that accepts no further connection: its queue has room for one, and is full.
async fn full() -> (TcpListener, TcpStream) {
    let socket = TcpSocket::new_v4().expect("a socket");
    let any = "127.0.0.1:0".parse().expect("an address");
    socket.bind(any).expect("a loopback port");
    let listener = socket.listen(0).expect("a listener");
    let address = listener.local_addr().expect("bound");
    let only = TcpStream::connect(address)
        .await
        .expect("a place in the queue");
    (listener, only)
}

/// Broken if an unanswered attempt to connect lasts as long as the time-out of the whole call.
#[tokio::test]
async fn a_connection_that_does_not_come_about_is_cut_off_while_connecting() {
    let (listener, _only) = full().await;
    let address = listener.local_addr().expect("bound");
    let mut plan = short(format!("http://{address}"));
    plan.timeouts.connect_us = Some(PART_US);
    all_end_in(plan, Cause::WhileConnecting).await;
}

/// Broken if a target that accepts and never completes the handshake is waited for, or if the time
/// to the first byte is counted from before the connection.
#[tokio::test]
async fn a_handshake_that_does_not_end_is_cut_off_while_securing() {
    let mute = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a loopback port");
    let address = mute.local_addr().expect("bound");
    let mut plan = short(format!("https://{address}"));
    plan.timeouts.connect_us = Some(PART_US);
    plan.timeouts.first_byte_us = Some(1_000);
    all_end_in(plan, Cause::WhileSecuring).await;
}

/// Broken if the limit of the first byte does not hold, or if that of connecting continues after
/// it.
#[tokio::test]
async fn an_answer_that_does_not_begin_is_cut_off_before_its_first_byte() {
    let gate = Arc::new(Gate::default());
    let target_gate = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Wait(Arc::clone(&target_gate)));
    let mut plan = short(target.url());
    plan.timeouts.first_byte_us = Some(PART_US);
    plan.timeouts.connect_us = Some(100_000);
    all_end_in(plan, Cause::BeforeFirstByte).await;
    gate.open();
}

/// Broken if a response that has begun is cut off by the limit of its first byte.
#[tokio::test]
async fn an_answer_that_has_begun_has_the_time_of_the_whole_call() {
    let gate = Arc::new(Gate::default());
    let target_gate = Arc::clone(&gate);
    let target = Target::start(move |_| Act::Begin(Arc::clone(&target_gate)));
    let mut plan = short(target.url());
    plan.timeout_us = 3 * PART_US;
    plan.timeouts.first_byte_us = Some(PART_US);
    let counted = Cores::new(plan, 1, 50).start().finish().await;
    assert_eq!(counted.outcomes(), BTreeMap::from([(Outcome::Timeout, 5)]));
    assert_eq!(
        counted.causes(),
        BTreeMap::from([(Cause::BeforeLastByte, 5)])
    );
    assert_lasted(&counted, 3 * PART_US);
    gate.open();
}
