//! The bus on a real server: one connection, shared by all clones.
//!
//! It must never retry a write by itself: only the caller knows whether a repeat is safe.

mod account;
mod api;
mod assets;
mod cursor;
mod line;
mod log;
mod login;
mod object_subjects;
mod objects;
mod tail;
mod tenant;
mod vault;

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{
    Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, Request, ServerAddr, Subscriber,
};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::options::{token_exposed_to, without_userinfo};
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
        let client = settings(options, &addresses)?
            .event_callback(reporter(options, line.clone()))
            .connect(addresses)
            .await
            .map_err(|err| refusal(&err, &shown))?;
        let found = client
            .try_server_info()
            .map(|info| info.version)
            .unwrap_or_default();
        if !is_supported(&found) {
            return Err(Fault::Version { found });
        }
        let jetstream = ContextBuilder::new()
            .api_prefix(&options.api_prefix)
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

    /// Subject of a request to the JetStream API, which a denial of the server names.
    fn api(&self, request: &str) -> String {
        format!("{}.{request}", self.options.api_prefix)
    }

    pub(crate) fn link(&self) -> Link {
        self.line.link()
    }

    pub(crate) fn watch_link(&self) -> watch::Receiver<Link> {
        self.line.watch()
    }

    pub(crate) fn why_down(&self) -> Option<String> {
        self.line.why_down()
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

/// Why there is no connection to the server `url`, and how to repair it.
fn refusal(err: &ConnectError, url: &str) -> Fault {
    let (url, why) = (url.to_owned(), err.to_string());
    let has = |words: &str| why.contains(words);
    let lacks = |what: &str| Fault::Unreachable {
        url: url.clone(),
        why: format!("{what} ({why})"),
    };
    match err.kind() {
        ConnectErrorKind::ServerParse => Fault::Address { url },
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            Fault::Unauthorized { url }
        }
        _ if has("maximum account active connections") || has("maximum connections exceeded") => {
            Fault::NoConnectionLeft { url, why }
        }
        _ if has("CertificateRequired") => {
            lacks("it asks for a certificate; name one in --nats-cert and --nats-key")
        }
        _ if has("UnknownIssuer") => {
            lacks("its certificate is of an unknown authority; name that in --nats-cacert")
        }
        _ => Fault::Unreachable { url, why },
    }
}

/// Passes the events of the client to `line`. When an attempt to reconnect fails, the client names
/// the kind of the error only; a connection of its own then finds the cause.
fn reporter(
    options: &Options,
    line: Arc<Line>,
) -> impl Fn(Event) -> std::future::Ready<()> + Send + Sync + 'static {
    let options = options.clone();
    move |event| {
        let has_failed = matches!(event, Event::ClientError(_));
        line.note(event);
        if has_failed && line.seeks_cause() {
            let (options, line) = (options.clone(), line.clone());
            tokio::spawn(async move {
                if let Err(cause) = try_to_connect(&options).await {
                    line.why_unconnected(&cause);
                }
            });
        }
        std::future::ready(())
    }
}

/// Connects once, and ends the connection.
async fn try_to_connect(options: &Options) -> Result<(), Fault> {
    let addresses = addresses(&options.url)?;
    let connected = settings(options, &addresses)?.connect(addresses).await;
    let shown = without_userinfo(&options.url);
    connected.map(drop).map_err(|err| refusal(&err, &shown))
}

fn settings(options: &Options, addresses: &[ServerAddr]) -> Result<ConnectOptions, Fault> {
    let mut settings = login::connect_options(options, addresses)?;
    let is_encrypted = addresses.iter().any(ServerAddr::tls_required);
    // If an address exposes the secret, the user has chosen that deliberately.
    let keeps_secret =
        login::sends_secret(options, addresses) && token_exposed_to(&options.url, true).is_none();
    if is_encrypted || keeps_secret {
        // A server names other servers before the connection is encrypted. An attacker may have
        // inserted their names, and the client library connects to them without TLS.
        settings = settings.ignore_discovered_servers();
    }
    Ok(settings
        .name(&options.name)
        .ping_interval(PING_INTERVAL)
        .connection_timeout(CONNECT_TIMEOUT)
        .request_timeout(Some(ACK_TIMEOUT))
        .reconnect_delay_callback(reconnect_delay))
}

fn addresses(url: &str) -> Result<Vec<ServerAddr>, Fault> {
    let parse = |address: &str| {
        address.trim().parse().map_err(|_| Fault::Address {
            // A part of the text may be a part of a password.
            url: without_userinfo(url),
        })
    };
    url.split(',').map(parse).collect()
}

/// Delay before an attempt to reconnect: none, then 20 ms, 40 ms … 1 s. The client finds a
/// restarted local server soon, and an absent one costs little.
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

    /// Broken if the delay overflows, and so panics, after some seconds without a server.
    #[test]
    fn reconnect_delay_grows_to_its_limit() {
        assert_eq!(reconnect_delay(1), Duration::ZERO);
        assert!(reconnect_delay(2) < reconnect_delay(3));
        assert_eq!(reconnect_delay(usize::MAX), RECONNECT_DELAY_MAX);
    }
}
