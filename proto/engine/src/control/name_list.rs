//! A list of holders in a sentence, cut to a readable length.

/// Maximum number of holders that one line names.
pub(crate) const NAMES_MAX: usize = 12;

/// The first [`NAMES_MAX`] names of a list, and the number of the others.
pub(crate) fn name_list(all: impl Iterator<Item = String>) -> String {
    let mut words: Vec<String> = all.collect();
    let more = words.len().saturating_sub(NAMES_MAX);
    words.truncate(NAMES_MAX);
    words.extend((more > 0).then(|| format!("and {more} more")));
    words.join(", ")
}
