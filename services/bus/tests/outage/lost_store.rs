//! A server that comes back with an empty store.

use loadpilot_bus::testserver::TestServer;
use loadpilot_bus::{Fault, Step, Stream};
use tokio::time::timeout;

use super::rig::{TIMEOUT, connect, ctl, put, step};
use super::{expect_through, wait_for_link};

/// Broken if a reader waits for ever in a log that was lost, or if it does not say so when another
/// process makes the log anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tail_ends_with_its_log() {
    let Some(mut server) = TestServer::start_or_skip("a_tail_ends_with_its_log") else {
        return;
    };
    let bus = connect(&server.options()).await;
    bus.open_log().await.unwrap();
    for n in 1..=3 {
        put(&bus, Stream::Ctl, &ctl("R"), &n.to_string()).await;
    }
    let mut read = bus.tail(Stream::Ctl, vec![], 1).await.unwrap();
    expect_through(&mut read, 1, 3).await;
    assert_eq!(step(&mut read).await, Step::CaughtUp);
    // It has delivered nothing, and knows from its beginning that the log holds three events.
    let mut idle = bus.tail(Stream::Ctl, vec![ctl("S")], 1).await.unwrap();
    assert_eq!(step(&mut idle).await, Step::CaughtUp);

    server.kill();
    wait_for_link(&bus, false).await;
    std::fs::rename(server.dir().join("store"), server.dir().join("lost")).unwrap();
    server.restart().unwrap();
    wait_for_link(&bus, true).await;
    let stream = "LP_CTL".to_owned();
    let gone = Fault::Missing {
        stream: stream.clone(),
    };
    let found = timeout(TIMEOUT, read.next()).await.unwrap();
    assert_eq!(found, Err(gone));

    bus.open_log().await.unwrap();
    let (last, read_before) = (0, 3);
    let remade = Fault::Remade {
        stream,
        last,
        read: read_before,
    };
    for mut tail in [read, idle] {
        let mut found = timeout(TIMEOUT, tail.next()).await.unwrap();
        while matches!(found, Err(Fault::Missing { .. })) {
            found = timeout(TIMEOUT, tail.next()).await.unwrap();
        }
        assert_eq!(found, Err(remade.clone()));
    }
}
