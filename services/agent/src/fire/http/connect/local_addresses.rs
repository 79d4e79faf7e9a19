//! Local addresses and ports of connections: this machine's addresses in turn, ports of a range.
//!
//! Must never connect from an address or a port that the plan does not name. When none is left, the
//! outcome counts against this machine, not against the target.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;

use loadpilot_events::plan::connections::Source;
use tokio::net::{TcpSocket, TcpStream};

/// Number of ports tried in a row before other tasks run: an exhausted range must not delay the
/// pacer.
const TRIES_IN_A_ROW: u32 = 16;

/// The local addresses of the connections of one core.
#[derive(Debug)]
pub(crate) struct LocalAddresses {
    addresses: Vec<LocalAddress>,
    /// Number of connections begun; selects the next address.
    begun: Cell<usize>,
}

/// One address, and the ports on it.
#[derive(Debug)]
struct LocalAddress {
    source: Source,
    /// Whether the system can choose within the range.
    system_chooses: bool,
    /// Number of ports tried; selects the next port.
    tried: Cell<u16>,
}

impl LocalAddresses {
    /// The addresses of the plan; if it names none, the system chooses everything.
    pub(crate) fn new(sources: &[Source]) -> Self {
        let system = system_port_range();
        let addresses = sources.iter().map(|&source| LocalAddress {
            source,
            system_chooses: lies_within(source.ports, system),
            tried: Cell::new(0),
        });
        Self {
            addresses: addresses.collect(),
            begun: Cell::new(0),
        }
    }

    /// Whether an address can reach this peer.
    pub(crate) fn fit(&self, peer: SocketAddr) -> bool {
        let mut addresses = self.addresses.iter();
        self.addresses.is_empty()
            || addresses.any(|address| address.source.address.is_ipv4() == peer.is_ipv4())
    }

    /// Connects from the next address of the peer's family.
    ///
    /// # Errors
    /// The error of the system; EADDRNOTAVAIL when no address fits or no port is left.
    pub(crate) async fn connect(&self, peer: SocketAddr) -> io::Result<TcpStream> {
        if self.addresses.is_empty() {
            return TcpStream::connect(peer).await;
        }
        let is_fit = |address: &&LocalAddress| address.source.address.is_ipv4() == peer.is_ipv4();
        let fitting = self.addresses.iter().filter(is_fit).count();
        if fitting == 0 {
            return Err(no_port_left());
        }
        let begun = self.begun.get();
        self.begun.set(begun.wrapping_add(1));
        match self.addresses.iter().filter(is_fit).nth(begun % fitting) {
            Some(address) => address.connect(peer).await,
            None => Err(no_port_left()),
        }
    }
}

impl LocalAddress {
    async fn connect(&self, peer: SocketAddr) -> io::Result<TcpStream> {
        let Some(ports) = self.source.ports else {
            let socket = socket(peer)?;
            choose_port_late(&socket)?;
            return self.connect_on(socket, 0, peer).await;
        };
        if self.system_chooses {
            let socket = socket(peer)?;
            choose_port_late(&socket)?;
            match choose_port_within(&socket, ports) {
                Ok(()) => return self.connect_on(socket, 0, peer).await,
                // Linux before 6.3.
                Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {}
                Err(error) => return Err(error),
            }
        }
        self.connect_in_turn(ports, peer).await
    }

    /// Tries each port of the range once, from where the last connection stopped.
    async fn connect_in_turn(
        &self,
        (first, last): (u16, u16),
        peer: SocketAddr,
    ) -> io::Result<TcpStream> {
        let count = u32::from(last - first) + 1;
        let begin = u32::from(self.tried.get());
        for tries in 1..=count {
            let offset = (begin + tries - 1) % count;
            let offset = u16::try_from(offset).expect("less than all ports");
            self.tried.set(offset.wrapping_add(1));
            let socket = socket(peer)?;
            // A port serves many peers, and is free again when its last connection is closed.
            socket.set_reuseaddr(true)?;
            match self.connect_on(socket, first + offset, peer).await {
                Err(error) if is_taken(&error) => {}
                other => return other,
            }
            if tries.is_multiple_of(TRIES_IN_A_ROW) {
                tokio::task::yield_now().await;
            }
        }
        Err(no_port_left())
    }

    async fn connect_on(
        &self,
        socket: TcpSocket,
        port: u16,
        peer: SocketAddr,
    ) -> io::Result<TcpStream> {
        let own = SocketAddr::new(self.source.address, port);
        if let Err(error) = socket.bind(own) {
            tracing::debug!(%error, %own, "cannot connect from there");
            // For example a port that only root may use: never counted against the target.
            return Err(match is_taken(&error) {
                true => error,
                false => no_port_left(),
            });
        }
        socket.connect(peer).await
    }
}

fn socket(peer: SocketAddr) -> io::Result<TcpSocket> {
    match peer.is_ipv4() {
        true => TcpSocket::new_v4(),
        false => TcpSocket::new_v6(),
    }
}

fn no_port_left() -> io::Error {
    io::Error::from_raw_os_error(libc::EADDRNOTAVAIL)
}

/// Whether another port may work: this one has a listener, or a connection to the same peer.
fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EADDRINUSE | libc::EADDRNOTAVAIL)
    )
}

/// The system restricts its choice to a range that lies within its own. Any other range has no
/// effect (ip(7), `IP_LOCAL_PORT_RANGE`), and the load would come from other ports unnoticed.
fn lies_within(ports: Option<(u16, u16)>, system: Option<(u16, u16)>) -> bool {
    ports.zip(system).is_some_and(|(ports, system)| {
        system.0 <= ports.0 && ports.0 < ports.1 && ports.1 <= system.1
    })
}

/// The first and last port that the system gives to connections.
pub(crate) fn system_port_range() -> Option<(u16, u16)> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ports = text.split_whitespace().map(str::parse);
    Some((ports.next()?.ok()?, ports.next()?.ok()?))
}

/// Lets the system choose the port when it knows the peer: then one port serves many peers.
#[cfg(target_os = "linux")]
fn choose_port_late(socket: &TcpSocket) -> io::Result<()> {
    set_ip_option(socket, libc::IP_BIND_ADDRESS_NO_PORT, 1_u32)
}

/// Lets the system choose within a range of ports that lies within its own.
#[cfg(target_os = "linux")]
fn choose_port_within(socket: &TcpSocket, (first, last): (u16, u16)) -> io::Result<()> {
    /// Of linux/in.h, since 6.3: the last port in the upper 16 bits, the first in the lower ones.
    const IP_LOCAL_PORT_RANGE: libc::c_int = 51;
    let value = u32::from(last) << 16 | u32::from(first);
    set_ip_option(socket, IP_LOCAL_PORT_RANGE, value)
}

#[cfg(target_os = "linux")]
fn set_ip_option(socket: &TcpSocket, option: libc::c_int, value: u32) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    let size = libc::socklen_t::try_from(size_of::<u32>()).expect("4 bytes");
    // SAFETY: the option's value is four bytes, alive through the call; the socket is open.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            option,
            (&raw const value).cast(),
            size,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
fn choose_port_late(_socket: &TcpSocket) -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn choose_port_within(_socket: &TcpSocket, _ports: (u16, u16)) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::ENOPROTOOPT))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Broken if a connection comes from a port outside of its range, if two share one port, or if
    /// an exhausted range is counted against the target; within the system's own ports and outside
    /// of them.
    #[test]
    fn ports_come_from_their_range_until_it_is_used_up() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let system = system_port_range().expect("Linux says it");
        for (place, from) in [("127.0.0.1:0", "127.0.0.9"), ("[::1]:0", "[::1]")] {
            for first in [system.0 + 100, system.0 - 200] {
                let listener = TcpListener::bind(place).expect("a loopback port");
                let peer = listener.local_addr().expect("its address");
                let text = format!("{from}:{first}-{}", first + 3);
                let source = Source::parse(&text).expect("a source with ports");
                let addresses = LocalAddresses::new(&[source]);
                assert_eq!(
                    addresses.addresses[0].system_chooses,
                    first > system.0,
                    "{text}"
                );
                runtime.block_on(async {
                    let mut open = Vec::new();
                    for _ in 0..4 {
                        open.push(addresses.connect(peer).await.expect("a free port"));
                    }
                    let local = open.iter().map(|stream| stream.local_addr());
                    let local = local.collect::<io::Result<Vec<_>>>().expect("connected");
                    assert!(local.iter().all(|own| own.ip() == source.address));
                    let mut ports: Vec<u16> = local.iter().map(SocketAddr::port).collect();
                    ports.sort_unstable();
                    assert_eq!(ports, (first..first + 4).collect::<Vec<_>>());
                    let error = addresses.connect(peer).await.expect_err("all are in use");
                    assert_eq!(error.raw_os_error(), Some(libc::EADDRNOTAVAIL), "{text}");

                    // A port serves another peer too.
                    let other = TcpListener::bind(place).expect("a loopback port");
                    let other = other.local_addr().expect("its address");
                    let stream = addresses.connect(other).await.expect("another peer");
                    let port = stream.local_addr().expect("connected").port();
                    assert!((first..first + 4).contains(&port), "{port}");
                });
            }
        }
    }

    /// Broken if the choice is left to the system for a range that the system would not respect.
    #[test]
    fn only_what_the_system_keeps_to_is_left_to_it() {
        let system = Some((100, 200));
        for (ports, wanted) in [
            (Some((100, 200)), true),
            (Some((150, 151)), true),
            (Some((150, 150)), false),
            (Some((99, 150)), false),
            (Some((150, 201)), false),
            (None, false),
        ] {
            assert_eq!(lies_within(ports, system), wanted, "{ports:?}");
            assert!(!lies_within(ports, None));
        }
    }
}
