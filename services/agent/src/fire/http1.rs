//! HTTP/1.1 by hyper: a pool of keep-alive connections of one core.
//!
//! A connection is driven by the exchange that uses it: no task of its own, no hand-over. A request
//! goes out again only when not one byte of it had been written, because the connection turned out
//! to be closed; nothing else is ever retried.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper::header::HeaderValue;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use loadpilot_engine::tally::ConnectionUse;

use super::clock::MonoTime;
use super::dial::{Dial, broken_by};
use super::metered::{Meter, Metered};
use super::program::Program;
use super::wire::{Broken, Order, Trace, Wire};

/// The engine of one core.
pub(crate) struct Http1 {
    program: Arc<Program>,
    dial: Dial,
    /// Last in, first out: the ones in use stay warm, the others may age and go.
    idle: RefCell<Vec<Link>>,
}

/// An open connection.
struct Link {
    sender: SendRequest<Full<Bytes>>,
    connection: Pin<Box<Connection<TokioIo<Metered>, Full<Bytes>>>>,
    meter: Rc<Meter>,
    /// Whether the connection has come to its end and may not be polled again.
    closed: bool,
}

/// How an exchange on one connection ended without an answer.
enum Failed {
    /// Not one byte of the request was written: it may go out on another connection.
    Unsent(Broken),
    /// It may have reached the target.
    Broken(Broken),
}

impl Http1 {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        Self {
            dial: Dial::new(Arc::clone(&program)),
            program,
            idle: RefCell::new(Vec::new()),
        }
    }

    fn request(&self, order: Order<'_>) -> Request<Full<Bytes>> {
        let call = order.call;
        let mut request = Request::new(Full::new(call.body.clone()));
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = call.uri.clone();
        *request.headers_mut() = call.headers.clone();
        if let (Some(name), Some(id)) = (&self.program.id_header, order.id) {
            let value = HeaderValue::try_from(id).expect("an id is a token, digits and slashes");
            request.headers_mut().insert(name.clone(), value);
        }
        request
    }

    /// The idle connection used last, if it is still open.
    async fn idle_link(&self) -> Option<Link> {
        loop {
            let mut link = self.idle.borrow_mut().pop()?;
            if poll_fn(|cx| Poll::Ready(link.is_open(cx))).await {
                return Some(link);
            }
        }
    }

    async fn open(&self, trace: &mut Trace) -> Result<Link, Broken> {
        let stream = self.dial.open(trace).await?;
        let meter = Rc::new(Meter::default());
        let io = TokioIo::new(Metered::new(stream, Rc::clone(&meter)));
        let (sender, connection) = Builder::new()
            .handshake(io)
            .await
            .map_err(|error| broken_by(&error))?;
        Ok(Link {
            sender,
            connection: Box::pin(connection),
            meter,
            closed: false,
        })
    }

    async fn exchange(
        &self,
        mut link: Link,
        request: Request<Full<Bytes>>,
        trace: &mut Trace,
    ) -> Result<u16, Failed> {
        let reading = Reading::begin(&link.meter, trace);
        let status = link.converse(request).await?;
        reading.complete();
        if poll_fn(|cx| Poll::Ready(link.is_open(cx))).await {
            self.idle.borrow_mut().push(link);
        }
        Ok(status)
    }
}

impl Wire for Http1 {
    async fn send(&self, order: Order<'_>, trace: &mut Trace) -> Result<u16, Broken> {
        if let Some(link) = self.idle_link().await {
            trace.phases.connection = Some(ConnectionUse::Reused);
            match self.exchange(link, self.request(order), trace).await {
                Ok(status) => return Ok(status),
                Err(Failed::Broken(broken)) => return Err(broken),
                Err(Failed::Unsent(_)) => trace.phases.connection = None,
            }
        }
        let link = self.open(trace).await?;
        trace.phases.connection = Some(ConnectionUse::Opened);
        match self.exchange(link, self.request(order), trace).await {
            Ok(status) => Ok(status),
            Err(Failed::Broken(broken) | Failed::Unsent(broken)) => Err(broken),
        }
    }

    async fn warm(&self) {
        // A failure here says nothing yet: the first call tries again and is counted.
        let _ = self.dial.addresses(&mut Trace::default()).await;
    }

    fn tidy(&self) {
        let mut cx = Context::from_waker(Waker::noop());
        self.idle
            .borrow_mut()
            .retain_mut(|link| link.is_open(&mut cx));
    }
}

impl Link {
    /// Whether it can take a request; takes notice of a close that has arrived.
    fn is_open(&mut self, cx: &mut Context<'_>) -> bool {
        self.drive(cx);
        !self.closed && self.sender.is_ready()
    }

    /// Lets the connection do its I/O. Its errors also reach whoever waits for the answer.
    fn drive(&mut self, cx: &mut Context<'_>) {
        self.closed = self.closed || self.connection.as_mut().poll(cx).is_ready();
    }

    /// Sends `request` and reads the whole answer, which is thrown away but for its status.
    async fn converse(&mut self, request: Request<Full<Bytes>>) -> Result<u16, Failed> {
        let sent_before = self.meter.sent_bytes.get();
        let mut answer = std::pin::pin!(self.sender.try_send_request(request));
        let answer = poll_fn(|cx| {
            self.drive(cx);
            answer.as_mut().poll(cx)
        })
        .await;
        let response = match answer {
            Ok(response) => response,
            Err(error) => {
                let broken = log_broken(&error.into_error());
                let unwritten = self.meter.sent_bytes.get() == sent_before;
                return Err(match unwritten {
                    true => Failed::Unsent(broken),
                    false => Failed::Broken(broken),
                });
            }
        };
        self.read_out(response).await
    }

    async fn read_out(&mut self, response: Response<Incoming>) -> Result<u16, Failed> {
        let status = response.status().as_u16();
        let mut body = response.into_body();
        if body.is_end_stream() {
            return Ok(status);
        }
        poll_fn(|cx| {
            loop {
                self.drive(cx);
                match Pin::new(&mut body).poll_frame(cx) {
                    Poll::Ready(Some(Ok(_))) => {}
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                    Poll::Ready(None) => return Poll::Ready(Ok(())),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
        .map_err(|error| Failed::Broken(log_broken(&error)))?;
        Ok(status)
    }
}

fn log_broken(error: &hyper::Error) -> Broken {
    tracing::debug!(%error, "exchange broken");
    broken_by(error)
}

/// Carries what the meter saw during one exchange into its trace, also when it is cut off.
struct Reading<'a> {
    meter: Rc<Meter>,
    trace: &'a mut Trace,
    sent_bytes: u64,
    received_bytes: u64,
}

impl<'a> Reading<'a> {
    fn begin(meter: &Rc<Meter>, trace: &'a mut Trace) -> Self {
        meter.wrote_at.set(None);
        meter.answered_at.set(None);
        Self {
            sent_bytes: meter.sent_bytes.get(),
            received_bytes: meter.received_bytes.get(),
            meter: Rc::clone(meter),
            trace,
        }
    }

    /// The last byte of the answer has come.
    fn complete(self) {
        let answered = self.meter.answered_at.get();
        let last_byte_us = answered.map(|answered| MonoTime::now().since_us(answered));
        self.trace.phases.last_byte_us = last_byte_us;
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let meter = &self.meter;
        self.trace.sent_bytes += meter.sent_bytes.get() - self.sent_bytes;
        self.trace.received_bytes += meter.received_bytes.get() - self.received_bytes;
        if let (Some(wrote), Some(answered)) = (meter.wrote_at.get(), meter.answered_at.get()) {
            self.trace.phases.first_byte_us = Some(answered.since_us(wrote));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use loadpilot_events::plan::Plan;
    use tokio::runtime::{Builder, LocalOptions};

    use super::*;

    const PLAN: &str = r#"{
        "schema": "loadpilot.plan/1", "scenario": "Reset", "target": "http://TARGET",
        "profile": {"shape": "constant", "pieces": []},
        "tasks": [{"name": "t", "weight": 1, "steps": [
            {"name": "s", "method": "POST", "path": "/order", "body": {"text": "one"}}]}],
        "warm_up_us": 0, "timeout_us": 1, "max_wait_us": 1, "max_lateness_us": 1, "tick_us": 1
    }"#;

    /// Reads one request with its body of three bytes, and answers.
    fn serve_one(stream: &mut TcpStream) {
        let mut request = Vec::new();
        let mut chunk = [0; 1024];
        while !request.ends_with(b"\r\n\r\none") {
            let bytes = stream.read(&mut chunk).expect("a request");
            assert!(bytes > 0, "the request was cut off");
            request.extend(&chunk[..bytes]);
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).expect("a reader");
    }

    /// Broken if a reset that the reactor has not told yet cost a request of which nothing was
    /// written. The second request must come, and come once, on a new connection.
    #[test]
    fn a_reset_before_the_first_byte_moves_the_request_to_a_new_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address").to_string();
        let plan: Plan = serde_json::from_str(&PLAN.replace("TARGET", &address)).expect("a plan");
        let program = Program::compile(&plan, &BTreeMap::new()).expect("a sendable plan");
        let http = Http1::new(Arc::new(program));
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .expect("a runtime");
        runtime.block_on(async {
            let order = Order {
                call: &http.program.tasks[0][0],
                id: None,
            };
            for round in 0..2 {
                let mut trace = Trace::default();
                let own = listener.try_clone().expect("a second handle");
                let server = std::thread::spawn(move || {
                    let (mut stream, _) = own.accept().expect("a connection");
                    serve_one(&mut stream);
                    stream
                });
                assert_eq!(http.send(order, &mut trace).await, Ok(200), "round {round}");
                assert_eq!(trace.phases.connection, Some(ConnectionUse::Opened));
                // No await from here to the next write: the reactor learns nothing of the reset.
                let stream = server.join().expect("the server's part went well");
                reset(stream);
            }
        });
    }

    /// Closes with a reset.
    fn reset(stream: TcpStream) {
        stream.set_nonblocking(true).expect("a socket");
        let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
        stream.set_zero_linger().expect("an open socket");
    }
}
