//! The oracle as a process: starts the server, prints its ports, and ends on a signal or at the end
//! of stdin, with a complete log (`tests/process.rs`).

use std::io::{self, Read, Write};
use std::process::{ExitCode, exit};
use std::sync::mpsc;
use std::thread;

use loadpilot_oracle::kernel::{EndSignals, die, raise_fd_limit};
use loadpilot_oracle::{Config, Server};

const USAGE: &str = "usage: loadpilot-oracle --log FILE [--port N] [--control-port N] \
[--behaviour LINE]... [--id-header NAME] [--log-headers] [--kernel-times] [--until-eof]";

/// The command line.
struct Args {
    config: Config,
    until_eof: bool,
}

fn parse_args(mut args: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut log = None;
    let mut config = Config::new("");
    let mut until_eof = false;
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
        let port = |text: String| {
            text.parse::<u16>()
                .map_err(|_| format!("{flag} {text:?} is not a port"))
        };
        match flag.as_str() {
            "--log" => log = Some(value()?),
            "--port" => config.port = port(value()?)?,
            "--control-port" => config.control_port = port(value()?)?,
            "--behaviour" => config.behaviours.push(value()?),
            "--id-header" => config.id_header = value()?,
            "--log-headers" => config.log_headers = true,
            "--kernel-times" => config.kernel_times = true,
            "--until-eof" => until_eof = true,
            other => return Err(format!("unknown flag {other:?}")),
        }
    }
    config.log = log.ok_or("--log is missing")?.into();
    Ok(Args { config, until_eof })
}

fn main() -> ExitCode {
    let args = parse_args(std::env::args().skip(1)).unwrap_or_else(|error| {
        eprintln!("loadpilot-oracle: {error}\n{USAGE}");
        exit(2)
    });
    // Before any thread exists, so that all threads block the signals.
    let signals = EndSignals::hold();
    raise_fd_limit();
    let server = Server::start(&args.config).unwrap_or_else(|error| {
        eprintln!("loadpilot-oracle: {error}");
        exit(if error.kind() == io::ErrorKind::InvalidInput {
            2
        } else {
            70
        })
    });

    let (ended, end) = mpsc::channel();
    if args.until_eof {
        let ended = ended.clone();
        thread::spawn(move || {
            // An error on stdin counts as its end.
            let _ = io::stdin().read_to_end(&mut Vec::new());
            let _ = ended.send(());
        });
    }
    thread::spawn(move || {
        signals.wait();
        let _ = ended.send(());
    });
    let (port, control) = (server.port(), server.control_port());
    let ready = format!(
        "{{\"port\":{port},\"control\":{control},\"pid\":{}}}\n",
        std::process::id()
    );
    let mut stdout = io::stdout();
    stdout
        .write_all(ready.as_bytes())
        .and_then(|()| stdout.flush())
        .unwrap_or_else(|e| die("stdout", &e));
    end.recv().unwrap_or_else(|e| die("wait", &e));
    drop(server);
    ExitCode::SUCCESS
}
