//! One child process: it dies with the supervisor, and its end is reported exactly once.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use tokio::process::{ChildStderr, ChildStdin, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::child_name::ChildName;
use super::input::Input;

/// A running child.
pub(super) struct Child {
    pub(super) pid: u32,
    signals: UnboundedSender<libc::c_int>,
}

impl Child {
    /// Starts `command` in a process group of its own; its end becomes one input. Also
    /// returns what `command` pipes: standard input and standard error.
    ///
    /// Must be called from the thread that lives as long as the stack: on Linux the kernel kills
    /// the child when the thread that started it ends.
    pub(super) fn start(
        name: ChildName,
        command: &mut Command,
        inputs: UnboundedSender<Input>,
    ) -> io::Result<(Self, Option<ChildStdin>, Option<ChildStderr>)> {
        let parent = std::process::id();
        command.process_group(0);
        // SAFETY: between fork and exec the closure makes system calls only; it allocates nothing.
        unsafe { command.pre_exec(move || die_with(parent)) };
        let mut child = command.spawn()?;
        let pid = child
            .id()
            .ok_or_else(|| io::Error::other("it has no process id"))?;
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let (signals, to_send) = unbounded_channel();
        tokio::spawn(async move {
            let because = watch(&mut child, to_send).await;
            // The receiver is gone once the stack has ended.
            let _ = inputs.send(Input::Exited { name, because });
        });
        Ok((Self { pid, signals }, stdin, stderr))
    }

    /// Sends `signal`, unless the child has ended; SIGKILL goes to all of its process group.
    pub(super) fn signal(&self, signal: libc::c_int) {
        // The receiver is gone once the child has ended: then there is nothing to signal.
        let _ = self.signals.send(signal);
    }
}

/// Forwards signals to `child` until it ends; returns its exit code or signal as text.
async fn watch(
    child: &mut tokio::process::Child,
    mut to_send: UnboundedReceiver<libc::c_int>,
) -> String {
    loop {
        tokio::select! {
            status = child.wait() => return status.map_or_else(|error| error.to_string(), describe),
            Some(signal) = to_send.recv() => {
                // None once it has been reaped: the pid may then belong to another process.
                if let Some(pid) = child.id().and_then(|pid| libc::pid_t::try_from(pid).ok()) {
                    let target = if signal == libc::SIGKILL { -pid } else { pid };
                    // SAFETY: kill takes no pointer; the process exists, for it is not reaped yet.
                    unsafe { libc::kill(target, signal) };
                }
            }
        }
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown".to_owned(),
    }
}

/// Makes the calling process die with `parent`.
#[cfg(target_os = "linux")]
fn die_with(parent: u32) -> io::Result<()> {
    // SAFETY: neither call takes a pointer.
    let (set, now) = unsafe {
        (
            libc::prctl(
                libc::PR_SET_PDEATHSIG,
                libc::SIGKILL as libc::c_ulong,
                0,
                0,
                0,
            ),
            libc::getppid(),
        )
    };
    if set != 0 {
        return Err(io::Error::last_os_error());
    }
    // The parent may have died before the request was made.
    if u32::try_from(now) == Ok(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// Other systems have no such request: children outlive a killed supervisor there.
#[cfg(not(target_os = "linux"))]
fn die_with(_parent: u32) -> io::Result<()> {
    Ok(())
}
