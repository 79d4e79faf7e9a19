//! Whole numbers in as few bytes as they need: LEB128, with zigzag for differences.
//!
//! Must never read beyond its input, and never read a number that 64 bits do not hold.

/// Appends a number: seven bits a byte, the lowest first; the high bit says that more follow.
pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push((value & 0x7f) as u8);
}

/// Takes the first number of `rest`; `None` where there is no number, or one that 64 bits do not
/// hold.
pub(crate) fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = *rest.split_off_first()?;
        let bits = u64::from(byte & 0x7f);
        value |= bits
            .checked_shl(shift)
            .filter(|part| part >> shift == bits)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Maps small changes of either sign to small numbers.
pub(crate) fn zigzag(change: u64) -> u64 {
    (change << 1) ^ (change >> 63).wrapping_neg()
}

/// The change that [`zigzag`] maps to `number`.
pub(crate) fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}
