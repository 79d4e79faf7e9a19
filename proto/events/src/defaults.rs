//! When an optional field is left out of the JSON form: `skip_serializing_if` of stored types.

/// Whether `value` is the default of its type, so that its field is not written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
