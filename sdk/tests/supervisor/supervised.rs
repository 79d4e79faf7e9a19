//! A supervisor under test: started as a process, controlled over its pipes, observed through
//! /proc. Must never leave a process behind: dropping it ends the supervisor, and with it the
//! children.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Maximum wait for anything before the test fails, in ms.
const PATIENCE_MS: i32 = 30_000;

pub(crate) struct Supervised {
    child: Child,
    mouth: Option<ChildStdin>,
    ear: BufReader<ChildStdout>,
}

impl Supervised {
    /// A stack with one coordinator, in the first free folder of `home`.
    pub(crate) fn start(home: &Path, agents: u32, script: &str) -> Self {
        Self::start_with(&nats_server(), home, agents, script)
    }

    /// The same stack with another program in place of nats-server.
    pub(crate) fn start_with(server: &Path, home: &Path, agents: u32, script: &str) -> Self {
        let words = serde_json::json!(["sh", "-c", script, "worker"]).to_string();
        let agents = agents.to_string();
        let arguments = ["--agents", &agents, "--coordinators", "1"];
        let commands = ["--agent-command", &words, "--coordinator-command", &words];
        Self::spawn(server, "--root", home, &[arguments, commands].concat())
    }

    /// A server without a stack, on the log in `folder`.
    pub(crate) fn read(folder: &Path) -> Self {
        Self::spawn(&nats_server(), "--log-dir", folder, &["--reader"])
    }

    /// The same with another program in place of nats-server.
    pub(crate) fn with_server(home: &Path, server: &Path) -> Self {
        Self::spawn(server, "--root", home, &["--reader"])
    }

    fn spawn(server: &Path, place: &str, path: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_loadpilot-supervisor"))
            .arg(place)
            .arg(path)
            .arg("--nats-server")
            .arg(server)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the supervisor starts");
        let mouth = child.stdin.take();
        let ear = BufReader::new(child.stdout.take().expect("its output is piped"));
        Self { child, mouth, ear }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line of its output.
    pub(crate) fn event(&mut self) -> serde_json::Value {
        readable(self.ear.get_ref(), self.ear.buffer().is_empty());
        let mut line = String::new();
        self.ear
            .read_line(&mut line)
            .expect("its output can be read");
        serde_json::from_str(&line).expect("a line of JSON")
    }

    /// Waits until the stack is ready.
    pub(crate) fn ready(&mut self) -> serde_json::Value {
        let event = self.event();
        assert_eq!(event["event"], "ready", "{event}");
        event
    }

    pub(crate) fn say(&mut self, words: &str) {
        let mouth = self.mouth.as_mut().expect("its owner lives");
        mouth.write_all(words.as_bytes()).expect("it listens");
    }

    /// Closes the pipe, as the death of the owner does.
    pub(crate) fn fall_silent(&mut self) {
        self.mouth = None;
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it lives");
        assert_eq!(
            self.child.wait().expect("it ends").signal(),
            Some(libc::SIGKILL)
        );
    }

    pub(crate) fn exit_code(&mut self) -> i32 {
        readable(&watch(self.pid()), true);
        self.child
            .wait()
            .expect("it ends")
            .code()
            .expect("an exit code")
    }

    /// The child whose arguments contain `mark`.
    pub(crate) fn worker(&self, mark: &str) -> i32 {
        let marked = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(mark)
        };
        let found = children_of(self.pid()).into_iter().find(marked);
        found
            .and_then(|pid| i32::try_from(pid).ok())
            .expect("a child with this mark")
    }

    /// Handles on all children as they are now; their process ids may be reused after their end.
    pub(crate) fn watch_children(&self) -> Vec<OwnedFd> {
        children_of(self.pid()).into_iter().map(watch).collect()
    }

    /// Waits until a worker has written its first line.
    pub(crate) fn wait_for_output(&self, folder: &Path, worker: &str) {
        self.wait_for_lines(&folder.join(format!("{worker}.log")), 1);
    }

    /// Waits until a file has this number of lines, and returns them.
    pub(crate) fn wait_for_lines(&self, path: &Path, count: usize) -> Vec<String> {
        let folder = path.parent().expect("a folder");
        let changes = inotify(folder, libc::IN_CREATE | libc::IN_MODIFY);
        loop {
            let content = fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<String> = content.lines().map(str::to_owned).collect();
            if lines.len() >= count {
                return lines;
            }
            readable(&changes, true);
            let mut events = [0_u8; 4096];
            // SAFETY: the buffer is as long as it is said to be.
            unsafe {
                libc::read(
                    changes.as_raw_fd(),
                    events.as_mut_ptr().cast(),
                    events.len(),
                )
            };
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // The supervisor's own end is the thorough one: it also ends what its children started.
        self.mouth = None;
        if !std::thread::panicking() && self.child.try_wait().is_ok_and(|end| end.is_none()) {
            readable(&watch(self.pid()), true);
        }
        // An error means that it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server that the tests run against.
pub(crate) fn nats_server() -> PathBuf {
    let pinned = concat!(env!("CARGO_MANIFEST_DIR"), "/../.venv/bin/nats-server");
    let path =
        std::env::var_os("LOADPILOT_NATS_SERVER").map_or_else(|| pinned.into(), PathBuf::from);
    assert!(
        path.exists(),
        "no nats-server: run `./dev sync`, or set LOADPILOT_NATS_SERVER"
    );
    path
}

/// Process ids of the direct children.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("a Linux system");
    let is_child = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // "pid (name) state ppid …", and the name may hold anything.
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        after_name.split_whitespace().nth(1) == Some(parent.to_string().as_str())
    };
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(is_child)
        .collect()
}

/// Kills a child of the supervisor, and what the child started: each child leads a process group.
pub(crate) fn kill(pid: i32) {
    // SAFETY: kill takes no pointer; the group's leader is a child of the supervisor under test.
    let killed = unsafe { libc::kill(-pid, libc::SIGKILL) };
    assert_eq!(killed, 0, "the child lives");
}

/// Waits until all of these processes have ended.
pub(crate) fn wait_for_the_end_of(processes: Vec<OwnedFd>) {
    assert!(!processes.is_empty());
    for process in processes {
        readable(&process, true);
    }
}

/// A handle that becomes readable when the process ends.
fn watch(pid: u32) -> OwnedFd {
    // SAFETY: pidfd_open takes no pointer.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let handle = i32::try_from(handle).expect("a descriptor");
    assert!(handle >= 0, "process {pid} is gone already");
    // SAFETY: the descriptor is new and has no other owner.
    unsafe { OwnedFd::from_raw_fd(handle) }
}

/// The lock of a folder, held as by another stack.
pub(crate) struct Lock {
    _file: File,
    closings: OwnedFd,
}

impl Lock {
    pub(crate) fn of(folder: &Path) -> Self {
        fs::create_dir_all(folder).expect("a folder");
        let file = File::create(folder.join("lock")).expect("a file");
        file.try_lock().expect("no other process has it");
        Self {
            _file: file,
            closings: inotify(folder, libc::IN_CLOSE_WRITE),
        }
    }

    /// Waits until a process has tried twice to lock the folder.
    pub(crate) fn wait_for_two_attempts(&self) {
        let mut attempts = 0;
        while attempts < 2 {
            readable(&self.closings, true);
            // One event with a name of up to 16 bytes.
            let mut event = [0_u8; 32];
            // SAFETY: the buffer is as long as it is said to be.
            let read =
                unsafe { libc::read(self.closings.as_raw_fd(), event.as_mut_ptr().cast(), 32) };
            assert_eq!(read, 32);
            attempts += u32::from(event[16..].starts_with(b"lock\0"));
        }
    }
}

/// A handle that becomes readable when something in the folder changes.
fn inotify(folder: &Path, changes: u32) -> OwnedFd {
    let path = std::ffi::CString::new(folder.to_str().expect("UTF-8")).expect("no NUL");
    // SAFETY: the descriptor is new and has no other owner; the path ends in a NUL.
    unsafe {
        let handle = OwnedFd::from_raw_fd(libc::inotify_init1(libc::IN_CLOEXEC));
        assert!(libc::inotify_add_watch(handle.as_raw_fd(), path.as_ptr(), changes) >= 0);
        handle
    }
}

/// Waits until `source` can be read, if `needed`; fails the test after a while.
fn readable(source: &impl AsRawFd, needed: bool) {
    if !needed {
        return;
    }
    let mut wanted = libc::pollfd {
        fd: source.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry is passed and one is named.
    let ready = unsafe { libc::poll(&raw mut wanted, 1, PATIENCE_MS) };
    assert_eq!(ready, 1, "it did not happen within {PATIENCE_MS} ms");
}
