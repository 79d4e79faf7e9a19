//! Address of the NATS server and the login, read from flags, environment and a connection file.
//!
//! Agent and coordinator flatten [`NatsFlags`] into their own flags, so that both accept the same
//! settings and refuse the same mistakes. No message quotes a token or the content of a file.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::private_file::is_open_to_others;
use crate::{Options, token_exposed_to};

/// Flags for the NATS server.
#[derive(Clone, Default, clap::Args)]
pub struct NatsFlags {
    /// A file with address and token of NATS, {"url": …, "token": …}, for its owner only
    #[arg(long, value_name = "FILE")]
    connect: Option<PathBuf>,
    /// Address of NATS, nats://host:port or tls://host:port (or env NATS_URL)
    #[arg(long, value_name = "URL")]
    nats_url: Option<String>,
    /// Token for NATS; better in env NATS_TOKEN, since others see command lines
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["connect", "creds"])]
    nats_token: Option<String>,
    /// Credentials file for NATS, a JWT and its key or a key alone (or env NATS_CREDS)
    #[arg(long, value_name = "FILE", conflicts_with = "connect")]
    creds: Option<PathBuf>,
    /// Certificates in PEM to trust instead of those of this machine, for tls:// (or env
    /// NATS_CACERT)
    #[arg(
        long,
        visible_alias = "cacert",
        value_name = "FILE",
        conflicts_with = "connect"
    )]
    nats_cacert: Option<PathBuf>,
    /// Send the token unencrypted to a nats:// address off loopback (or env NATS_INSECURE=1)
    #[arg(long)]
    insecure_nats: bool,
}

/// An invalid or absent setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSetting {
    /// Name of its flag, without the dashes.
    pub flag: &'static str,
    /// Rule that it breaks: "must be …".
    pub rule: String,
    /// Value found, never a secret; empty when the setting is absent.
    pub found: String,
}

/// Maximum number of copies of a stream that NATS keeps.
const REPLICAS_MAX: usize = 5;

/// Connection file of a local stack or of a role of a fleet; its other fields are ignored.
#[derive(Deserialize)]
struct ConnectionFile {
    url: String,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    creds: Option<PathBuf>,
    #[serde(default)]
    cacert: Option<PathBuf>,
    #[serde(default)]
    ctl_bytes: Option<u64>,
    #[serde(default)]
    data_bytes: Option<u64>,
    #[serde(default)]
    replicas: Option<usize>,
}

impl NatsFlags {
    /// Reads the settings. A connection file replaces the environment; a flag for token or
    /// credentials replaces both of their variables. Empty variables count as absent.
    ///
    /// # Errors
    /// All invalid settings.
    pub fn read(
        &self,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Options, Vec<InvalidSetting>> {
        let env = |name: &str| env(name).filter(|value| !value.is_empty());
        let mut invalid = Vec::new();
        let options = match (&self.connect, &self.nats_url) {
            (Some(path), None) => read_file(path).map_err(|error| vec![error])?,
            (None, _) => self.flag_options(env, &mut invalid)?,
            (Some(path), Some(_)) => {
                let rule = "must be left out beside --nats-url";
                return Err(vec![InvalidSetting::new("connect", rule, path.display())]);
            }
        };
        let is_insecure = self.insecure_nats || env("NATS_INSECURE").as_deref() == Some("1");
        let exposed = token_exposed_to(&options.url, options.token.is_some());
        if let Some(host) = exposed.filter(|_| !is_insecure) {
            let rule = "must be tls://, or the token travels unencrypted; --insecure-nats insists";
            invalid.push(InvalidSetting::new("nats-url", rule, host));
        }
        if invalid.is_empty() {
            Ok(options)
        } else {
            Err(invalid)
        }
    }

    fn flag_options(
        &self,
        env: impl Fn(&str) -> Option<String>,
        invalid: &mut Vec<InvalidSetting>,
    ) -> Result<Options, Vec<InvalidSetting>> {
        let Some(url) = self.nats_url.clone().or_else(|| env("NATS_URL")) else {
            let rule = "must be given, or --connect FILE, or env NATS_URL";
            return Err(vec![InvalidSetting::new("nats-url", rule, "")]);
        };
        let mut options = Options::new(url);
        let has_login = self.nats_token.is_some() || self.creds.is_some();
        let creds = env("NATS_CREDS").filter(|_| !has_login).map(PathBuf::from);
        options.creds = self.creds.clone().or(creds);
        let token = env("NATS_TOKEN").filter(|_| options.creds.is_none());
        options.token = self.nats_token.clone().or(token);
        let cacert = env("NATS_CACERT").map(PathBuf::from);
        options.cacert = self.nats_cacert.clone().or(cacert);
        let files = [
            ("creds", "must be a credentials file", &options.creds),
            (
                "nats-cacert",
                "must be a file of certificates in PEM",
                &options.cacert,
            ),
        ];
        for (flag, rule, path) in files {
            if let Some(path) = path.as_ref().filter(|path| !path.is_file()) {
                invalid.push(InvalidSetting::new(flag, rule, path.display()));
            }
        }
        Ok(options)
    }
}

impl InvalidSetting {
    fn new(flag: &'static str, rule: impl Into<String>, found: impl fmt::Display) -> Self {
        InvalidSetting {
            flag,
            rule: rule.into(),
            found: found.to_string(),
        }
    }
}

fn read_file(path: &Path) -> Result<Options, InvalidSetting> {
    let invalid = |rule: String| InvalidSetting::new("connect", rule, path.display());
    let unreadable =
        |error: std::io::Error| invalid(format!("must be a readable file ({})", error.kind()));
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    if is_open_to_others(path).map_err(unreadable)? {
        let rule = "must be readable by its owner only (chmod 600)";
        return Err(invalid(rule.to_owned()));
    }
    let file: ConnectionFile = serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        invalid(format!(
            "must be JSON with the texts `url` and `token` (error at line {line}, column {column})"
        ))
    })?;
    if let Some(copies) = file
        .replicas
        .filter(|copies| !(1..=REPLICAS_MAX).contains(copies))
    {
        return Err(invalid(format!(
            "must have `replicas` of 1 to {REPLICAS_MAX} (got {copies})"
        )));
    }
    let mut options = Options::new(file.url);
    options.token = file.token;
    options.creds = file.creds;
    options.cacert = file.cacert;
    let limits = &mut options.limits;
    limits.ctl_bytes = file.ctl_bytes.unwrap_or(limits.ctl_bytes);
    limits.data_bytes = file.data_bytes.unwrap_or(limits.data_bytes);
    limits.replicas = file.replicas.unwrap_or(limits.replicas);
    Ok(options)
}
