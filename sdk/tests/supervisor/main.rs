//! The supervisor against a real nats-server and small shell scripts in place of its workers.
#![cfg(target_os = "linux")]

mod supervised;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use supervised::{Lock, Supervised, children_of, wait_for_the_end_of};

/// A worker that ends when the supervisor asks it to. It leaves files about its start and its end
/// in the folder that its connection file names. Its sleep outlives a killed worker, and so has a
/// limit.
const OBEDIENT: &str = r#"
    case "$3" in --id) who="$4" ;; *) who=coordinator ;; esac
    folder="$(sed -n 's/^ *"log_dir": "\(.*\)",*$/\1/p' "$2")"
    echo "$@" >>"$folder/arguments-$who"
    trap 'touch "$folder/drained-$who"; kill $!; exit 0' TERM
    echo started
    sleep 100 & wait
"#;

/// A worker that does not end when the supervisor asks it to.
const STUBBORN: &str = "trap '' TERM; exec sleep 1000";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it exists").permissions().mode() & 0o777
}

fn word<'a>(event: &'a serde_json::Value, key: &str) -> &'a str {
    event[key].as_str().expect("a word in the event")
}

#[test]
fn a_stack_is_private_and_tells_its_workers_all_they_need_by_a_file() {
    let home = tempfile::tempdir().expect("a directory");
    let mut stack = Supervised::start(home.path(), 2, OBEDIENT);
    let ready = stack.ready();
    let (folder, file) = (
        Path::new(word(&ready, "log_dir")),
        Path::new(word(&ready, "stack_file")),
    );
    assert_eq!(
        folder,
        home.path().canonicalize().expect("a path").join("log-1")
    );
    assert_eq!(mode(folder), 0o700);
    for name in [
        "stack.json",
        "server.conf",
        "lock",
        "nats-server.log",
        "agent-1.log",
    ] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
    let content: serde_json::Value =
        serde_json::from_slice(&fs::read(file).expect("the stack file")).expect("JSON");
    assert_eq!(content["url"], ready["url"]);
    assert_eq!(content["pid"], stack.pid());
    assert_eq!(content["ctl_bytes"], 64 << 20);
    assert!(
        content["data_bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes >= 16 << 20)
    );
    assert!(
        content["started_at_us"]
            .as_u64()
            .is_some_and(|at| at > 1_700_000_000_000_000)
    );

    let address = word(&ready, "url")
        .strip_prefix("nats://")
        .expect("a NATS address");
    let server = TcpStream::connect(address).expect("the server listens");
    let mut greeting = String::new();
    BufReader::new(server)
        .read_line(&mut greeting)
        .expect("a greeting");
    for promise in [r#""auth_required":true"#, r#""jetstream":true"#] {
        assert!(greeting.contains(promise), "{greeting}");
    }

    let token = word(&content, "token");
    assert_eq!(token.len(), 64);
    let children = children_of(stack.pid());
    assert_eq!(children.len(), 4, "a server, a coordinator and two agents");
    for pid in children {
        let line = fs::read(format!("/proc/{pid}/cmdline")).expect("an argument list");
        assert!(
            !String::from_utf8_lossy(&line).contains(token),
            "a token in an argument list"
        );
    }
}

#[test]
fn stop_lets_workers_finish_and_ends_the_server_after_them() {
    let home = tempfile::tempdir().expect("a directory");
    let mut stack = Supervised::start(home.path(), 2, OBEDIENT);
    stack.ready();
    let folder = home.path().join("log-1");
    for worker in ["agent-1", "agent-2", "coordinator"] {
        stack.wait_for_output(&folder, worker);
    }
    let children = stack.watch_children();
    stack.say("stop\n");
    stack.fall_silent(); // an owner may end once it has asked for the stop
    wait_for_the_end_of(children);
    assert_eq!(stack.exit_code(), 0);
    for worker in ["agent-1", "agent-2", "coordinator"] {
        assert!(
            folder.join(format!("drained-{worker}")).exists(),
            "{worker} was not asked"
        );
    }
    assert!(
        !folder.join("stack.json").exists(),
        "the file names a stack that is no more"
    );
    assert!(!folder.join("server.conf").exists(), "it holds a token");
    let words = fs::read_to_string(folder.join("nats-server.log")).expect("the server's output");
    assert!(
        words.contains("Server Exiting"),
        "the server was not asked to end: {words}"
    );
}

#[test]
fn a_worker_that_does_not_stop_is_killed() {
    let home = tempfile::tempdir().expect("a directory");
    let mut stack = Supervised::start(home.path(), 1, STUBBORN);
    stack.ready();
    let children = stack.watch_children();
    stack.say("stop\n");
    wait_for_the_end_of(children);
    assert_eq!(stack.exit_code(), 0);
}

#[test]
fn the_owners_death_ends_all_without_asking() {
    let home = tempfile::tempdir().expect("a directory");
    let mut stack = Supervised::start(home.path(), 2, OBEDIENT);
    stack.ready();
    for worker in ["agent-1", "agent-2"] {
        stack.wait_for_output(&home.path().join("log-1"), worker);
    }
    let children = stack.watch_children();
    stack.fall_silent();
    wait_for_the_end_of(children);
    assert_eq!(stack.exit_code(), 0);
    assert!(
        !home.path().join("log-1/drained-agent-1").exists(),
        "load went on while it drained"
    );
}

#[test]
fn a_killed_supervisor_leaves_no_child_and_no_lock() {
    let home = tempfile::tempdir().expect("a directory");
    let mut stack = Supervised::start(home.path(), 2, STUBBORN);
    stack.ready();
    let children = stack.watch_children();
    assert_eq!(children.len(), 4);
    stack.kill();
    wait_for_the_end_of(children);
    let mut next = Supervised::start(home.path(), 0, OBEDIENT);
    assert!(
        word(&next.ready(), "log_dir").ends_with("log-1"),
        "the lock outlived its process"
    );
}

#[test]
fn a_locked_folder_is_passed_over_or_named_as_busy() {
    let home = tempfile::tempdir().expect("a directory");
    let mut first = Supervised::start(home.path(), 1, OBEDIENT);
    let file = word(&first.ready(), "stack_file").to_owned();
    let mut second = Supervised::start(home.path(), 1, OBEDIENT);
    assert!(word(&second.ready(), "log_dir").ends_with("log-2"));
    let folder = home.path().canonicalize().expect("a path").join("log-1");
    let mut reader = Supervised::read(&folder);
    let busy = reader.event();
    assert_eq!(
        (word(&busy, "event"), word(&busy, "stack_file")),
        ("busy", file.as_str())
    );
    assert_eq!(reader.exit_code(), 5);
    first.say("stop\n");
    assert_eq!(first.exit_code(), 0);
    let mut reader = Supervised::read(&folder);
    reader.ready();
    assert_eq!(
        children_of(reader.pid()).len(),
        1,
        "a reader needs the server alone"
    );
}

/// Broken if a reader that comes while a stack starts or ends fails, or waits for a file that is
/// never written.
#[test]
fn a_reader_waits_for_a_stack_that_starts_or_ends() {
    let home = tempfile::tempdir().expect("a directory");
    let folder = home.path().canonicalize().expect("a path").join("log-1");
    let ending = Lock::of(&folder);
    let mut reader = Supervised::read(&folder);
    ending.wait_for_two_attempts();
    drop(ending);
    reader.ready();
    reader.say("stop\n");
    assert_eq!(reader.exit_code(), 0);

    let starting = Lock::of(&folder);
    let mut reader = Supervised::read(&folder);
    starting.wait_for_two_attempts();
    fs::write(folder.join("stack.json"), "{}").expect("a file");
    assert_eq!(word(&reader.event(), "event"), "busy");
    assert_eq!(reader.exit_code(), 5);
    fs::remove_file(folder.join("stack.json")).expect("the file");

    let mut reader = Supervised::read(&folder);
    starting.wait_for_two_attempts();
    reader.say("stop\n");
    assert_eq!(reader.exit_code(), 0, "a waiting reader can be stopped");
}

#[test]
fn five_deaths_are_mended_and_the_sixth_ends_the_stack() {
    let home = tempfile::tempdir().expect("a directory");
    let mut stack = Supervised::start(home.path(), 2, OBEDIENT);
    stack.ready();
    let mut victim = stack.worker("agent-2");
    for _ in 0..5 {
        supervised::kill(victim);
        let event = stack.event();
        assert_eq!(
            (word(&event, "event"), word(&event, "child")),
            ("restarted", "agent-2")
        );
        assert_eq!(word(&event, "because"), "signal 9");
        let pid = event["pid"]
            .as_i64()
            .and_then(|pid| i32::try_from(pid).ok());
        victim = pid.expect("a process id");
    }
    assert_eq!(
        victim,
        stack.worker("--predecessor-dead"),
        "its shards would wait"
    );
    let children = stack.watch_children();
    supervised::kill(victim);
    let event = stack.event();
    assert_eq!(word(&event, "event"), "failed");
    assert!(
        word(&event, "reason").contains("agent-2 ended 6 times within a minute"),
        "{event}"
    );
    wait_for_the_end_of(children);
    assert_eq!(stack.exit_code(), 4);
}

#[test]
fn every_coordinator_knows_when_the_stack_began() {
    let home = tempfile::tempdir().expect("a directory");
    let mut stack = Supervised::start(home.path(), 1, OBEDIENT);
    stack.ready();
    let folder = home.path().join("log-1");
    stack.wait_for_output(&folder, "coordinator");
    supervised::kill(stack.worker("seal-asked-before"));
    assert_eq!(word(&stack.event(), "child"), "coordinator");
    let starts = stack.wait_for_lines(&folder.join("arguments-coordinator"), 2);
    assert!(starts[0].contains("--seal-asked-before"), "{starts:?}");
    assert_eq!(
        starts[0], starts[1],
        "a restart that named a later instant would abort the run"
    );
}

#[test]
fn a_dead_server_comes_back_at_the_same_address() {
    let home = tempfile::tempdir().expect("a directory");
    let mut stack = Supervised::start(home.path(), 1, OBEDIENT);
    let ready = stack.ready();
    let file = Path::new(word(&ready, "stack_file"));
    let before = fs::read(file).expect("the stack file");
    supervised::kill(stack.worker("nats-server"));
    let event = stack.event();
    assert_eq!(
        (word(&event, "event"), word(&event, "child")),
        ("restarted", "nats-server")
    );
    assert_eq!(fs::read(file).expect("the stack file"), before);
    let address = word(&ready, "url")
        .strip_prefix("nats://")
        .expect("a NATS address");
    TcpStream::connect(address).expect("the restart is reported when the server answers again");
}

/// Python's imports take half of an agent's start: they must not wait for the server.
#[test]
fn workers_load_while_the_server_starts() {
    let home = tempfile::tempdir().expect("a directory");
    let slow = home.path().join("slow");
    let wait_for_worker = "#!/bin/sh\n\
        while ! [ -s \"$(dirname \"$2\")/agent-1.log\" ]; do sleep 0.01; done\n\
        exec \"$NATS_SERVER\" \"$@\"\n";
    let script = wait_for_worker.replace(
        "$NATS_SERVER",
        supervised::nats_server().to_str().expect("a path"),
    );
    fs::write(&slow, script).expect("a script");
    fs::set_permissions(&slow, fs::Permissions::from_mode(0o755)).expect("a mode");
    let worker = "echo started; cat \"$2\"; exec sleep 1000";
    let mut stack = Supervised::start_with(&slow, home.path(), 1, worker);
    let ready = stack.ready();
    let output = home.path().join("log-1/agent-1.log");
    let lines = stack.wait_for_lines(&output, 3);
    assert_eq!(lines[0], "started", "before the server accepted clients");
    let url = format!("\"url\": \"{}\",", word(&ready, "url"));
    assert!(lines.iter().any(|line| line.trim() == url), "{lines:?}");
}

#[test]
fn a_server_that_cannot_start_is_reported_in_its_own_words() {
    let home = tempfile::tempdir().expect("a directory");
    let broken = home.path().join("broken");
    fs::write(&broken, "#!/bin/sh\necho 'no such luck' >&2\nexit 1\n").expect("a script");
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut stack = Supervised::with_server(home.path(), &broken);
    let event = stack.event();
    assert_eq!(word(&event, "event"), "failed");
    assert!(word(&event, "reason").contains("no such luck"), "{event}");
    assert_eq!(stack.exit_code(), 4);
}
