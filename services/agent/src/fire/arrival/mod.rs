//! An arrival from its due time to its end: paced, given a slot, carried through its calls.
//!
//! [`pacer`] releases arrivals, [`slots`] limits those in flight, [`arrival_runner`] performs their
//! calls; [`closed_loop`] and [`users`] are the virtual users.

pub(crate) mod arrival_runner;
pub(crate) mod closed_loop;
pub(crate) mod pacer;
pub(crate) mod schedule_cursor;
pub(crate) mod slots;
pub(crate) mod users;
