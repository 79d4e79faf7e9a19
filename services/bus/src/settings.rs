//! Address of the NATS server and the login, read from flags, environment and a connection file.
//!
//! Agent and coordinator flatten [`NatsFlags`] into their own flags, so that both accept the same
//! settings and refuse the same mistakes. No message quotes a token or the content of a file.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::options::Certificate;
use crate::private_file::is_open_to_others;
use crate::{Options, domain_prefix, token_exposed_to};

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
    /// File of the token for NATS, read for each connection (or env NATS_TOKEN_FILE)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["connect", "creds", "nats_token"])]
    nats_token_file: Option<PathBuf>,
    /// Credentials file for NATS, a JWT and its key or a key alone, read for each connection (or
    /// env NATS_CREDS)
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
    /// Certificate in PEM that NATS asks for, mutual TLS; with --nats-key (or env NATS_CERT)
    #[arg(long, value_name = "FILE", conflicts_with = "connect")]
    nats_cert: Option<PathBuf>,
    /// Private key of --nats-cert, PEM without a password (or env NATS_KEY)
    #[arg(long, value_name = "FILE", conflicts_with = "connect")]
    nats_key: Option<PathBuf>,
    /// JetStream domain of the log, on a leaf node with JetStream of its own (or env NATS_DOMAIN)
    #[arg(long, value_name = "NAME", conflicts_with = "connect")]
    nats_domain: Option<String>,
    /// Prefix of the JetStream API, if it is not $JS.API (or env NATS_API_PREFIX)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["connect", "nats_domain"])]
    nats_api_prefix: Option<String>,
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
    token_file: Option<PathBuf>,
    #[serde(default)]
    cacert: Option<PathBuf>,
    #[serde(default)]
    cert: Option<PathBuf>,
    #[serde(default)]
    key: Option<PathBuf>,
    #[serde(default)]
    domain: Option<String>,
    #[serde(default)]
    api_prefix: Option<String>,
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
        let has_token = options.token.is_some() || options.token_file.is_some();
        let exposed = token_exposed_to(&options.url, has_token);
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
        let path = |flag: &Option<PathBuf>, variable: &str| {
            flag.clone().or_else(|| env(variable).map(PathBuf::from))
        };
        let text = |flag: &Option<String>, variable: &str| flag.clone().or_else(|| env(variable));
        self.login(&env, &mut options);
        options.cacert = path(&self.nats_cacert, "NATS_CACERT");
        let is_creds = "must be a credentials file";
        let is_certificate = "must be a file of certificates in PEM";
        let files = [
            ("creds", is_creds, &options.creds),
            (
                "nats-token-file",
                "must be a file with the token",
                &options.token_file,
            ),
            ("nats-cacert", is_certificate, &options.cacert),
        ];
        for (flag, rule, path) in files {
            if let Some(path) = path.as_ref().filter(|path| !path.is_file()) {
                invalid.push(not_a_file(flag, rule, path));
            }
        }
        let cert = path(&self.nats_cert, "NATS_CERT");
        let key = path(&self.nats_key, "NATS_KEY");
        options.certificate = certificate(cert, key, invalid);
        // A flag replaces the other's variable.
        let has_prefix = self.nats_domain.is_some() || self.nats_api_prefix.is_some();
        let (domain, prefix) = match has_prefix {
            true => (self.nats_domain.clone(), self.nats_api_prefix.clone()),
            false => (text(&None, "NATS_DOMAIN"), text(&None, "NATS_API_PREFIX")),
        };
        match api_prefix(domain, prefix) {
            Ok(Some(prefix)) => options.api_prefix = prefix,
            Ok(None) => {}
            Err(one) => invalid.push(one),
        }
        Ok(options)
    }

    /// A flag replaces all variables. Among the variables, a credentials file takes precedence over
    /// a token.
    fn login(&self, env: impl Fn(&str) -> Option<String>, options: &mut Options) {
        options.creds.clone_from(&self.creds);
        options.token_file.clone_from(&self.nats_token_file);
        options.token.clone_from(&self.nats_token);
        if self.creds.is_some() || self.nats_token_file.is_some() || self.nats_token.is_some() {
            return;
        }
        options.creds = env("NATS_CREDS").map(PathBuf::from);
        if options.creds.is_none() {
            options.token_file = env("NATS_TOKEN_FILE").map(PathBuf::from);
        }
        if options.creds.is_none() && options.token_file.is_none() {
            options.token = env("NATS_TOKEN");
        }
    }
}

/// Certificate and key of mutual TLS; both are required together.
/// The mistake of a setting that names no file; a relative path depends on the folder of the
/// process, so the whole path is shown.
fn not_a_file(flag: &'static str, rule: &str, path: &Path) -> InvalidSetting {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let why = match path.exists() {
        true => "is not a file",
        false => "does not exist",
    };
    let rule = format!("{rule}; {} {why}", whole.display());
    InvalidSetting::new(flag, rule, path.display())
}

fn certificate(
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    invalid: &mut Vec<InvalidSetting>,
) -> Option<Certificate> {
    let (cert, key) = match (cert, key) {
        (None, None) => return None,
        (Some(cert), Some(key)) => (cert, key),
        (Some(cert), None) => {
            let rule = "must be given too: the private key of --nats-cert";
            invalid.push(InvalidSetting::new("nats-key", rule, ""));
            (cert.clone(), cert)
        }
        (None, Some(key)) => {
            let rule = "must be given too: the certificate of --nats-key";
            invalid.push(InvalidSetting::new("nats-cert", rule, ""));
            (key.clone(), key)
        }
    };
    let files = [
        ("nats-cert", "must be a file of certificates in PEM", &cert),
        ("nats-key", "must be a file with a private key in PEM", &key),
    ];
    for (flag, rule, path) in files {
        if !path.is_file() {
            invalid.push(not_a_file(flag, rule, path));
        }
    }
    Some(Certificate { cert, key })
}

/// Prefix of the JetStream API by its domain or as given; `None` for the account's own.
///
/// # Errors
/// When both are given, or one cannot be part of a subject.
pub fn api_prefix(
    domain: Option<String>,
    prefix: Option<String>,
) -> Result<Option<String>, InvalidSetting> {
    let is_token = |text: &str| {
        let is_sign = |sign: char| sign.is_ascii_graphic() && !matches!(sign, '*' | '>' | '.');
        !text.is_empty() && text.chars().all(is_sign)
    };
    match (domain, prefix) {
        (Some(_), Some(prefix)) => {
            let rule = "must be left out beside a domain, which is a prefix by its name";
            Err(InvalidSetting::new("nats-api-prefix", rule, prefix))
        }
        (Some(domain), None) if !is_token(&domain) => {
            let rule = "must be one name without a dot, space or wildcard";
            Err(InvalidSetting::new("nats-domain", rule, domain))
        }
        (None, Some(prefix)) if !prefix.split('.').all(is_token) => {
            let rule = "must be a subject without wildcards, such as JS.team.API";
            Err(InvalidSetting::new("nats-api-prefix", rule, prefix))
        }
        (Some(domain), None) => Ok(Some(domain_prefix(&domain))),
        (None, prefix) => Ok(prefix),
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
    options.token_file = file.token_file;
    options.creds = file.creds;
    options.cacert = file.cacert;
    let logins = [
        options.token.is_some(),
        options.token_file.is_some(),
        options.creds.is_some(),
    ];
    if logins.into_iter().filter(|is_set| *is_set).count() > 1 {
        let rule = "must have one of `token`, `token_file` and `creds`";
        return Err(invalid(rule.to_owned()));
    }
    options.certificate = match (file.cert, file.key) {
        (Some(cert), Some(key)) => Some(Certificate { cert, key }),
        (None, None) => None,
        _ => {
            return Err(invalid(
                "must have both of `cert` and `key`, or none".to_owned(),
            ));
        }
    };
    let prefix = api_prefix(file.domain, file.api_prefix);
    let prefix = prefix.map_err(|one| invalid(format!("{} {}", one.flag, one.rule)))?;
    options.api_prefix = prefix.unwrap_or(options.api_prefix);
    let limits = &mut options.limits;
    limits.ctl_bytes = file.ctl_bytes.unwrap_or(limits.ctl_bytes);
    limits.data_bytes = file.data_bytes.unwrap_or(limits.data_bytes);
    limits.replicas = file.replicas.unwrap_or(limits.replicas);
    Ok(options)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        nats: NatsFlags,
    }

    fn read(flags: &[&str], env: &[(&str, &str)]) -> Result<Options, Vec<InvalidSetting>> {
        let words = ["program"].iter().chain(flags);
        let program = Program::try_parse_from(words).expect("flags");
        program.nats.read(|name| {
            let found = env.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn wrong(flags: &[&str], env: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let invalid = read(flags, env).expect_err("a mistake");
        invalid
            .into_iter()
            .map(|one| (one.flag, one.rule))
            .collect()
    }

    const URL: (&str, &str) = ("NATS_URL", "tls://host");
    const FILE: &str = "Cargo.toml";

    /// Broken if a variable that is set for another account still counts beside a flag.
    #[test]
    fn a_flag_replaces_all_variables_of_its_kind() {
        let env = [
            URL,
            ("NATS_CREDS", FILE),
            ("NATS_TOKEN", "s3cret"),
            ("NATS_DOMAIN", "hub"),
        ];
        let flags = [
            "--nats-token-file",
            FILE,
            "--nats-api-prefix",
            "JS.team.API",
        ];
        let options = read(&flags, &env).expect("sound settings");
        assert_eq!(options.token_file, Some(PathBuf::from(FILE)));
        assert_eq!((options.token, options.creds), (None, None));
        assert_eq!(options.api_prefix, "JS.team.API");

        let options = read(&[], &env).expect("sound settings");
        assert_eq!(options.creds, Some(PathBuf::from(FILE)));
        assert_eq!((options.token, options.token_file), (None, None));
        assert_eq!(options.api_prefix, "$JS.hub.API");
    }

    /// Broken if half a certificate or an impossible domain is taken, or hides another mistake.
    #[test]
    fn each_mistake_is_named() {
        let env = [URL, ("NATS_KEY", FILE), ("NATS_DOMAIN", "a.b")];
        let found = wrong(&["--nats-token-file", "/none"], &env);
        let flags: Vec<_> = found.iter().map(|(flag, _)| *flag).collect();
        assert_eq!(flags, ["nats-token-file", "nats-cert", "nats-domain"]);
        assert!(found[0].1.ends_with("; /none does not exist"), "{found:?}");
        let both = [URL, ("NATS_DOMAIN", "a"), ("NATS_API_PREFIX", "b.API")];
        assert_eq!(wrong(&[], &both)[0].0, "nats-api-prefix");
        let clear = [("NATS_URL", "nats://far"), ("NATS_TOKEN_FILE", FILE)];
        assert_eq!(wrong(&[], &clear)[0].0, "nats-url");
    }

    /// Broken if a connection file with two logins or half a certificate is accepted silently.
    #[cfg(unix)]
    #[test]
    fn a_connection_file_has_the_same_settings() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("connect.json");
        let path = file.to_str().expect("a text").to_owned();
        let read_with = |fields: &str| {
            std::fs::write(&file, format!("{{\"url\": \"tls://host\"{fields}}}")).expect("a file");
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&file, mode).expect("its own file");
            read(&["--connect", &path], &[])
        };
        let found = read_with(
            ", \"token_file\": \"t\", \"cert\": \"c\", \"key\": \"k\", \"domain\": \"hub\"",
        );
        let options = found.expect("sound settings");
        assert_eq!(options.token_file, Some(PathBuf::from("t")));
        let pair = options.certificate.expect("a certificate");
        assert_eq!(
            (pair.cert, pair.key),
            (PathBuf::from("c"), PathBuf::from("k"))
        );
        assert_eq!(options.api_prefix, "$JS.hub.API");
        for fields in [
            ", \"token\": \"t\", \"creds\": \"c\"",
            ", \"cert\": \"c\"",
            ", \"domain\": \"hub\", \"api_prefix\": \"x\"",
        ] {
            let invalid = read_with(fields).expect_err(fields);
            assert!(invalid[0].rule.contains("must"), "{}", invalid[0].rule);
        }
    }
}
