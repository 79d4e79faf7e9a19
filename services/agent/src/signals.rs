//! The two ways to end an agent: drain, or at once. The first SIGTERM or SIGINT drains, the
//! second ends.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// What the operator wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shutdown {
    /// Go on.
    No,
    /// Stop pacing, finish what is in flight, report, leave.
    Drain,
    /// End without another word; the exit code of the signal that asked for it.
    Now(i32),
}

/// Listens to signals from now on. Must be called inside a runtime.
///
/// # Errors
/// When the kernel refuses the handler.
pub fn listen() -> std::io::Result<watch::Receiver<Shutdown>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (wish, wishes) = watch::channel(Shutdown::No);
    tokio::spawn(async move {
        loop {
            let code = tokio::select! {
                Some(()) = terminate.recv() => 128 + libc::SIGTERM,
                Some(()) = interrupt.recv() => 128 + libc::SIGINT,
                else => return,
            };
            wish.send_modify(|wish| {
                *wish = match *wish {
                    Shutdown::No => Shutdown::Drain,
                    Shutdown::Drain | Shutdown::Now(_) => Shutdown::Now(code),
                };
            });
        }
    });
    Ok(wishes)
}
