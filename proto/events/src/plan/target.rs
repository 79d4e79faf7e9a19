//! A plan's targets: origin, base path of calls, and which target an arrival takes.
//!
//! Paths of calls are relative to the target. A redirect may lead to a path outside the base path;
//! such a path has a second slash in front, which no scenario can write.

/// Splits `http://host:8080/api/v2` into its origin and its base path, which may be empty.
#[must_use]
pub fn split(target: &str) -> (&str, &str) {
    let authority = target.find("://").map_or(0, |at| at + 3);
    let end = target[authority..].find('/');
    target.split_at(end.map_or(target.len(), |at| authority + at))
}

/// Index among `count` targets of an arrival: by its ordinal in a schedule, else by the user and
/// the number of its iteration. It is the same on every agent.
///
/// # Panics
/// `count` is 0.
#[must_use]
pub fn turn(user: Option<u32>, number: u64, count: usize) -> usize {
    let ordinal = number.wrapping_add(user.map_or(0, u64::from));
    let turn = ordinal % count as u64;
    usize::try_from(turn).expect("less than a usize")
}

/// Path on the wire of a path that is relative to the target.
#[must_use]
pub fn full_path(base: &str, path: &str) -> String {
    match path.strip_prefix('/') {
        Some(outside) if !base.is_empty() && outside.starts_with('/') => outside.to_owned(),
        _ => format!("{base}{path}"),
    }
}

/// The reverse of [`full_path`].
#[must_use]
pub fn relative_path(base: &str, full: &str) -> String {
    if base.is_empty() {
        return full.to_owned();
    }
    let below = full.strip_prefix(base);
    match below.filter(|rest| rest.starts_with('/') && !rest.starts_with("//")) {
        Some(rest) => rest.to_owned(),
        None => format!("/{full}"),
    }
}
