//! Address of the server, login, names and limits of the assets. Read once, never changed.
//!
//! It must never print a secret: `Debug` hides the token, and user and password of an address.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use crate::Stream;

/// Prefix of the JetStream API that leads to the account's own streams.
pub(crate) const API_PREFIX: &str = "$JS.API";

/// Options of a connection, for [`crate::Bus::connect`] and [`crate::Bus::open_log`].
#[derive(Clone)]
pub struct Options {
    /// One address or several separated by commas, each `nats://host:port` or `tls://host:port`.
    pub url: String,
    /// Token for the login, if the server requires one; or `user:password`.
    pub token: Option<String>,
    /// File of the token, read for each connection; takes precedence over the token.
    pub token_file: Option<PathBuf>,
    /// Credentials file, which contains a JWT and its key, or the key (seed) of a user alone; read
    /// for each connection, and takes precedence over the token.
    pub creds: Option<PathBuf>,
    /// Certificates in PEM to trust instead of those of this machine.
    pub cacert: Option<PathBuf>,
    /// Certificate that this program presents to the server (mutual TLS).
    pub certificate: Option<Certificate>,
    /// First tokens of the subjects of the JetStream API: `$JS.API`, or [`domain_prefix`].
    pub api_prefix: String,
    /// Subjects of the log that are read, if the server lets the user read no others.
    pub reach: Reach,
    /// Name of this connection in the server's lists and logs.
    pub name: String,
    /// First token of every subject that the streams collect.
    pub prefix: String,
    /// Names of the assets.
    pub names: Names,
    /// Maximum sizes and number of replicas of the assets.
    pub limits: Limits,
}

/// Files in PEM, read for each connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate, and those that lead to its authority.
    pub cert: PathBuf,
    /// Its private key, not encrypted.
    pub key: PathBuf,
}

/// How a connection reads the log, bucket and object store (ADR 0062).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// From the leader of each stream, with the whole JetStream API: coordinators and agents.
    #[default]
    Whole,
    /// As [`Reach::Whole`] if the user may read the state of the streams. Otherwise by requests
    /// that name the subject, which a server can restrict to the subjects of one tenant: this
    /// filter.
    Within(String),
}

/// Names of the assets, so that several logs can live in one account of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The stream of requests, decisions and facts.
    pub ctl: String,
    /// The stream of measurements.
    pub data: String,
    /// The key-value bucket (its stream is called `KV_` and this).
    pub kv: String,
    /// The object store (its stream is called `OBJ_` and this).
    pub objects: String,
}

/// Sizes that are fixed when an asset is created; an operator may change them later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of the control stream in bytes.
    pub ctl_bytes: u64,
    /// Maximum size of the data stream in bytes.
    pub data_bytes: u64,
    /// Maximum size of the object store in bytes.
    pub object_bytes: u64,
    /// Maximum size of the bucket in bytes. It contains secret values only.
    pub secret_bytes: u64,
    /// Number of copies of each asset; more than one needs a cluster.
    pub replicas: usize,
}

impl Options {
    /// Defaults for everything but the address.
    pub fn new(url: impl Into<String>) -> Options {
        Options {
            url: url.into(),
            ..Options::default()
        }
    }

    /// Subjects that `stream` collects under this prefix.
    pub(crate) fn bound_subjects(&self, stream: Stream) -> Vec<String> {
        let run = format!("{}.*.run.*", self.prefix);
        match stream {
            Stream::Ctl => vec![
                format!("{run}.req"),
                format!("{run}.ctl"),
                format!("{run}.evt.*"),
                format!("{}.*.adm", self.prefix),
            ],
            Stream::Data => vec![format!("{run}.delta.*")],
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            url: "nats://127.0.0.1:4222".to_owned(),
            token: None,
            token_file: None,
            creds: None,
            cacert: None,
            certificate: None,
            api_prefix: API_PREFIX.to_owned(),
            reach: Reach::Whole,
            name: "loadpilot".to_owned(),
            prefix: "lp".to_owned(),
            names: Names::default(),
            limits: Limits::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("url", &without_userinfo(&self.url))
            .field("token", &self.token.as_ref().map(|_| "(hidden)"))
            .field("token_file", &self.token_file)
            .field("creds", &self.creds)
            .field("cacert", &self.cacert)
            .field("certificate", &self.certificate)
            .field("api_prefix", &self.api_prefix)
            .field("reach", &self.reach)
            .field("name", &self.name)
            .field("prefix", &self.prefix)
            .field("names", &self.names)
            .field("limits", &self.limits)
            .finish()
    }
}

impl Default for Names {
    fn default() -> Names {
        Names {
            ctl: Stream::Ctl.to_string(),
            data: Stream::Data.to_string(),
            kv: "LP".to_owned(),
            objects: "LP".to_owned(),
        }
    }
}

impl Names {
    /// Name of `stream` on the server.
    pub fn of(&self, stream: Stream) -> &str {
        match stream {
            Stream::Ctl => &self.ctl,
            Stream::Data => &self.data,
        }
    }
}

impl Default for Limits {
    /// The local sizes: 64 MiB of control, 2 GiB of data, 512 MiB of objects, 16 MiB of secrets,
    /// one copy.
    fn default() -> Limits {
        Limits {
            ctl_bytes: 64 << 20,
            data_bytes: 2 << 30,
            object_bytes: 512 << 20,
            secret_bytes: 16 << 20,
            replicas: 1,
        }
    }
}

impl Limits {
    /// Sum of all sizes in bytes, of one copy.
    pub fn total(&self) -> u64 {
        self.ctl_bytes + self.data_bytes + self.object_bytes + self.secret_bytes
    }

    /// The default sizes in proportion, so that their sum is at most `total` bytes.
    pub fn within(total: u64) -> Limits {
        let whole = Limits::default();
        let share = |bytes: u64| {
            let scaled = u128::from(bytes) * u128::from(total) / u128::from(whole.total());
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        Limits {
            ctl_bytes: share(whole.ctl_bytes),
            data_bytes: share(whole.data_bytes),
            object_bytes: share(whole.object_bytes),
            secret_bytes: share(whole.secret_bytes),
            ..whole
        }
    }

    /// The limit of `stream`, in bytes.
    pub fn of(&self, stream: Stream) -> u64 {
        match stream {
            Stream::Ctl => self.ctl_bytes,
            Stream::Data => self.data_bytes,
        }
    }
}

/// Prefix of the JetStream API of a domain, which another server of the account has.
pub fn domain_prefix(domain: &str) -> String {
    format!("$JS.{domain}.API")
}

/// The addresses without `user:password@`, for logs and errors. An address without `://` is hidden
/// if a later address has an `@`: it may be a part of a password with a comma.
pub fn without_userinfo(url: &str) -> String {
    let cut = |address: &str| match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        (_, None) => address.to_owned(),
    };
    let mut groups: Vec<String> = Vec::new();
    for address in url.split(',').map(str::trim) {
        match groups.last_mut() {
            Some(group) if !address.contains("://") => {
                group.push(',');
                group.push_str(address);
            }
            _ => groups.push(address.to_owned()),
        }
    }
    let shown: Vec<String> = groups.iter().map(|group| cut(group)).collect();
    shown.join(",")
}

/// The first host to which a token, or the password of an address, would travel unencrypted; `None`
/// when every address is on loopback or `tls://`.
pub fn token_exposed_to(url: &str, has_token: bool) -> Option<String> {
    url.split(',').map(str::trim).find_map(|address| {
        let (scheme, rest) = address.split_once("://").unwrap_or(("nats", address));
        let (user, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
        let authority = rest.split('/').next().unwrap_or(rest);
        let host = match authority.strip_prefix('[') {
            Some(bracketed) => bracketed.split(']').next().unwrap_or(bracketed),
            None => authority.split(':').next().unwrap_or(authority),
        };
        let is_encrypted = matches!(scheme, "tls" | "wss");
        let is_secret = has_token || !user.is_empty();
        (is_secret && !is_encrypted && !is_loopback(host)).then(|| host.to_owned())
    })
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    address.map_or(host.eq_ignore_ascii_case("localhost"), |ip| {
        ip.to_canonical().is_loopback()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a token can travel unencrypted over a network without a warning.
    #[test]
    fn an_unencrypted_token_stays_on_this_machine() {
        let exposed = |url, has_token| token_exposed_to(url, has_token);
        for url in [
            "nats://127.0.0.1:4222",
            "nats://localhost",
            "nats://[::1]:4222/",
            "tls://bob:hunter2@far:4222",
            "nats://bob@127.9.9.9, tls://far",
        ] {
            assert_eq!(exposed(url, true), None, "{url}");
        }
        for (url, host) in [
            ("nats://far:4222", "far"),
            ("far:4222", "far"),
            ("nats://127.0.0.1, nats://192.0.2.7:4222", "192.0.2.7"),
            ("nats://[2001:db8::1]:4222", "2001:db8::1"),
            ("nats://bob:hunter2@localhost.far", "localhost.far"),
        ] {
            assert_eq!(exposed(url, true).as_deref(), Some(host), "{url}");
        }
        assert_eq!(exposed("nats://far", false), None);
        assert_eq!(exposed("nats://bob@far", false).as_deref(), Some("far"));
    }

    /// Broken if a log file can contain a token.
    #[test]
    fn debug_hides_every_secret() {
        let mut options = Options::new("nats://bob:hunter2@one:4222, tls://tok@two");
        options.token = Some("s3cret".to_owned());
        let shown = format!("{options:?}");
        for secret in ["hunter2", "s3cret", "bob", "tok@"] {
            assert!(!shown.contains(secret), "{secret} shows in {shown}");
        }
        assert!(shown.contains("nats://one:4222,tls://two"), "{shown}");
    }

    /// Broken if the beginning of a password is shown because the password contains a comma.
    #[test]
    fn a_password_with_a_comma_stays_hidden() {
        for (url, shown) in [
            ("nats://bob:hun,ter2@one:4222", "nats://one:4222"),
            ("bob:h,u,n@one, tls://two,three", "one,tls://two,three"),
            ("nats://one,two:4222", "nats://one,two:4222"),
        ] {
            assert_eq!(without_userinfo(url), shown);
        }
    }
}
