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

    /// Broken if an event can be stored under a subject with a wildcard, which no reader expects.
    #[test]
    fn exact_subjects_have_no_wildcard_and_no_empty_token() {
        assert!(is_exact("lp.local.run.R.ctl"));
        for subject in ["", "a..b", "a.*", "a.>", "a b", ".a", "a."] {
            assert!(!is_exact(subject), "{subject:?}");
        }
    }
}
