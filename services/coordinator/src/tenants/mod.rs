//! The file that names the tenants of a shared fleet: TOML with a table `[tenants.NAME]` for each,
//! and a table `[fleet]` for what holds for all.
//! It is read once, at the start. Errors name file, table, key, value and rule.
//!
//! - `value`: the values of the keys

mod value;

use std::collections::BTreeMap;
use std::path::Path;

use loadpilot_engine::check::target_policy::TenantTargets;
use loadpilot_engine::control::tenants::{TenantRules, Tenants};
use loadpilot_events::TenantId;
use loadpilot_events::refusal::Problem;
use toml::{Table, Value};

/// Maximum length of the file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The table of tenants.
const TENANTS: &str = "tenants";

/// The table of the fleet.
const FLEET: &str = "fleet";

/// The key of the fleet.
const MAX_RUNS_PER_AGENT: &str = "max_runs_per_agent";

/// The keys of a tenant.
const KEYS: [&str; 10] = [
    "targets",
    "max_rate",
    "max_users",
    "max_agents",
    "max_duration",
    "max_runs",
    "max_waiting",
    "max_runs_per_day",
    "weight",
    "priority",
];

/// Reads the file at `path`.
///
/// # Errors
/// All problems of the file.
pub(crate) fn read(path: &str) -> Result<Tenants, Vec<Problem>> {
    let problem = |rule: &str, found: String| vec![Problem::new("--tenants", rule, found)];
    let unreadable = |error: std::io::Error| {
        let rule = format!("must be a file that can be read: {error}");
        problem(&rule, path.to_owned())
    };
    let bytes = Path::new(path).metadata().map_err(unreadable)?.len();
    if bytes > FILE_BYTES_MAX {
        let rule = format!("must be a file of at most {FILE_BYTES_MAX} bytes");
        return Err(problem(&rule, format!("{path}: {bytes}")));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    parse(path, &text)
}

/// Parses the `text` of the file named `file`.
fn parse(file: &str, text: &str) -> Result<Tenants, Vec<Problem>> {
    let table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(error) => {
            let line = error.span().map_or(1, |span| {
                let before = text.get(..span.start).unwrap_or_default();
                before.matches('\n').count() + 1
            });
            let rule = format!("must be TOML: {}", error.message());
            return Err(vec![Problem::new(file, rule, format!("line {line}"))]);
        }
    };
    let mut problems = unknown_keys(file, &table, &[TENANTS, FLEET]);
    let max_runs_per_agent = max_runs_per_agent(file, &table).unwrap_or_else(|found| {
        problems.extend(found);
        None
    });
    let mut rules = BTreeMap::new();
    match table.get(TENANTS) {
        Some(Value::Table(tenants)) if !tenants.is_empty() => {
            for (name, value) in tenants {
                match tenant(file, name, value) {
                    Ok((id, tenant)) => drop(rules.insert(id, tenant)),
                    Err(found) => problems.extend(found),
                }
            }
        }
        found => {
            let rule = "must name the tenants, each as a table [tenants.NAME]";
            let found = found.map_or("nothing", Value::type_str);
            problems.push(Problem::new(format!("{file}: [{TENANTS}]"), rule, found));
        }
    }
    match problems.is_empty() {
        true => Ok(Tenants {
            file: file.to_owned(),
            rules,
            max_runs_per_agent,
        }),
        false => Err(problems),
    }
}

/// The one key of the fleet's table, which may be absent.
fn max_runs_per_agent(file: &str, table: &Table) -> Result<Option<u32>, Vec<Problem>> {
    let place = format!("{file}: [{FLEET}]");
    let fleet = match table.get(FLEET) {
        None => return Ok(None),
        Some(Value::Table(fleet)) => fleet,
        Some(other) => {
            let problem = Problem::new(place, "must be a table", other.type_str());
            return Err(vec![problem]);
        }
    };
    let mut problems = unknown_keys(&place, fleet, &[MAX_RUNS_PER_AGENT]);
    let field = format!("{place} {MAX_RUNS_PER_AGENT}");
    let count = fleet.get(MAX_RUNS_PER_AGENT);
    let count = count.map(|value| value::count(&field, value)).transpose();
    let count = count.map_err(|problem| problems.push(problem)).ok();
    match count {
        Some(count) if problems.is_empty() => Ok(count),
        _ => Err(problems),
    }
}

fn tenant(file: &str, name: &str, value: &Value) -> Result<(TenantId, TenantRules), Vec<Problem>> {
    let place = format!("{file}: [{TENANTS}.{name}]");
    let id = TenantId::parse(name)
        .map_err(|problem| vec![Problem::new(&place, problem.rule, problem.value)])?;
    let Value::Table(table) = value else {
        let rule = "must be a table";
        return Err(vec![Problem::new(&place, rule, value.type_str())]);
    };
    let mut problems = unknown_keys(&place, table, &KEYS);
    let mut rules = TenantRules::default();
    for (key, value) in table {
        let field = format!("{place} {key}");
        let read = match key.as_str() {
            "targets" => value::texts(&field, value)
                .and_then(|texts| TenantTargets::parse(&id, &field, &texts))
                .map(|list| rules.targets = Some(list)),
            _ => limit(&mut rules, &field, key, value).map_err(|problem| vec![problem]),
        };
        problems.extend(read.err().into_iter().flatten());
    }
    match problems.is_empty() {
        true => Ok((id, rules)),
        false => Err(problems),
    }
}

/// Sets one limit, or the rank among tenants; unknown keys are reported elsewhere.
fn limit(rules: &mut TenantRules, field: &str, key: &str, value: &Value) -> Result<(), Problem> {
    let TenantRules {
        quotas, admission, ..
    } = rules;
    match key {
        "max_rate" => quotas.max_rate = Some(value::rate(field, value)?),
        "max_users" => quotas.max_users = Some(value::count(field, value)?),
        "max_agents" => quotas.max_agents = Some(value::count(field, value)?),
        "max_duration" => quotas.max_duration_us = Some(value::duration_us(field, value)?),
        "max_runs" => admission.max_runs = Some(value::count(field, value)?),
        "max_waiting" => admission.max_waiting = value::count(field, value)?,
        "max_runs_per_day" => admission.max_runs_per_day = Some(value::count(field, value)?),
        "weight" => admission.weight = value::positive(field, value)?,
        "priority" => admission.priority = value::priority(field, value)?,
        _ => {}
    }
    Ok(())
}

/// A problem for each key of `table` at `place` that is not one of `known`.
fn unknown_keys(place: &str, table: &Table, known: &[&str]) -> Vec<Problem> {
    let unknown = table.keys().filter(|key| !known.contains(&key.as_str()));
    let problem = |key: &String| {
        let nearest = known.iter().min_by_key(|known| distance(key, known));
        let rule = match nearest {
            Some(nearest) if distance(key, nearest) <= key.len() / 2 => {
                format!("must be a known key; the nearest is {nearest}")
            }
            _ => format!("must be one of {}", known.join(", ")),
        };
        Problem::new(place, rule, key)
    };
    unknown.map(problem).collect()
}

/// Number of letters to insert, remove or replace that make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, letter) in one.bytes().enumerate() {
        let mut before = std::mem::replace(&mut row[0], place + 1);
        for (column, other) in other.bytes().enumerate() {
            let replaced = before + usize::from(letter != other);
            before = row[column + 1];
            row[column + 1] = replaced.min(before + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests;
