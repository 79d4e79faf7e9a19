//! A local stack that other machines may connect to: its address, certificate and token. It never
//! listens without one of them.
//!
//! Authority and token belong to the folder of the log and outlive a stack, so that agents that
//! have them can join the next run. Must never write a key that other users may read.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use sha2::{Digest, Sha256};

use super::error::StackError;
use super::folder::{Folder, secret};

/// Subfolder of a log's folder for certificate, authority and token.
const LISTEN_FOLDER: &str = "listen";

/// Where a stack listens for other machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// Address or name of this machine, or all addresses (`0.0.0.0`, `::`).
    pub host: String,
    /// The port; 0: a free one.
    pub port: u16,
    /// The user's own certificate in place of a generated one.
    pub certificate: Option<ProvidedCertificate>,
}

/// A certificate of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvidedCertificate {
    /// The chain, in PEM.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Its authority; `None`: machines trust it already.
    pub cacert: Option<PathBuf>,
}

/// Address and identity of a stack that listens for other machines.
pub(super) struct Open {
    /// Host to listen on, in nats-server's notation.
    pub(super) bind: String,
    pub(super) port: u16,
    /// URL for processes of this machine.
    pub(super) local_url: String,
    /// URL for other machines.
    pub(super) remote_url: String,
    pub(super) cert: PathBuf,
    pub(super) key: PathBuf,
    pub(super) cacert: Option<PathBuf>,
    pub(super) token: String,
    pub(super) token_file: PathBuf,
    /// SHA-256 of the generated authority.
    pub(super) fingerprint: Option<String>,
}

impl Listen {
    /// Reads `HOST:PORT`.
    ///
    /// # Errors
    /// The rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rule = || format!("must be HOST:PORT such as 0.0.0.0:4222 (got {text:?})");
        let (host, port) = text.rsplit_once(':').ok_or_else(rule)?;
        let port = port.parse().map_err(|_| rule())?;
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let is_valid = match bare {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.bytes().all(is_name),
        };
        let host = bare.unwrap_or(host).to_owned();
        let listen = Self {
            host,
            port,
            certificate: None,
        };
        is_valid.then_some(listen).ok_or_else(rule)
    }

    fn is_everywhere(&self) -> bool {
        self.host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_unspecified())
    }

    /// Chooses a port, and creates or reads the stack's identity.
    pub(super) fn open(&self, folder: &Folder) -> Result<Open, StackError> {
        let path = folder.path().join(LISTEN_FOLDER);
        private_folder(&path)?;
        let port = self.free_port()?;
        let addresses = addresses();
        let (local, remote) = match self.is_everywhere() {
            false => (self.host.clone(), self.host.clone()),
            true => {
                let outside = addresses
                    .iter()
                    .find(|one| one.is_ipv4())
                    .or(addresses.first());
                let outside = outside.map_or(IpAddr::from(Ipv4Addr::LOCALHOST), |one| *one);
                (Ipv4Addr::LOCALHOST.to_string(), outside.to_string())
            }
        };
        let (cert, key, cacert, fingerprint) = match &self.certificate {
            Some(provided) => {
                self.require_named_host()?;
                let provided = provided.clone();
                (provided.cert, provided.key, provided.cacert, None)
            }
            None => {
                let mut names = vec!["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string()];
                match self.is_everywhere() {
                    true => names.extend(addresses.iter().map(ToString::to_string)),
                    false => names.push(self.host.clone()),
                }
                let identity = create_identity(folder, &path, names)?;
                (
                    identity.cert,
                    identity.key,
                    Some(identity.authority),
                    Some(identity.fingerprint),
                )
            }
        };
        let token_file = path.join("token");
        let token = read_or_create(folder, &token_file, secret)?;
        Ok(Open {
            bind: bracketed(&self.host),
            port,
            local_url: format!("tls://{}:{port}", bracketed(&local)),
            remote_url: format!("tls://{}:{port}", bracketed(&remote)),
            cert,
            key,
            cacert,
            token,
            token_file,
            fingerprint,
        })
    }

    fn free_port(&self) -> Result<u16, StackError> {
        let listener = TcpListener::bind((self.host.as_str(), self.port));
        let port = listener.and_then(|listener| Ok(listener.local_addr()?.port()));
        port.map_err(|error| StackError::Refusal {
            field: "--listen",
            rule: format!(
                "cannot listen at {}:{}: {error}",
                bracketed(&self.host),
                self.port
            ),
        })
    }

    /// Refuses a wildcard address: clients compare the host with the provided certificate.
    fn require_named_host(&self) -> Result<(), StackError> {
        if !self.is_everywhere() {
            return Ok(());
        }
        Err(StackError::Refusal {
            field: "--listen",
            rule: format!(
                "must name the host of --listen-cert instead of {}",
                self.host
            ),
        })
    }
}

/// Files of a stack's identity.
struct Identity {
    cert: PathBuf,
    key: PathBuf,
    authority: PathBuf,
    fingerprint: String,
}

/// The authority of this folder, and a new certificate of it for `names`.
fn create_identity(
    folder: &Folder,
    path: &Path,
    names: Vec<String>,
) -> Result<Identity, StackError> {
    let failed = |error: rcgen::Error| {
        StackError::fault(
            "make a certificate",
            std::io::Error::other(error.to_string()),
        )
    };
    let authority_file = path.join("ca.pem");
    let new_key = || {
        KeyPair::generate()
            .map(|key| key.serialize_pem())
            .map_err(failed)
    };
    let authority_key = read_or_create(folder, &path.join("ca-key.pem"), new_key)?;
    let authority_key = KeyPair::from_pem(&authority_key).map_err(failed)?;
    let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let name = format!(
        "LoadPilot {}",
        hex(&Sha256::digest(authority_key.public_key_raw())[..8])
    );
    params.distinguished_name.push(DnType::CommonName, name);
    let new_authority = || {
        params
            .self_signed(&authority_key)
            .map(|cert| cert.pem())
            .map_err(failed)
    };
    let authority = read_or_create(folder, &authority_file, new_authority)?;
    let issuer = Issuer::new(params, authority_key);

    let mut params = CertificateParams::new(names).map_err(failed)?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().map_err(failed)?;
    let cert = params.signed_by(&key, &issuer).map_err(failed)?;
    let (cert_file, key_file) = (path.join("cert.pem"), path.join("key.pem"));
    folder.write(&cert_file, cert.pem().as_bytes())?;
    folder.write(&key_file, key.serialize_pem().as_bytes())?;
    Ok(Identity {
        cert: cert_file,
        key: key_file,
        authority: authority_file,
        fingerprint: fingerprint(&authority),
    })
}

/// Content of `file`, which is created if it is absent.
fn read_or_create(
    folder: &Folder,
    file: &Path,
    make: impl FnOnce() -> Result<String, StackError>,
) -> Result<String, StackError> {
    match fs::read_to_string(file) {
        Ok(text) if !text.is_empty() => return Ok(text),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(StackError::fault(file.display().to_string(), error)),
    }
    let text = make()?;
    folder.write(file, text.as_bytes())?;
    Ok(text)
}

fn private_folder(path: &Path) -> Result<(), StackError> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let created = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    created
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o700)))
        .map_err(|error| StackError::fault(path.display().to_string(), error))
}

/// SHA-256 of a certificate, in hex.
fn fingerprint(pem: &str) -> String {
    let lines = pem.lines().filter(|line| !line.starts_with("-----"));
    let der = STANDARD
        .decode(lines.collect::<String>())
        .unwrap_or_default();
    hex(&Sha256::digest(der))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Addresses of this machine that other machines may reach.
fn addresses() -> Vec<IpAddr> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let outside = interfaces
        .iter()
        .filter(|one| !one.is_loopback() && !one.is_link_local());
    outside.map(if_addrs::Interface::ip).collect()
}

fn bracketed(host: &str) -> String {
    match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if an address is read as another one, or an invalid one opens a port.
    #[test]
    fn the_flag_takes_a_host_and_a_port() {
        for (text, host, port) in [
            ("0.0.0.0:4222", "0.0.0.0", 4222),
            ("[::]:0", "::", 0),
            ("lab-1.example:1", "lab-1.example", 1),
        ] {
            let listen = Listen::parse(text).expect(text);
            assert_eq!((listen.host.as_str(), listen.port), (host, port));
        }
        for text in [
            "",
            "4222",
            ":4222",
            "::1:4222",
            "host",
            "host:",
            "host:99999",
            "a/b:1",
            "[x]:1",
        ] {
            Listen::parse(text).expect_err(text);
        }
    }
}
