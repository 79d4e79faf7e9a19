//! A recorded load is offered second by second; any file is either read or refused with an error.

use loadpilot_engine::check;
use loadpilot_engine::schedule::replay::{self, Misread, Recording, SCALE_ONE, timestamp};
use loadpilot_engine::schedule::scale;
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::limits::{CURVE_VALUES_MAX, PLAN_BYTES_MAX, RATE_MAX_URPS};
use loadpilot_events::plan::{Arrivals, Curve, Plan, PlanSchema, Profile, Shape};
use loadpilot_events::units::{Rate, SECOND_US};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

/// A sound plan with this profile.
fn plan(profile: Profile) -> Plan {
    Plan {
        schema: PlanSchema::V2,
        arrivals: Arrivals::Uniform,
        warm_up_us: 0,
        tick_us: SECOND_US,
        profile,
        ..plans::plan(&mut Dice::new(1))
    }
}

fn read(text: &[u8]) -> Result<Vec<u64>, Misread> {
    let mut recording = Recording::default();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        recording.line(line)?;
    }
    recording.counts()
}

fn whole(counts: &[u64]) -> Vec<u64> {
    counts.iter().map(|count| count * SCALE_ONE).collect()
}

/// The text of a file, with random damage.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        "[0-9]{1,12}[,;\t][0-9.]{1,9}",
        "\"?[a-z]{0,6}\"?[,;]\"?[a-z0-9]{0,6}\"?",
        "20[0-9]{2}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{1,9})?Z?",
        "::1 - - \\[[0-3][0-9]/(Nov|Oct|xyz)/[0-9]{4}:[0-9:]{8} [+-][0-9]{4}\\] \"GET /\"",
        "[0-9]{1,20}(\\.[0-9]{0,9})?",
        "\\PC{0,30}",
    ];
    let text = prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n").into_bytes());
    let raw = prop::collection::vec(any::<u8>(), 0..60);
    prop_oneof![4 => text, 1 => raw]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Broken if a second has one arrival more or less than the recording times the scale says, or
    /// if agents together do not have each arrival once. 1 s.
    #[test]
    fn each_second_has_its_arrivals(
        counts in prop::collection::vec(0..400_u64, 1..30),
        percent in 1..400_u64,
        agents in prop::sample::select(vec![1_u32, 4]),
    ) {
        let scaled: u64 = counts.iter().sum::<u64>() * percent;
        prop_assume!(scaled > 0);
        let plan = plan(replay::profile(&whole(&counts), percent * 10_000));
        prop_assert_eq!(check::plan(&plan), vec![]);
        let workload = Workload::new(&plan, 7);
        prop_assert_eq!(workload.planned(), scaled.div_ceil(100));
        let shards = agents * 16;
        let shares: Vec<Share> = (0..agents)
            .map(|agent| Share::new(shards, (agent..shards).step_by(agents as usize).collect()))
            .collect();
        let mut before = 0_u64;
        for (second, count) in counts.iter().enumerate() {
            let range = workload.arrivals_in_tick(second as u32);
            // Fractions of an arrival, in hundredths, are carried to the next second.
            prop_assert_eq!(range.start, before.div_ceil(100));
            before += count * percent;
            prop_assert_eq!(range.end, before.div_ceil(100));
            let of_agents: u64 = shares
                .iter()
                .map(|share| share.count_below(range.end) - share.count_below(range.start))
                .sum();
            prop_assert_eq!(of_agents, range.end - range.start);
            for n in range {
                prop_assert_eq!(workload.due_us(n) / SECOND_US, second as u64);
                prop_assert_eq!(shares.iter().filter(|share| share.owns(n)).count(), 1);
            }
        }
    }

    /// Broken if the arrivals are not evenly spaced within a second. 1 s.
    #[test]
    fn the_rate_is_constant_within_a_second(counts in prop::collection::vec(1..99_u64, 1..9)) {
        let workload = Workload::new(&plan(replay::profile(&whole(&counts), SCALE_ONE)), 7);
        let mut n = 0;
        for (second, count) in counts.iter().enumerate() {
            for k in 0..*count {
                let due_us = second as u64 * SECOND_US + k * SECOND_US / count;
                prop_assert!(workload.due_us(n).abs_diff(due_us) <= 1);
                n += 1;
            }
        }
    }

    /// Broken if a curve changes on its way through JSON, or is written as pieces. 1 s.
    #[test]
    fn a_curve_survives_json(
        counts in prop::collection::vec(prop_oneof![Just(0), 0..RATE_MAX_URPS], 1..80),
        scale_ppm in 1..10_000_000_u64,
        peak in 1..RATE_MAX_URPS,
        duration_us in 100..10_000_000_u64,
    ) {
        let profile = replay::profile(&counts, scale_ppm);
        let scaled = scale::to_duration(&scale::to_peak(&profile, Rate(peak)), duration_us);
        for profile in [profile, scaled] {
            let json = serde_json::to_value(&profile).expect("JSON");
            prop_assert!(json.get("curve").is_some() && json.get("pieces").is_none());
            let back: Profile = serde_json::from_value(json).expect("a profile");
            prop_assert_eq!(back, profile);
        }
    }

    /// Broken if a curve from another source causes a panic, or makes more pieces than allowed. 1
    /// s.
    #[test]
    fn any_curve_is_read_or_refused(
        duration_us: u64,
        unit: u64,
        values in prop_oneof!["[A-Za-z0-9+/]{0,40}={0,2}", "\\PC{0,20}"],
    ) {
        let curve = Curve { duration_us, unit: Rate(unit), values };
        if let Ok(pieces) = curve.pieces() {
            let sum: u128 = pieces.iter().map(|piece| u128::from(piece.duration_us)).sum();
            prop_assert!(pieces.is_empty() || sum == u128::from(duration_us));
            // The plan check must not overflow.
            let profile = Profile { shape: Shape::Replay, pieces };
            let sound = check::plan(&plan(profile.clone())).is_empty();
            prop_assert!(!sound || profile.duration_us() == duration_us);
        }
    }

    /// Broken if a file in any form causes a panic, or if its error names a place that is not in
    /// the file. 2 s.
    #[test]
    fn any_file_is_read_or_refused_at_its_place(text in damaged()) {
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        match read(&text) {
            Ok(counts) => prop_assert!((1..=CURVE_VALUES_MAX).contains(&counts.len())),
            Err(misread) => {
                let place = usize::try_from(misread.line).expect("few lines");
                prop_assert!((1..=lines.len().max(1)).contains(&place));
                let line = lines.get(place - 1).copied().unwrap_or_default();
                let chars = String::from_utf8_lossy(line).chars().count();
                prop_assert!((1..=chars + 1).contains(&misread.column), "{:?}", misread);
            }
        }
    }

    /// Broken if one of the ways in which tools write two columns is misread. 1 s.
    #[test]
    fn two_columns_are_read_as_they_were_written(
        rows in prop::collection::vec((1..4_u64, 0..100_000_u64), 1..40),
        first in prop_oneof![Just(0_u64), Just(1_764_151_200)],
        separator in prop::sample::select(vec![",", ";", "\t", " , "]),
        quote in prop::sample::select(vec!["", "\""]),
        header: bool,
        end in prop::sample::select(vec!["\n", "\r\n", "\n\n"]),
        bom: bool,
    ) {
        let mut text = if bom { "\u{feff}".to_owned() } else { String::new() };
        if header {
            text += &format!("second{separator}count{end}");
        }
        let (mut second, mut expected) = (first, Vec::new());
        for (place, (gap, count)) in rows.iter().enumerate() {
            let gap = if place == 0 { 0 } else { *gap };
            expected.extend((1..gap).map(|_| 0));
            second += gap;
            text += &format!("{quote}{second}{quote}{separator}{quote}{count}{quote}{end}");
            expected.push(count * SCALE_ONE);
        }
        prop_assert_eq!(read(text.as_bytes()), Ok(expected));
    }

    /// Broken if a date is another day in one of the forms; the test counts the days one by one. 1
    /// s.
    #[test]
    fn an_instant_is_the_same_in_each_form(
        days in 0..60_000_u64, second in 0..86_400_u64, ahead in 0..24_u64,
    ) {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let is_leap = |year: u64| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        let (mut year, mut month, mut left) = (1970, 0, days);
        loop {
            let february = 28 + u64::from(is_leap(year));
            let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            if left < lengths[month] {
                break;
            }
            left -= lengths[month];
            month += 1;
            if month == 12 {
                (year, month) = (year + 1, 0);
            }
        }
        let instant = days * 86_400 + second;
        let day = left + 1;
        let (h, m, s) = (second / 3_600, second / 60 % 60, second % 60);
        let number = month + 1;
        let of = |found: Option<timestamp::Instant>| found.map(|found| found.second);
        let time = format!("{year:04}-{number:02}-{day:02}T{h:02}:{m:02}:{s:02}");
        for zone in ["", "Z", "+00:00", "-0000", ".25Z", ".999"] {
            let text = format!("{time}{zone}");
            prop_assert_eq!(of(timestamp::parse(text.as_bytes())), Some(instant));
        }
        let shifted = format!("{time}-{ahead:02}:30");
        let west = instant + ahead * 3_600 + 1_800;
        prop_assert_eq!(of(timestamp::parse(shifted.as_bytes())), Some(west));
        let month = MONTHS[month];
        let log = format!("{day:02}/{month}/{year:04}:{h:02}:{m:02}:{s:02} +0000");
        prop_assert_eq!(of(timestamp::parse_log(log.as_bytes())), Some(instant));
        prop_assert_eq!(of(timestamp::parse(instant.to_string().as_bytes())), Some(instant));
        let parts = if instant > 100_000_000 {
            vec![format!("{instant}123"), format!("{instant}.5"), format!("{instant}123456")]
        } else {
            vec![format!("{instant}.5")]
        };
        for text in parts {
            prop_assert_eq!(of(timestamp::parse(text.as_bytes())), Some(instant), "{}", text);
        }
    }
}

/// Broken if an error names another line, column or rule than the invalid one.
#[test]
fn an_error_names_line_column_and_rule() {
    let cases: [(&str, &str); 13] = [
        ("", "f:1:1: must have a line with arrivals"),
        ("second,count\n", "f:1:1: must have a line with arrivals"),
        ("0,1\nx,2", "f:2:1: must be a whole second"),
        ("0,1\n1,x", "f:2:3: must be the number of arrivals"),
        ("0,1\n1,-2", "f:2:3: must be the number of arrivals"),
        ("0,1\n1", "f:2:1: must have two columns"),
        ("0,1\n1,2,3", "f:2:5: must not be there"),
        (
            "0,1\n0,2",
            "f:2:1: must be after the second of the row before, 0",
        ),
        ("0.5,1", "f:1:1: must be a whole second"),
        ("0,1\n99999999,1", "f:2:1: must be within 11 days"),
        ("0,10000001", "f:1:3: must be the number of arrivals"),
        (
            "é - - [26/Nov/2026:10:00:00 +0000]\né - - [26/Nov/2026:25:00:00 +0000]",
            "f:2:8: must be a time such as",
        ),
        (
            "2026-11-26T10:00:00Z\n\n2026-02-29T10:00:00Z",
            "f:3:1: must be a timestamp",
        ),
    ];
    for (text, begin) in cases {
        let misread = read(text.as_bytes()).expect_err(text);
        let shown = misread.problem("f").to_string();
        assert!(shown.starts_with(begin), "{text:?}: {shown}");
    }
}

/// Broken if lines that a server logged out of order, or at the same second, are not all counted.
#[test]
fn an_access_log_is_counted_by_the_second() {
    let text = b"::1 - - [26/Nov/2026:10:00:02 +0100] \"GET /[1] HTTP/1.1\" 200 5 \"-\" \"a, b\"\n\
        shop 10.0.0.1 - bob [26/Nov/2026:09:00:00 +0000] \"GET / HTTP/1.1\" 200 5\r\n\
        - - - [2026-11-26T10:00:02+01:00] x\n";
    assert_eq!(read(text), Ok(whole(&[1, 0, 2])));
}

/// Broken if the curve of a day, second by second with any load, does not fit into a plan. 1 s.
#[test]
fn a_day_of_any_load_fits_into_a_plan() {
    let mut dice = Dice::new(11);
    let counts: Vec<u64> = (0..86_400)
        .map(|_| dice.pick(0..10_000_001) * SCALE_ONE)
        .collect();
    let plan = plan(replay::profile(&counts, SCALE_ONE));
    let json = plan.to_json();
    assert!(json.len() < PLAN_BYTES_MAX, "{} bytes", json.len());
    let back = check::parse_plan(&json).expect("a plan");
    assert_eq!((back.hash(), back), (plan.hash(), plan));
}

/// Broken if a reader of the first version gets a plan that it cannot read.
#[test]
fn a_curve_is_of_the_second_version() {
    let mut first = plan(replay::profile(&whole(&[1]), SCALE_ONE));
    first.schema = PlanSchema::V1;
    let [problem] = &check::plan(&first)[..] else {
        panic!("one problem");
    };
    assert_eq!(problem.field, "schema");
    let text = first.to_json().replace("replay", "stages");
    let error = check::parse_plan(&text).expect_err("a curve of stages");
    assert!(
        error.to_string().contains("only a profile of shape replay"),
        "{error}"
    );
}
