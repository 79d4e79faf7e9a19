//! Servers that a server names to its clients, as those of a cluster name each other.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use loadpilot_bus::Options;
use loadpilot_bus::testserver::{NoServer, TestServer};

use crate::rig::{TIMEOUT, connect};

/// Number of connections after which a client has tried each server that it knows.
const ROUNDS: usize = 3;

/// The address of a proxy to `server` that names `other` to each client, and its connections.
fn naming(server: &TestServer, other: SocketAddr) -> (String, Receiver<()>) {
    let address = server.url.replace("nats://", "");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    let (connected, connections) = mpsc::channel();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if connected.send(()).is_err() {
                return;
            }
            // A client of a server that is gone is disconnected at once.
            if let Ok(upstream) = TcpStream::connect(&address) {
                let _ = forward(client, upstream, other);
            }
        }
    });
    (url, connections)
}

fn forward(mut client: TcpStream, mut server: TcpStream, other: SocketAddr) -> io::Result<()> {
    let mut start = [0; "INFO {".len()];
    server.read_exact(&mut start)?;
    assert_eq!(&start, b"INFO {");
    write!(client, "INFO {{\"connect_urls\":[\"{other}\"],")?;
    let (mut replies, mut to_client) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut replies, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    thread::spawn(move || io::copy(&mut client, &mut server));
    Ok(())
}

/// Whether a client with this login connects to a server that another one names.
async fn follows(server: &mut TestServer, token: Option<&str>) -> bool {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let (url, connections) = naming(server, other.local_addr().unwrap());
    let token = token.map(str::to_owned);
    let _bus = connect(&Options {
        token,
        ..Options::new(url)
    })
    .await;
    server.kill();
    for _ in 0..=ROUNDS {
        connections.recv_timeout(TIMEOUT).unwrap();
    }
    other.accept().is_ok()
}

/// Broken if a token leaves this machine unencrypted because a server of the given address names
/// another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_goes_to_no_server_that_another_names() {
    let mut server = match TestServer::start_open_to("") {
        Ok(server) => server,
        Err(NoServer::NotFound) => return eprintln!("SKIPPED: no server"),
        Err(failed) => panic!("{failed}"),
    };
    assert!(!follows(&mut server, Some("s3cret")).await);
    server.restart().unwrap();
    assert!(
        follows(&mut server, None).await,
        "a client without a secret may follow"
    );
}
