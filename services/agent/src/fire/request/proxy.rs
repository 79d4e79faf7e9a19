//! A proxy between agent and target: the bytes that the agent sends to it, complete before the
//! start.
//!
//! Must never print its bytes: they may hold credentials.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use loadpilot_events::plan::connections::ProxyProtocol;

/// Maximum bytes of a user, of a password and of a host for SOCKS: each length is one byte.
const SOCKS_TEXT_BYTES_MAX: usize = 255;

/// The proxy of one target.
pub(crate) struct Proxy {
    pub(crate) greeting: Greeting,
}

/// The bytes that the agent sends on a new connection to the proxy.
pub(crate) enum Greeting {
    /// A CONNECT request.
    Http(Vec<u8>),
    /// The parts of SOCKS 5.
    Socks5 {
        /// User and password (RFC 1929), when there are any.
        login: Option<Vec<u8>>,
        /// The request to connect.
        request: Vec<u8>,
    },
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxy")
    }
}

impl Proxy {
    /// A proxy that connects to `host`, without brackets, and `port`; `credentials` are
    /// `user:password`.
    ///
    /// # Errors
    /// The rule that host or credentials break.
    pub(crate) fn new(
        protocol: ProxyProtocol,
        (host, port): (&str, u16),
        credentials: Option<&str>,
    ) -> Result<Self, &'static str> {
        let greeting = match protocol {
            ProxyProtocol::Http => Greeting::Http(connect(host, port, credentials)),
            ProxyProtocol::Socks5 => Greeting::Socks5 {
                login: credentials.map(login).transpose()?,
                request: request(host, port)?,
            },
        };
        Ok(Self { greeting })
    }
}

fn connect(host: &str, port: u16, credentials: Option<&str>) -> Vec<u8> {
    let place = match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    let mut head = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n");
    if let Some(credentials) = credentials {
        let basic = BASE64_STANDARD.encode(credentials);
        head.push_str(&format!("Proxy-Authorization: Basic {basic}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn login(credentials: &str) -> Result<Vec<u8>, &'static str> {
    let rule = "user:password, at most 255 bytes each for SOCKS";
    let (user, password) = credentials.split_once(':').ok_or(rule)?;
    let mut bytes = vec![1];
    for text in [user, password] {
        let is_fit = (1..=SOCKS_TEXT_BYTES_MAX).contains(&text.len());
        let length = u8::try_from(text.len()).ok().filter(|_| is_fit);
        bytes.push(length.ok_or(rule)?);
        bytes.extend_from_slice(text.as_bytes());
    }
    Ok(bytes)
}

fn request(host: &str, port: u16) -> Result<Vec<u8>, &'static str> {
    let mut bytes = vec![5, 1, 0];
    match host.parse() {
        Ok(IpAddr::V4(v4)) => {
            bytes.push(1);
            bytes.extend(v4.octets());
        }
        Ok(IpAddr::V6(v6)) => {
            bytes.push(4);
            bytes.extend(v6.octets());
        }
        Err(_) => {
            let length = u8::try_from(host.len()).map_err(|_| "a host of at most 255 bytes")?;
            bytes.extend([3, length]);
            bytes.extend(host.bytes());
        }
    }
    bytes.extend(port.to_be_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if an address is sent as a name, a length does not fit, or the debug form shows a
    /// password.
    #[test]
    fn what_is_said_names_the_target() {
        let text = |host: &str, login| String::from_utf8(connect(host, 443, login)).expect("text");
        assert_eq!(
            text("shop", None),
            "CONNECT shop:443 HTTP/1.1\r\nHost: shop:443\r\n\r\n"
        );
        assert!(text("::1", None).starts_with("CONNECT [::1]:443 "));
        assert!(text("shop", Some("me:pw")).contains("Proxy-Authorization: Basic bWU6cHc=\r\n"));
        assert_eq!(
            request("10.0.0.1", 258),
            Ok(vec![5, 1, 0, 1, 10, 0, 0, 1, 1, 2])
        );
        assert_eq!(
            request("ab", 80),
            Ok(vec![5, 1, 0, 3, 2, b'a', b'b', 0, 80])
        );
        assert_eq!(
            request("::1", 80).map(|bytes| (bytes[3], bytes.len())),
            Ok((4, 22))
        );
        assert_eq!(login("u:p:q"), Ok(vec![1, 1, b'u', 3, b'p', b':', b'q']));
        let long = "x".repeat(256);
        assert!(request(&long, 80).is_err());
        for wrong in ["u", ":p", "u:", &format!("u:{long}")] {
            assert!(login(wrong).is_err(), "{wrong}");
        }
        let proxy = Proxy::new(ProxyProtocol::Http, ("shop", 443), Some("me:pw"));
        assert_eq!(format!("{:?}", proxy.expect("sound")), "Proxy");
    }
}
