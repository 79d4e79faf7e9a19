//! `/`, `//` and `%` of numbers, rounded as in Python, and the errors of division by zero.
//!
//! The caller checks for a zero divisor first and raises [`by_zero`].

use loadpilot_events::plan::code::Binary;

use super::exceptions::{Exception, Kind, unsupported};
use super::value::{Value, real};

/// Newest minor version of Python 3 whose error texts are known here.
const MINOR_MAX: u8 = 13;
/// First minor version of Python 3 with the text `float modulo by zero`.
const MODULO_MINOR: u8 = 13;

/// Error of `left operator 0`, in the text of Python 3.`minor`.
pub(crate) fn by_zero(operator: Binary, is_whole: bool, minor: u8) -> Exception {
    let text = match (operator, is_whole) {
        _ if minor > MINOR_MAX => return unsupported("a division by zero"),
        (Binary::FloorDivide, true) => "integer division or modulo by zero",
        (Binary::FloorDivide, false) => "float floor division by zero",
        (Binary::Modulo, true) => "integer modulo by zero",
        (Binary::Modulo, false) if minor < MODULO_MINOR => "float modulo",
        (Binary::Modulo, false) => "float modulo by zero",
        (_, true) => "division by zero",
        (_, false) => "float division by zero",
    };
    Exception::new(Kind::ZeroDivisionError, text)
}

/// `left // right`; `None` if it needs more than 128 bits.
pub(crate) fn floor_divided(left: i128, right: i128) -> Option<i128> {
    let quotient = left.checked_div(right)?;
    let is_lower = left % right != 0 && (left < 0) != (right < 0);
    Some(quotient - i128::from(is_lower))
}

/// `left % right`; `None` if the computation needs more than 128 bits.
pub(crate) fn modulo(left: i128, right: i128) -> Option<i128> {
    let remainder = left.checked_rem(right)?;
    match remainder != 0 && (remainder < 0) != (right < 0) {
        true => Some(remainder + right),
        false => Some(remainder),
    }
}

/// `left / right`, correctly rounded; unsupported where a double does not hold both exactly.
pub(crate) fn quotient(left: i128, right: i128) -> Result<Value, Exception> {
    let is_exact = |value: i128| value.unsigned_abs() <= 1 << 53;
    match is_exact(left) && is_exact(right) {
        true => Ok(Value::Float(real(left) / real(right))),
        false => Err(unsupported(
            "a division of whole numbers of more than 53 bits",
        )),
    }
}

/// Quotient and remainder, as in `float_divmod` of CPython's `Objects/floatobject.c`.
pub(crate) fn divided(left: f64, right: f64) -> (f64, f64) {
    let mut remainder = left % right;
    let mut quotient = (left - remainder) / right;
    if remainder == 0.0 {
        remainder = 0.0_f64.copysign(right);
    } else if (right < 0.0) != (remainder < 0.0) {
        remainder += right;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(left / right), remainder);
    }
    let floor = quotient.floor();
    let floor = if quotient - floor > 0.5 {
        floor + 1.0
    } else {
        floor
    };
    (floor, remainder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of Python 3.11, 3.12 and 3.13.
    #[test]
    fn zero_is_refused_in_the_words_of_each_python() {
        let words = [
            (Binary::Divide, true, 11, "division by zero"),
            (
                Binary::FloorDivide,
                true,
                12,
                "integer division or modulo by zero",
            ),
            (Binary::Modulo, true, 13, "integer modulo by zero"),
            (Binary::Divide, false, 13, "float division by zero"),
            (
                Binary::FloorDivide,
                false,
                11,
                "float floor division by zero",
            ),
            (Binary::Modulo, false, 12, "float modulo"),
            (Binary::Modulo, false, 13, "float modulo by zero"),
        ];
        for (operator, is_whole, minor, text) in words {
            let error = by_zero(operator, is_whole, minor);
            assert_eq!(
                (error.kind, error.text.as_str()),
                (Kind::ZeroDivisionError, text)
            );
        }
        let newer = by_zero(Binary::Divide, true, MINOR_MAX + 1);
        assert_eq!(newer.kind, Kind::CompiledError, "its text is not known");
    }
}
