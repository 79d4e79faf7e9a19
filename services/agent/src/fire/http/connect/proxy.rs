//! Asks a proxy for a connection to the target: CONNECT (RFC 9110, section 9.3.6) or SOCKS 5 (RFC
//! 1928, RFC 1929).
//!
//! Must never consume a byte that belongs to the target, nor store more of an answer than its
//! limit: proxies may be hostile. It has no timer: the time-outs of the call end it.

use std::io;

use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::error_classification::ErrorClass;
use crate::fire::request::proxy::{Greeting, Proxy};

/// Maximum bytes of the answer to CONNECT.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Number of bytes per peek at an answer.
const PEEK_BYTES: usize = 512;
/// Maximum characters of an answer that are shown.
const SHOWN_CHARS_MAX: usize = 100;

/// Why a proxy opened no connection.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) class: ErrorClass,
    /// Its answer as text, if it gave one.
    pub(super) answer: Option<String>,
}

impl Refused {
    fn new(cause: Cause, answer: String) -> Self {
        Self {
            class: ErrorClass::new(Outcome::Connect, cause),
            answer: Some(answer),
        }
    }

    fn protocol(answer: &str) -> Self {
        Self::new(Cause::ProxyProtocol, answer.to_owned())
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::protocol("closed the connection"),
            _ => Self {
                class: ErrorClass::connecting(&error),
                answer: None,
            },
        }
    }
}

/// Turns `tcp`, a connection to the proxy, into one to the target.
///
/// # Errors
/// The answer of the proxy that is not a success.
pub(super) async fn ask(proxy: &Proxy, tcp: &mut TcpStream) -> Result<(), Refused> {
    match &proxy.greeting {
        Greeting::Http(request) => connect(request, tcp).await,
        Greeting::Socks5 { login, request } => socks5(login.as_deref(), request, tcp).await,
    }
}

async fn connect(request: &[u8], tcp: &mut TcpStream) -> Result<(), Refused> {
    tcp.write_all(request).await?;
    let head = read_head(tcp).await?;
    let first = head.split(|byte| matches!(byte, b'\r' | b'\n')).next();
    let first = String::from_utf8_lossy(first.unwrap_or_default());
    let status = first
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.get(2..5));
    let status: Option<u16> = status.and_then(|digits| digits.parse().ok());
    let cause = match status {
        Some(200..300) => return Ok(()),
        // tinyproxy answers 401 to a wrong password.
        Some(401 | 407) => Cause::ProxyCredentials,
        Some(502..=504) => Cause::ProxyNoConnection,
        Some(100..) => Cause::ProxyRefused,
        _ => return Err(Refused::protocol("not HTTP/1")),
    };
    let shown = first.chars().filter(|c| !c.is_control());
    Err(Refused::new(cause, shown.take(SHOWN_CHARS_MAX).collect()))
}

/// Reads up to the end of a head and no further: the target's first bytes may follow directly.
async fn read_head(tcp: &mut TcpStream) -> Result<Vec<u8>, Refused> {
    let (mut head, mut peeked) = (Vec::new(), [0; PEEK_BYTES]);
    loop {
        let seen = tcp.peek(&mut peeked).await?;
        if seen == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let before = head.len();
        head.extend_from_slice(&peeked[..seen]);
        let from = before.saturating_sub(3);
        let end = head[from..].windows(4).position(|part| part == b"\r\n\r\n");
        let end = end.map(|at| from + at + 4);
        head.truncate(end.unwrap_or(head.len()));
        tcp.read_exact(&mut peeked[..head.len() - before]).await?;
        match end {
            Some(_) => return Ok(head),
            None if head.len() >= HEAD_BYTES_MAX => {
                return Err(Refused::protocol("an answer of more than 16 KiB"));
            }
            None => {}
        }
    }
}

async fn socks5(login: Option<&[u8]>, request: &[u8], tcp: &mut TcpStream) -> Result<(), Refused> {
    let methods: &[u8] = match login {
        None => &[5, 1, 0],
        Some(_) => &[5, 2, 0, 2],
    };
    tcp.write_all(methods).await?;
    let mut answer = [0; 2];
    tcp.read_exact(&mut answer).await?;
    match (answer, login) {
        ([5, 0], _) => {}
        ([5, 2], Some(login)) => {
            tcp.write_all(login).await?;
            tcp.read_exact(&mut answer).await?;
            if answer[1] != 0 {
                let reason = format!("SOCKS 5 login: status {}", answer[1]);
                return Err(Refused::new(Cause::ProxyCredentials, reason));
            }
        }
        ([5, 2 | 0xff], _) => {
            let reason = "SOCKS 5: no acceptable authentication".to_owned();
            return Err(Refused::new(Cause::ProxyCredentials, reason));
        }
        _ => return Err(Refused::protocol("not SOCKS 5")),
    }
    tcp.write_all(request).await?;
    let mut reply = [0; 4];
    tcp.read_exact(&mut reply).await?;
    let [5, code, _, kind] = reply else {
        return Err(Refused::protocol("not SOCKS 5"));
    };
    if let Some((cause, words)) = of_reply(code) {
        return Err(Refused::new(
            cause,
            format!("SOCKS 5 reply {code}: {words}"),
        ));
    }
    // The address that the proxy connects from is not needed.
    let length = match kind {
        1 => 4,
        3 => usize::from(tcp.read_u8().await?),
        4 => 16,
        _ => return Err(Refused::protocol("not SOCKS 5")),
    };
    let mut address = [0; 257];
    tcp.read_exact(&mut address[..length + 2]).await?;
    Ok(())
}

/// Why a reply is not a success (RFC 1928, section 6).
fn of_reply(code: u8) -> Option<(Cause, &'static str)> {
    Some(match code {
        0 => return None,
        1 => (Cause::ProxyRefused, "general failure"),
        2 => (Cause::ProxyRefused, "not allowed by its rules"),
        3 => (Cause::ProxyNoConnection, "network unreachable"),
        4 => (Cause::ProxyNoConnection, "host unreachable"),
        5 => (Cause::ProxyNoConnection, "connection refused"),
        6 => (Cause::ProxyNoConnection, "time to live expired"),
        7 => (Cause::ProxyRefused, "command not supported"),
        8 => (Cause::ProxyRefused, "kind of address not supported"),
        _ => (Cause::ProxyRefused, "unknown"),
    })
}

#[cfg(test)]
mod tests {
    use loadpilot_events::plan::connections::ProxyProtocol;
    use tokio::net::TcpListener;

    use super::*;

    /// Broken if a byte of the target is taken for the proxy's, however the answer is cut.
    #[test]
    fn what_follows_the_answer_belongs_to_the_target() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let http = b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nearly".as_slice();
        let socks = b"\x05\x00\x05\x00\x00\x03\x01a\x00\x00early".as_slice();
        for (protocol, answer) in [(ProxyProtocol::Http, http), (ProxyProtocol::Socks5, socks)] {
            for cut in 0..=answer.len() {
                runtime.block_on(async {
                    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                    let address = listener.local_addr().expect("bound");
                    let mut tcp = TcpStream::connect(address).await.expect("it listens");
                    let (mut peer, _) = listener.accept().await.expect("a connection");
                    peer.set_nodelay(true).expect("open");
                    let proxy = Proxy::new(protocol, ("shop", 80), None).expect("sound");
                    let say = async {
                        peer.write_all(&answer[..cut]).await.expect("open");
                        tokio::task::yield_now().await;
                        peer.write_all(&answer[cut..]).await.expect("open");
                    };
                    let (asked, ()) = tokio::join!(ask(&proxy, &mut tcp), say);
                    asked.expect("a connection");
                    let mut early = [0; 5];
                    tcp.read_exact(&mut early).await.expect("all of it");
                    assert_eq!(&early, b"early", "cut at {cut}");
                });
            }
        }
    }
}
