//! Certificates of a test: an authority of its own, and the certificates that it signs.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
    key_der: Vec<u8>,
}

/// The behaviour of a target with TLS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// Protocols that it accepts.
    pub(crate) protocols: &'static [&'static str],
    pub(crate) asks_for_certificate: bool,
    pub(crate) is_old: bool,
}

impl Manner {
    pub(crate) const BOTH: Self = Self {
        protocols: &["h2", "http/1.1"],
        asks_for_certificate: false,
        is_old: false,
    };
}

impl Identity {
    fn new(certificate: &Certificate, key: &KeyPair) -> Self {
        Self {
            der: certificate.der().clone(),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            key_der: key.serialize_der(),
        }
    }

    /// As `openssl req -x509` makes it: the certificate of a target that is its own authority.
    pub(crate) fn self_signed(name: &str, last_year: i32) -> Self {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = date_time_ymd(last_year, 12, 31);
        let key = KeyPair::generate().expect("a key");
        Self::new(&params.self_signed(&key).expect("a certificate"), &key)
    }

    /// This certificate with a key that does not belong to it.
    pub(crate) fn with_key_of(mut self, other: &Self) -> Self {
        self.key_der.clone_from(&other.key_der);
        self
    }

    /// The settings of a target with this certificate, whether the key belongs to it or not.
    pub(crate) fn server(&self, is_old: bool) -> ServerConfig {
        let versions = if is_old { [&TLS12] } else { [&TLS13] };
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key_der.clone()));
        let key = ring::sign::any_supported_type(&key).expect("a key");
        let certificate = SingleCertAndKey::from(CertifiedKey::new(vec![self.der.clone()], key));
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&versions)
            .expect("a version")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(certificate))
    }
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    pub(crate) fn pem(&self) -> String {
        self.0.as_ref().pem()
    }

    pub(crate) fn issue(&self, name: &str) -> Identity {
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.0).expect("a certificate");
        Identity::new(&signed, &key)
    }

    /// The settings of a target called `name`.
    pub(crate) fn server(&self, name: &str, manner: Manner) -> ServerConfig {
        let provider = Arc::new(ring::default_provider());
        let versions = if manner.is_old { [&TLS12] } else { [&TLS13] };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .expect("a version");
        let builder = if manner.asks_for_certificate {
            let mut roots = RootCertStore::empty();
            roots.add(self.0.as_ref().der().clone()).expect("a root");
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.expect("a verifier"))
        } else {
            builder.with_no_client_auth()
        };
        let identity = self.issue(name);
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.key_der));
        let config = builder.with_single_cert(vec![identity.der], key);
        let mut config = config.expect("a certificate and its key");
        let protocols = manner.protocols.iter();
        config.alpn_protocols = protocols.map(|name| name.as_bytes().to_vec()).collect();
        config
    }
}
