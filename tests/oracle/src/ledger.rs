//! The counts and the log. A request is counted when its last byte is read, before any other step,
//! and logged when it ends. No request is lost: one that is open at a flush is written as open, and
//! again when it ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::Moment;
use crate::kernel::die;
use crate::record::{Outcome, Record};

/// Timeout of a flush for responses whose last write was in progress at its start.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(1);

/// A count on which threads can wait.
#[derive(Debug)]
struct Tally {
    count: u64,
    /// The smallest count that a thread waits for: no thread is woken before it is reached.
    awaited: u64,
}

impl Tally {
    const NEW: Self = Self {
        count: 0,
        awaited: u64::MAX,
    };

    /// Adds one; returns whether a thread waits for the result.
    fn add(&mut self) -> bool {
        self.count += 1;
        let reached = self.count >= self.awaited;
        if reached {
            // A thread that waits for more registers again when it wakes.
            self.awaited = u64::MAX;
        }
        reached
    }
}

/// The count to wait for.
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
    /// The last bytes of the response are being written: it ends within microseconds.
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
    /// Whether a flush waits, so that ends have to notify it.
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

    /// Opens a request whose first bytes were read. Returns its number; `None` when the ledger is
    /// closed.
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

    /// Updates the record of an open request.
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

    /// Counts a request whose last byte was read. Returns the arrival of the first request; `None`
    /// when the ledger is closed, and then the request must not be answered.
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

    /// Marks that the last bytes of the response are about to be written.
    pub fn finishing(&self, seq: u64) {
        self.lock()
            .open
            .get_mut(&seq)
            .expect("the request is open")
            .finishing = true;
    }

    /// Ends the request now and writes its line.
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

    /// Closes the ledger to further requests, then writes the log to the file. Responses from now
    /// on do not change the log: their requests stay open in it.
    pub fn close(&self) {
        self.lock().closed = true;
        self.flush();
    }

    /// Writes the log to the file: every request that ended, and every open one as it stands.
    pub fn flush(&self) {
        let deadline = Instant::now() + FLUSH_WAIT_MAX;
        let mut inner = self.lock();
        // A client may have a response whose end is not recorded yet: wait for those first.
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
