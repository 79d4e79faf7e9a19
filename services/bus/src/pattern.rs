//! Subject patterns as NATS defines them: `*` stands for one token, `>` for one or more at the end.
//! Logs in memory or in a file, and the checks of subjects use it; it must never build a subject.

/// Whether `subject` (without wildcards) falls under `pattern`.
pub(crate) fn matches(pattern: &str, subject: &str) -> bool {
    let mut wanted = pattern.split('.');
    let mut tokens = subject.split('.');
    loop {
        match (wanted.next(), tokens.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some(want), Some(token)) if want == "*" || want == token => {}
            _ => return false,
        }
    }
}

/// The narrowest pattern with a common beginning that covers all of `patterns`; for one pattern,
/// itself.
pub(crate) fn cover(patterns: &[String]) -> String {
    let Some((first, rest)) = patterns.split_first() else {
        return ">".to_owned();
    };
    if rest.iter().all(|other| other == first) {
        return first.clone();
    }
    let mut common: Vec<&str> = first.split('.').collect();
    for other in rest {
        let same = common.iter().zip(other.split('.'));
        let count = same.take_while(|(one, two)| *one == two).count();
        common.truncate(count);
    }
    // `>` stands for at least one token, so the last token of an equal subject is removed, too.
    let shortest = patterns.iter().map(|one| one.split('.').count()).min();
    common.truncate(shortest.unwrap_or_default().saturating_sub(1));
    common.push(">");
    common.join(".")
}

/// Whether messages can be published on `subject`: no empty token, no wildcard, no white space.
pub(crate) fn is_exact(subject: &str) -> bool {
    let clean = |token: &str| {
        !token.is_empty()
            && token != "*"
            && token != ">"
            && !token.contains(|c: char| c.is_whitespace() || c.is_control())
    };
    subject.split('.').all(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a pattern matches too much, so that one tenant reads the events of another.
    #[test]
    fn wildcards_match_whole_tokens_only() {
        for (pattern, subject, expected) in [
            ("a.b", "a.b", true),
            ("a.b", "a.bc", false),
            ("a.*", "a.b", true),
            ("a.*", "a", false),
            ("a.*", "a.b.c", false),
            ("a.>", "a.b.c", true),
            ("a.>", "a", false),
            (">", "a", true),
            ("*.b", "a.b", true),
        ] {
            assert_eq!(
                matches(pattern, subject),
                expected,
                "{pattern} on {subject}"
            );
        }
    }

    /// Broken if a confined reader misses events of its filters, or requests events of others.
    #[test]
    fn a_cover_is_as_narrow_as_a_common_beginning() {
        for (patterns, expected) in [
            (&["a.b"][..], "a.b"),
            (
                &["a.run.*.req", "a.run.*.ctl", "a.run.*.evt.*"],
                "a.run.*.>",
            ),
            (&["a.run.R.req", "a.run.R.evt.*"], "a.run.R.>"),
            (&["a.run", "a.run.R"], "a.>"),
            (&["a.x", "b.x"], ">"),
        ] {
            let patterns: Vec<String> = patterns.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(cover(&patterns), expected, "{patterns:?}");
        }
    }

    /// Broken if an event can be stored under a subject with a wildcard, which no reader expects.
    #[test]
    fn exact_subjects_have_no_wildcard_and_no_empty_token() {
        assert!(is_exact("lp.local.run.R.ctl"));
        for subject in ["", "a..b", "a.*", "a.>", "a b", ".a", "a."] {
            assert!(!is_exact(subject), "{subject:?}");
        }
    }
}
