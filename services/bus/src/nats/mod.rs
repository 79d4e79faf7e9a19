//! The bus on a real server. One connection, shared by every clone.
//!
//! It must never retry a write by itself: only the caller knows whether a repeat is wanted.

mod api;
mod assets;
mod cursor;
mod line;
mod log;
mod objects;
mod tail;
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

use crate::options::without_userinfo;
use crate::{Fault, Link, Message, Options, RequestError};
use line::Line;
pub(crate) use tail::NatsTail;

/// Two unanswered pings end a connection: with this a silent network shows within some 6 s.
const PING_INTERVAL: Duration = Duration::from_secs(2);
/// Longest wait for one TCP connection and its handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for a publish acknowledgement and for an answer of the JetStream API.
pub(crate) const ACK_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest pause between two attempts to reconnect.
const RECONNECT_DELAY_MAX: Duration = Duration::from_secs(1);

/// A connection to a nats-server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Nats {
    client: Client,
    jetstream: Context,
    options: Arc<Options>,
    line: Arc<Line>,
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
        Ok(Nats {
            client,
            jetstream,
            options: Arc::new(options.clone()),
            line,
        })
    }

    pub(crate) fn link(&self) -> Link {
        self.line.link()
    }

    pub(crate) fn watch_link(&self) -> watch::Receiver<Link> {
        self.line.watch()
    }

    pub(crate) fn last_heard(&self) -> Instant {
        self.line.last_heard()
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
        Ok(NatsSubscription {
            inner,
            line: self.line.clone(),
        })
    }

    pub(crate) async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, RequestError> {
        use async_nats::RequestErrorKind as Kind;
        self.line.must_be_up()?;
        let asked_at = Instant::now();
        let request = Request::new().payload(payload).timeout(Some(timeout));
        match self.client.send_request(subject.to_owned(), request).await {
            Ok(reply) => {
                self.line.heard();
                Ok(reply.payload)
            }
            Err(err) => Err(match err.kind() {
                Kind::NoResponders => {
                    self.line.heard();
                    RequestError::NoResponders {
                        subject: subject.to_owned(),
                    }
                }
                Kind::TimedOut => match self.line.denial(subject, asked_at) {
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

    /// Returns when the server has handled everything sent before. The server takes the commands
    /// of a connection in order, so that its answer to one more of them proves it.
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
    line: Arc<Line>,
}

impl NatsSubscription {
    pub(crate) async fn next(&mut self) -> Option<Message> {
        let message = self.inner.next().await?;
        self.line.heard();
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
        readable(file)?;
        settings = settings.add_root_certificates(file.clone());
    }
    if let Some(file) = &options.creds {
        return identified(settings, file);
    }
    Ok(match login(options, addresses) {
        // A server with a token reads the one, a server with users the other.
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

/// Answers come to inboxes under the user's own name: permissions then keep them from other users.
fn as_user(settings: ConnectOptions, user: String, password: String) -> ConnectOptions {
    let is_token = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    let settings = match !user.is_empty() && user.chars().all(is_token) {
        true => settings.custom_inbox_prefix(format!("_INBOX.{user}")),
        false => settings,
    };
    settings.user_and_password(user, password)
}

/// The client library reads it when it connects, and would then speak of no file.
fn readable(file: &Path) -> Result<(), Fault> {
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

/// With the JWT and the key of a file, of which no message may quote anything.
fn identified(settings: ConnectOptions, file: &Path) -> Result<ConnectOptions, Fault> {
    let unusable = |why: String| Fault::Credentials {
        file: file.display().to_string(),
        why,
    };
    let text = std::fs::read_to_string(file).map_err(|error| unusable(error.kind().to_string()))?;
    let no_pair = |_| unusable("it must hold a JWT and its key, as `nsc` writes them".to_owned());
    settings.credentials(&text).map_err(no_pair)
}

enum Login {
    Token(String),
    User(String, String),
    Nothing,
}

/// The explicit token, else what an address carries: `token@host` or `user:password@host`. The
/// client library ignores the latter.
fn login(options: &Options, addresses: &[ServerAddr]) -> Login {
    if let Some(token) = &options.token {
        return Login::Token(token.clone());
    }
    let first = addresses
        .iter()
        .find_map(|address| Some((address.username()?, address.password())));
    match first {
        Some((user, Some(password))) => Login::User(decoded(user), decoded(password)),
        Some((token, None)) => Login::Token(decoded(token)),
        None => Login::Nothing,
    }
}

/// Undoes the `%2F` form that a URL needs for special characters.
fn decoded(text: &str) -> String {
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

/// At once, then 20 ms, 40 ms … 1 s: a restarted local server is found soon, a dead one costs
/// little.
fn reconnect_delay(attempts: usize) -> Duration {
    match attempts {
        0 | 1 => Duration::ZERO,
        n => (Duration::from_millis(10) * (1 << n.min(8) as u32)).min(RECONNECT_DELAY_MAX),
    }
}

/// 2.12.7 and later patches of it, or 2.14 and later; 2.13 never got the fixes that appends at an
/// expected sequence rely on.
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

    /// A server without the fixes accepts two winners of one race.
    #[test]
    fn only_fixed_servers_are_taken() {
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

    /// A password with a slash could otherwise not be written into an address.
    #[test]
    fn percent_signs_in_addresses_are_undone() {
        for (text, expected) in [
            ("a%2Fb", "a/b"),
            ("%40", "@"),
            ("50%", "50%"),
            ("%zz", "%zz"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    /// A growing pause that overflowed would panic after some seconds without a server.
    #[test]
    fn reconnect_delay_grows_to_its_limit() {
        assert_eq!(reconnect_delay(1), Duration::ZERO);
        assert!(reconnect_delay(2) < reconnect_delay(3));
        assert_eq!(reconnect_delay(usize::MAX), RECONNECT_DELAY_MAX);
    }
}
