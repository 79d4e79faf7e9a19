//! Looks for the token with which the owner of a host allows a tenant to load it (ADR 0067).
//!
//! The token is read from the addresses that the load goes to, since the owner of a name may point
//! it to a server of another owner. Must never follow a redirect, nor read without limits on time
//! and size.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use loadpilot_engine::control::ownership::host_of;
use loadpilot_events::log::ctl::OwnershipProof;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connect::stream::Stream;
use super::http1::answer::{Answer, HEAD_BYTES_MAX, Read};
use super::http1::piece::Piece;
use crate::fire::futures::join_all;
use crate::fire::request::program::Program;
use crate::fire::request::target::{Endpoint, Target};
use crate::fire::request::tls::Offer;

/// Where a host publishes its tokens: a file with one token per line.
const PATH: &str = "/.well-known/loadpilot";

/// Timeout for the resolution of a name, and for the answer of an address.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of addresses of a target that are checked.
const ADDRESSES_MAX: usize = 32;

/// Maximum length of the file, in bytes.
const FILE_BYTES_MAX: usize = 64 << 10;

/// Number of bytes that are read at a time.
const READ_BYTES: usize = 4 << 10;

/// A host that does not show that the tenant may load it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "tenant {tenant} must prove that it owns {host}, since {excess}: {url} must have the line \
     {token}, but {found}"
)]
pub(crate) struct Unproven {
    tenant: String,
    host: String,
    excess: String,
    url: String,
    token: String,
    found: String,
}

/// Why an address proves no ownership.
#[derive(Debug, thiserror::Error)]
enum NoToken {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("it does not answer within {} s", ADDRESS_TIMEOUT.as_secs())]
    Silent,
    #[error("it answers with no HTTP")]
    NoHttp,
    #[error("it answers with status {0}")]
    Status(u16),
    #[error("the file is longer than {} KiB", FILE_BYTES_MAX >> 10)]
    TooLong,
    #[error("the file has no such line")]
    NoSuchLine,
}

/// The program, restricted for each target to connections to the addresses that have its token.
///
/// # Errors
/// A target without any address that has the token.
pub(crate) async fn with_proven_targets(
    mut program: Program,
    proof: &OwnershipProof,
) -> Result<Program, Box<Unproven>> {
    // All at the same time: together they must end within the timeout of a holder to get ready.
    let targets = program.targets.iter();
    let checks = targets.map(|target| Box::pin(proven_addresses(&program, target, proof)));
    let mut found = Vec::new();
    for addresses in join_all(checks.collect()).await {
        found.extend(addresses?);
    }
    let proven = found.into_iter().collect();
    program.policy = program.policy.narrowed_to_proven(proven);
    Ok(program)
}

async fn proven_addresses(
    program: &Program,
    target: &Target,
    proof: &OwnershipProof,
) -> Result<Vec<SocketAddr>, Box<Unproven>> {
    let authority = target.authority.to_str().unwrap_or_default();
    let host = host_of(authority);
    let token = proof.tokens.get(host).cloned().unwrap_or_default();
    let scheme = if target.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let unproven = |found: String| {
        Box::new(Unproven {
            tenant: proof.tenant.to_string(),
            host: host.to_owned(),
            excess: proof.excess.words(),
            url: format!("{scheme}://{authority}{PATH}"),
            token: token.clone(),
            found,
        })
    };
    let (name, port) = match (&target.place, &target.proxy) {
        (Endpoint::Host(name, port), None) => (name, *port),
        (Endpoint::Unix(_), _) => return Err(unproven("the load goes to a Unix socket".into())),
        (_, Some(_)) => return Err(unproven("the load goes through a proxy".into())),
    };
    let resolved = timeout(ADDRESS_TIMEOUT, lookup_host((name.as_str(), port))).await;
    let addresses: BTreeSet<SocketAddr> = match resolved {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(error)) => return Err(unproven(format!("{name} is not resolved: {error}"))),
        Err(_) => return Err(unproven(format!("{name} is not resolved in time"))),
    };
    let ip = program.connections.ip;
    let fits = |address: &SocketAddr| {
        let is_allowed = program.policy.judge(name, *address).is_ok();
        is_allowed && ip.is_none_or(|ip| ip.has(address.ip()))
    };
    let mut checks = JoinSet::new();
    for address in addresses.into_iter().filter(fits).take(ADDRESSES_MAX) {
        let request = request(authority);
        let (tls, token) = (target.tls.clone(), token.clone());
        checks.spawn(async move {
            let answer = async {
                let tcp = TcpStream::connect(address).await?;
                let stream = match tls {
                    None => Stream::Tcp(tcp),
                    Some(tls) => Stream::Tls(Box::new(tls.handshake(tcp, Offer::Http1).await?)),
                };
                look_for(stream, &request, &token).await
            };
            let answer = timeout(ADDRESS_TIMEOUT, answer).await;
            (address, answer.unwrap_or(Err(NoToken::Silent)))
        });
    }
    let mut has_token = Vec::new();
    let mut why = BTreeSet::new();
    while let Some(answered) = checks.join_next().await {
        match answered {
            Ok((address, Ok(()))) => has_token.push(address),
            Ok((address, Err(none))) => drop(why.insert(format!("{address}: {none}"))),
            Err(error) => drop(why.insert(error.to_string())),
        }
    }
    if has_token.is_empty() {
        return Err(unproven(words(&why)));
    }
    for reason in why {
        tracing::info!(
            host,
            reason,
            "not loaded: this address has no ownership token"
        );
    }
    Ok(has_token)
}

/// The reasons why no address proves ownership; the first few of them.
fn words(why: &BTreeSet<String>) -> String {
    if why.is_empty() {
        return "no address of it is allowed to this agent".to_owned();
    }
    let first: Vec<&str> = why.iter().take(3).map(String::as_str).collect();
    first.join("; ")
}

fn request(authority: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "GET {PATH} HTTP/1.1\r\nhost: {authority}\r\nuser-agent: loadpilot/{version}\r\n\
         accept: text/plain\r\nconnection: close\r\n\r\n"
    )
}

/// Sends `request` and looks for a line `token` in the answer.
async fn look_for(mut stream: Stream, request: &str, token: &str) -> Result<(), NoToken> {
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut answer = Answer::new();
    let mut body = Vec::new();
    let mut buffer = [0; READ_BYTES];
    let mut read_bytes = 0;
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        read_bytes += count;
        let mut take = |piece: Piece<'_>| {
            if let Piece::Data(bytes) = piece {
                body.extend_from_slice(bytes);
            }
        };
        let read = answer.read_with(&buffer[..count], &mut take);
        let is_complete = matches!(read.map_err(|_| NoToken::NoHttp)?, Read::Complete { .. });
        // A redirect proves nothing about this address.
        match answer.status_if_known() {
            None | Some(200) => {}
            Some(status) => return Err(NoToken::Status(status)),
        }
        if body.len() > FILE_BYTES_MAX || read_bytes > FILE_BYTES_MAX + HEAD_BYTES_MAX {
            return Err(NoToken::TooLong);
        }
        if is_complete {
            break;
        }
    }
    if answer.status_if_known().is_none() {
        return Err(NoToken::NoHttp);
    }
    let is_there = !token.is_empty() && lines(&body).any(|line| line == token.as_bytes());
    is_there.then_some(()).ok_or(NoToken::NoSuchLine)
}

/// The lines of a file, without white space around them.
fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii)
}
