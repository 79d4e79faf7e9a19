//! The bus on a real server: one connection, shared by all clones.
//!
//! It must never retry a write by itself: only the caller knows whether a repeat is safe.

mod api;
mod assets;
mod cursor;
mod line;
mod log;
mod object_subjects;
mod objects;
mod tail;
mod tenant;
mod vault;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Request, ServerAddr, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::nkey::key_pair;
use crate::options::without_userinfo;
use crate::{Fault, Link, Message, Options, RequestError};
use line::Line;
pub(crate) use tail::NatsTail;

/// Interval of pings. Two without a reply end a connection, so that a silent network is detected
/// within some 6 s.
const PING_INTERVAL: Duration = Duration::from_secs(2);
/// Timeout of one TCP connection with its handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a publish acknowledgement and of a reply of the JetStream API.
pub(crate) const ACK_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum delay between two attempts to reconnect.
const RECONNECT_DELAY_MAX: Duration = Duration::from_secs(1);

/// A connection to a nats-server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Nats {
    client: Client,
    jetstream: Context,
    options: Arc<Options>,
    line: Arc<Line>,
    /// The filter of [`crate::Reach::Within`], if the server confines this user to it.
    within: Option<Arc<str>>,
}

impl Nats {
    pub(crate) async fn connect(options: &Options) -> Result<Nats, Fault> {
        let shown = without_userinfo(&options.url);
        let line = Arc::new(Line::new());
        let addresses = addresses(&options.url)?;
        let client = settings(options, &addresses, line.clone())?
            .connect(addresses)
            .await
            .map_err(|err| match err.kind() {
                ConnectErrorKind::ServerParse => Fault::Address { url: shown.clone() },
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    Fault::Unauthorized { url: shown.clone() }
                }
                _ => Fault::Unreachable {
                    url: shown.clone(),
                    why: err.to_string(),
                },
            })?;
        let found = client
            .try_server_info()
            .map(|info| info.version)
            .unwrap_or_default();
        if !is_supported(&found) {
            return Err(Fault::Version { found });
        }
        let jetstream = ContextBuilder::new()
            .timeout(ACK_TIMEOUT)
            .build(client.clone());
        let mut nats = Nats {
            client,
            jetstream,
            options: Arc::new(options.clone()),
            line,
            within: None,
        };
        nats.find_reach().await;
        Ok(nats)
    }

    pub(crate) fn link(&self) -> Link {
        self.line.link()
    }

    pub(crate) fn watch_link(&self) -> watch::Receiver<Link> {
        self.line.watch()
    }

    pub(crate) async fn publish(&self, subject: &str, payload: Bytes) -> Result<(), Fault> {
        self.line.must_be_up()?;
        let sent = self.client.publish(subject.to_owned(), payload).await;
        sent.map_err(|err| match err.kind() {
            async_nats::PublishErrorKind::MaxPayloadExceeded => self.too_large(),
            _ => api::fault(&format!("publish on {subject}"), &err),
        })
    }

    pub(crate) async fn subscribe(&self, subject: &str) -> Result<NatsSubscription, Fault> {
        let what = || format!("subscribe to {subject}");
        let inner = self.client.subscribe(subject.to_owned()).await;
        let inner = inner.map_err(|err| api::fault(&what(), &err))?;
        self.client
            .flush()
            .await
            .map_err(|err| api::fault(&what(), &err))?;
        Ok(NatsSubscription { inner })
    }

    pub(crate) async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, RequestError> {
        use async_nats::RequestErrorKind as Kind;
        self.line.must_be_up()?;
        let sent_at = Instant::now();
        let request = Request::new().payload(payload).timeout(Some(timeout));
        match self.client.send_request(subject.to_owned(), request).await {
            Ok(reply) => Ok(reply.payload),
            Err(err) => Err(match err.kind() {
                Kind::NoResponders => RequestError::NoResponders {
                    subject: subject.to_owned(),
                },
                Kind::TimedOut => match self.line.denial(subject, sent_at) {
                    Some(denied) => RequestError::Fault(denied),
                    None => RequestError::TimedOut {
                        subject: subject.to_owned(),
                    },
                },
                Kind::MaxPayloadExceeded => RequestError::Fault(self.too_large()),
                _ => RequestError::Fault(api::fault(&format!("request on {subject}"), &err)),
            }),
        }
    }

    /// The server handles the commands of a connection in order, so that its reply to one more
    /// command proves that it has handled all earlier ones.
    pub(crate) async fn flush(&self) -> Result<(), Fault> {
        self.line.must_be_up()?;
        self.client
            .flush()
            .await
            .map_err(|err| api::fault("flush", &err))?;
        self.account().await.map(|_| ())
    }

    pub(crate) fn message_bytes_max(&self) -> u64 {
        self.client.max_payload() as u64
    }

    fn too_large(&self) -> Fault {
        Fault::TooLarge {
            limit: self.message_bytes_max(),
        }
    }
}

/// A core subscription; ends when dropped.
#[derive(Debug)]
pub(crate) struct NatsSubscription {
    inner: Subscriber,
}

impl NatsSubscription {
    pub(crate) async fn next(&mut self) -> Option<Message> {
        let message = self.inner.next().await?;
        Some(Message {
            subject: message.subject.to_string(),
            reply: message.reply.map(|reply| reply.to_string()),
            payload: message.payload,
        })
    }
}

fn settings(
    options: &Options,
    addresses: &[ServerAddr],
    line: Arc<Line>,
) -> Result<ConnectOptions, Fault> {
    let mut settings = ConnectOptions::new()
        .name(&options.name)
        .ping_interval(PING_INTERVAL)
        .connection_timeout(CONNECT_TIMEOUT)
        .request_timeout(Some(ACK_TIMEOUT))
        .reconnect_delay_callback(reconnect_delay)
        .event_callback(move |event| {
            line.note(event);
            std::future::ready(())
        });
    if let Some(file) = &options.cacert {
        check_certificates(file)?;
        settings = settings.add_root_certificates(file.clone());
    }
    if let Some(file) = &options.creds {
        return with_credentials(settings, file);
    }
    Ok(match login(options, addresses) {
        // A server with a token reads the whole text, a server with users its two parts.
        Login::Token(token) => match token.split_once(':') {
            Some((user, password)) => {
                let (user, password) = (user.to_owned(), password.to_owned());
                as_user(settings, user, password).token(token)
            }
            None => settings.token(token),
        },
        Login::User(user, password) => as_user(settings, user, password),
        Login::Nothing => settings,
    })
}

/// Replies arrive on inboxes under the user's name, so that permissions can hide them from other
/// users.
fn as_user(settings: ConnectOptions, user: String, password: String) -> ConnectOptions {
    let is_token = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    let settings = match !user.is_empty() && user.chars().all(is_token) {
        true => settings.custom_inbox_prefix(format!("_INBOX.{user}")),
        false => settings,
    };
    settings.user_and_password(user, password)
}

/// Checks the certificate file, since the client library's own error does not name it.
fn check_certificates(file: &Path) -> Result<(), Fault> {
    let unusable = |why: String| Fault::Certificates {
        file: file.display().to_string(),
        why,
    };
    let text = std::fs::read(file).map_err(|error| unusable(error.kind().to_string()))?;
    let begin = b"-----BEGIN CERTIFICATE-----";
    match text.windows(begin.len()).any(|part| part == begin) {
        true => Ok(()),
        false => Err(unusable("it holds no certificate in PEM".to_owned())),
    }
}

/// Adds the JWT and the key of a credentials file, or the key alone. Replies arrive on inboxes
/// under its public key. No error may quote its content.
fn with_credentials(settings: ConnectOptions, file: &Path) -> Result<ConnectOptions, Fault> {
    let unusable = |why: String| Fault::Credentials {
        file: file.display().to_string(),
        why,
    };
    let text = std::fs::read_to_string(file).map_err(|error| unusable(error.kind().to_string()))?;
    let no_pair = |_| {
        unusable("it must hold a JWT and its key, as `nsc` writes them, or a key alone".to_owned())
    };
    let key = key_pair(&text).map_err(no_pair)?;
    let settings = settings.custom_inbox_prefix(format!("_INBOX.{}", key.public_key()));
    if !text.contains("-----BEGIN") {
        let seed = key.seed().map_err(|error| unusable(error.to_string()))?;
        return Ok(settings.nkey(seed));
    }
    settings.credentials(&text).map_err(no_pair)
}

enum Login {
    Token(String),
    User(String, String),
    Nothing,
}

/// The explicit token, else the login in an address: `token@host` or `user:password@host`, which
/// the client library ignores.
fn login(options: &Options, addresses: &[ServerAddr]) -> Login {
    if let Some(token) = &options.token {
        return Login::Token(token.clone());
    }
    let first = addresses
        .iter()
        .find_map(|address| Some((address.username()?, address.password())));
    match first {
        Some((user, Some(password))) => {
            Login::User(percent_decoded(user), percent_decoded(password))
        }
        Some((token, None)) => Login::Token(percent_decoded(token)),
        None => Login::Nothing,
    }
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

fn addresses(url: &str) -> Result<Vec<ServerAddr>, Fault> {
    let parse = |address: &str| {
        address.trim().parse().map_err(|_| Fault::Address {
            url: without_userinfo(address.trim()),
        })
    };
    url.split(',').map(parse).collect()
}

/// Delay before an attempt to reconnect: none, then 20 ms, 40 ms … 1 s. A restarted local server is
/// found soon, an absent one costs little.
fn reconnect_delay(attempts: usize) -> Duration {
    match attempts {
        0 | 1 => Duration::ZERO,
        n => (Duration::from_millis(10) * (1 << n.min(8) as u32)).min(RECONNECT_DELAY_MAX),
    }
}

/// Whether the version is 2.12.7 or a later patch of 2.12, or 2.14 or later. 2.13 lacks the fixes
/// on which appends at an expected sequence rely.
fn is_supported(version: &str) -> bool {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    let mut numbers = release.split('.').map(|number| number.parse::<u32>().ok());
    match (
        numbers.next().flatten(),
        numbers.next().flatten(),
        numbers.next().flatten(),
    ) {
        (Some(2), Some(12), Some(patch)) => patch >= 7,
        (Some(2), Some(minor), Some(_)) => minor >= 14,
        (Some(major), Some(_), Some(_)) => major > 2,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a server is accepted that lets two writers win one race.
    #[test]
    fn only_servers_with_the_fixes_are_supported() {
        for (version, expected) in [
            ("2.12.6", false),
            ("2.12.7", true),
            ("2.13.0", false),
            ("2.13.9", false),
            ("2.14.0", true),
            ("2.15.1", true),
            ("2.15.0-RC.1", true),
            ("3.0.0", true),
            ("2.9.25", false),
            ("", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_supported(version), expected, "{version:?}");
        }
    }

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

    /// Broken if the delay overflows, and so panics, after some seconds without a server.
    #[test]
    fn reconnect_delay_grows_to_its_limit() {
        assert_eq!(reconnect_delay(1), Duration::ZERO);
        assert!(reconnect_delay(2) < reconnect_delay(3));
        assert_eq!(reconnect_delay(usize::MAX), RECONNECT_DELAY_MAX);
    }
}
