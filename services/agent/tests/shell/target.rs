//! A target that counts: one thread per connection, its own parser, nothing of the product.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

use crate::script::PATIENCE;

/// Answers every request with 200 and counts it.
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    counts: Arc<Mutex<BTreeMap<String, u64>>>,
    total: watch::Receiver<u64>,
}

impl Target {
    /// A target on loopback that waits for `delay` before it answers.
    pub(crate) fn start(delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let counts: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
        let (seen, total) = watch::channel(0);
        let known = counts.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (counts, seen) = (known.clone(), seen.clone());
                thread::spawn(move || serve(stream, delay, &counts, &seen));
            }
        });
        Self {
            address,
            counts,
            total,
        }
    }

    /// Requests by path.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        self.counts
            .lock()
            .expect("no thread panics with it")
            .clone()
    }

    /// All requests so far.
    pub(crate) fn total(&self) -> u64 {
        *self.total.borrow()
    }

    /// Waits until it has seen `count` requests.
    pub(crate) async fn seen(&self, count: u64) {
        let mut total = self.total.clone();
        tokio::time::timeout(PATIENCE, total.wait_for(|&total| total >= count))
            .await
            .unwrap_or_else(|_| panic!("{} of {count} requests came", self.total()))
            .expect("the target lives");
    }
}

fn serve(
    stream: TcpStream,
    delay: Duration,
    counts: &Mutex<BTreeMap<String, u64>>,
    seen: &watch::Sender<u64>,
) {
    let mut answer = stream.try_clone().expect("a socket can be shared");
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(first)) = lines.next() {
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        while lines
            .next()
            .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
        {}
        *counts
            .lock()
            .expect("no thread panics with it")
            .entry(path)
            .or_default() += 1;
        seen.send_modify(|total| *total += 1);
        thread::sleep(delay);
        if answer
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            .is_err()
        {
            return;
        }
    }
}
