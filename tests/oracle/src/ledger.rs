//! The count and the log. A request is counted the moment its last byte was taken, before anything
//! else happens to it, and logged when it ended. Must never lose a request: those that are still
//! open at a flush are written as such, and written again when they end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::Moment;
use crate::kernel::die;
use crate::record::{Outcome, Record};

/// How long a flush waits for answers whose last write was under way when it was called.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(1);

/// A count that somebody may wait for.
#[derive(Debug)]
struct Tally {
    count: u64,
    /// The smallest count that anybody waits for: nobody is woken before it is reached.
    awaited: u64,
}

impl Tally {
    const NEW: Self = Self {
        count: 0,
        awaited: u64::MAX,
    };

    /// Adds one; returns whether somebody waits for the result.
    fn add(&mut self) -> bool {
        self.count += 1;
        let reached = self.count >= self.awaited;
        if reached {
            // Whoever still waits for more says so again when it wakes.
            self.awaited = u64::MAX;
        }
        reached
    }
}

/// Which count to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Requests received whole.
    Received,
    /// Received requests that ended, with whatever outcome.
    Ended,
}

/// The counts at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Requests received whole.
    pub received: u64,
    /// Received requests that ended, with whatever outcome.
    pub ended: u64,
    /// Requests that ended malformed or incomplete; they are not in `received`.
    pub broken: u64,
    /// Arrival of the first request that was received whole, µs of `CLOCK_REALTIME`.
    pub first_us: Option<u64>,
    /// Arrival of the newest request that was received whole, µs of `CLOCK_REALTIME`.
    pub last_us: Option<u64>,
}

#[derive(Debug)]
struct Open {
    record: Record,
    /// The last bytes of the answer are being written: the end is a matter of microseconds.
    finishing: bool,
}

#[derive(Debug)]
struct Inner {
    sink: BufWriter<File>,
    seq: u64,
    open: BTreeMap<u64, Open>,
    received: Tally,
    ended: Tally,
    broken: u64,
    first: Option<Moment>,
    last_us: Option<u64>,
    closed: bool,
}

/// The count and the log of one server.
#[derive(Debug)]
pub struct Ledger {
    inner: Mutex<Inner>,
    changed: Condvar,
    /// A flush is waiting: ends are to be announced.
    finished: Condvar,
}

impl Ledger {
    /// An empty ledger that logs to `file`.
    pub fn new(file: File) -> Self {
        let inner = Inner {
            sink: BufWriter::with_capacity(256 * 1024, file),
            seq: 0,
            open: BTreeMap::new(),
            received: Tally::NEW,
            ended: Tally::NEW,
            broken: 0,
            first: None,
            last_us: None,
            closed: false,
        };
        Self {
            inner: Mutex::new(inner),
            changed: Condvar::new(),
            finished: Condvar::new(),
        }
    }

    /// The first bytes of a request were read. Returns the number of the request; `None` when the
    /// ledger is closed.
    pub fn begin(&self, conn: u64, arrival: Moment) -> Option<u64> {
        let mut inner = self.lock();
        if inner.closed {
            return None;
        }
        inner.seq += 1;
        let seq = inner.seq;
        let record = Record::begun(seq, conn, arrival);
        inner.open.insert(
            seq,
            Open {
                record,
                finishing: false,
            },
        );
        Some(seq)
    }

    /// Notes something about an open request.
    pub fn note(&self, seq: u64, change: impl FnOnce(&mut Record)) {
        let mut inner = self.lock();
        change(
            &mut inner
                .open
                .get_mut(&seq)
                .expect("the request is open")
                .record,
        );
    }

    /// The last byte of the request was taken: it counts. Returns the arrival of the first request;
    /// `None` when the ledger is closed, and then the request must not be answered.
    pub fn receive(
        &self,
        seq: u64,
        arrival: Moment,
        change: impl FnOnce(&mut Record),
    ) -> Option<Moment> {
        let mut inner = self.lock();
        if inner.closed {
            return None;
        }
        let record = &mut inner
            .open
            .get_mut(&seq)
            .expect("the request is open")
            .record;
        record.outcome = Outcome::Open;
        change(record);
        inner.last_us = inner.last_us.max(Some(arrival.wall_us));
        let first = *inner.first.get_or_insert(arrival);
        if inner.received.add() {
            self.changed.notify_all();
        }
        Some(first)
    }

    /// The last bytes of the answer are about to be written.
    pub fn finishing(&self, seq: u64) {
        self.lock()
            .open
            .get_mut(&seq)
            .expect("the request is open")
            .finishing = true;
    }

    /// The request ended now; its line is written.
    pub fn end(&self, seq: u64, outcome: Outcome, status: Option<u16>) {
        let end_us = Moment::now().wall_us;
        let mut inner = self.lock();
        let Open {
            mut record,
            finishing,
        } = inner.open.remove(&seq).expect("a request ends only once");
        let was_received = record.outcome == Outcome::Open;
        record.end_us = Some(end_us);
        record.outcome = outcome;
        record.status = status;
        inner
            .sink
            .write_all(record.to_line().as_bytes())
            .unwrap_or_else(|e| die("log", &e));
        if !was_received {
            inner.broken += 1;
        } else if inner.ended.add() {
            self.changed.notify_all();
        }
        if finishing {
            self.finished.notify_all();
        }
    }

    /// The counts now.
    pub fn counts(&self) -> Counts {
        let inner = self.lock();
        Counts {
            received: inner.received.count,
            ended: inner.ended.count,
            broken: inner.broken,
            first_us: inner.first.map(|first| first.wall_us),
            last_us: inner.last_us,
        }
    }

    /// The arrival of the first request that was received whole.
    pub fn first(&self) -> Option<Moment> {
        self.lock().first
    }

    /// Blocks until at least `wanted` requests are counted, at most `timeout`. Returns whether
    /// they are.
    pub fn wait_count(&self, of: Of, wanted: u64, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut inner = self.lock();
        loop {
            let tally = match of {
                Of::Received => &mut inner.received,
                Of::Ended => &mut inner.ended,
            };
            if tally.count >= wanted {
                return true;
            }
            tally.awaited = tally.awaited.min(wanted);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.changed.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes no further request, then writes the log to the file. What is answered from now on is
    /// in the log as open.
    pub fn close(&self) {
        self.lock().closed = true;
        self.flush();
    }

    /// Writes the log to the file: every request that ended, and every open one as it stands.
    pub fn flush(&self) {
        let deadline = Instant::now() + FLUSH_WAIT_MAX;
        let mut inner = self.lock();
        // A client may hold an answer whose end is not noted yet; let those settle first.
        let settling: Vec<u64> = inner
            .open
            .iter()
            .filter(|(_, open)| open.finishing)
            .map(|(&seq, _)| seq)
            .collect();
        while settling.iter().any(|seq| inner.open.contains_key(seq)) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.finished.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let Inner { sink, open, .. } = &mut *inner;
        for open in open.values() {
            sink.write_all(open.record.to_line().as_bytes())
                .unwrap_or_else(|e| die("log", &e));
        }
        sink.flush().unwrap_or_else(|e| die("log", &e));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
