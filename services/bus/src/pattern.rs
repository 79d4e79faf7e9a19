//! Subject patterns as NATS defines them: `*` stands for one token, `>` for one or more at the end.
//! Needed by the memory twin and by key checks only; it must never build a subject.

/// Whether `subject` (without wildcards) falls under `pattern`.
#[cfg(any(test, feature = "memory"))]
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

/// Whether `subject` can be published to: tokens that are not empty, no wildcard, no white space.
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

    /// A pattern that matches too much would show one tenant the events of another.
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

    /// A wildcard in a publish would be stored under a subject that no reader expects.
    #[test]
    fn exact_subjects_have_neither_wildcards_nor_holes() {
        assert!(is_exact("lp.local.run.R.ctl"));
        for subject in ["", "a..b", "a.*", "a.>", "a b", ".a", "a."] {
            assert!(!is_exact(subject), "{subject:?}");
        }
    }
}
