//! The program: exit codes, and its end on a signal.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::Bus;
use loadpilot_bus::testserver::{NoServer, TestServer};
use loadpilot_coordinator::main_from;
use tokio::time::timeout;

fn exit_code(args: &[&str]) -> i32 {
    main_from(
        std::iter::once("coordinator")
            .chain(args.iter().copied())
            .map(str::to_owned),
        None,
    )
}

/// Broken if a script cannot tell an invalid configuration from an unreachable server.
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
        "no server listens there"
    );
    let check = ["--check-config", "--nats-url", "nats://127.0.0.1:1"];
    assert_eq!(exit_code(&check), 0, "checking opens no connection");
    assert_eq!(exit_code(&check[..1]), 2, "no server named");
}

/// Broken if `--version` does not say of which commit and profile the program is.
#[test]
fn its_version_names_commit_and_profile() {
    let output = Command::new(env!("CARGO_BIN_EXE_loadpilot-coordinator"))
        .arg("--version")
        .output()
        .expect("it starts");
    let build = loadpilot_events::build_text(option_env!("LOADPILOT_COMMIT"));
    let expected = format!("loadpilot-coordinator {build}\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert!(output.status.success());
    let set = loadpilot_events::build_text(Some("0123456789ab"));
    assert!(set.contains(" (commit 0123456789ab, "), "{set}");
    let empty = loadpilot_events::build_text(Some(""));
    assert!(empty.contains(" (commit unknown, "), "{empty}");
}

/// Broken if the program does not end with exit code 0 on a signal: a supervisor would report a
/// crash.
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
        let sent = Command::new("sh")
            .args(["-c", "kill \"$0\" \"$1\"", signal, &pid])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal}");
        let status = tokio::task::spawn_blocking(move || child.wait()).await;
        let status = status.expect("the wait ends").expect("it was ours");
        assert_eq!(status.code(), Some(0), "{signal}: {status}");
    }
}

/// Broken if the program cannot connect by TLS, or accepts a server with an unknown certificate.
#[test]
fn a_server_with_tls_is_accepted_by_its_certificate() {
    let dir = tempfile::tempdir().expect("a folder");
    let generated =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    std::fs::write(&cert, generated.cert.pem()).expect("a file");
    std::fs::write(&key, generated.signing_key.serialize_pem()).expect("a file");
    let access = format!(
        "authorization {{ token: s3cret }}\ntls {{ cert_file: {cert:?}, key_file: {key:?} }}"
    );
    let server = match TestServer::start_open_to(&access) {
        Ok(server) => server,
        Err(NoServer::NotFound) => return eprintln!("SKIPPED: {}", NoServer::NotFound),
        Err(failed) => panic!("{failed}"),
    };
    let url = server.url.replace("nats://", "tls://");
    let start = |trusted: Option<&std::path::Path>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadpilot-coordinator"));
        command
            .args(["--nats-url", &url])
            .env("NATS_TOKEN", "s3cret")
            .env_remove("SSL_CERT_FILE")
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(file) = trusted {
            command.env("SSL_CERT_FILE", file);
        }
        command.spawn().expect("it starts")
    };
    let mut known = start(Some(&cert));
    let lines = BufReader::new(known.stderr.take().expect("piped")).lines();
    let mut lines = lines.map_while(Result::ok);
    let serves = lines.any(|line| line.contains("deciding from now on"));
    known.kill().expect("it is ours");
    known.wait().expect("it is ours");
    assert!(serves, "it ended instead");

    let ended = start(None).wait_with_output().expect("it is ours");
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(4), "{stderr}");
    assert!(
        stderr.contains(&format!("cannot connect to NATS at {url}")),
        "{stderr}"
    );
}
