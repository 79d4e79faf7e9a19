//! The two ways to end an agent: it leaves, or it ends at once. The first SIGTERM or SIGINT makes
//! it leave, the second ends it.

use tokio::sync::watch;

/// How the operator wants the agent to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shutdown {
    /// Continue.
    No,
    /// Serve the shards until others take them over, finish the arrivals in flight, report, leave.
    Drain,
    /// End at once, with the exit code of the signal.
    Now(i32),
}

/// Waits for the signal to end at once; returns its exit code.
pub(crate) async fn killed(shutdown: &mut watch::Receiver<Shutdown>) -> i32 {
    loop {
        if let Shutdown::Now(code) = *shutdown.borrow_and_update() {
            return code;
        }
        if shutdown.changed().await.is_err() {
            // No sender is left: such a signal cannot come any more.
            std::future::pending::<()>().await;
        }
    }
}

/// Listens to signals from now on. Must be called inside a runtime.
///
/// # Errors
/// When the kernel refuses the handler.
pub fn listen() -> std::io::Result<watch::Receiver<Shutdown>> {
    let (sender, receiver) = watch::channel(Shutdown::No);
    let mut signals = Signals::new()?;
    tokio::spawn(async move {
        while let Some(code) = signals.next().await {
            sender.send_modify(|shutdown| *shutdown = shutdown.after(code));
        }
    });
    Ok(receiver)
}

impl Shutdown {
    /// The state after one more signal with exit code `code`.
    #[must_use]
    pub fn after(self, code: i32) -> Self {
        match self {
            Self::No => Self::Drain,
            Self::Drain | Self::Now(_) => Self::Now(code),
        }
    }
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// The exit code of the next signal.
    async fn next(&mut self) -> Option<i32> {
        tokio::select! {
            Some(()) = self.terminate.recv() => Some(128 + libc::SIGTERM),
            Some(()) = self.interrupt.recv() => Some(128 + libc::SIGINT),
            else => None,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    /// The exit code of the next interrupt.
    async fn next(&mut self) -> Option<i32> {
        tokio::signal::ctrl_c().await.ok().map(|()| 130)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a first signal kills an agent, which would lose its calls in flight, or if no
    /// second signal ends it, so that only SIGKILL is left.
    #[test]
    fn the_first_signal_drains_and_the_second_ends() {
        assert_eq!(Shutdown::No.after(143), Shutdown::Drain);
        assert_eq!(Shutdown::Drain.after(130), Shutdown::Now(130));
    }
}
