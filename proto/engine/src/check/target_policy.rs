//! Addresses that agents may connect to: a default deny, and what an operator allows.
//!
//! The policy judges addresses as they are connected to, after names were resolved. It must never
//! resolve a name nor read a file: the callers do that, and check the result.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};

use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::Problem;

/// Maximum number of entries that an operator may allow.
pub const ALLOWED_MAX: usize = 256;

/// Port of NATS when its address names none.
const NATS_PORT: u16 = 4222;

/// The forms of an allowed entry.
const OPENABLE: &str =
    "must be a network such as 10.1.0.0/16, an address, a host name, or unix:/folder";

/// Which addresses agents may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetPolicy {
    scope: Scope,
    allowed: Vec<Allowed>,
    /// NATS servers as the agent's configuration names them.
    own_names: Vec<(String, u16)>,
    /// The addresses that these names resolve to.
    own: Vec<SocketAddr>,
    /// Whether connections may lead through a proxy, behind which no address is judged.
    pub(super) allows_proxies: bool,
}

/// The network that an agent is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The machine of the submitter.
    Local,
    /// A machine that serves several users.
    Fleet,
}

/// One entry that an operator allows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Allowed {
    /// A network: its address and the length of its prefix in bits.
    Network(IpAddr, u32),
    /// A name, in lower case: all addresses that it resolves to.
    Host(String),
    /// A folder: the Unix sockets below it.
    Sockets(PathBuf),
}

/// Kinds of targets that are denied by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The metadata service of a cloud, which hands out credentials.
    Metadata,
    /// The unspecified address: systems connect to themselves.
    Unspecified,
    /// Link-local addresses.
    LinkLocal,
    /// Multicast addresses.
    Multicast,
    /// The broadcast address.
    Broadcast,
    /// The agent's own machine.
    Loopback,
    /// A private network.
    Private,
    /// A socket in the file system.
    UnixSocket,
    /// The NATS server that the agent itself writes to.
    OwnServer,
}

/// A target that agents must not connect to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not allowed: {kind} {place}{}", self.hint())]
pub struct Denied {
    /// The kind that is denied.
    pub kind: Kind,
    /// The address or path.
    pub place: String,
}

impl Kind {
    /// The kind in messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Metadata => "cloud metadata address",
            Self::Unspecified => "unspecified address",
            Self::LinkLocal => "link-local address",
            Self::Multicast => "multicast address",
            Self::Broadcast => "broadcast address",
            Self::Loopback => "loopback address",
            Self::Private => "private address",
            Self::UnixSocket => "Unix socket",
            Self::OwnServer => "NATS server of the agent",
        }
    }

    /// The kind of an address without another one inside; `None` for a public address.
    fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => Self::of_v6(v6),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Option<Self> {
        Some(match address.octets() {
            [169, 254, 169, 254] | [169, 254, 170, 2 | 23] => Self::Metadata,
            // Alibaba, Azure, Oracle.
            [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192] => Self::Metadata,
            [0, ..] => Self::Unspecified,
            [127, ..] => Self::Loopback,
            [169, 254, ..] => Self::LinkLocal,
            [224..=239, ..] => Self::Multicast,
            [255, 255, 255, 255] => Self::Broadcast,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            // Of protocols, of measurements, and reserved: not on the public network.
            [192, 0, 0, _] | [198, 18 | 19, ..] | [240..=255, ..] => Self::Private,
            _ => return None,
        })
    }

    fn of_v6(address: Ipv6Addr) -> Option<Self> {
        Some(match address.segments() {
            // Amazon, twice, and Google.
            [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254 | 0x23] => Self::Metadata,
            [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => Self::Metadata,
            [0, 0, 0, 0, 0, 0, 0, 0] => Self::Unspecified,
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            [0xff00..=0xffff, ..] => Self::Multicast,
            [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Self::Private,
            // Translated within a network of its operator's (RFC 8215).
            [0x64, 0xff9b, 1, ..] => Self::Private,
            _ => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl Denied {
    fn new(kind: Kind, place: impl fmt::Display) -> Self {
        let place = place.to_string();
        Self { kind, place }
    }

    /// How an operator can allow it, if that is possible.
    fn hint(&self) -> String {
        match self.kind {
            Kind::OwnServer => String::new(),
            Kind::UnixSocket => {
                let folder = Path::new(&self.place).parent().unwrap_or(Path::new("/"));
                format!(" (--allow-target unix:{} opens it)", folder.display())
            }
            _ => format!(" (--allow-target {} opens it)", self.place),
        }
    }
}

impl TargetPolicy {
    /// Policy for agents on the user's own machine: loopback and private networks are allowed.
    #[must_use]
    pub fn local() -> Self {
        Self::new(Scope::Local)
    }

    /// Policy for agents that serve several users: only public addresses are allowed.
    #[must_use]
    pub fn fleet() -> Self {
        Self::new(Scope::Fleet)
    }

    fn new(scope: Scope) -> Self {
        Self {
            scope,
            allowed: Vec::new(),
            own_names: Vec::new(),
            own: Vec::new(),
            allows_proxies: false,
        }
    }

    /// Allows each entry of `texts`: a network, an address, a host name, or `unix:` and a folder.
    ///
    /// # Errors
    /// Each invalid entry, at `field`, and too many entries.
    pub fn allow<'t>(
        mut self,
        field: &str,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        for text in texts {
            match Allowed::parse(text) {
                Some(allowed) => self.allowed.push(allowed),
                None => problems.push(Problem::new(field, OPENABLE, text)),
            }
        }
        if self.allowed.len() > ALLOWED_MAX {
            let rule = format!("must be at most {ALLOWED_MAX}");
            problems.push(Problem::new(field, rule, self.allowed.len()));
        }
        match problems.is_empty() {
            true => Ok(self),
            false => Err(problems),
        }
    }

    /// The folders whose sockets are allowed.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.allowed.iter().filter_map(|allowed| match allowed {
            Allowed::Sockets(folder) => Some(folder.as_path()),
            Allowed::Network(..) | Allowed::Host(_) => None,
        })
    }

    /// Allows the sockets below one more folder, such as the target of a link.
    #[must_use]
    pub fn with_folder(mut self, folder: PathBuf) -> Self {
        self.allowed.push(Allowed::Sockets(folder));
        self
    }

    /// Denies the servers of `url`, one address of NATS or several separated by commas, whatever
    /// else is allowed.
    #[must_use]
    pub fn with_own_server(mut self, url: &str) -> Self {
        self.own_names = url.split(',').filter_map(server).collect();
        self
    }

    /// The denied servers, by name and port.
    #[must_use]
    pub fn own_names(&self) -> &[(String, u16)] {
        &self.own_names
    }

    /// Denies the addresses that the names of these servers resolve to.
    #[must_use]
    pub fn with_own_addresses(mut self, own: Vec<SocketAddr>) -> Self {
        self.own = own;
        self
    }

    /// Whether a connection may be opened to `peer`, an address of `host`.
    ///
    /// # Errors
    /// Why it is denied.
    pub fn judge(&self, host: &str, peer: SocketAddr) -> Result<(), Denied> {
        let address = inside(peer.ip());
        if self.is_own(host, address, peer.port()) {
            let place = SocketAddr::new(address, peer.port());
            return Err(Denied::new(Kind::OwnServer, place));
        }
        let Some(kind) = Kind::of(address) else {
            return Ok(());
        };
        let is_near = matches!(kind, Kind::Loopback | Kind::Private);
        let is_open = (is_near && self.scope == Scope::Local)
            || self
                .allowed
                .iter()
                .any(|one| one.opens(kind, host, address));
        match is_open {
            true => Ok(()),
            false => Err(Denied::new(kind, address)),
        }
    }

    /// Whether a connection may be opened to the socket at `path`. The caller follows links and
    /// passes the path that it connects to.
    ///
    /// # Errors
    /// [`Kind::UnixSocket`] unless a folder above it is allowed.
    pub fn judge_socket(&self, path: &Path) -> Result<(), Denied> {
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        let is_below = self.folders().any(|folder| path.starts_with(folder));
        match is_below && path.components().all(is_plain) {
            true => Ok(()),
            false => Err(Denied::new(Kind::UnixSocket, path.display())),
        }
    }

    /// Judges the target of a plan as far as it names an address or a socket; names are judged when
    /// they are resolved.
    ///
    /// # Errors
    /// The field of the plan, and why the target is denied.
    pub fn judge_plan(&self, plan: &Plan) -> Result<(), Problem> {
        if let Some(proxy) = &plan.connections.proxy {
            let judged = self.judge_place(authority(&proxy.url));
            judged.map_err(|denied| {
                Problem::new("connections.proxy", denied.to_string(), &proxy.url)
            })?;
        }
        if let Some(place) = &plan.connections.connect_to {
            let judged = self.judge_place(place);
            return judged.map_err(|denied| {
                Problem::new("connections.connect_to", denied.to_string(), place)
            });
        }
        for (index, url) in plan.targets().enumerate() {
            if let Err(denied) = self.judge_place(authority(url)) {
                let field = match index {
                    0 => "target".to_owned(),
                    _ => format!("connections.other_targets[{}]", index - 1),
                };
                return Err(Problem::new(field, denied.to_string(), url));
            }
        }
        for (index, origin) in plan.connections.redirect_origins.iter().enumerate() {
            let field = format!("connections.redirect_origins[{index}]");
            let judged = self.judge_place(authority(origin));
            judged.map_err(|denied| Problem::new(field, denied.to_string(), origin))?;
        }
        Ok(())
    }

    /// Judges `host:port` or `unix:/path`; a name is judged when it is resolved.
    fn judge_place(&self, place: &str) -> Result<(), Denied> {
        match place.strip_prefix("unix:") {
            Some(path) => self.judge_socket(Path::new(path)),
            None => match literal(place) {
                Some((host, peer)) => self.judge(host, peer),
                None => Ok(()),
            },
        }
    }

    fn is_own(&self, host: &str, address: IpAddr, port: u16) -> bool {
        let is_same = |own: &SocketAddr| {
            let own_address = inside(own.ip());
            // All loopback addresses lead to one machine.
            let is_near = own_address.is_loopback() && address.is_loopback();
            own.port() == port && (own_address == address || is_near)
        };
        let is_named = |(name, own_port): &(String, u16)| {
            *own_port == port && name.eq_ignore_ascii_case(bare_name(host))
        };
        self.own.iter().any(is_same) || self.own_names.iter().any(is_named)
    }
}

impl Allowed {
    fn parse(text: &str) -> Option<Self> {
        if let Some(folder) = text.strip_prefix("unix:") {
            let folder = Path::new(folder);
            let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
            let is_sound = folder.is_absolute() && folder.components().all(is_plain);
            return is_sound.then(|| Self::Sockets(folder.to_owned()));
        }
        if let Some((address, bits)) = text.split_once('/') {
            let is_number = bits.bytes().all(|byte| byte.is_ascii_digit());
            let bits = bits.parse().ok().filter(|_| is_number)?;
            return Self::network(address.parse().ok()?, bits);
        }
        let bracketed = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        if let Ok(address) = bracketed.unwrap_or(text).parse::<IpAddr>() {
            return Self::network(address, width(address));
        }
        let name = bare_name(text);
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        // Resolvers take a name of digits for an address.
        let is_name = name.rsplit('.').next().is_some_and(|last| {
            last.bytes().any(|byte| byte.is_ascii_alphabetic()) && !last.starts_with("0x")
        });
        (is_name && name.bytes().all(is_letter)).then(|| Self::Host(name.to_ascii_lowercase()))
    }

    /// A network whose address has no bits set beyond its prefix.
    fn network(address: IpAddr, bits: u32) -> Option<Self> {
        let (address, bits) = match (address, address_inside_mapped(address)) {
            (_, Some(v4)) if bits >= 96 => (IpAddr::V4(v4), bits - 96),
            _ => (address, bits),
        };
        let is_sound = bits <= width(address) && prefix(address, bits) == number(address);
        is_sound.then_some(Self::Network(address, bits))
    }

    fn opens(&self, kind: Kind, host: &str, address: IpAddr) -> bool {
        match self {
            Self::Network(network, bits) => {
                let is_same_family = network.is_ipv4() == address.is_ipv4();
                let is_in = is_same_family && prefix(address, *bits) == number(*network);
                // A network around a metadata service does not allow the service; its exact address
                // does.
                is_in && (kind != Kind::Metadata || *bits == width(address))
            }
            Self::Host(name) => {
                kind != Kind::Metadata && name.eq_ignore_ascii_case(bare_name(host))
            }
            Self::Sockets(_) => false,
        }
    }
}

/// The final destination of packets to `address`: IPv6 may carry IPv4.
fn inside(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => address,
        // Mapped, compatible (RFC 4291), and translated (RFC 2765).
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            v4(high, low)
        }
        // NAT64 (RFC 6052) and 6to4 (RFC 3056).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

fn address_inside_mapped(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped(),
        IpAddr::V4(_) => None,
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The leading bits of an address, the others cleared; `bits` is at most its width.
fn prefix(address: IpAddr, bits: u32) -> u128 {
    let rest = width(address) - bits;
    number(address)
        .checked_shr(rest)
        .map_or(0, |high| high << rest)
}

/// A name without the trailing dot of the root.
fn bare_name(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// Host and port of a NATS address.
fn server(url: &str) -> Option<(String, u16)> {
    let place = authority(url.trim());
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let (host, port) = split(place)?;
    let port = port.unwrap_or(NATS_PORT);
    (!host.is_empty()).then(|| (bare_name(host).to_ascii_lowercase(), port))
}

/// The authority of a URL.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// The host of `host[:port]`, without brackets, and the port.
fn split(place: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let port = rest.strip_prefix(':').map(str::parse).transpose().ok()?;
        return Some((host, port));
    }
    match place.split_once(':') {
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((place, None)),
    }
}

/// The address of `host[:port]`; `None` when the host is a name.
fn literal(place: &str) -> Option<(&str, SocketAddr)> {
    let (host, port) = split(place)?;
    // An IPv6 address may carry a zone.
    let address = host.split('%').next().unwrap_or(host);
    let address: IpAddr = address.parse().ok()?;
    Some((host, SocketAddr::new(address, port.unwrap_or(0))))
}
