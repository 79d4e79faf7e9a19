//! The order in which connections try the addresses of a name: round robin, so that each address
//! gets its share of the load. Addresses that failed a short time ago come last.
//!
//! Must never leave out an address: the last one may be the only one that works.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;

use loadpilot_events::log::outcome::Outcome;

use super::error_classification::ErrorClass;
use crate::fire::clock::MonoTime;

/// Interval in µs in which an address is tried last after an error. It is short: trying the address
/// again costs only a round trip.
const AVOIDED_AFTER_ERROR_US: u64 = 1_000_000;
/// The same after a time-out. It is long: trying the address again costs a call.
const AVOIDED_AFTER_TIME_OUT_US: u64 = 300_000_000;

/// The order of one target on one core.
#[derive(Debug)]
pub(crate) struct AddressOrder {
    /// Number of connections begun; selects the next address.
    begun: Cell<usize>,
    /// Addresses that failed, and until when they are tried last.
    avoided: RefCell<BTreeMap<SocketAddr, MonoTime>>,
}

/// One attempt to connect to an address. If it is dropped before its end, a time-out cut it off.
pub(crate) struct Attempt<'o> {
    order: &'o AddressOrder,
    address: SocketAddr,
    avoid_us: u64,
}

impl AddressOrder {
    /// Begins with the address of this index.
    pub(crate) fn new(first: usize) -> Self {
        Self {
            begun: Cell::new(first),
            avoided: RefCell::default(),
        }
    }

    /// The addresses in the order of the next connection. Addresses of the family that the system
    /// listed first come before the others.
    pub(crate) fn next(&self, mut addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
        let begun = self.begun.get();
        self.begun.set(begun.wrapping_add(1));
        let Some(first) = addresses.first() else {
            return addresses;
        };
        let (is_v4, now) = (first.is_ipv4(), MonoTime::now());
        let avoided = self.avoided.borrow();
        let rank = |address: &SocketAddr| {
            let is_avoided = avoided.get(address).is_some_and(|until| now < *until);
            (is_avoided, address.is_ipv4() != is_v4)
        };
        addresses.sort_by_key(rank);
        for equals in addresses.chunk_by_mut(|one, other| rank(one) == rank(other)) {
            equals.rotate_left(begun % equals.len());
        }
        addresses
    }

    pub(crate) fn attempt(&self, address: SocketAddr) -> Attempt<'_> {
        Attempt {
            order: self,
            address,
            avoid_us: AVOIDED_AFTER_TIME_OUT_US,
        }
    }
}

impl Attempt<'_> {
    pub(crate) fn succeeded(mut self) {
        self.avoid_us = 0;
        self.order.avoided.borrow_mut().remove(&self.address);
    }

    /// A fault of this machine says nothing about the address.
    pub(crate) fn failed(mut self, class: ErrorClass) {
        self.avoid_us = match class.outcome {
            Outcome::Local => 0,
            _ => AVOIDED_AFTER_ERROR_US,
        };
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.avoid_us > 0 {
            let now = MonoTime::now();
            let mut avoided = self.order.avoided.borrow_mut();
            // The name may have other addresses at the next resolution.
            avoided.retain(|_, until| now < *until);
            avoided.insert(self.address, now.plus_us(self.avoid_us));
        }
    }
}

#[cfg(test)]
mod tests {
    use loadpilot_events::log::cause::Cause;

    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        let parsed = texts.iter().map(|text| text.parse().expect("an address"));
        parsed.collect()
    }

    fn firsts(order: &AddressOrder, known: &[SocketAddr], count: usize) -> Vec<SocketAddr> {
        (0..count).map(|_| order.next(known.to_vec())[0]).collect()
    }

    /// Broken if the addresses are not used in turn, if those of the family that the system does
    /// not prefer take part in that, or if an address is left out.
    #[test]
    fn addresses_of_the_preferred_family_take_turns() {
        let known = addresses(&["10.0.0.1:80", "[fd00::1]:80", "10.0.0.2:80", "10.0.0.3:80"]);
        let order = AddressOrder::new(4);
        let turns = [known[2], known[3], known[0], known[2], known[3]];
        assert_eq!(firsts(&order, &known, 5), turns);
        let mut tried = order.next(known.clone());
        assert_eq!(tried[3], known[1]);
        tried.sort_unstable();
        let mut all = known;
        all.sort_unstable();
        assert_eq!(tried, all);
        assert_eq!(order.next(Vec::new()), []);
    }

    /// Broken if an address that has just failed is tried before others, if it is never tried
    /// again, or if a fault of this machine counts against it.
    #[test]
    fn an_address_that_failed_is_tried_last_for_a_while() {
        let known = addresses(&["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"]);
        let refused = ErrorClass::new(Outcome::Connect, Cause::Refused);
        let no_ports = ErrorClass::new(Outcome::Connect, Cause::NoPorts);
        let order = AddressOrder::new(0);
        order.attempt(known[0]).failed(no_ports);
        assert!(order.avoided.borrow().is_empty());

        order.attempt(known[1]).failed(refused);
        // Cut off.
        drop(order.attempt(known[2]));
        let left_us = |place: usize| {
            let until = order.avoided.borrow()[&known[place]];
            until.since_us(MonoTime::now())
        };
        assert!((500_000..=AVOIDED_AFTER_ERROR_US).contains(&left_us(1)));
        assert!((299_500_000..=AVOIDED_AFTER_TIME_OUT_US).contains(&left_us(2)));
        assert_eq!(firsts(&order, &known, 3), [known[0]; 3]);

        order.attempt(known[2]).succeeded();
        let is_over = MonoTime::now();
        order.avoided.borrow_mut().insert(known[1], is_over);
        assert_eq!(firsts(&order, &known, 3), known);
    }
}
