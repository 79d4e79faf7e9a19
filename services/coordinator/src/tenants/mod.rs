//! The file that names the tenants of a shared fleet: TOML with a table `[tenants.NAME]` for each
//! tenant, and a table `[fleet]` for the settings of all. It is read once, at the start. Errors
//! name file, table, key, value and rule.
//!
//! - `ownership_key`: the file with the key of ownership tokens
//! - `value`: the values of the keys

pub(crate) mod ownership_key;
mod value;

use std::collections::BTreeMap;
use std::path::Path;

use loadpilot_engine::check::target_policy::TenantTargets;
use loadpilot_engine::control::ownership::OwnershipKey;
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

/// The keys of the fleet.
const MAX_RUNS_PER_AGENT: &str = "max_runs_per_agent";
const OWNERSHIP_KEY_FILE: &str = "ownership_key_file";

/// The keys of a tenant.
const KEYS: [&str; 13] = [
    "targets",
    "max_rate",
    "max_users",
    "max_agents",
    "max_duration",
    "unproven_rate",
    "unproven_users",
    "max_runs",
    "max_waiting",
    "max_runs_per_day",
    "weight",
    "priority",
    // Used only by `loadpilot admin nats-config`, which checks it: one file describes the tenants.
    "max_stored",
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
    let fleet = fleet(file, &table).unwrap_or_else(|found| {
        problems.extend(found);
        Fleet::default()
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
    let limited = rules.iter().find(|(_, rules)| rules.unproven.is_limited());
    if let (Some((tenant, _)), None, true) = (limited, &fleet.ownership_key, problems.is_empty()) {
        let rule = format!(
            "must have {OWNERSHIP_KEY_FILE}, the file with the key of ownership tokens, since \
             [{TENANTS}.{tenant}] has a limit without a proof"
        );
        problems.push(Problem::new(format!("{file}: [{FLEET}]"), rule, "nothing"));
    }
    match problems.is_empty() {
        true => Ok(Tenants {
            file: file.to_owned(),
            rules,
            max_runs_per_agent: fleet.max_runs_per_agent,
            ownership_key: fleet.ownership_key,
        }),
        false => Err(problems),
    }
}

/// The settings that apply to all tenants.
#[derive(Debug, Default)]
struct Fleet {
    max_runs_per_agent: Option<u32>,
    ownership_key: Option<OwnershipKey>,
}

/// The table of the fleet, which may be absent.
fn fleet(file: &str, table: &Table) -> Result<Fleet, Vec<Problem>> {
    let place = format!("{file}: [{FLEET}]");
    let table = match table.get(FLEET) {
        None => return Ok(Fleet::default()),
        Some(Value::Table(table)) => table,
        Some(other) => {
            let problem = Problem::new(place, "must be a table", other.type_str());
            return Err(vec![problem]);
        }
    };
    let keys = [MAX_RUNS_PER_AGENT, OWNERSHIP_KEY_FILE];
    let mut problems = unknown_keys(&place, table, &keys);
    let mut fleet = Fleet::default();
    if let Some(value) = table.get(MAX_RUNS_PER_AGENT) {
        match value::count(&format!("{place} {MAX_RUNS_PER_AGENT}"), value) {
            Ok(count) => fleet.max_runs_per_agent = Some(count),
            Err(problem) => problems.push(problem),
        }
    }
    if let Some(value) = table.get(OWNERSHIP_KEY_FILE) {
        let field = format!("{place} {OWNERSHIP_KEY_FILE}");
        match value::path(&field, value).and_then(|path| {
            let folder = Path::new(file).parent().unwrap_or(Path::new(""));
            ownership_key::read(&field, &folder.join(path))
        }) {
            Ok(key) => fleet.ownership_key = Some(key),
            Err(problem) => problems.push(problem),
        }
    }
    match problems.is_empty() {
        true => Ok(fleet),
        false => Err(problems),
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

/// Sets one limit, or the priority among tenants; unknown keys are reported elsewhere.
fn limit(rules: &mut TenantRules, field: &str, key: &str, value: &Value) -> Result<(), Problem> {
    let TenantRules {
        quotas,
        unproven,
        admission,
        ..
    } = rules;
    match key {
        "max_rate" => quotas.max_rate = Some(value::rate(field, value)?),
        "max_users" => quotas.max_users = Some(value::count(field, value)?),
        "max_agents" => quotas.max_agents = Some(value::count(field, value)?),
        "max_duration" => quotas.max_duration_us = Some(value::duration_us(field, value)?),
        "unproven_rate" => unproven.rate = Some(value::rate(field, value)?),
        "unproven_users" => unproven.users = Some(value::count(field, value)?),
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

/// Edit distance: the number of letters to insert, remove or replace that turn one word into the
/// other.
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
