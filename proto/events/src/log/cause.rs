//! Why a call got no complete answer: the cause behind its outcome, as the system or the protocol
//! named it. A closed set: a new member is a new version.
//!
//! An outcome says whose fault it is, a cause what to look at. Must never steer anything: gates and
//! rates know outcomes only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a call got no complete answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The target's name was not resolved.
    NameNotResolved,
    /// It has no address of the kind that was asked for.
    NoSuchAddress,
    /// Nobody listens, or the list of waiting connections is full (ECONNREFUSED).
    Refused,
    /// The peer cut the connection off (ECONNRESET, ECONNABORTED).
    Reset,
    /// Written to a connection that the peer had closed (EPIPE).
    BrokenPipe,
    /// No way there (ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN).
    Unreachable,
    /// The system gave up on a peer that acknowledged nothing (ETIMEDOUT).
    SystemTimeout,
    /// The system or a firewall forbids it (EACCES, EPERM).
    Denied,
    /// No socket at the path (ENOENT).
    NoSuchSocket,
    /// The peer closed before the first byte of an answer.
    Unanswered,
    /// The peer closed inside an answer.
    Truncated,
    /// What came was not HTTP.
    NotHttp,
    /// A head, trailers or a line of chunks beyond its limit.
    TooLong,
    /// The peer broke the rules of HTTP/2, or says that we did.
    Http2,
    /// The peer reset the stream of HTTP/2.
    StreamReset,
    /// The peer closed the connection of HTTP/2 in an orderly way before the answer (GOAWAY).
    GoneAway,
    /// Nobody we trust vouches for the certificate.
    CertificateUntrusted,
    /// The certificate is out of its time.
    CertificateExpired,
    /// The certificate is for another name.
    CertificateOtherName,
    /// The certificate is wrong in another way.
    CertificateInvalid,
    /// The target wants a client certificate, or another one.
    ClientCertificate,
    /// No version, cipher or protocol in common.
    TlsMismatch,
    /// The target ended TLS with another alert.
    TlsAlert,
    /// What came was not TLS.
    NotTls,
    /// No local port left (EADDRNOTAVAIL, EADDRINUSE).
    NoPorts,
    /// No file descriptor left (EMFILE, ENFILE).
    NoFds,
    /// No memory left (ENOMEM, ENOBUFS).
    NoMemory,
    /// Cut off while the name was resolved.
    WhileResolving,
    /// Cut off while the connection was opened.
    WhileConnecting,
    /// Cut off inside the TLS handshake.
    WhileSecuring,
    /// Cut off while it waited for a stream of HTTP/2.
    WhileWaitingForAStream,
    /// Cut off while the request was written.
    WhileSending,
    /// Cut off before the first byte of the answer.
    BeforeFirstByte,
    /// Cut off before the last byte of the answer.
    BeforeLastByte,
    /// Something else; the agent's log names it (`RUST_LOG=loadpilot_agent=debug`).
    Other,
    /// The agent may not connect there (`--allow-target`).
    NotAllowed,
}

impl Cause {
    /// All causes, in the order in which they are declared.
    pub const ALL: [Self; 36] = [
        Self::NameNotResolved,
        Self::NoSuchAddress,
        Self::Refused,
        Self::Reset,
        Self::BrokenPipe,
        Self::Unreachable,
        Self::SystemTimeout,
        Self::Denied,
        Self::NoSuchSocket,
        Self::Unanswered,
        Self::Truncated,
        Self::NotHttp,
        Self::TooLong,
        Self::Http2,
        Self::StreamReset,
        Self::GoneAway,
        Self::CertificateUntrusted,
        Self::CertificateExpired,
        Self::CertificateOtherName,
        Self::CertificateInvalid,
        Self::ClientCertificate,
        Self::TlsMismatch,
        Self::TlsAlert,
        Self::NotTls,
        Self::NoPorts,
        Self::NoFds,
        Self::NoMemory,
        Self::WhileResolving,
        Self::WhileConnecting,
        Self::WhileSecuring,
        Self::WhileWaitingForAStream,
        Self::WhileSending,
        Self::BeforeFirstByte,
        Self::BeforeLastByte,
        Self::Other,
        Self::NotAllowed,
    ];

    /// The same for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NameNotResolved => "name not known",
            Self::NoSuchAddress => "no address of the kind asked for",
            Self::Refused => "connection refused",
            Self::Reset => "connection reset",
            Self::BrokenPipe => "broken pipe",
            Self::Unreachable => "no route to it",
            Self::SystemTimeout => "no sign of life (ETIMEDOUT)",
            Self::Denied => "not allowed by the system",
            Self::NoSuchSocket => "no such socket",
            Self::Unanswered => "closed before an answer",
            Self::Truncated => "closed inside an answer",
            Self::NotHttp => "not HTTP",
            Self::TooLong => "answer too long",
            Self::Http2 => "a fault of HTTP/2",
            Self::StreamReset => "stream reset",
            Self::GoneAway => "connection closed (GOAWAY)",
            Self::CertificateUntrusted => "certificate not trusted",
            Self::CertificateExpired => "certificate out of its time",
            Self::CertificateOtherName => "certificate for another name",
            Self::CertificateInvalid => "certificate not valid",
            Self::ClientCertificate => "client certificate not accepted",
            Self::TlsMismatch => "no TLS version, cipher or protocol in common",
            Self::TlsAlert => "TLS ended with an alert",
            Self::NotTls => "not TLS",
            Self::NoPorts => "no local port left",
            Self::NoFds => "no file descriptor left",
            Self::NoMemory => "no memory left",
            Self::WhileResolving => "time-out while the name was resolved",
            Self::WhileConnecting => "time-out while connecting",
            Self::WhileSecuring => "time-out inside the TLS handshake",
            Self::WhileWaitingForAStream => "time-out while waiting for a stream",
            Self::WhileSending => "time-out while sending",
            Self::BeforeFirstByte => "time-out before the first byte",
            Self::BeforeLastByte => "time-out before the last byte",
            Self::NotAllowed => "not allowed by the agent (--allow-target)",
            Self::Other => "another cause",
        }
    }
}
