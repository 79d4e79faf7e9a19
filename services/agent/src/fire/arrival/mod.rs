//! An arrival from its due time to its end.
//!
//! - [`schedule_cursor`]: the core's arrivals of a schedule, by due time.
//! - [`closed_loop`]: users that start their next iteration by themselves.
//! - [`pacer`]: releases arrivals when they are due.
//! - [`slots`]: limits arrivals in flight, and queues the others.
//! - [`arrival_runner`]: performs and counts the calls of an arrival.
//! - [`exchange_examples`]: reports exchanges as text, such as the first failed ones.
//! - [`redirects`]: follows redirects within a call.
//! - [`users`]: virtual users whose tasks run in Python.

pub(crate) mod arrival_runner;
pub(crate) mod closed_loop;
mod exchange_examples;
pub(crate) mod pacer;
mod redirects;
pub(crate) mod schedule_cursor;
pub(crate) mod slots;
pub(crate) mod users;
