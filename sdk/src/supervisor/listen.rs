//! A local stack that is opened to other machines: where it listens, by which certificate it is
//! known, and the token that it asks for. Never the one without the other.
//!
//! Authority and token belong to the folder of the log and outlive a stack: agents that were given
//! them once find the next run, too. Must never write a key that others may read.

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

use super::Trouble;
use super::folder::{Folder, secret};

/// In the folder of a log: all that is shown to, or asked of, other machines.
const PLACE: &str = "listen";

/// Where other machines are to reach a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// An address of this machine, a name of it, or all of them (`0.0.0.0`, `::`).
    pub host: String,
    /// 0: a free one.
    pub port: u16,
    /// A certificate of the user's own instead of one that is made.
    pub given: Option<Given>,
}

/// A certificate that the user brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The chain, in PEM.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Who signed it, where machines do not trust them anyway.
    pub cacert: Option<PathBuf>,
}

/// An opened stack.
pub(super) struct Open {
    /// Where it listens, as nats-server reads it.
    pub(super) bind: String,
    pub(super) port: u16,
    /// Where members on this machine connect.
    pub(super) near: String,
    /// Where those of other machines do.
    pub(super) far: String,
    pub(super) cert: PathBuf,
    pub(super) key: PathBuf,
    pub(super) cacert: Option<PathBuf>,
    pub(super) token: String,
    pub(super) token_file: PathBuf,
    /// SHA-256 of the authority that was made.
    pub(super) fingerprint: Option<String>,
}

impl Listen {
    /// Reads `HOST:PORT`.
    ///
    /// # Errors
    /// What it must be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rule = || format!("must be HOST:PORT such as 0.0.0.0:4222 (got {text:?})");
        let (host, port) = text.rsplit_once(':').ok_or_else(rule)?;
        let port = port.parse().map_err(|_| rule())?;
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let sound = match bare {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.bytes().all(is_name),
        };
        let host = bare.unwrap_or(host).to_owned();
        let given = None;
        sound.then_some(Self { host, port, given }).ok_or_else(rule)
    }

    fn is_everywhere(&self) -> bool {
        self.host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_unspecified())
    }

    /// Takes a port and makes, or finds, what identifies the stack.
    pub(super) fn open(&self, folder: &Folder) -> Result<Open, Trouble> {
        let place = folder.path().join(PLACE);
        private_folder(&place)?;
        let port = self.free_port()?;
        let addresses = addresses();
        let (near, far) = match self.is_everywhere() {
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
        let (cert, key, cacert, fingerprint) = match &self.given {
            Some(given) => {
                self.must_be_named()?;
                let given = given.clone();
                (given.cert, given.key, given.cacert, None)
            }
            None => {
                let mut names = vec!["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string()];
                match self.is_everywhere() {
                    true => names.extend(addresses.iter().map(ToString::to_string)),
                    false => names.push(self.host.clone()),
                }
                let made = identify(folder, &place, names)?;
                (
                    made.cert,
                    made.key,
                    Some(made.authority),
                    Some(made.fingerprint),
                )
            }
        };
        let token_file = place.join("token");
        let token = kept(folder, &token_file, secret)?;
        Ok(Open {
            bind: bracketed(&self.host),
            port,
            near: format!("tls://{}:{port}", bracketed(&near)),
            far: format!("tls://{}:{port}", bracketed(&far)),
            cert,
            key,
            cacert,
            token,
            token_file,
            fingerprint,
        })
    }

    fn free_port(&self) -> Result<u16, Trouble> {
        let listener = TcpListener::bind((self.host.as_str(), self.port));
        let port = listener.and_then(|listener| Ok(listener.local_addr()?.port()));
        port.map_err(|error| Trouble::Refusal {
            field: "--listen",
            rule: format!(
                "cannot listen at {}:{}: {error}",
                bracketed(&self.host),
                self.port
            ),
        })
    }

    /// A certificate is for a name, and whoever connects compares it.
    fn must_be_named(&self) -> Result<(), Trouble> {
        if !self.is_everywhere() {
            return Ok(());
        }
        Err(Trouble::Refusal {
            field: "--listen",
            rule: format!(
                "must name the host of --listen-cert instead of {}",
                self.host
            ),
        })
    }
}

/// Files that identify a stack.
struct Made {
    cert: PathBuf,
    key: PathBuf,
    authority: PathBuf,
    fingerprint: String,
}

/// The authority of this folder, and a certificate of it for `names`.
fn identify(folder: &Folder, place: &Path, names: Vec<String>) -> Result<Made, Trouble> {
    let made = |error: rcgen::Error| {
        Trouble::fault(
            "make a certificate",
            std::io::Error::other(error.to_string()),
        )
    };
    let authority_file = place.join("ca.pem");
    let new_key = || {
        KeyPair::generate()
            .map(|key| key.serialize_pem())
            .map_err(made)
    };
    let authority_key = kept(folder, &place.join("ca-key.pem"), new_key)?;
    let authority_key = KeyPair::from_pem(&authority_key).map_err(made)?;
    let mut params = CertificateParams::new(Vec::new()).map_err(made)?;
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
            .map_err(made)
    };
    let authority = kept(folder, &authority_file, new_authority)?;
    let issuer = Issuer::new(params, authority_key);

    let mut params = CertificateParams::new(names).map_err(made)?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().map_err(made)?;
    let cert = params.signed_by(&key, &issuer).map_err(made)?;
    let (cert_file, key_file) = (place.join("cert.pem"), place.join("key.pem"));
    folder.write(&cert_file, cert.pem().as_bytes())?;
    folder.write(&key_file, key.serialize_pem().as_bytes())?;
    Ok(Made {
        cert: cert_file,
        key: key_file,
        authority: authority_file,
        fingerprint: fingerprint(&authority),
    })
}

/// What stands in `file`, which is written if it is not there.
fn kept(
    folder: &Folder,
    file: &Path,
    make: impl FnOnce() -> Result<String, Trouble>,
) -> Result<String, Trouble> {
    match fs::read_to_string(file) {
        Ok(text) if !text.is_empty() => return Ok(text),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(Trouble::fault(file.display().to_string(), error)),
    }
    let text = make()?;
    folder.write(file, text.as_bytes())?;
    Ok(text)
}

fn private_folder(path: &Path) -> Result<(), Trouble> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o700)))
        .map_err(|error| Trouble::fault(path.display().to_string(), error))
}

/// SHA-256 of a certificate as people compare it.
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

/// The addresses by which other machines may know this one.
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

    /// Broken if an address is taken for another one, or a mistake opens a stack somewhere.
    #[test]
    fn a_place_is_a_host_and_a_port() {
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
