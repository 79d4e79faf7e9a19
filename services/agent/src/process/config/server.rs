//! Where NATS is and how to log in: a file, or flags and environment. No message may hold a token.

use std::fmt;
use std::path::{Path, PathBuf};

use loadpilot_bus::token_exposed_to;
use loadpilot_events::refusal::Problem;
use serde::Deserialize;

use super::{Flags, World};

/// How to reach NATS. `Debug` hides the token.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Server {
    /// One address or several separated by commas.
    pub url: String,
    /// The token, if the server wants one.
    #[serde(default)]
    pub token: Option<String>,
    /// A credentials file instead of a token.
    #[serde(skip)]
    pub creds: Option<PathBuf>,
    /// Certificates to trust instead of those of this machine.
    #[serde(default)]
    pub cacert: Option<PathBuf>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "(hidden)");
        f.debug_struct("Server")
            .field("token", &token)
            .field("creds", &self.creds)
            .field("cacert", &self.cacert)
            .finish_non_exhaustive()
    }
}

/// Sends the token unencrypted off loopback when it is `1`, as `--insecure-nats` does.
const INSECURE_VARIABLE: &str = "NATS_INSECURE";

pub(super) fn read(flags: &Flags, world: &World<'_>) -> Result<Server, Problem> {
    let server = match &flags.connect {
        Some(path) => stack(path)?,
        None => said(flags, world)?,
    };
    let has_token = server.token.is_some();
    let is_insisted = flags.insecure_nats || (world.env)(INSECURE_VARIABLE).as_deref() == Some("1");
    match token_exposed_to(&server.url, has_token).filter(|_| !is_insisted) {
        None => Ok(server),
        Some(host) => {
            let rule = "must be tls://, or the token travels unencrypted; --insecure-nats insists";
            Err(Problem::new("nats-url", rule, host))
        }
    }
}

/// What flags and environment say.
fn said(flags: &Flags, world: &World<'_>) -> Result<Server, Problem> {
    let env = |name: &str| (world.env)(name).filter(|value| !value.is_empty());
    let at = |place: &String| format!("nats://{place}");
    let said = flags.nats_url.clone();
    let said = said.or_else(|| flags.coordinator.as_ref().map(at));
    let url = said.or_else(|| env("NATS_URL"));
    let Some(url) = url.or_else(|| env("COORDINATOR").as_ref().map(at)) else {
        let rule = "must be given, or --connect FILE, or env NATS_URL";
        return Err(Problem::new("nats-url", rule, ""));
    };
    let token = flags.nats_token.clone();
    let creds = flags.creds.clone();
    // What a flag says goes before all of the environment.
    let is_said = token.is_some() || creds.is_some();
    let creds = creds.or_else(|| env("NATS_CREDS").filter(|_| !is_said).map(PathBuf::from));
    if let Some(file) = creds.as_ref().filter(|file| !file.is_file()) {
        let rule = "must be a credentials file";
        return Err(Problem::new("creds", rule, file.display()));
    }
    let token = token.or_else(|| env("NATS_TOKEN").filter(|_| creds.is_none()));
    let cacert = flags.nats_cacert.clone();
    let cacert = cacert.or_else(|| env("NATS_CACERT").map(PathBuf::from));
    if let Some(file) = cacert.as_ref().filter(|file| !file.is_file()) {
        let rule = "must be a file of certificates in PEM";
        return Err(Problem::new("nats-cacert", rule, file.display()));
    }
    Ok(Server {
        url,
        token,
        creds,
        cacert,
    })
}

/// Reads a stack file. No message quotes its content: it holds a token.
fn stack(path: &Path) -> Result<Server, Problem> {
    let shown = path.display();
    let problem = |rule: String| Problem::new("connect", rule, shown.to_string());
    let unreadable = |error| problem(format!("must be a readable file ({error})"));
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    if is_open_to_others(path).map_err(unreadable)? {
        return Err(problem(
            "must be readable by its owner only (mode 0600)".to_owned(),
        ));
    }
    serde_json::from_str(&text)
        .map_err(|_| problem("must be JSON with the texts `url` and `token`".to_owned()))
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

/// Other systems have no such bits.
#[cfg(not(unix))]
fn is_open_to_others(_path: &Path) -> std::io::Result<bool> {
    Ok(false)
}
