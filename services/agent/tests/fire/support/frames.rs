//! A target that speaks HTTP/2 frame by frame, to send what no correct server sends.
//!
//! It reads only the numbers of streams: headers stay compressed.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use h2::Reason;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The frames to send when a request has begun.
pub(crate) enum Say {
    /// These frames.
    More(Vec<u8>),
    /// These frames; then the connection is closed.
    Last(Vec<u8>),
}

type Streams = Arc<Mutex<Vec<(usize, u32)>>>;

pub(crate) struct Frames {
    address: SocketAddr,
    streams: Streams,
}

impl Frames {
    /// Starts a target. `say` gives the reply to each request, by the numbers of its connection and
    /// stream.
    pub(crate) fn start(say: impl Fn(usize, u32) -> Say + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let streams = Streams::default();
        let (own, say) = (Arc::clone(&streams), Arc::new(say));
        thread::spawn(move || {
            for (connection, tcp) in listener.incoming().enumerate() {
                let tcp = tcp.expect("a connection");
                let (streams, say) = (Arc::clone(&own), Arc::clone(&say));
                thread::spawn(move || {
                    let say = |stream| {
                        let mut streams = streams.lock().expect("no target panicked");
                        streams.push((connection, stream));
                        say(connection, stream)
                    };
                    // It ends when the other side closes.
                    drop(serve(&tcp, &say));
                });
            }
        });
        Self { address, streams }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Connection and stream of each request received, in the order of connections.
    pub(crate) fn streams(&self) -> Vec<(usize, u32)> {
        let mut streams = self.streams.lock().expect("no target panicked").clone();
        streams.sort_unstable();
        streams
    }
}

/// A response of status 200 without content, or the beginning of one with content.
pub(crate) fn headers(stream: u32, is_end: bool) -> Vec<u8> {
    let end = if is_end { END_STREAM } else { 0 };
    // RFC 7541, appendix A: entry 8 is `:status: 200`.
    frame(HEADERS, END_HEADERS | end, stream, &[0x88])
}

pub(crate) fn reset(stream: u32, reason: Reason) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &u32::from(reason).to_be_bytes())
}

pub(crate) fn go_away(last_stream: u32, reason: Reason) -> Vec<u8> {
    let words = [last_stream.to_be_bytes(), u32::from(reason).to_be_bytes()];
    frame(GO_AWAY, 0, 0, &words.concat())
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame");
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

fn serve(mut tcp: &TcpStream, say: &dyn Fn(u32) -> Say) -> std::io::Result<()> {
    let mut preface = [0; PREFACE.len()];
    tcp.read_exact(&mut preface)?;
    assert_eq!(preface, PREFACE);
    tcp.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    loop {
        let mut head = [0; 9];
        tcp.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        tcp.read_exact(&mut payload)?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        match (head[3], head[4] & ACK) {
            (SETTINGS, 0) => tcp.write_all(&frame(SETTINGS, ACK, 0, &[]))?,
            (PING, 0) => tcp.write_all(&frame(PING, ACK, 0, &payload))?,
            (HEADERS, _) => match say(stream) {
                Say::More(frames) => tcp.write_all(&frames)?,
                Say::Last(frames) => return tcp.write_all(&frames),
            },
            _ => {}
        }
    }
}
