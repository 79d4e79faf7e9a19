//! Classifies errors of the system, TLS and HTTP into an outcome and its cause.
//!
//! A shortage on this machine, such as no free port, has an outcome of its own and is never counted
//! against the target. Must never store a text: causes are a closed set, and texts go to the log.

use std::error::Error as StdError;
use std::io;

use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error as TlsError};

/// Why there is no complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ErrorClass {
    /// Outcome of the call.
    pub outcome: Outcome,
    /// Cause of the outcome.
    pub cause: Cause,
}

impl ErrorClass {
    /// An error without an error of the system.
    pub(crate) fn new(outcome: Outcome, cause: Cause) -> Self {
        let is_local = matches!(cause, Cause::NoPorts | Cause::NoFds | Cause::NoMemory);
        let outcome = if is_local { Outcome::Local } else { outcome };
        Self { outcome, cause }
    }

    /// The target's name was not resolved.
    pub(crate) fn resolving(error: &io::Error) -> Self {
        tracing::debug!(%error, "name not resolved");
        let cause = of_system(error).unwrap_or(Cause::NameNotResolved);
        Self::new(Outcome::Connect, cause)
    }

    /// No connection was opened.
    pub(crate) fn connecting(error: &io::Error) -> Self {
        let cause = of_system(error).unwrap_or(Cause::Other);
        Self::new(Outcome::Connect, cause)
    }

    /// The TLS handshake failed.
    pub(crate) fn securing(error: &io::Error) -> Self {
        tracing::debug!(%error, "TLS handshake failed");
        let cause = match root_cause(error) {
            // No answer has begun.
            Cause::Truncated => Cause::Unanswered,
            cause => cause,
        };
        Self::new(Outcome::Tls, cause)
    }

    /// An open connection broke.
    pub(crate) fn exchanging(error: &(dyn StdError + 'static)) -> Self {
        tracing::debug!(%error, "exchange broken");
        // With TLS 1.3 a target refuses a client certificate only after the handshake.
        let cause = root_cause(error);
        let outcome = match cause {
            Cause::ClientCertificate => Outcome::Tls,
            _ => Outcome::Io,
        };
        Self::new(outcome, cause)
    }
}

/// Every error of the chain, the outermost first.
fn chain<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // The `source` of an io::Error is the source of the error that it wraps: the wrapped error
        // itself is skipped.
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        inner.map_or_else(|| error.source(), |inner| Some(inner))
    })
}

/// The same error with a kind that names its cause: h2 passes on only the kind.
pub(crate) fn with_kind(error: io::Error) -> io::Error {
    match root_cause(&error) {
        Cause::ClientCertificate => io::Error::new(io::ErrorKind::PermissionDenied, error),
        _ => error,
    }
}

/// The cause of the first classified error in the chain.
fn root_cause(error: &(dyn StdError + 'static)) -> Cause {
    let found = chain(error).find_map(|error| {
        let of_tls = error.downcast_ref::<TlsError>().map(of_tls);
        of_tls.or_else(|| error.downcast_ref::<io::Error>().and_then(of_system))
    });
    found.unwrap_or(Cause::Other)
}

/// Classifies by the error number of the system, else by the kind that a library chose.
fn of_system(error: &io::Error) -> Option<Cause> {
    let Some(number) = error.raw_os_error() else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => Some(Cause::Truncated),
            io::ErrorKind::ConnectionReset => Some(Cause::Reset),
            io::ErrorKind::BrokenPipe => Some(Cause::BrokenPipe),
            // See `with_kind`: nothing else on a connection is of this kind without a number.
            io::ErrorKind::PermissionDenied => Some(Cause::ClientCertificate),
            _ => None,
        };
    };
    let cause = match number {
        libc::ECONNREFUSED => Cause::Refused,
        libc::ECONNRESET | libc::ECONNABORTED => Cause::Reset,
        libc::EPIPE => Cause::BrokenPipe,
        libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN | libc::EHOSTDOWN => {
            Cause::Unreachable
        }
        libc::ETIMEDOUT => Cause::SystemTimeout,
        libc::EACCES | libc::EPERM => Cause::Denied,
        libc::ENOENT => Cause::NoSuchSocket,
        libc::EADDRNOTAVAIL | libc::EADDRINUSE => Cause::NoPorts,
        libc::EMFILE | libc::ENFILE => Cause::NoFds,
        libc::ENOMEM | libc::ENOBUFS => Cause::NoMemory,
        _ => Cause::Other,
    };
    Some(cause)
}

fn of_tls(error: &TlsError) -> Cause {
    match error {
        TlsError::InvalidCertificate(error) => of_certificate(error),
        TlsError::AlertReceived(alert) => of_alert(*alert).unwrap_or(Cause::TlsAlert),
        TlsError::PeerIncompatible(_) | TlsError::NoApplicationProtocol => Cause::TlsMismatch,
        TlsError::InvalidMessage(_)
        | TlsError::InappropriateMessage { .. }
        | TlsError::InappropriateHandshakeMessage { .. }
        | TlsError::PeerMisbehaved(_)
        | TlsError::DecryptError => Cause::NotTls,
        _ => Cause::Other,
    }
}

fn of_certificate(error: &CertificateError) -> Cause {
    match error {
        // Bad signature: an issuer that is not trusted uses the name of a trusted one.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            Cause::CertificateUntrusted
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => Cause::CertificateExpired,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Cause::CertificateOtherName
        }
        _ => Cause::CertificateInvalid,
    }
}

/// The alerts with which a target ends a handshake and states the reason (RFC 8446, section 6.2).
fn of_alert(alert: AlertDescription) -> Option<Cause> {
    match alert {
        AlertDescription::CertificateRequired
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => Some(Cause::ClientCertificate),
        AlertDescription::HandshakeFailure
        | AlertDescription::ProtocolVersion
        | AlertDescription::InsufficientSecurity
        | AlertDescription::NoApplicationProtocol => Some(Cause::TlsMismatch),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls::InvalidMessage;

    use super::*;

    fn of_number(number: i32) -> io::Error {
        io::Error::from_raw_os_error(number)
    }

    /// Broken if a shortage on this machine is counted against the target, or the other way round.
    #[test]
    fn what_this_machine_lacks_is_local() {
        let lacking = [
            (libc::EMFILE, Cause::NoFds),
            (libc::ENFILE, Cause::NoFds),
            (libc::EADDRNOTAVAIL, Cause::NoPorts),
            (libc::EADDRINUSE, Cause::NoPorts),
            (libc::ENOMEM, Cause::NoMemory),
            (libc::ENOBUFS, Cause::NoMemory),
        ];
        for (number, cause) in lacking {
            let expected = ErrorClass {
                outcome: Outcome::Local,
                cause,
            };
            assert_eq!(ErrorClass::connecting(&of_number(number)), expected);
            assert_eq!(ErrorClass::securing(&of_number(number)), expected);
            assert_eq!(ErrorClass::exchanging(&of_number(number)), expected);
        }
        let refused = ErrorClass::connecting(&of_number(libc::ECONNREFUSED));
        assert_eq!(
            (refused.outcome, refused.cause),
            (Outcome::Connect, Cause::Refused)
        );
        let reset = ErrorClass::exchanging(&of_number(libc::ECONNRESET));
        assert_eq!((reset.outcome, reset.cause), (Outcome::Io, Cause::Reset));
    }

    /// Broken if a cause that a library has wrapped is not found any more.
    #[test]
    fn a_wrapped_error_is_unwrapped() {
        let wrapped = |inner: TlsError| io::Error::new(io::ErrorKind::InvalidData, inner);
        let stranger = TlsError::InvalidCertificate(CertificateError::UnknownIssuer);
        let class = ErrorClass::securing(&wrapped(stranger));
        assert_eq!(
            (class.outcome, class.cause),
            (Outcome::Tls, Cause::CertificateUntrusted)
        );
        let plain = TlsError::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!(ErrorClass::securing(&wrapped(plain)).cause, Cause::NotTls);
        let twice = io::Error::other(of_number(libc::EMFILE));
        assert_eq!(ErrorClass::exchanging(&twice).outcome, Outcome::Local);
        let alert = TlsError::AlertReceived(AlertDescription::CertificateRequired);
        let class = ErrorClass::exchanging(&wrapped(alert));
        assert_eq!(
            (class.outcome, class.cause),
            (Outcome::Tls, Cause::ClientCertificate)
        );
        let class = ErrorClass::exchanging(&io::Error::other("unknown"));
        assert_eq!((class.outcome, class.cause), (Outcome::Io, Cause::Other));
    }
}
