//! Addresses that agents may connect to: a default deny, what an operator allows, and the list of
//! the tenant, which narrows both.
//!
//! The policy judges addresses as they are connected to, after names were resolved. It must never
//! resolve a name nor read a file: the callers do that, and check the result.
//!
//! - `address`: addresses and networks as numbers
//! - `denied`: kinds of targets, and why one is denied
//! - `proven`: addresses that have an ownership token
//! - `proxy`: whether plans may have a proxy
//! - `tenant_targets`: the list of one tenant

mod address;
mod denied;
mod proven;
mod proxy;
mod tenant_targets;

use std::net::{IpAddr, SocketAddr};
use std::path::{Component, Path, PathBuf};

use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::Problem;

use address::{Network, authority, bare_name, inside, is_name, literal, split};
pub use denied::{Denied, Kind};
pub use proven::ProvenAddresses;
pub use tenant_targets::TenantTargets;

/// Maximum number of entries that an operator may allow.
pub const ALLOWED_MAX: usize = 256;

/// Ports of targets whose URL names none.
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

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
    allows_proxies: bool,
    /// The list of the tenant whose run it is; `None`: it has none.
    tenant: Option<TenantTargets>,
    /// The addresses that have an ownership token; `None`: no proof is needed.
    proven: Option<ProvenAddresses>,
}

/// The network that an agent is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The machine of the submitter.
    Local,
    /// A machine that serves several users.
    Fleet,
}

/// The component that resolves the name of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolver {
    /// The agent, which judges the addresses.
    Agent,
    /// A proxy, behind which no address is judged: a tenant's list has to contain the name.
    Proxy,
}

/// One entry that an operator allows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Allowed {
    /// A network.
    Network(Network),
    /// A name, in lower case: all addresses that it resolves to.
    Host(String),
    /// A folder: the Unix sockets below it.
    Sockets(PathBuf),
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
            tenant: None,
            proven: None,
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
            Allowed::Network(_) | Allowed::Host(_) => None,
        })
    }

    /// Allows the sockets below one more folder, such as the target of a link.
    #[must_use]
    pub fn with_folder(mut self, folder: PathBuf) -> Self {
        self.allowed.push(Allowed::Sockets(folder));
        self
    }

    /// Allows only targets that the list of a tenant contains, too.
    #[must_use]
    pub fn narrowed_to(mut self, targets: TenantTargets) -> Self {
        self.tenant = Some(targets);
        self
    }

    /// Allows only addresses that have an ownership token.
    #[must_use]
    pub fn narrowed_to_proven(self, proven: ProvenAddresses) -> Self {
        let proven = Some(proven);
        Self { proven, ..self }
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
        self.judge_kind(host, address)?;
        if let Some(proven) = &self.proven {
            proven.judge(SocketAddr::new(address, peer.port()))?;
        }
        match &self.tenant {
            Some(list) if !list.allows(host, address, peer.port()) => {
                let place = SocketAddr::new(address, peer.port());
                Err(Denied::unlisted(list.tenant(), place))
            }
            _ => Ok(()),
        }
    }

    /// Judges an address by the network that it is in.
    fn judge_kind(&self, host: &str, address: IpAddr) -> Result<(), Denied> {
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
    /// [`Kind::UnixSocket`] unless a folder above it is allowed; [`Kind::Unlisted`] for every
    /// tenant with a list, since a list has no sockets.
    pub fn judge_socket(&self, path: &Path) -> Result<(), Denied> {
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        if let Some(list) = &self.tenant {
            return Err(Denied::unlisted(list.tenant(), path.display()));
        }
        let is_below = self.folders().any(|folder| path.starts_with(folder));
        match is_below && path.components().all(is_plain) {
            true => Ok(()),
            false => Err(Denied::new(Kind::UnixSocket, path.display())),
        }
    }

    /// Judges the targets of a plan as far as they name addresses or sockets; a name is judged when
    /// it is resolved, and before that by the tenant's list of names.
    ///
    /// # Errors
    /// The field of the plan, and why the target is denied.
    pub fn judge_plan(&self, plan: &Plan) -> Result<(), Problem> {
        let connections = &plan.connections;
        let problem = |field: &str, denied: Denied, place: &str| {
            Problem::new(field, denied.to_string(), place)
        };
        if let Some(proxy) = &connections.proxy {
            let judged = self.judge_place(&proxy.url, Resolver::Agent);
            judged.map_err(|denied| problem("connections.proxy", denied, &proxy.url))?;
        }
        let resolver = match connections.proxy {
            Some(_) => Resolver::Proxy,
            None => Resolver::Agent,
        };
        if let Some(place) = &connections.connect_to {
            let judged = self.judge_place(place, resolver);
            return judged.map_err(|denied| problem("connections.connect_to", denied, place));
        }
        for (index, url) in plan.targets().enumerate() {
            if let Err(denied) = self.judge_place(url, resolver) {
                let field = match index {
                    0 => "target".to_owned(),
                    _ => format!("connections.other_targets[{}]", index - 1),
                };
                return Err(problem(&field, denied, url));
            }
        }
        for (index, origin) in connections.redirect_origins.iter().enumerate() {
            let field = format!("connections.redirect_origins[{index}]");
            let judged = self.judge_place(origin, resolver);
            judged.map_err(|denied| problem(&field, denied, origin))?;
        }
        Ok(())
    }

    /// Judges a URL, `host:port` or `unix:/path`; a name is judged when it is resolved.
    fn judge_place(&self, url: &str, resolver: Resolver) -> Result<(), Denied> {
        if let Some(path) = url.strip_prefix("unix:") {
            return self.judge_socket(Path::new(path));
        }
        let Some((host, port)) = split(authority(url)) else {
            return Ok(());
        };
        let port = port.unwrap_or(match url.starts_with("https:") {
            true => HTTPS_PORT,
            false => HTTP_PORT,
        });
        match (literal(host, port), &self.tenant) {
            (Some(peer), _) => self.judge(host, peer),
            (None, Some(list)) => {
                let is_open = match resolver {
                    Resolver::Agent => list.may_allow(host, port),
                    Resolver::Proxy => list.names(host, port),
                };
                let place = format!("{host}:{port}");
                is_open
                    .then_some(())
                    .ok_or_else(|| Denied::unlisted(list.tenant(), place))
            }
            (None, None) => Ok(()),
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
        if let Some(network) = Network::parse(text) {
            return Some(Self::Network(network));
        }
        let name = bare_name(text);
        is_name(name).then(|| Self::Host(name.to_ascii_lowercase()))
    }

    fn opens(&self, kind: Kind, host: &str, address: IpAddr) -> bool {
        match self {
            // A network around a metadata service does not allow the service; its exact address
            // does.
            Self::Network(network) => {
                network.contains(address) && (kind != Kind::Metadata || network.is_one_address())
            }
            Self::Host(name) => {
                kind != Kind::Metadata && name.eq_ignore_ascii_case(bare_name(host))
            }
            Self::Sockets(_) => false,
        }
    }
}

/// Host and port of a NATS address.
fn server(url: &str) -> Option<(String, u16)> {
    let place = authority(url.trim());
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let (host, port) = split(place)?;
    let port = port.unwrap_or(NATS_PORT);
    (!host.is_empty()).then(|| (bare_name(host).to_ascii_lowercase(), port))
}
