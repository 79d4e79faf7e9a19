//! Proxies with the behaviour that a test chooses: they forward, or misbehave.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The behaviour of a proxy on each connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    /// Sends the next of these after each read, then closes.
    Says(&'static [&'static [u8]]),
    /// The beginning of a head, without an end.
    Endless,
    /// Sends nothing, and stays open.
    Silent,
    /// Answers CONNECT after this time, then forwards.
    Forwards(Duration),
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicUsize>,
}

impl Proxy {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.expect("a connection");
                count.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || serve(manner, client));
            }
        });
        Self { address, accepted }
    }

    /// Number of connections accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

fn serve(manner: Manner, mut client: TcpStream) {
    let mut buffer = [0; 4096];
    client.set_nodelay(true).expect("open");
    match manner {
        Manner::Says(all) => {
            for answer in all {
                if client.read(&mut buffer).unwrap_or(0) == 0 || client.write_all(answer).is_err() {
                    return;
                }
            }
            // A reset would overtake the reply.
            drop(client.shutdown(Shutdown::Write));
            while client.read(&mut buffer).unwrap_or(0) > 0 {}
        }
        Manner::Endless => {
            drop(client.write_all(b"HTTP/1.1 200 OK\r\nX: "));
            while client.write_all(&[b'x'; 4096]).is_ok() {}
        }
        Manner::Silent => while client.read(&mut buffer).unwrap_or(0) > 0 {},
        Manner::Forwards(delay) => forward(client, delay),
    }
}

fn forward(mut client: TcpStream, delay: Duration) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match client.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8(head).expect("a text");
    let place = head.split(' ').nth(1).expect("a place");
    thread::sleep(delay);
    let target = TcpStream::connect(place).expect("a target");
    target.set_nodelay(true).expect("open");
    client.write_all(b"HTTP/1.1 200 Yes\r\n\r\n").expect("open");
    let (from, to) = (
        client.try_clone().expect("open"),
        target.try_clone().expect("open"),
    );
    thread::spawn(move || copy(from, to));
    copy(target, client);
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    drop(std::io::copy(&mut from, &mut to));
    drop(to.shutdown(Shutdown::Write));
}
