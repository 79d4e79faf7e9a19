//! The errors of the bus.
//!
//! - [`Fault`]: an error of the environment. The server is unreachable, too old, full, or has other
//!   settings than the log needs.
//! - [`AppendError`]: an append that failed, or whose outcome is unknown.
//! - [`RequestError`]: a request without a reply.
//!
//! No text of an error may contain a token, a password or a payload.

use thiserror::Error;

use crate::Stream;

/// An error of the environment.
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
        /// Error of the network.
        why: String,
    },
    /// The credentials file cannot be used.
    #[error("{file} is not usable as a NATS credentials file: {why}")]
    Credentials {
        /// Path of the file.
        file: String,
        /// Reason; it quotes nothing of the file.
        why: String,
    },
    /// The token file cannot be used.
    #[error("{file} is not usable as a token file of NATS: {why}")]
    TokenFile {
        /// Path of the file.
        file: String,
        /// Reason; it quotes nothing of the file.
        why: String,
    },
    /// A file of TLS cannot be used.
    #[error("{file} is not usable for TLS with NATS: {why}")]
    Certificates {
        /// Path of the file.
        file: String,
        /// Reason.
        why: String,
    },
    /// The server refused the token, or requires one that is absent.
    #[error("NATS at {url} refused the credentials")]
    Unauthorized {
        /// The address, without user and password.
        url: String,
    },
    /// The account or the server already has its maximum number of connections.
    #[error(
        "NATS at {url} allows no further connection ({why}): each agent, coordinator, gateway and \
         command has one. End some, choose a larger plan, or let agents connect to a leaf node, \
         which is none of the account's connections"
    )]
    NoConnectionLeft {
        /// The address, without user and password.
        url: String,
        /// Error of the server.
        why: String,
    },
    /// The server is too old: the log needs fixes that this version lacks.
    #[error(
        "nats-server {found} cannot hold the log: at least 2.12.7 or 2.14 is needed (not 2.13)"
    )]
    Version {
        /// Version that the server reports.
        found: String,
    },
    /// All accounts together have reserved the maximum that the server allows.
    #[error(
        "nats-server has no room for stream {stream}, which reserves {needed}: raise `max_file` of \
         its jetstream section (without it, three quarters of the disk that was free when the \
         server started), or delete streams of other accounts"
    )]
    ServerFull {
        /// Name of the stream, which was not created.
        stream: String,
        /// Size that the stream reserves, with its unit.
        needed: String,
    },
    /// The account has no JetStream.
    #[error(
        "JetStream is not available: {why}. It is not enabled for this account, or the server has \
         no room for the storage that the account reserves"
    )]
    NoJetStream {
        /// Error of the server.
        why: String,
    },
    /// The account allows less than the absent parts of the log need. No part was created.
    #[error("the account of NATS is too small for the log: it allows {allows}")]
    Shortage {
        /// Each limit with the amount needed, and how to raise it.
        allows: String,
    },
    /// The connection is down; nothing was sent.
    #[error("the connection to NATS is down")]
    Disconnected,
    /// No reply in time. A write may have been performed.
    #[error("NATS did not answer in time: {what}")]
    TimedOut {
        /// Operation.
        what: String,
    },
    /// The account lacks a permission.
    #[error("NATS denies {what}: {why}")]
    Denied {
        /// Operation.
        what: String,
        /// Error of the server.
        why: String,
    },
    /// The stream was never opened, or was deleted.
    #[error("stream {stream} does not exist")]
    Missing {
        /// Name on the server.
        stream: String,
    },
    /// The stream ends before an event that was read: it was made anew, or restored from an older
    /// copy. A reader cannot continue in it.
    #[error(
        "stream {stream} was made anew: it ends at {last}, and {read} was read before; the store \
         of nats-server was lost or replaced"
    )]
    Remade {
        /// Name on the server.
        stream: String,
        /// Sequence of its last event.
        last: u64,
        /// Sequence that was read or existed before.
        read: u64,
    },
    /// No server answers for the stream, which may exist. Nothing was stored; it may recover.
    #[error("no server of NATS answers for stream {stream}: it has no leader now, or is gone")]
    Unanswered {
        /// Name on the server.
        stream: String,
    },
    /// An asset exists with settings under which the log could lose or forge events. The bus does
    /// not change it: an operator must decide.
    #[error("{asset} has {field} = {found}, but {wanted} is needed; it was left untouched")]
    Drift {
        /// Name of the stream on the server.
        asset: String,
        /// Name of the setting on the server.
        field: &'static str,
        /// Value found.
        found: String,
        /// Value needed.
        wanted: String,
    },
    /// An asset has reached its limit. Not stored.
    #[error("{asset} is full")]
    Full {
        /// Name on the server.
        asset: String,
    },
    /// An object cannot be read: parts of it are gone, its description is invalid, or it is larger
    /// than the caller accepts.
    #[error("object {name} is broken: {why}")]
    Broken {
        /// Name of the object.
        name: String,
        /// Reason.
        why: String,
    },
    /// The log is a file, which can only be read; or the file does not contain the requested data.
    #[error("a run in a file can only be read")]
    ReadOnly,
    /// The subject is invalid for a publish.
    #[error("{subject:?} is not a subject to publish to")]
    Subject {
        /// The subject.
        subject: String,
    },
    /// The message is larger than the server accepts; it was not sent.
    #[error("the message is larger than {limit} bytes")]
    TooLarge {
        /// Maximum payload in bytes.
        limit: u64,
    },
    /// Any other refusal by the server.
    #[error("{what} failed: {why}")]
    Server {
        /// Operation.
        what: String,
        /// Error of the server.
        why: String,
    },
}

/// An append without an acknowledgement.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AppendError {
    /// Another writer was first on this subject. Not stored: the caller reads and decides again.
    #[error("the subject's last sequence is not the expected one")]
    Conflict,
    /// No acknowledgement: it may be stored, now or some seconds later. The caller reads again and
    /// looks for the id, or repeats with the same id.
    #[error("no acknowledgement in time; it may or may not be stored")]
    Unknown,
    /// The stream has reached its limit. Not stored.
    #[error(
        "stream {stream} is full: on one machine `loadpilot runs prune` makes room; on a fleet its \
         operator purges old runs from it or raises its max_bytes"
    )]
    Full {
        /// The stream.
        stream: Stream,
    },
    /// The event is larger than the server accepts. Not stored.
    #[error("the event is larger than {limit} bytes")]
    TooLarge {
        /// Maximum payload in bytes.
        limit: u64,
    },
    /// Not stored, because of the environment.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// A request without a reply.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RequestError {
    /// No process listens on the subject.
    #[error("no process listens on {subject}")]
    NoResponders {
        /// The subject of the request.
        subject: String,
    },
    /// A process listens, but did not reply in time.
    #[error("no reply on {subject} in time")]
    TimedOut {
        /// The subject of the request.
        subject: String,
    },
    /// The request could not be made.
    #[error(transparent)]
    Fault(#[from] Fault),
}
