//! Base paths: where calls with a relative path go when the target has a base path.

use loadpilot_events::plan::target::{full_path, relative_path, split};
use proptest::prelude::*;
use serde_json::json;

use crate::check::plan::{good, problems};

/// Broken if a target with a base path is refused, or a base path that may lead elsewhere is
/// accepted.
#[test]
fn a_target_may_have_a_base_path() {
    let is_sound = |target: &str| {
        let mut plan = good();
        plan["target"] = json!(target);
        problems(plan).is_empty()
    };
    for target in [
        "http://h/api",
        "https://h:1/api/v2",
        "http://[::1]:80/~me/a%20b",
    ] {
        assert!(is_sound(target), "{target}");
    }
    for target in [
        "http://h/",
        "http://h/a/",
        "http://h/a//b",
        "http://h/a/../b",
        "http://h/a b",
    ] {
        assert!(!is_sound(target), "{target}");
    }
    assert!(!is_sound("http://h/a?b"));
    assert!(!is_sound(&format!("http://h/{}", "a".repeat(1024))));
}

proptest! {
    /// Broken if a redirect goes to another path than its response said, inside or outside the base
    /// path.
    #[test]
    fn a_full_path_is_that_of_its_relative_path(
        base in "(/[ab]{1,2}){0,2}",
        full in "/{1,2}[ab/]{0,6}(\\?[ab/]{0,2})?",
    ) {
        let (origin, found) = split("http://h:1");
        prop_assert_eq!((origin, found), ("http://h:1", ""));
        let target = format!("http://h:1{base}");
        prop_assert_eq!(split(&target), ("http://h:1", &base[..]));
        prop_assert_eq!(full_path(&base, &relative_path(&base, &full)), full);
    }

    /// Broken if a call of a scenario is sent to an address outside the base path.
    #[test]
    fn what_a_scenario_writes_is_below_the_base_path(
        base in "(/[ab]{1,2}){0,2}",
        path in "/([ab][ab/]{0,6})?",
    ) {
        let full = full_path(&base, &path);
        prop_assert_eq!(&full, &format!("{base}{path}"));
        prop_assert_eq!(relative_path(&base, &full), path);
    }
}
