//! Everything that can go wrong on the bus.
//!
//! - [`Fault`]: the world. The server is away, too old, full, or not what we need.
//! - [`AppendError`]: an append that did not succeed, or of which nobody knows whether it did.
//! - [`RequestError`]: a request without an answer.
//!
//! No text in here may ever hold a token, a password or a payload.

use thiserror::Error;

use crate::Stream;

/// The world is not as it should be.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Fault {
    /// The address cannot be parsed.
    #[error("`{url}` is not a NATS address (nats://host:port or tls://host:port)")]
    Address {
        /// The address, without user and password.
        url: String,
    },
    /// The first connection failed.
    #[error("cannot connect to NATS at {url}: {why}")]
    Unreachable {
        /// The address, without user and password.
        url: String,
        /// What the network said.
        why: String,
    },
    /// The credentials file cannot be used.
    #[error("{file} is not usable as a NATS credentials file: {why}")]
    Credentials {
        /// The file.
        file: String,
        /// Why, without anything that stands in it.
        why: String,
    },
    /// The file of certificates cannot be used.
    #[error("{file} is not usable as the certificates of NATS: {why}")]
    Certificates {
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
    /// The server refused the token, or did not get one that it wants.
    #[error("NATS at {url} refused the credentials")]
    Unauthorized {
        /// The address, without user and password.
        url: String,
    },
    /// The server lacks what the log is built on.
    #[error(
        "nats-server {found} cannot hold the log: at least 2.12.7 or 2.14 is needed (not 2.13)"
    )]
    Version {
        /// What the server calls itself.
        found: String,
    },
    /// The account has no JetStream.
    #[error("JetStream is not available: {why}")]
    NoJetStream {
        /// What the server said.
        why: String,
    },
    /// The connection is down; nothing was sent.
    #[error("the connection to NATS is down")]
    Disconnected,
    /// No answer in time. For a write: use the error of the write, it may have happened.
    #[error("NATS did not answer in time: {what}")]
    TimedOut {
        /// What was asked.
        what: String,
    },
    /// The account may not do this.
    #[error("NATS denies {what}: {why}")]
    Denied {
        /// What was asked.
        what: String,
        /// What the server said.
        why: String,
    },
    /// A stream that was never opened, or that somebody deleted.
    #[error("stream {stream} does not exist")]
    Missing {
        /// The server's name of it.
        stream: String,
    },
    /// An asset exists with settings under which the log could lose or forge events. It is left
    /// as it is: an operator must decide.
    #[error("{asset} has {field} = {found}, but {wanted} is needed; it was left untouched")]
    Drift {
        /// The server's name of the stream.
        asset: String,
        /// The setting, as the server calls it.
        field: &'static str,
        /// Its value.
        found: String,
        /// The value that is needed.
        wanted: String,
    },
    /// An asset has reached its limit. Not stored.
    #[error("{asset} is full")]
    Full {
        /// The server's name of it.
        asset: String,
    },
    /// An object is not whole: some of its parts are gone, or its description is no description.
    #[error("object {name} is broken: {why}")]
    Broken {
        /// The object.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing can be published there.
    #[error("{subject:?} is not a subject to publish to")]
    Subject {
        /// The subject.
        subject: String,
    },
    /// Larger than the server takes; it was not sent.
    #[error("the message is larger than {limit} bytes")]
    TooLarge {
        /// The largest payload, in bytes.
        limit: u64,
    },
    /// Any other refusal by the server.
    #[error("{what} failed: {why}")]
    Server {
        /// What was asked.
        what: String,
        /// What the server said.
        why: String,
    },
}

/// An append without an acknowledgement.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AppendError {
    /// Somebody else wrote to the subject first. Not stored: read again, decide again.
    #[error("the subject's last sequence is not the expected one")]
    Conflict,
    /// No answer: it may be stored, now or some seconds from now. Read again and look for the id,
    /// or repeat with the same id.
    #[error("no acknowledgement in time; it may or may not be stored")]
    Unknown,
    /// The stream has reached its limit. Not stored.
    #[error("{stream:?} is full")]
    Full {
        /// Which stream.
        stream: Stream,
    },
    /// Larger than the server takes. Not stored.
    #[error("the event is larger than {limit} bytes")]
    TooLarge {
        /// The largest payload, in bytes.
        limit: u64,
    },
    /// Not stored, for a reason outside the log's rules.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// A request without a reply.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RequestError {
    /// Nobody listens on the subject.
    #[error("nobody listens on {subject}")]
    NoResponders {
        /// The subject of the request.
        subject: String,
    },
    /// Somebody listens, but nobody answered in time.
    #[error("no reply on {subject} in time")]
    TimedOut {
        /// The subject of the request.
        subject: String,
    },
    /// The request could not be made.
    #[error(transparent)]
    Fault(#[from] Fault),
}
