//! Address, token and certificate of the HTTP interface, read once. No message contains a token,
//! and no flag takes one.

use std::fmt;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loadpilot_bus::is_open_to_others;
use loadpilot_events::refusal::Problem;
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Variable with the token, if no flag names a file.
const TOKEN_VARIABLE: &str = "LOADPILOT_COORDINATOR_TOKEN";
/// Minimum characters of a token, on loopback too.
const TOKEN_CHARS_MIN: usize = 16;
/// Maximum characters of a token.
const TOKEN_CHARS_MAX: usize = 512;

/// The flags of the HTTP interface.
#[derive(Debug, clap::Args)]
pub(crate) struct HttpArgs {
    /// Also take runs over HTTP at HOST:PORT, such as 127.0.0.1:8080.
    ///
    /// Off loopback it needs a token and TLS.
    #[arg(long, value_name = "HOST:PORT")]
    http: Option<String>,
    /// File with the bearer token of callers, readable by its owner only (or env
    /// LOADPILOT_COORDINATOR_TOKEN).
    #[arg(long, value_name = "FILE", requires = "http")]
    http_token_file: Option<PathBuf>,
    /// Certificate of the interface, a PEM file; with --http-key.
    #[arg(long, value_name = "FILE", requires = "http", requires = "http_key")]
    http_cert: Option<PathBuf>,
    /// Private key of --http-cert, a PEM file.
    #[arg(long, value_name = "FILE", requires = "http_cert")]
    http_key: Option<PathBuf>,
    /// Also show the runs of the log at /metrics of --http: those that are open or ended within 5
    /// minutes, at most 20.
    #[arg(long, requires = "http")]
    export_runs: bool,
}

/// Settings of the HTTP interface.
#[derive(Clone)]
pub struct HttpConfig {
    /// Address to listen at.
    pub address: SocketAddr,
    /// Token of callers.
    pub token: Option<Token>,
    /// Certificate and key.
    pub tls: Option<Arc<ServerConfig>>,
    /// Whether the figures of runs are exported.
    pub exports_runs: bool,
}

/// The hash of a token. Comparing two takes the same time wherever the tokens differ.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl Token {
    /// Hashes a token.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("address", &self.address)
            .field("token", &self.token)
            .field("tls", &self.tls.is_some())
            .field("exports_runs", &self.exports_runs)
            .finish()
    }
}

impl HttpConfig {
    /// Reads the flags; `None` without `--http`.
    pub(crate) fn read(
        args: &HttpArgs,
        env: impl Fn(&str) -> Option<String>,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let text = args.http.as_ref()?;
        let mut note = |problem| problems.push(problem);
        let address = address(text).map_err(&mut note).ok();
        let token = token(args, env).map_err(&mut note).ok();
        let tls = tls(args).map_err(&mut note).ok();
        let config = Self {
            address: address?,
            token: token?,
            tls: tls?,
            exports_runs: args.export_runs,
        };
        if !config.address.ip().is_loopback() {
            let missing = [
                (config.token.is_none(), "a token (--http-token-file)"),
                (config.tls.is_none(), "TLS (--http-cert, --http-key)"),
            ];
            for (_, missing) in missing.into_iter().filter(|(is_missing, _)| *is_missing) {
                let rule = format!("must be on loopback, or have {missing}");
                problems.push(Problem::new("--http", rule, text));
            }
        }
        Some(config)
    }

    /// Binds the port, before anything else is opened.
    ///
    /// # Errors
    /// When the port cannot be bound.
    pub(crate) fn bind(&self) -> Result<TcpListener, String> {
        TcpListener::bind(self.address).map_err(|error| format!("--http {}: {error}", self.address))
    }
}

fn address(text: &str) -> Result<SocketAddr, Problem> {
    let problem = |rule: &str| Problem::new("--http", rule, text);
    if let Ok(port) = text.parse::<u16>() {
        let rule = format!("must be HOST:PORT such as 127.0.0.1:{port}");
        return Err(problem(&rule));
    }
    let addresses = text.to_socket_addrs();
    let first = addresses.ok().and_then(|mut addresses| addresses.next());
    first.ok_or_else(|| problem("must be HOST:PORT of this machine, such as 127.0.0.1:8080"))
}

/// Reads the token from the file, or else from the environment.
fn token(args: &HttpArgs, env: impl Fn(&str) -> Option<String>) -> Result<Option<Token>, Problem> {
    let (field, text) = match &args.http_token_file {
        Some(file) => (
            "--http-token-file",
            Some(secret_file("--http-token-file", file)?),
        ),
        None => (
            TOKEN_VARIABLE,
            env(TOKEN_VARIABLE).filter(|text| !text.is_empty()),
        ),
    };
    let Some(text) = text else { return Ok(None) };
    let text = text.trim_end_matches(['\r', '\n']);
    let is_valid = (TOKEN_CHARS_MIN..=TOKEN_CHARS_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_valid {
        return Ok(Some(Token::new(text)));
    }
    let rule = "must be a token of 16 to 512 letters, digits and signs without spaces";
    Err(Problem::new(field, rule, format!("{} bytes", text.len())))
}

fn tls(args: &HttpArgs) -> Result<Option<Arc<ServerConfig>>, Problem> {
    let (Some(cert), Some(key)) = (&args.http_cert, &args.http_key) else {
        return Ok(None);
    };
    let bad_cert = |rule: String| Problem::new("--http-cert", rule, cert.display());
    let text = std::fs::read(cert).map_err(|error| {
        bad_cert(format!(
            "must be a file that can be read ({})",
            error.kind()
        ))
    })?;
    let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| bad_cert("must hold a certificate in PEM".to_owned()))?;
    let text = secret_file("--http-key", key)?;
    let bad_key = |rule: String| Problem::new("--http-key", rule, key.display());
    let private = PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|_| bad_key("must hold a private key in PEM".to_owned()))?;
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| bad_cert(error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| bad_key(format!("must be the key of --http-cert ({error})")))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(Arc::new(config)))
}

/// Reads a file with a secret, which must be private.
fn secret_file(field: &'static str, file: &Path) -> Result<String, Problem> {
    let problem = |rule: String| Problem::new(field, rule, file.display());
    let unreadable = |error: std::io::Error| {
        problem(format!(
            "must be a file that can be read ({})",
            error.kind()
        ))
    };
    let text = std::fs::read_to_string(file).map_err(unreadable)?;
    if is_open_to_others(file).map_err(unreadable)? {
        let rule = "must be readable by its owner only (chmod 600)";
        return Err(problem(rule.to_owned()));
    }
    Ok(text)
}
