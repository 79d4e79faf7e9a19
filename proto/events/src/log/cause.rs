//! Why a call got no complete response: the cause behind its outcome, as the system or the protocol
//! names it. A closed set: a new member is a new version.
//!
//! The outcome says whose fault it is, the cause what to examine. Thresholds and rates use outcomes
//! only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a call got no complete response.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The target's name was not resolved.
    NameNotResolved,
    /// The target has no address of the required family.
    NoSuchAddress,
    /// No process listens, or the listener's queue is full (ECONNREFUSED).
    Refused,
    /// The peer reset the connection (ECONNRESET, ECONNABORTED).
    Reset,
    /// The agent wrote to a connection that the peer had closed (EPIPE).
    BrokenPipe,
    /// No route to the target (ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN).
    Unreachable,
    /// The peer acknowledged nothing and the system gave up (ETIMEDOUT).
    SystemTimeout,
    /// The system or a firewall denies the connection (EACCES, EPERM).
    Denied,
    /// No socket at the path (ENOENT).
    NoSuchSocket,
    /// The peer closed the connection before the first byte of a response.
    Unanswered,
    /// The peer closed the connection inside a response.
    Truncated,
    /// The response was not HTTP.
    NotHttp,
    /// A response head, trailers or a chunk line exceeds its limit.
    TooLong,
    /// The peer violated HTTP/2, or reports that the agent did.
    Http2,
    /// The peer reset the HTTP/2 stream.
    StreamReset,
    /// The peer closed the HTTP/2 connection in an orderly way before the response (GOAWAY).
    GoneAway,
    /// No trusted authority signed the certificate.
    CertificateUntrusted,
    /// The certificate has expired or is not valid yet.
    CertificateExpired,
    /// The certificate is for another name.
    CertificateOtherName,
    /// The certificate is invalid for another reason.
    CertificateInvalid,
    /// The target requires a client certificate, or another one.
    ClientCertificate,
    /// No TLS version, cipher or protocol in common.
    TlsMismatch,
    /// The target ended TLS with another alert.
    TlsAlert,
    /// The peer's bytes were not TLS.
    NotTls,
    /// No local port left (EADDRNOTAVAIL, EADDRINUSE).
    NoPorts,
    /// No file descriptor left (EMFILE, ENFILE).
    NoFds,
    /// No memory left (ENOMEM, ENOBUFS).
    NoMemory,
    /// Cut off during the resolution of the name.
    WhileResolving,
    /// Cut off during the connect.
    WhileConnecting,
    /// Cut off during the TLS handshake.
    WhileSecuring,
    /// Cut off while the call waited for an HTTP/2 stream.
    WhileWaitingForAStream,
    /// Cut off while the request was written.
    WhileSending,
    /// Cut off before the first byte of the response.
    BeforeFirstByte,
    /// Cut off before the last byte of the response.
    BeforeLastByte,
    /// Another cause; the agent's log names it (`RUST_LOG=loadpilot_agent=debug`).
    Other,
    /// The agent may not connect there (`--allow-target`).
    NotAllowed,
    /// The proxy requires credentials, or others.
    ProxyCredentials,
    /// The proxy refuses to connect to the target.
    ProxyRefused,
    /// The proxy did not reach the target.
    ProxyNoConnection,
    /// The proxy closed the connection, or its answer was none of its protocol.
    ProxyProtocol,
}

impl Cause {
    /// All causes, in the order of their declaration.
    pub const ALL: [Self; 40] = [
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
        Self::ProxyCredentials,
        Self::ProxyRefused,
        Self::ProxyNoConnection,
        Self::ProxyProtocol,
    ];

    /// The cause as text for people.
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
            Self::ProxyCredentials => "credentials not accepted by the proxy",
            Self::ProxyRefused => "refused by the proxy",
            Self::ProxyNoConnection => "the proxy did not reach the target",
            Self::ProxyProtocol => "no answer of a proxy",
            Self::Other => "another cause",
        }
    }
}
