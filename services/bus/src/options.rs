//! How to reach a server and what its assets are called. Read once, never changed afterwards.
//!
//! It must never print a secret: `Debug` hides the token and whatever stands before `@` in an
//! address.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use crate::Stream;

/// Everything [`crate::Bus::connect`] and [`crate::Bus::open_log`] need to know.
#[derive(Clone)]
pub struct Options {
    /// One address or several separated by commas, each `nats://host:port` or `tls://host:port`.
    pub url: String,
    /// The token to log in with, if the server asks for one; or `user:password`.
    pub token: Option<String>,
    /// A credentials file, which holds a JWT and its key; goes before the token.
    pub creds: Option<PathBuf>,
    /// Certificates in PEM to trust instead of those of this machine.
    pub cacert: Option<PathBuf>,
    /// What this connection is called in the server's lists and logs.
    pub name: String,
    /// First token of every subject; decides which subjects the streams collect.
    pub prefix: String,
    /// What the assets are called.
    pub names: Names,
    /// How large the assets may grow and how often they are replicated.
    pub limits: Limits,
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
    /// Most bytes the control stream may store.
    pub ctl_bytes: u64,
    /// Most bytes the data stream may store.
    pub data_bytes: u64,
    /// Most bytes the object store may hold.
    pub object_bytes: u64,
    /// Copies of each asset; more than one needs a cluster.
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

    /// Subjects that `stream` collects: those of the design's table under this prefix.
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
            creds: None,
            cacert: None,
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
            .field("creds", &self.creds)
            .field("cacert", &self.cacert)
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
            ctl: "LP_CTL".to_owned(),
            data: "LP_DATA".to_owned(),
            kv: "LP".to_owned(),
            objects: "LP".to_owned(),
        }
    }
}

impl Names {
    /// The server's name of `stream`.
    pub fn of(&self, stream: Stream) -> &str {
        match stream {
            Stream::Ctl => &self.ctl,
            Stream::Data => &self.data,
        }
    }
}

impl Default for Limits {
    /// The local sizes: 64 MiB of control, 2 GiB of data, 512 MiB of objects, one copy.
    fn default() -> Limits {
        Limits {
            ctl_bytes: 64 << 20,
            data_bytes: 2 << 30,
            object_bytes: 512 << 20,
            replicas: 1,
        }
    }
}

impl Limits {
    /// The limit of `stream`, in bytes.
    pub fn of(&self, stream: Stream) -> u64 {
        match stream {
            Stream::Ctl => self.ctl_bytes,
            Stream::Data => self.data_bytes,
        }
    }
}

/// The addresses with `user:password@` cut out, fit for logs and errors.
pub fn without_userinfo(url: &str) -> String {
    let cut = |address: &str| match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        (_, None) => address.to_owned(),
    };
    url.split(',')
        .map(|address| cut(address.trim()))
        .collect::<Vec<_>>()
        .join(",")
}

/// The first host to which a token, or the password of an address, would travel unencrypted; `None`
/// when every address is on loopback or `tls://`.
pub fn token_exposed_to(url: &str, has_token: bool) -> Option<String> {
    url.split(',').map(str::trim).find_map(|address| {
        let (scheme, rest) = address.split_once("://").unwrap_or(("nats", address));
        let (user, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let place = place.split('/').next().unwrap_or(place);
        let host = match place.strip_prefix('[') {
            Some(place) => place.split(']').next().unwrap_or(place),
            None => place.split(':').next().unwrap_or(place),
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

    /// A token in the clear on a network belongs to everybody there.
    #[test]
    fn a_token_in_the_clear_stays_on_this_machine() {
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

    /// A token in a log file is a token lost.
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
}
