//! Addresses and networks as numbers, without I/O.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A network: its address, whose bits beyond the prefix are clear, and the length of the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Reads `address/bits` or a single address, in brackets or not.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some((address, bits)) = text.split_once('/') {
            let is_number = bits.bytes().all(|byte| byte.is_ascii_digit());
            let bits = bits.parse().ok().filter(|_| is_number)?;
            return Self::new(address.parse().ok()?, bits);
        }
        let bracketed = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        let address = bracketed.unwrap_or(text).parse().ok()?;
        Self::new(address, width(address))
    }

    fn new(address: IpAddr, bits: u32) -> Option<Self> {
        let (address, bits) = match (address, inside_mapped(address)) {
            (_, Some(v4)) if bits >= 96 => (IpAddr::V4(v4), bits - 96),
            _ => (address, bits),
        };
        let is_sound = bits <= width(address) && prefix(address, bits) == number(address);
        is_sound.then_some(Self { address, bits })
    }

    /// Whether `address` is in it.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let is_same_family = self.address.is_ipv4() == address.is_ipv4();
        is_same_family && prefix(address, self.bits) == number(self.address)
    }

    /// Whether it is a single address.
    pub(super) fn is_one_address(&self) -> bool {
        self.bits == width(self.address)
    }
}

/// The final destination of packets to `address`: IPv6 may carry IPv4.
pub(super) fn inside(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => address,
        // Mapped, compatible (RFC 4291), and translated (RFC 2765).
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            v4(high, low)
        }
        // NAT64 (RFC 6052) and 6to4 (RFC 3056).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

fn inside_mapped(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped(),
        IpAddr::V4(_) => None,
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The leading bits of an address, the others cleared; `bits` is at most its width.
fn prefix(address: IpAddr, bits: u32) -> u128 {
    let rest = width(address) - bits;
    number(address)
        .checked_shr(rest)
        .map_or(0, |high| high << rest)
}

/// Whether `text` can be a host name; resolvers take a name of digits for an address.
pub(super) fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_no_number = text.rsplit('.').next().is_some_and(|last| {
        last.bytes().any(|byte| byte.is_ascii_alphabetic()) && !last.starts_with("0x")
    });
    is_no_number && text.bytes().all(is_letter)
}

/// A name without the trailing dot of the root.
pub(super) fn bare_name(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// The authority of a URL.
pub(super) fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// The host of `host[:port]`, without brackets, and the port. Agents, too, take all before the last
/// colon for the host.
pub(super) fn split(place: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let port = rest.strip_prefix(':').map(str::parse).transpose().ok()?;
        return Some((host, port));
    }
    match place.rsplit_once(':') {
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((place, None)),
    }
}

/// The address that `host` is written as, with `port`; `None` when it is a name.
pub(super) fn literal(host: &str, port: u16) -> Option<SocketAddr> {
    // An IPv6 address may carry a zone.
    let address = host.split('%').next().unwrap_or(host);
    Some(SocketAddr::new(address.parse().ok()?, port))
}
