//! The target of the demo and of the benches: a small HTTP/1.1 server with a shop's routes. Tests
//! count against the oracle in `tests/oracle` instead.

mod routes;
mod server;

use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::server::Counts;

/// The demo and bench target.
#[derive(Debug, Parser)]
struct Args {
    /// Address of this machine; use another than loopback only in private networks: this server
    /// authenticates no caller.
    #[arg(long, default_value_t = Ipv4Addr::LOCALHOST)]
    host: Ipv4Addr,
    /// Port there; 0 lets the kernel choose.
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// End when stdin ends, so that the server cannot outlive its parent process.
    #[arg(long)]
    until_eof: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("loadpilot-target: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    // Dropping the sender would look like the end of stdin.
    let (stdin_ended, eof) = oneshot::channel();
    let _unused = if args.until_eof {
        thread::spawn(move || {
            // An error on stdin counts as its end.
            let _ = io::stdin().read_to_end(&mut Vec::new());
            let _ = stdin_ended.send(());
        });
        None
    } else {
        Some(stdin_ended)
    };
    let listener = server::listen(args.host, args.port)
        .map_err(|e| io::Error::new(e.kind(), format!("port {}: {e}", args.port)))?;
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on http://{}", listener.local_addr()?)?;
    stdout.flush()?;
    let counts = Arc::new(Counts::default());
    server::serve(listener, &counts, async {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
            _ = eof => {}
        }
    })
    .await;
    let answered = counts.answered.load(Ordering::Relaxed);
    let refused = counts.refused.load(Ordering::Relaxed);
    // The parent process may be gone, and with it the reader.
    let _ = writeln!(stdout, "answered {answered}, refused {refused}");
    Ok(())
}
