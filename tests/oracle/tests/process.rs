//! The oracle as a process: its ready line, its control port, and a complete log at every end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

struct Running {
    child: Child,
    port: u16,
    control: u16,
    log: PathBuf,
}

fn start(name: &str) -> Running {
    let log = std::env::temp_dir().join(format!("oracle-{name}-{}.jsonl", std::process::id()));
    let mut child = Command::new(env!("CARGO_BIN_EXE_loadpilot-oracle"))
        .args(["--log", log.to_str().expect("a plain path"), "--until-eof"])
        .args(["--behaviour", "delay 1", "--behaviour", "silent path=/hang"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut ready = String::new();
    let stdout = child.stdout.as_mut().expect("piped");
    BufReader::new(stdout)
        .read_line(&mut ready)
        .expect("a ready line");
    let field = |key: &str| {
        let (_, rest) = ready
            .split_once(&format!("\"{key}\":"))
            .expect("the key is there");
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().expect("a number")
    };
    assert_eq!(field("pid"), child.id());
    let port = |key| u16::try_from(field(key)).expect("a port");
    Running {
        port: port("port"),
        control: port("control"),
        log,
        child,
    }
}

/// One answered request, and one that hangs: both must be in the log.
fn traffic(running: &Running) -> TcpStream {
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, running.port)).expect("accepts");
    client
        .write_all(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("sent");
    client.read_exact(&mut [0; 12]).expect("an answer");
    client
        .write_all(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("sent");
    let mut control = TcpStream::connect((Ipv4Addr::LOCALHOST, running.control)).expect("accepts");
    control
        .write_all(b"wait-count 2 timeout_ms=20000\n")
        .expect("sent");
    let mut line = String::new();
    BufReader::new(control)
        .read_line(&mut line)
        .expect("an answer");
    assert!(
        line.starts_with("{\"ok\":true,\"reached\":true,\"received\":2,"),
        "{line}"
    );
    client
}

fn assert_ended_with_complete_log(mut running: Running) {
    assert!(running.child.wait().expect("it ends").success());
    let log = std::fs::read_to_string(&running.log).expect("the log");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(
        lines[0].contains("\"path\":\"/a\"") && lines[0].contains("\"answered\""),
        "{log}"
    );
    assert!(
        lines[1].contains("\"path\":\"/hang\"") && lines[1].contains("\"open\""),
        "{log}"
    );
    std::fs::remove_file(&running.log).expect("the log is removed");
}

#[test]
fn it_ends_when_stdin_ends() {
    let mut running = start("eof");
    let _client = traffic(&running);
    drop(running.child.stdin.take());
    assert_ended_with_complete_log(running);
}

#[test]
fn it_ends_on_sigterm() {
    let running = start("term");
    let _client = traffic(&running);
    let pid = libc::pid_t::try_from(running.child.id()).expect("a pid");
    // SAFETY: kill touches no memory; the pid is that of our own child, not yet waited for.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
    assert_ended_with_complete_log(running);
}

#[test]
fn a_bad_flag_is_refused_with_2() {
    let run = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_loadpilot-oracle"))
            .args(args)
            .output();
        out.expect("the binary starts").status.code()
    };
    assert_eq!(run(&[]), Some(2));
    assert_eq!(run(&["--log", "x", "--port", "x"]), Some(2));
    assert_eq!(run(&["--log"]), Some(2));
}
