//! The counted listener and its threads. While `refuse` is in force, no connection is accepted.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::behaviour::Behaviour;
use crate::connection::Connection;
use crate::control;
use crate::freeze::Freezer;
use crate::kernel;
use crate::ledger::Ledger;
use crate::state::{Door, Shared};

/// Maximum number of connections that the kernel completes before they are accepted.
const BACKLOG: i32 = 4096;
/// Stack of a connection's thread, bytes.
const STACK_BYTES: usize = 128 * 1024;

/// How to start a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// The log; an existing file is replaced.
    pub log: PathBuf,
    /// Port of the counted listener; 0 lets the kernel choose.
    pub port: u16,
    /// Port of the control listener; 0 lets the kernel choose.
    pub control_port: u16,
    /// The header whose value is logged as `id`.
    pub id_header: String,
    /// Whether all headers are logged.
    pub log_headers: bool,
    /// Whether kernel receive times are requested; they make each read slightly more expensive.
    pub kernel_times: bool,
    /// Control lines to execute before the first connection.
    pub behaviours: Vec<String>,
}

impl Config {
    /// Kernel-chosen ports, id header `x-request-id`, no kernel times, no behaviours.
    pub fn new(log: impl Into<PathBuf>) -> Self {
        Self {
            log: log.into(),
            port: 0,
            control_port: 0,
            id_header: "x-request-id".to_owned(),
            log_headers: false,
            kernel_times: false,
            behaviours: Vec::new(),
        }
    }
}

/// A running server. Dropping it closes the counted listener and completes the log.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    port: u16,
    control_port: u16,
}

impl Server {
    /// Binds both listeners on 127.0.0.1 and serves.
    ///
    /// # Errors
    /// The log or a port cannot be opened, a behaviour is invalid (`InvalidInput`), or this
    /// system's kernel has no receive times (`Unsupported`).
    pub fn start(config: &Config) -> io::Result<Self> {
        let ledger = Ledger::new(File::create(&config.log)?);
        let (wake, woken) = UnixStream::pair()?;
        let shared = Arc::new(Shared {
            ledger,
            freezer: Freezer::default(),
            id_header: config.id_header.to_ascii_lowercase(),
            log_headers: config.log_headers,
            kernel_times: config.kernel_times,
            accepted: AtomicU64::new(0),
            connected: AtomicU64::new(0),
            accept_delay_us: AtomicU64::new(0),
            behaviour: Mutex::new(Behaviour::default()),
            door: Mutex::new(Door {
                wanted: true,
                open: true,
                error: None,
            }),
            door_moved: Condvar::new(),
            wake,
        });
        for line in &config.behaviours {
            control::configure(&shared, line).map_err(|e| {
                io::Error::new(io::ErrorKind::InvalidInput, format!("{line:?}: {e}"))
            })?;
        }
        let listener = listen(config.port, config.kernel_times)?;
        let port = listener.local_addr()?.port();
        let controls = TcpListener::bind((Ipv4Addr::LOCALHOST, config.control_port))?;
        let control_port = controls.local_addr()?.port();
        let for_acceptor = Arc::clone(&shared);
        thread::Builder::new()
            .name("acceptor".to_owned())
            .spawn(move || run_acceptor(&for_acceptor, listener, port, &woken))?;
        let for_control = Arc::clone(&shared);
        thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || control::run(&for_control, &controls))?;
        Ok(Self {
            shared,
            port,
            control_port,
        })
    }

    /// Port of the counted listener.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Port of the control listener.
    pub fn control_port(&self) -> u16 {
        self.control_port
    }

    /// Executes one control line, as the control port does; returns its JSON reply.
    pub fn command(&self, line: &str) -> String {
        control::obey(&self.shared, line)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A failure to close cannot be handled here.
        let _ = self.shared.set_door(false);
        self.shared.ledger.close();
    }
}

fn listen(port: u16, kernel_times: bool) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    if kernel_times {
        // Accepted sockets inherit the option: bytes that came before the accept have their time,
        // too.
        kernel::ask_receive_times(&listener)?;
    }
    kernel::set_backlog(&listener, BACKLOG)?;
    Ok(listener)
}

/// Accepts while the listener is open. If files or threads are exhausted, the process ends with an
/// error.
fn run_acceptor(shared: &Arc<Shared>, first: TcpListener, port: u16, woken: &UnixStream) {
    kernel::sharpen_timers();
    let mut listener = Some(first);
    loop {
        let connection = match &listener {
            None => false,
            Some(open) => {
                kernel::wait_readable(open, woken).unwrap_or_else(|e| kernel::die("poll", &e))
            }
        };
        if !connection {
            let mut byte = [0];
            { woken }
                .read_exact(&mut byte)
                .unwrap_or_else(|e| kernel::die("acceptor", &e));
            move_door(shared, &mut listener, port);
            continue;
        }
        let pause = shared.accept_delay_us.load(Ordering::Relaxed);
        thread::sleep(Duration::from_micros(pause));
        match listener.as_ref().map(TcpListener::accept) {
            Some(Ok((stream, _))) => spawn_connection(shared, stream),
            // The client was gone before it was accepted.
            Some(Err(e)) if e.kind() == io::ErrorKind::ConnectionAborted => {}
            Some(Err(e)) => kernel::die("accept", &e),
            None => {}
        }
    }
}

/// Opens or closes the listener as the door requires.
fn move_door(shared: &Shared, listener: &mut Option<TcpListener>, port: u16) {
    let mut door = shared.door();
    if !door.wanted {
        *listener = None;
    } else if listener.is_none() {
        match listen(port, shared.kernel_times) {
            Ok(bound) => *listener = Some(bound),
            Err(e) => door.error = Some(format!("port {port}: {e}")),
        }
    }
    door.open = listener.is_some();
    shared.door_moved.notify_all();
}

fn spawn_connection(shared: &Arc<Shared>, stream: TcpStream) {
    let number = shared.accepted.fetch_add(1, Ordering::Relaxed) + 1;
    shared.connected.fetch_add(1, Ordering::Relaxed);
    let shared = Arc::clone(shared);
    thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Fails only when the client is gone, which the first read reports.
            let _ = stream.set_nodelay(true);
            Connection::new(&stream, number, &shared).serve();
            drop(stream);
            shared.connected.fetch_sub(1, Ordering::Relaxed);
        })
        .map(drop)
        .unwrap_or_else(|e| kernel::die("thread", &e));
}
