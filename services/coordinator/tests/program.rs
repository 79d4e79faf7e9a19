//! The program itself: exit codes, and an end on a signal.

use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::Bus;
use loadpilot_bus::testserver::TestServer;
use loadpilot_coordinator::main_from;
use tokio::time::timeout;

fn exit_code(args: &[&str]) -> i32 {
    main_from(
        std::iter::once("coordinator")
            .chain(args.iter().copied())
            .map(str::to_owned),
    )
}

/// A script that starts it must be able to tell its own mistake from the world's.
#[test]
fn mistakes_and_outages_have_their_own_exit_codes() {
    assert_eq!(exit_code(&[]), 2, "no server named");
    assert_eq!(
        exit_code(&["--nats-url", "nats://127.0.0.1:1", "--tenant", "A B"]),
        2
    );
    assert_eq!(exit_code(&["--no-such-flag"]), 2);
    assert_eq!(exit_code(&["--help"]), 0);
    assert_eq!(
        exit_code(&["--nats-url", "nats://127.0.0.1:1"]),
        4,
        "nobody listens there"
    );
}

/// A supervisor ends it by SIGTERM and must see that nothing went wrong.
#[tokio::test]
async fn a_signal_ends_it_at_once() {
    let Some(server) = TestServer::start_or_skip("a_signal_ends_it_at_once") else {
        return;
    };
    for signal in ["-TERM", "-INT"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_loadpilot-coordinator"))
            .args(["--nats-url", &server.url])
            .env("NATS_TOKEN", &server.token)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let bus = Bus::connect(&server.options())
            .await
            .expect("the server accepts");
        let serves = async {
            let second = Duration::from_secs(1);
            while bus
                .request("lp.local.clock", Bytes::new(), second)
                .await
                .is_err()
            {}
        };
        timeout(Duration::from_secs(60), serves)
            .await
            .expect("it serves");
        let pid = child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal}");
        let status = tokio::task::spawn_blocking(move || child.wait()).await;
        let status = status.expect("the wait ends").expect("it was ours");
        assert_eq!(status.code(), Some(0), "{signal}: {status}");
    }
}
