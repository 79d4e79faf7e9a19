//! How a connection authenticates: with a token, user and password, or a credentials file; and the
//! certificates of TLS.
//!
//! Files are read again for each connection, so that a renewed file takes effect at the next
//! reconnect. No error and no log line may quote their content.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_nats::{Auth, AuthError, ConnectOptions, ServerAddr};
use nkeys::KeyPair;

use crate::nkey::key_pair;
use crate::options::Certificate;
use crate::{Fault, Options};

/// Maximum size of a file with a token, credentials or certificates.
const FILE_BYTES_MAX: u64 = 4 << 20;
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";
const PRIVATE_KEY: &str = "PRIVATE KEY-----";
const ENCRYPTED_KEY: &str = "ENCRYPTED";
const BEGIN_JWT: &str = "-----BEGIN NATS USER JWT-----";

/// The source of the credentials for each new connection.
#[derive(Clone)]
enum Source {
    Creds(PathBuf),
    TokenFile(PathBuf),
    /// A server with a token reads the whole text; a server with users reads its two parts.
    Token(String),
    User(String, String),
    Nothing,
}

/// The credentials that a server requires of one connection.
enum Proof {
    Jwt(String, KeyPair),
    Key(KeyPair),
    Token(String),
    User(String, String),
    Nothing,
}

/// Options of a connection with login and certificates of `options`. Replies arrive on inboxes
/// under the user's name or public key, so that permissions can hide them from other users.
///
/// # Errors
/// [`Fault::Credentials`], [`Fault::Certificates`] for a file that cannot be used now.
pub(super) fn connect_options(
    options: &Options,
    addresses: &[ServerAddr],
) -> Result<ConnectOptions, Fault> {
    let source = Arc::new(source(options, addresses));
    let owner = source.read()?.owner();
    let first_owner = owner.clone();
    let mut settings = ConnectOptions::with_auth_callback(move |nonce| {
        let (source, owner) = (source.clone(), first_owner.clone());
        async move { prove(&source, owner.as_deref(), &nonce) }
    });
    if let Some(owner) = owner {
        settings = settings.custom_inbox_prefix(format!("_INBOX.{owner}"));
    }
    if let Some(file) = &options.cacert {
        check_pem(file, CERTIFICATE, "certificate")?;
        settings = settings.add_root_certificates(file.clone());
    }
    if let Some(Certificate { cert, key }) = &options.certificate {
        check_pem(cert, CERTIFICATE, "certificate")?;
        check_pem(key, PRIVATE_KEY, "private key")?;
        settings = settings.add_client_certificate(cert.clone(), key.clone());
    }
    Ok(settings)
}

/// Answers the challenge of a server. The client library repeats the connection if this fails.
fn prove(source: &Source, owner: Option<&str>, nonce: &[u8]) -> Result<Auth, AuthError> {
    let proof = source.read().map_err(|fault| {
        tracing::warn!(%fault, "no login to NATS; the file is read again at the next attempt");
        AuthError::new(fault)
    })?;
    if let Some(changed) = proof.owner().filter(|now| Some(now.as_str()) != owner) {
        tracing::warn!(
            user = changed,
            "the credentials of NATS are of another user than at the start, whose replies arrive \
             on _INBOX.{}",
            owner.unwrap_or_default(),
        );
    }
    proof.auth(nonce)
}

/// The explicit login, else the one in an address: `token@host` or `user:password@host`, which the
/// client library ignores.
fn source(options: &Options, addresses: &[ServerAddr]) -> Source {
    if let Some(file) = &options.creds {
        return Source::Creds(file.clone());
    }
    if let Some(file) = &options.token_file {
        return Source::TokenFile(file.clone());
    }
    if let Some(token) = &options.token {
        return Source::Token(token.clone());
    }
    let first = addresses
        .iter()
        .find_map(|address| Some((address.username()?, address.password())));
    match first {
        Some((user, Some(password))) => {
            Source::User(percent_decoded(user), percent_decoded(password))
        }
        Some((token, None)) => Source::Token(percent_decoded(token)),
        None => Source::Nothing,
    }
}

/// Whether a login transmits its secret, so that anyone who can read the connection gets it. A
/// credentials file signs a challenge instead.
pub(super) fn sends_secret(options: &Options, addresses: &[ServerAddr]) -> bool {
    match source(options, addresses) {
        Source::TokenFile(_) | Source::Token(_) | Source::User(..) => true,
        Source::Creds(_) | Source::Nothing => false,
    }
}

impl Source {
    fn read(&self) -> Result<Proof, Fault> {
        Ok(match self {
            Source::Creds(file) => credentials(file)?,
            Source::TokenFile(file) => Proof::Token(token(file)?),
            Source::Token(token) => Proof::Token(token.clone()),
            Source::User(user, password) => Proof::User(user.clone(), password.clone()),
            Source::Nothing => Proof::Nothing,
        })
    }
}

impl Proof {
    /// Name or public key of the user, if it is valid as a token of a subject.
    fn owner(&self) -> Option<String> {
        match self {
            Proof::Jwt(_, key) | Proof::Key(key) => Some(key.public_key()),
            Proof::Token(token) => token.split_once(':').and_then(|(user, _)| as_token(user)),
            Proof::User(user, _) => as_token(user),
            Proof::Nothing => None,
        }
    }

    fn auth(self, nonce: &[u8]) -> Result<Auth, AuthError> {
        let mut auth = Auth::new();
        let sign = |key: &KeyPair| key.sign(nonce).map_err(AuthError::new);
        match self {
            Proof::Jwt(jwt, key) => {
                auth.signature = Some(sign(&key)?);
                auth.jwt = Some(jwt);
            }
            Proof::Key(key) => {
                auth.signature = Some(sign(&key)?);
                auth.nkey = Some(key.public_key());
            }
            Proof::Token(token) => {
                if let Some((user, password)) = token.split_once(':') {
                    auth.username = Some(user.to_owned());
                    auth.password = Some(password.to_owned());
                }
                auth.token = Some(token);
            }
            Proof::User(user, password) => {
                auth.username = Some(user);
                auth.password = Some(password);
            }
            Proof::Nothing => {}
        }
        Ok(auth)
    }
}

fn as_token(user: &str) -> Option<String> {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    (!user.is_empty() && user.chars().all(is_sign)).then(|| user.to_owned())
}

/// JWT and key of a credentials file, or the key alone.
fn credentials(file: &Path) -> Result<Proof, Fault> {
    let unusable = |why: String| Fault::Credentials {
        file: file.display().to_string(),
        why,
    };
    let text = read_text(file).map_err(&unusable)?;
    let key = key_pair(&text).map_err(|error| {
        let needed = "it must hold a JWT and its key, as `nsc` writes them, or a key alone";
        unusable(format!("{error}; {needed}"))
    })?;
    if !text.contains("-----BEGIN") {
        return Ok(Proof::Key(key));
    }
    let jwt = text.split_once(BEGIN_JWT).and_then(|(_, rest)| {
        let jwt = rest.trim_start().lines().next()?.trim();
        (jwt.split('.').count() == 3).then(|| jwt.to_owned())
    });
    match jwt {
        Some(jwt) => Ok(Proof::Jwt(jwt, key)),
        None => Err(unusable(
            "it holds a key without its JWT; `nsc generate creds` writes both".to_owned(),
        )),
    }
}

fn token(file: &Path) -> Result<String, Fault> {
    let unusable = |why: String| Fault::TokenFile {
        file: file.display().to_string(),
        why,
    };
    let text = read_text(file).map_err(&unusable)?;
    let token = text.trim_end_matches(['\r', '\n']);
    if token.is_empty() || token.contains(['\r', '\n']) || token.contains("-----BEGIN") {
        let rule = "it must hold one line, the token or user:password";
        return Err(unusable(rule.to_owned()));
    }
    Ok(token.to_owned())
}

/// Checks a file of TLS, since the client library's own error does not name it.
fn check_pem(file: &Path, marker: &str, what: &str) -> Result<(), Fault> {
    let unusable = |why: String| Fault::Certificates {
        file: file.display().to_string(),
        why,
    };
    let content = read(file).map_err(&unusable)?;
    let text = String::from_utf8_lossy(&content);
    let begin = text.lines().find(|line| line.contains(marker));
    match begin {
        None => Err(unusable(format!("it holds no {what} in PEM"))),
        Some(line) if line.contains(ENCRYPTED_KEY) => Err(unusable(
            "its key is encrypted; store it without one".to_owned(),
        )),
        Some(_) => Ok(()),
    }
}

fn read_text(file: &Path) -> Result<String, String> {
    String::from_utf8(read(file)?).map_err(|_| "it is not a text file".to_owned())
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let text = |error: std::io::Error| error.kind().to_string();
    let mut content = Vec::new();
    let opened = File::open(file).map_err(text)?;
    let mut limited = opened.take(FILE_BYTES_MAX + 1);
    limited.read_to_end(&mut content).map_err(text)?;
    if content.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it is larger than {FILE_BYTES_MAX} bytes"));
    }
    Ok(content)
}

/// Decodes the percent-encoding of a URL.
fn percent_decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
        {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => {
                bytes.push(b'%');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if an address cannot contain a password with a slash.
    #[test]
    fn a_login_in_an_address_is_percent_decoded() {
        for (text, expected) in [
            ("a%2Fb", "a/b"),
            ("%40", "@"),
            ("50%", "50%"),
            ("%zz", "%zz"),
        ] {
            assert_eq!(percent_decoded(text), expected, "{text}");
        }
    }
}
