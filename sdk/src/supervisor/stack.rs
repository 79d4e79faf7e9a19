//! The life of a stack: one loop that hears news and acts on it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::time::Duration;

use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout_at};

use super::child::{Child, Who};
use super::disk_limits::{Limits, limits};
use super::folder::{Folder, StackFile};
use super::restarts::{Restarts, Verdict};
use super::server::{Server, tail};
use super::stdio_protocol::{Listening, Voice, listen};
use super::{Config, End, Event, Trouble};

/// How long nats-server may take until it answers; recovering a large log is part of it.
const SERVER_READY_MAX: Duration = Duration::from_secs(30);

/// How often another port is tried when somebody took ours between choosing and listening.
const PORTS_MAX: u32 = 3;

/// How long a child may take to end when it is asked to, before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same when the owner is gone and nobody waits for a last word.
const PATIENCE_ALONE: Duration = Duration::from_millis(800);

/// What a stack can hear.
#[derive(Debug)]
pub(super) enum News {
    /// nats-server accepts clients.
    ServerReady,
    /// nats-server cannot write to its disk.
    LogBroken {
        /// What the disk said.
        reason: String,
    },
    /// A child ended.
    Exited {
        /// Which one.
        who: Who,
        /// How.
        because: String,
    },
    /// The owner, or whoever sent SIGTERM, wants the stack to end in order.
    Stop,
    /// The owner died.
    OwnerGone,
}

/// How to end.
#[derive(Clone, Copy)]
enum Manner {
    /// Ask, wait, then kill.
    InOrder,
    /// Kill what makes load at once.
    AtOnce,
}

struct Stack {
    config: Config,
    folder: Folder,
    limits: Limits,
    server: Server,
    children: BTreeMap<Who, Child>,
    restarts: Restarts,
    /// When it began, in µs since the Unix epoch: runs asked for before belong to an earlier stack.
    started_at_us: u64,
    /// Whether coordinators and agents have been started.
    open: bool,
    /// Until when the server has to answer, while it does not.
    server_due: Option<Instant>,
    /// How the server ended last, until it answers again.
    server_died: Option<String>,
    news: UnboundedSender<News>,
}

/// Runs a stack from start to end.
pub(super) fn run(
    config: Config,
    owner: impl Read + Send + 'static,
    voice: impl Write + 'static,
) -> End {
    let mut voice = Voice(voice);
    // This thread must make the children: they die with the thread that made them.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return tell(&mut voice, &Trouble::fault("start a runtime", error)),
    };
    runtime.block_on(async {
        let (sender, mut news) = unbounded_channel();
        listen(owner, sender.clone());
        let mut stack = match obey_signals(&sender).and_then(|()| Stack::start(config, sender)) {
            Ok(stack) => stack,
            Err(trouble) => return tell(&mut voice, &trouble),
        };
        let lived = stack.live(&mut news, &mut voice).await;
        let manner = *lived.as_ref().unwrap_or(&Manner::AtOnce);
        stack.end(manner, &mut news).await;
        match lived {
            Ok(_) => End::Ended,
            Err(trouble) => tell(&mut voice, &trouble),
        }
    })
}

/// Says why there is no stack; an owner that is gone does not need to know.
fn tell(voice: &mut Voice<impl Write>, trouble: &Trouble) -> End {
    let (event, end) = match trouble {
        Trouble::Busy(stack_file) => (
            Event::Busy {
                stack_file: stack_file.clone(),
            },
            End::Busy,
        ),
        Trouble::Refusal { .. } => (
            Event::Failed {
                reason: trouble.to_string(),
            },
            End::Refused,
        ),
        Trouble::Fault { .. } | Trouble::GaveUp { .. } | Trouble::ServerSilent(_) => (
            Event::Failed {
                reason: trouble.to_string(),
            },
            End::Failed,
        ),
    };
    voice.say(&event);
    end
}

/// Takes the signals that ask a process to end as the owner's `stop`.
fn obey_signals(news: &UnboundedSender<News>) -> Result<(), Trouble> {
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ] {
        let mut signals =
            signal(kind).map_err(|error| Trouble::fault("listen to signals", error))?;
        let news = news.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() && news.send(News::Stop).is_ok() {}
        });
    }
    Ok(())
}

impl Stack {
    /// Takes a folder and starts the server in it.
    fn start(config: Config, news: UnboundedSender<News>) -> Result<Self, Trouble> {
        let folder = Folder::take(&config.place)?;
        let limits = limits(folder.path(), config.agents + config.coordinators > 0)?;
        let server = Server::choose(config.listen.as_ref(), &folder)?;
        let child = server.start(&config.nats_server, &folder, true, news.clone())?;
        Ok(Self {
            config,
            folder,
            limits,
            server,
            children: BTreeMap::from([(Who::Server, child)]),
            restarts: Restarts::default(),
            started_at_us: crate::session::now().0,
            open: false,
            server_due: Some(Instant::now() + SERVER_READY_MAX),
            server_died: None,
            news,
        })
    }

    /// Hears news until the stack has to end, and says how.
    async fn live(
        &mut self,
        news: &mut UnboundedReceiver<News>,
        voice: &mut Voice<impl Write>,
    ) -> Result<Manner, Trouble> {
        let mut ports = 1;
        loop {
            let Some(heard) = self.hear(news).await else {
                self.server_is_silent()?;
                continue;
            };
            let heeded = match heard {
                News::Stop => return Ok(Manner::InOrder),
                News::OwnerGone => return Ok(Manner::AtOnce),
                News::ServerReady => self.server_answers(voice)?,
                News::LogBroken { reason } => voice.say(&Event::LogUnavailable { reason }),
                News::Exited { who, .. } if !self.open => {
                    self.children.remove(&who);
                    self.server_again(&mut ports)?;
                    true
                }
                News::Exited { who, because } => self.restart(who, because, voice)?,
            };
            if !heeded {
                return Ok(Manner::AtOnce); // nobody reads: the owner is gone
            }
        }
    }

    /// The next piece of news; none when the server should have answered by now.
    async fn hear(&self, news: &mut UnboundedReceiver<News>) -> Option<News> {
        match self.server_due {
            Some(due) => timeout_at(due, news.recv()).await.ok().flatten(),
            None => news.recv().await,
        }
    }

    fn server_is_silent(&mut self) -> Result<(), Trouble> {
        self.server_due = None;
        if !self.open {
            return Err(self.silent());
        }
        // Its end is counted like any other death.
        self.signal(|who| who == Who::Server, libc::SIGKILL);
        Ok(())
    }

    fn silent(&self) -> Trouble {
        Trouble::ServerSilent(tail(&self.folder.output_path(&Who::Server.to_string())))
    }

    /// The server ended before it ever answered: tries another port if that was the reason.
    fn server_again(&mut self, ports: &mut u32) -> Result<(), Trouble> {
        let silent = self.silent();
        if *ports == PORTS_MAX || !silent.to_string().contains("address already in use") {
            return Err(silent);
        }
        *ports += 1;
        self.server = Server::choose(self.config.listen.as_ref(), &self.folder)?;
        self.start_server(true)
    }

    fn start_server(&mut self, fresh: bool) -> Result<(), Trouble> {
        let child = self.server.start(
            &self.config.nats_server,
            &self.folder,
            fresh,
            self.news.clone(),
        )?;
        self.children.insert(Who::Server, child);
        self.server_due = Some(Instant::now() + SERVER_READY_MAX);
        Ok(())
    }

    /// The server answers: opens the stack, or tells that it is back. False when nobody listens.
    fn server_answers(&mut self, voice: &mut Voice<impl Write>) -> Result<bool, Trouble> {
        self.server_due = None;
        if let Some(because) = self.server_died.take() {
            return Ok(self.tell_restart(Who::Server, because, voice));
        }
        self.write_stack_file()?;
        let coordinators = (1..=self.config.coordinators).map(Who::Coordinator);
        for who in coordinators.chain((1..=self.config.agents).map(Who::Agent)) {
            self.start_worker(who, true)?;
        }
        self.open = true;
        Ok(voice.say(&Event::Ready {
            url: self.server.url(),
            stack_file: self.folder.stack_file(),
            log_dir: self.folder.path().to_owned(),
            listening: self.server.open.as_ref().map(Listening::of),
        }))
    }

    fn write_stack_file(&self) -> Result<(), Trouble> {
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
            started_at_us: self.started_at_us,
            limits: self.limits.into(),
        };
        let content = serde_json::to_vec_pretty(&content)
            .map_err(|error| Trouble::fault("the stack file", error.into()))?;
        self.folder.write(&self.folder.stack_file(), &content)
    }

    /// Starts a coordinator or an agent, for the `first` time or again.
    fn start_worker(&mut self, who: Who, first: bool) -> Result<(), Trouble> {
        let words = match who {
            Who::Agent(_) => &self.config.agent_command,
            Who::Coordinator(_) | Who::Server => &self.config.coordinator_command,
        };
        let Some((program, arguments)) = words.split_first() else {
            return Err(Trouble::Refusal {
                field: "command",
                rule: format!("{who} needs a program to run"),
            });
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg("--connect")
            .arg(self.folder.stack_file());
        match who {
            Who::Agent(_) => {
                command.arg("--id").arg(who.to_string());
                command.arg("--state-dir").arg(self.folder.agents_dir());
                if !first {
                    // It was reaped: nobody has to wait until it would have fenced itself.
                    command.arg("--predecessor-dead");
                }
            }
            Who::Coordinator(_) => {
                command
                    .arg("--seal-asked-before")
                    .arg(self.started_at_us.to_string());
            }
            Who::Server => {}
        }
        let output = self.folder.output(&who.to_string(), first)?;
        let failed = |error| Trouble::fault(format!("start {who} ({})", program.display()), error);
        command
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output);
        let (child, _) = Child::start(who, &mut command, self.news.clone()).map_err(failed)?;
        self.children.insert(who, child);
        Ok(())
    }

    /// Starts again what died, within the limit. False when nobody listens.
    fn restart(
        &mut self,
        who: Who,
        because: String,
        voice: &mut Voice<impl Write>,
    ) -> Result<bool, Trouble> {
        self.children.remove(&who);
        if let Verdict::GiveUp(times) = self.restarts.died(who, Instant::now().into_std()) {
            let output = tail(&self.folder.output_path(&who.to_string()));
            return Err(Trouble::GaveUp {
                child: who.to_string(),
                times,
                because,
                output,
            });
        }
        if who == Who::Server {
            self.server_died = Some(because);
            self.start_server(false)?;
            return Ok(true);
        }
        self.start_worker(who, false)?;
        Ok(self.tell_restart(who, because, voice))
    }

    fn tell_restart(&self, who: Who, because: String, voice: &mut Voice<impl Write>) -> bool {
        let pid = self.children.get(&who).map_or(0, |child| child.pid);
        voice.say(&Event::Restarted {
            child: who.to_string(),
            pid,
            because,
        })
    }

    /// Ends every child: coordinators and agents first, then the server that they talk to.
    async fn end(&mut self, manner: Manner, news: &mut UnboundedReceiver<News>) {
        let (signal, mut patience) = match manner {
            Manner::InOrder => (libc::SIGTERM, PATIENCE),
            Manner::AtOnce => (libc::SIGKILL, PATIENCE_ALONE),
        };
        let workers = |who| who != Who::Server;
        self.signal(workers, signal);
        self.gone(workers, &mut patience, news).await;
        self.signal(|_| true, libc::SIGTERM);
        self.gone(|_| true, &mut patience, news).await;
        self.folder.forget();
    }

    fn signal(&self, whom: impl Fn(Who) -> bool, signal: libc::c_int) {
        for (_, child) in self.children.iter().filter(|(who, _)| whom(**who)) {
            child.signal(signal);
        }
    }

    /// Waits until all of them have ended; kills them when `patience` runs out or the owner dies.
    async fn gone(
        &mut self,
        whom: impl Fn(Who) -> bool + Copy,
        patience: &mut Duration,
        news: &mut UnboundedReceiver<News>,
    ) {
        let mut due = Instant::now() + *patience;
        while self.children.keys().any(|who| whom(*who)) {
            match timeout_at(due, news.recv()).await {
                Ok(Some(News::Exited { who, .. })) => {
                    self.children.remove(&who);
                }
                Ok(Some(News::ServerReady | News::LogBroken { .. } | News::Stop)) => {}
                Ok(Some(News::OwnerGone)) | Ok(None) | Err(_) => {
                    *patience = PATIENCE_ALONE;
                    due = Instant::now() + *patience;
                    self.signal(whom, libc::SIGKILL);
                }
            }
        }
    }
}
