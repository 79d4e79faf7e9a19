//! TLS towards the target.
//!
//! Must never skip the verification of a certificate unless the plan requires that, and never show
//! a key.

use std::fmt;
use std::sync::Arc;

use loadpilot_events::plan::connections::TlsSettings;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{
    Resumption, WantsClientCert, WebPkiServerVerifier, verify_server_name,
};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

use crate::fire::fault::Fault;

/// Protocols that a handshake offers (RFC 7301).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    Http1,
    Http2,
    Both,
}

/// Configuration of the TLS handshake with the target.
#[derive(Clone)]
pub(crate) struct Tls {
    name: ServerName<'static>,
    http1: TlsConnector,
    http2: TlsConnector,
    both: TlsConnector,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({:?})", self.name)
    }
}

impl Tls {
    /// TLS 1.2 or 1.3 with `host`; `key_pem` is the key of the settings' identity. With
    /// `new_clients` no connection resumes the TLS session of another one.
    ///
    /// # Errors
    /// When there are no roots to verify the target with, or a certificate or key is invalid.
    pub(crate) fn new(
        host: &str,
        settings: &TlsSettings,
        key_pem: Option<&str>,
        new_clients: bool,
    ) -> Result<Self, Fault> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Fault::unsendable("target", "a host name that TLS can verify"))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(Fault::Tls)?;
        let builder = if settings.insecure {
            let verifier = Arc::new(NoVerification(provider));
            builder
                .dangerous()
                .with_custom_certificate_verifier(verifier)
        } else {
            let roots = Arc::new(roots(settings)?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider)
                .build()
                .map_err(|error| Fault::NoRoots(error.to_string()))?;
            let trusted = settings.roots_pem.as_deref().and_then(certificates);
            let verifier = NamedOrIssued {
                named: trusted.unwrap_or_default(),
                issued: verifier,
            };
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
        };
        let mut config = with_identity(builder, settings, key_pem)?;
        if new_clients {
            config.resumption = Resumption::disabled();
        }
        let connector = |protocols: &[&[u8]]| {
            let mut config = config.clone();
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            TlsConnector::from(Arc::new(config))
        };
        Ok(Self {
            name,
            http1: connector(&[b"http/1.1"]),
            http2: connector(&[b"h2"]),
            both: connector(&[b"h2", b"http/1.1"]),
        })
    }

    /// Does the handshake over an open connection.
    ///
    /// # Errors
    /// The error of TLS or of the connection.
    pub(crate) async fn handshake(
        &self,
        tcp: TcpStream,
        offer: Offer,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let connector = match offer {
            Offer::Http1 => &self.http1,
            Offer::Http2 => &self.http2,
            Offer::Both => &self.both,
        };
        connector.connect(self.name.clone(), tcp).await
    }
}

/// The roots of the plan, otherwise those of this machine.
fn roots(settings: &TlsSettings) -> Result<RootCertStore, Fault> {
    let mut roots = RootCertStore::empty();
    if let Some(pem) = &settings.roots_pem {
        let wrong = || Fault::unsendable("connections.tls.roots_pem", "certificates in PEM");
        for certificate in certificates(pem).ok_or_else(wrong)? {
            roots.add(certificate).map_err(|_| wrong())?;
        }
        return Ok(roots);
    }
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(Fault::NoRoots(errors.join("; ")));
    }
    Ok(roots)
}

/// Adds the client certificate of the plan, if it has one.
fn with_identity(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    settings: &TlsSettings,
    key_pem: Option<&str>,
) -> Result<ClientConfig, Fault> {
    let Some(identity) = &settings.identity else {
        return Ok(builder.with_no_client_auth());
    };
    let field = "connections.tls.identity";
    let chain = certificates(&identity.certificate_pem)
        .ok_or_else(|| Fault::unsendable(field, "a certificate chain in PEM"))?;
    let key_pem = key_pem.ok_or_else(|| Fault::NoSecret(identity.key_secret.clone()))?;
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes())
        .map_err(|_| Fault::unsendable(field, "followed by a private key in PEM"))?;
    builder
        .with_client_auth_cert(chain, key)
        .map_err(|_| Fault::unsendable(field, "a certificate and the key that belongs to it"))
}

/// The certificates in `pem`; `None` without a valid one.
fn certificates(pem: &str) -> Option<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_slice_iter(pem.as_bytes());
    let found: Vec<_> = found.collect::<Result<_, _>>().ok()?;
    (!found.is_empty()).then_some(found)
}

/// Accepts a certificate that a trusted one issued, or that is itself trusted. Most self-signed
/// certificates declare themselves an authority: the verifier refuses these for targets.
#[derive(Debug)]
struct NamedOrIssued {
    named: Vec<CertificateDer<'static>>,
    issued: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for NamedOrIssued {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let issued = &self.issued;
        let verified =
            issued.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The verifier checks the dates first, then the kind of the certificate (its error is
            // an `Other`), then its issuer, and last the name: so the name is checked here.
            Err(Error::InvalidCertificate(
                CertificateError::Other(_)
                | CertificateError::UnknownIssuer
                | CertificateError::BadSignature,
            )) if self.named.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issued
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issued
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.issued.supported_verify_schemes()
    }
}

/// Accepts any certificate; the signatures of the handshake are still checked.
#[derive(Debug)]
struct NoVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signed,
            algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
