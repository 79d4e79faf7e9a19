//! The life of a stack: one loop that receives inputs and acts on them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{ChildStdin, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout_at};

use super::child::Child;
use super::child_name::ChildName;
use super::config::Config;
use super::disk_limits::{Limits, limits};
use super::error::{End, StackError};
use super::folder::{Folder, StackFile};
use super::input::Input;
use super::restarts::{Restarts, Verdict};
use super::server::{Server, tail};
use super::stdio_protocol::{Event, EventWriter, Listening, listen};

/// Timeout for nats-server to accept clients, the recovery of a large log included.
const SERVER_READY_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of ports to try when another process takes one between choice and use.
const PORTS_MAX: u32 = 3;

/// Timeout for a child to end before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The same when the owner is gone.
const ORPHAN_STOP_TIMEOUT: Duration = Duration::from_millis(800);

/// How to end a stack.
#[derive(Clone, Copy)]
enum Shutdown {
    /// Terminate the children, wait, then kill.
    Graceful,
    /// Kill coordinators and agents at once.
    Immediate,
}

struct Stack {
    config: Config,
    folder: Folder,
    limits: Limits,
    server: Server,
    children: BTreeMap<ChildName, Child>,
    /// Standard inputs of coordinators and agents that were started before the server accepts
    /// clients: each waits for the content of the stack file.
    waiting: Vec<ChildStdin>,
    restarts: Restarts,
    /// Start of this stack, in µs since the Unix epoch: runs requested earlier belong to another
    /// stack.
    started_at_us: u64,
    /// Whether the server has accepted clients.
    is_open: bool,
    /// Deadline for the server to accept clients, until it does.
    server_deadline: Option<Instant>,
    /// Exit code or signal of the server's last end, until it accepts clients again.
    server_died: Option<String>,
    inputs: UnboundedSender<Input>,
}

/// Runs a stack from start to end.
pub(super) fn run(
    config: Config,
    owner: impl Read + Send + 'static,
    events: impl Write + 'static,
) -> End {
    let mut events = EventWriter(events);
    // This thread must start the children: they die with the thread that started them.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return report_end(&mut events, &StackError::fault("start a runtime", error)),
    };
    runtime.block_on(async {
        let (sender, mut inputs) = unbounded_channel();
        listen(owner, sender.clone());
        if let Err(error) = handle_signals(&sender) {
            return report_end(&mut events, &error);
        }
        let folder = tokio::select! {
            folder = Folder::take(&config.log_folder) => folder,
            // No child runs yet, so this is the owner's `stop`, or its end.
            _ = inputs.recv() => return End::Ended,
        };
        let mut stack = match folder.and_then(|folder| Stack::start(config, folder, sender)) {
            Ok(stack) => stack,
            Err(error) => return report_end(&mut events, &error),
        };
        let result = stack.run(&mut inputs, &mut events).await;
        let shutdown = *result.as_ref().unwrap_or(&Shutdown::Immediate);
        stack.end(shutdown, &mut inputs).await;
        match result {
            Ok(_) => End::Ended,
            Err(error) => report_end(&mut events, &error),
        }
    })
}

/// Reports why the stack ends.
fn report_end(events: &mut EventWriter<impl Write>, error: &StackError) -> End {
    let (event, end) = match error {
        StackError::Busy(stack_file) => (
            Event::Busy {
                stack_file: stack_file.clone(),
            },
            End::Busy,
        ),
        StackError::Refusal { .. } => (
            Event::Failed {
                reason: error.to_string(),
            },
            End::Refused,
        ),
        StackError::Fault { .. } | StackError::GaveUp { .. } | StackError::ServerSilent(_) => (
            Event::Failed {
                reason: error.to_string(),
            },
            End::Failed,
        ),
    };
    events.write(&event);
    end
}

/// Treats termination signals as the owner's `stop`.
fn handle_signals(inputs: &UnboundedSender<Input>) -> Result<(), StackError> {
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ] {
        let mut signals =
            signal(kind).map_err(|error| StackError::fault("listen to signals", error))?;
        let inputs = inputs.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() && inputs.send(Input::Stop).is_ok() {}
        });
    }
    Ok(())
}

/// Writes all that a child reads from its standard input. An error means that the child has ended,
/// which is reported as an input of its own.
fn hand_over(stdin: ChildStdin, content: &[u8]) {
    if let Ok(pipe) = stdin.into_owned_fd() {
        let _ = File::from(pipe).write_all(content);
    }
}

impl Stack {
    /// Starts all processes in a folder, at the same time.
    fn start(
        config: Config,
        folder: Folder,
        inputs: UnboundedSender<Input>,
    ) -> Result<Self, StackError> {
        let limits = limits(folder.path(), !config.is_reader())?;
        let server = Server::choose(config.listen.as_ref(), &folder)?;
        let child = server.start(&config.nats_server, &folder, true, inputs.clone())?;
        let mut stack = Self {
            config,
            folder,
            limits,
            server,
            children: BTreeMap::from([(ChildName::Server, child)]),
            waiting: Vec::new(),
            restarts: Restarts::default(),
            started_at_us: crate::session::now().0,
            is_open: false,
            server_deadline: Some(Instant::now() + SERVER_READY_TIMEOUT),
            server_died: None,
            inputs,
        };
        let coordinators = (1..=stack.config.coordinators).map(ChildName::Coordinator);
        for name in coordinators.chain((1..=stack.config.agents).map(ChildName::Agent)) {
            stack.start_worker(name, true)?;
        }
        Ok(stack)
    }

    /// Handles inputs until the stack has to end.
    async fn run(
        &mut self,
        inputs: &mut UnboundedReceiver<Input>,
        events: &mut EventWriter<impl Write>,
    ) -> Result<Shutdown, StackError> {
        let mut ports = 1;
        loop {
            let Some(input) = self.next_input(inputs).await else {
                self.server_timed_out()?;
                continue;
            };
            let is_read = match input {
                Input::Stop => return Ok(Shutdown::Graceful),
                Input::OwnerGone => return Ok(Shutdown::Immediate),
                Input::ServerReady => self.server_ready(events)?,
                Input::LogUnavailable { reason } => events.write(&Event::LogUnavailable { reason }),
                Input::Exited { name, .. } if !self.is_open && name == ChildName::Server => {
                    self.children.remove(&name);
                    self.retry_server(&mut ports)?;
                    true
                }
                Input::Exited { name, because } => self.restart(name, because, events)?,
            };
            if !is_read {
                return Ok(Shutdown::Immediate); // the owner is gone
            }
        }
    }

    /// The next input; `None` after the server's deadline.
    async fn next_input(&self, inputs: &mut UnboundedReceiver<Input>) -> Option<Input> {
        match self.server_deadline {
            Some(due) => timeout_at(due, inputs.recv()).await.ok().flatten(),
            None => inputs.recv().await,
        }
    }

    fn server_timed_out(&mut self) -> Result<(), StackError> {
        self.server_deadline = None;
        if !self.is_open {
            return Err(self.silent());
        }
        // Its end is handled as any other.
        self.signal(|name| name == ChildName::Server, libc::SIGKILL);
        Ok(())
    }

    fn silent(&self) -> StackError {
        StackError::ServerSilent(tail(
            &self.folder.output_path(&ChildName::Server.to_string()),
        ))
    }

    /// The server ended before it accepted clients: tries another port if its own was in use.
    fn retry_server(&mut self, ports: &mut u32) -> Result<(), StackError> {
        let silent = self.silent();
        if *ports == PORTS_MAX || !silent.to_string().contains("address already in use") {
            return Err(silent);
        }
        *ports += 1;
        self.server = Server::choose(self.config.listen.as_ref(), &self.folder)?;
        self.start_server(true)
    }

    fn start_server(&mut self, fresh: bool) -> Result<(), StackError> {
        let child = self.server.start(
            &self.config.nats_server,
            &self.folder,
            fresh,
            self.inputs.clone(),
        )?;
        self.children.insert(ChildName::Server, child);
        self.server_deadline = Some(Instant::now() + SERVER_READY_TIMEOUT);
        Ok(())
    }

    /// The server accepts clients: connects the waiting children, or reports its restart. False if
    /// the owner is gone.
    fn server_ready(&mut self, events: &mut EventWriter<impl Write>) -> Result<bool, StackError> {
        self.server_deadline = None;
        if let Some(because) = self.server_died.take() {
            return Ok(self.report_restart(ChildName::Server, because, events));
        }
        let content = self.stack_file()?;
        self.folder.write(&self.folder.stack_file(), &content)?;
        for stdin in std::mem::take(&mut self.waiting) {
            hand_over(stdin, &content);
        }
        self.is_open = true;
        Ok(events.write(&Event::Ready {
            url: self.server.url(),
            stack_file: self.folder.stack_file(),
            log_dir: self.folder.path().to_owned(),
            listening: self.server.open.as_ref().map(Listening::of),
        }))
    }

    /// The content of the stack file.
    fn stack_file(&self) -> Result<Vec<u8>, StackError> {
        let content = StackFile {
            url: &self.server.url(),
            token: &self.server.token,
            cacert: self
                .server
                .open
                .as_ref()
                .and_then(|open| open.cacert.as_deref()),
            pid: std::process::id(),
            log_dir: self.folder.path(),
            reader: self.config.is_reader(),
            started_at_us: self.started_at_us,
            limits: self.limits.into(),
        };
        serde_json::to_vec_pretty(&content)
            .map_err(|error| StackError::fault("the stack file", error.into()))
    }

    /// Starts a coordinator or an agent, for the `first` time or again. It loads while the server
    /// starts, and reads the server's address from its standard input.
    fn start_worker(&mut self, name: ChildName, first: bool) -> Result<(), StackError> {
        let words = match name {
            ChildName::Agent(_) => &self.config.agent_command,
            ChildName::Coordinator(_) | ChildName::Server => &self.config.coordinator_command,
        };
        let Some((program, arguments)) = words.split_first() else {
            return Err(StackError::Refusal {
                field: "command",
                rule: format!("{name} needs a program to run"),
            });
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg("--connect")
            .arg("/dev/stdin")
            .stdin(Stdio::piped());
        match name {
            ChildName::Agent(_) => {
                command.arg("--id").arg(name.to_string());
                command.arg("--state-dir").arg(self.folder.agents_dir());
                if !first {
                    // The process was reaped: its shards need not wait until it has fenced itself.
                    command.arg("--predecessor-dead");
                }
            }
            ChildName::Coordinator(_) => {
                command
                    .arg("--seal-asked-before")
                    .arg(self.started_at_us.to_string());
            }
            ChildName::Server => {}
        }
        let output = self.folder.output(&name.to_string(), first)?;
        let failed =
            |error| StackError::fault(format!("start {name} ({})", program.display()), error);
        command
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output);
        let (child, stdin, _) =
            Child::start(name, &mut command, self.inputs.clone()).map_err(failed)?;
        self.children.insert(name, child);
        match stdin {
            Some(stdin) if self.is_open => hand_over(stdin, &self.stack_file()?),
            stdin => self.waiting.extend(stdin),
        }
        Ok(())
    }

    /// Restarts a child, within the limit. False if the owner is gone.
    fn restart(
        &mut self,
        name: ChildName,
        because: String,
        events: &mut EventWriter<impl Write>,
    ) -> Result<bool, StackError> {
        self.children.remove(&name);
        if let Verdict::GiveUp(times) = self.restarts.died(name, Instant::now().into_std()) {
            let output = tail(&self.folder.output_path(&name.to_string()));
            return Err(StackError::GaveUp {
                child: name.to_string(),
                times,
                because,
                output,
            });
        }
        if name == ChildName::Server {
            self.server_died = Some(because);
            self.start_server(false)?;
            return Ok(true);
        }
        self.start_worker(name, false)?;
        Ok(self.report_restart(name, because, events))
    }

    fn report_restart(
        &self,
        name: ChildName,
        because: String,
        events: &mut EventWriter<impl Write>,
    ) -> bool {
        let pid = self.children.get(&name).map_or(0, |child| child.pid);
        events.write(&Event::Restarted {
            child: name.to_string(),
            pid,
            because,
        })
    }

    /// Ends every child: coordinators and agents first, then their server.
    async fn end(&mut self, shutdown: Shutdown, inputs: &mut UnboundedReceiver<Input>) {
        let (signal, mut timeout) = match shutdown {
            Shutdown::Graceful => (libc::SIGTERM, STOP_TIMEOUT),
            Shutdown::Immediate => (libc::SIGKILL, ORPHAN_STOP_TIMEOUT),
        };
        let workers = |name| name != ChildName::Server;
        self.signal(workers, signal);
        self.wait_for(workers, &mut timeout, inputs).await;
        // Removed before the server ends: a reader that connects now then waits for the folder.
        self.folder.remove_stack_files();
        self.signal(|_| true, libc::SIGTERM);
        self.wait_for(|_| true, &mut timeout, inputs).await;
    }

    fn signal(&self, which: impl Fn(ChildName) -> bool, signal: libc::c_int) {
        for (_, child) in self.children.iter().filter(|(name, _)| which(**name)) {
            child.signal(signal);
        }
    }

    /// Waits until these children have ended; kills them after `timeout` or when the owner dies.
    async fn wait_for(
        &mut self,
        which: impl Fn(ChildName) -> bool + Copy,
        timeout: &mut Duration,
        inputs: &mut UnboundedReceiver<Input>,
    ) {
        let mut due = Instant::now() + *timeout;
        while self.children.keys().any(|name| which(*name)) {
            match timeout_at(due, inputs.recv()).await {
                Ok(Some(Input::Exited { name, .. })) => {
                    self.children.remove(&name);
                }
                Ok(Some(Input::ServerReady | Input::LogUnavailable { .. } | Input::Stop)) => {}
                Ok(Some(Input::OwnerGone)) | Ok(None) | Err(_) => {
                    *timeout = ORPHAN_STOP_TIMEOUT;
                    due = Instant::now() + *timeout;
                    self.signal(which, libc::SIGKILL);
                }
            }
        }
    }
}
