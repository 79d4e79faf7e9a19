//! Where the load goes: host, port, and TLS if the target asks for it.
//!
//! Must never skip verification of a certificate.

use std::fmt;
use std::sync::Arc;

use hyper::Uri;
use hyper::header::HeaderValue;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::fault::Fault;

/// The target of a plan.
#[derive(Debug)]
pub(crate) struct Target {
    /// As the user wrote it, for the Host header.
    pub authority: HeaderValue,
    /// Name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Present for https.
    pub tls: Option<Tls>,
}

/// What a TLS handshake with the target needs.
pub(crate) struct Tls {
    pub connector: TlsConnector,
    pub name: ServerName<'static>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({:?})", self.name)
    }
}

impl Target {
    /// Parses `http://host[:port]` or `https://host[:port]`.
    ///
    /// # Errors
    /// When it is neither, or when this machine has no certificate roots for https.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let wrong = || Fault::unsendable("target", "http://host[:port] or https://host[:port]");
        let uri = Uri::try_from(text).map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        if authority.as_str().contains('@') || !matches!(uri.path(), "" | "/") {
            return Err(wrong());
        }
        let host = authority.host();
        let host = host.strip_prefix('[').unwrap_or(host);
        let host = host.strip_suffix(']').unwrap_or(host).to_owned();
        let (default_port, tls) = match uri.scheme_str() {
            Some("http") => (80, None),
            Some("https") => (443, Some(Tls::new(&host)?)),
            _ => return Err(wrong()),
        };
        Ok(Self {
            authority: HeaderValue::try_from(authority.as_str()).map_err(|_| wrong())?,
            host,
            port: authority.port_u16().unwrap_or(default_port),
            tls,
        })
    }
}

impl Tls {
    /// TLS 1.2 or 1.3 with the roots of this machine.
    fn new(host: &str) -> Result<Self, Fault> {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
            return Err(Fault::NoRoots(errors.join("; ")));
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(Fault::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Fault::unsendable("target", "a host name that TLS can verify"))?;
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            name,
        })
    }
}
