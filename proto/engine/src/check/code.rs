//! Checks compiled code for every property that the player of code relies on.

use std::collections::BTreeMap;

use loadpilot_events::limits;
use loadpilot_events::log::metrics::is_metric_name;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::code::{
    Code, Comparison, Expression, Function, Literal, Metric, Pause, Routine, Send, Statement,
};

use super::checker::Checker;
use super::secrecy::is_secret_entry;
use super::{body, script};

/// Schemes that may stand before a secret in a header; they are no secrets themselves.
const SCHEMES: [&str; 4] = ["", "Bearer ", "Basic ", "Token "];

pub(super) fn code(checker: &mut Checker<'_>, plan: &Plan) {
    let Some(code) = &plan.code else {
        return;
    };
    let alone = plan.script.is_none();
    checker.require(alone, "code", "must not stand beside a script", "both");
    checker.name("code.file", &code.file);
    let fits = (1..=limits::USERS_MAX).contains(&code.users);
    checker.require(fits, "code.users", "must be 1 to 1000000", code.users);
    let agrees = plan.users.is_none_or(|users| users == code.users);
    let rule = "must be the users of the closed loop";
    checker.require(agrees, "code.users", rule, code.users);
    script::feeds(checker, plan, "code.feeds", &code.feeds);
    let both = code.rows.is_some() != code.feeds.is_empty();
    let rule = "must be present exactly when there are feeds";
    checker.require(both, "code.rows", rule, code.feeds.len());
    if let Some(rows) = &code.rows {
        body::object(checker, "code.rows", rows);
    }
    let few = code.secret_headers.len() <= limits::HEADERS_MAX;
    let count = code.secret_headers.len();
    checker.require(few, "code.secret_headers", "must be at most 64", count);
    for (index, name) in code.secret_headers.iter().enumerate() {
        checker.header_name(&format!("code.secret_headers[{index}]"), name);
    }
    let same = code.tasks.len() == plan.tasks.len();
    let rule = "must be as many as the plan has tasks";
    checker.require(same, "code.tasks", rule, code.tasks.len());
    let metrics = &mut BTreeMap::new();
    let same = code.types.len() == plan.types.len();
    let rule = "must be as many as the plan has types";
    checker.require(same, "code.types", rule, code.types.len());
    for (index, own) in code.types.iter().enumerate() {
        checker.name(&format!("code.types[{index}].file"), &own.file);
    }
    for (index, own) in code.by_type().iter().enumerate() {
        let field = match code.types.is_empty() {
            true => "code".to_owned(),
            false => format!("code.types[{index}]"),
        };
        own_parts(checker, own, metrics, &field);
    }
    for (index, task) in code.tasks.iter().enumerate() {
        let field = format!("code.tasks[{index}]");
        CodeChecker::new(checker, code, metrics, format!("{field}.body")).routine(&task.body, 0);
        if let Some(check) = &task.check {
            let mut code_checker =
                CodeChecker::new(checker, code, metrics, format!("{field}.check"));
            code_checker.may_request = false;
            let parameters = match check.takes {
                loadpilot_events::plan::code::Takes::Answer => 1,
                loadpilot_events::plan::code::Takes::StatusAndBody => 2,
            };
            code_checker.routine(&check.body, parameters);
        }
    }
    let few = metrics.len() <= limits::METRICS_MAX;
    let rule = "must add to at most 100 metrics";
    checker.require(few, "code.tasks", rule, metrics.len());
}

/// Checks the constants and hooks of a scenario.
fn own_parts(
    checker: &mut Checker<'_>,
    code: &Code,
    metrics: &mut BTreeMap<String, Metric>,
    field: &str,
) {
    for (name, value) in &code.constants {
        let mut code_checker =
            CodeChecker::new(checker, code, metrics, format!("{field}.constants.{name}"));
        code_checker.literal(value, 0);
    }
    for (hook, routine) in [("on_start", &code.on_start), ("on_stop", &code.on_stop)] {
        if let Some(routine) = routine {
            let mut code_checker =
                CodeChecker::new(checker, code, metrics, format!("{field}.{hook}"));
            code_checker.may_keep = hook == "on_start";
            code_checker.routine(routine, 0);
        }
    }
}

/// Checks one function.
struct CodeChecker<'a, 'b> {
    checker: &'a mut Checker<'b>,
    code: &'a Code,
    field: String,
    locals: usize,
    loops: usize,
    /// The kind of each metric that was added to so far, by name.
    metrics: &'a mut BTreeMap<String, Metric>,
    may_keep: bool,
    may_request: bool,
}

impl<'a, 'b> CodeChecker<'a, 'b> {
    fn new(
        checker: &'a mut Checker<'b>,
        code: &'a Code,
        metrics: &'a mut BTreeMap<String, Metric>,
        field: String,
    ) -> Self {
        Self {
            checker,
            code,
            field,
            locals: 0,
            loops: 0,
            metrics,
            may_keep: false,
            may_request: true,
        }
    }

    fn require(&mut self, holds: bool, rule: &str, value: impl ToString) {
        self.checker
            .require(holds, &self.field, rule, value.to_string());
    }

    fn routine(&mut self, routine: &Routine, parameters: usize) {
        self.locals = routine.locals.len();
        let rule = "must have at most 200 local variables, its parameters among them";
        let fits = (parameters..=limits::CODE_LOCALS_MAX).contains(&self.locals);
        self.require(fits, rule, self.locals);
        self.block(&routine.does, 0);
    }

    fn local(&mut self, local: u16) {
        let known = usize::from(local) < self.locals;
        self.require(known, "must use declared local variables", local);
    }

    fn fits(&mut self, depth: usize) -> bool {
        let fits = depth <= limits::CODE_DEPTH_MAX;
        self.require(fits, "must nest at most 20 deep", depth);
        fits
    }

    fn block(&mut self, does: &[Statement], depth: usize) {
        if !self.fits(depth) {
            return;
        }
        for statement in does {
            self.statement(statement, depth + 1);
        }
    }

    fn repeated(&mut self, local: u16, does: &[Statement], depth: usize) {
        self.local(local);
        self.loops += 1;
        self.block(does, depth);
        self.loops -= 1;
    }

    fn statement(&mut self, statement: &Statement, depth: usize) {
        let asks = matches!(
            statement,
            Statement::Send(_)
                | Statement::Batch { .. }
                | Statement::Sleep { .. }
                | Statement::Rest { .. }
        );
        let rule = "must not send requests or rest in a check";
        self.require(!asks || self.may_request, rule, "a request or a rest");
        match statement {
            Statement::Send(send) => self.send(send, depth),
            Statement::Sleep { us } => {
                let sound = *us <= limits::SLEEP_US_MAX;
                self.require(sound, "must rest at most a day at a time", us);
            }
            Statement::Rest { how, times, .. } => {
                let most = if *how == Pause::Wait { 2 } else { 1 };
                let fits = (1..=most).contains(&times.len());
                self.require(fits, "must rest for one time, or between two", times.len());
                times.iter().for_each(|time| self.expression(time, depth));
            }
            Statement::Measure {
                kind, name, value, ..
            } => {
                self.metric(*kind, name);
                value.iter().for_each(|value| self.expression(value, depth));
            }
            Statement::Set { local, to } => {
                self.local(*local);
                self.expression(to, depth);
            }
            Statement::Keep { value, .. } => {
                let rule = "must store attributes in on_start only";
                self.require(self.may_keep, rule, "another function");
                self.expression(value, depth);
            }
            Statement::Do(value) => self.expression(value, depth),
            Statement::If { ways, otherwise } => {
                for way in ways {
                    self.expression(&way.test, depth);
                    self.block(&way.does, depth);
                }
                self.block(otherwise, depth);
            }
            Statement::For {
                local, over, does, ..
            } => {
                self.expression(over, depth);
                self.repeated(*local, does, depth);
            }
            Statement::While { test, does } => {
                self.expression(test, depth);
                self.loops += 1;
                self.block(does, depth);
                self.loops -= 1;
            }
            Statement::Batch {
                requests, answers, ..
            } => {
                self.expression(requests, depth);
                answers.iter().for_each(|local| self.local(*local));
            }
            Statement::Pick { from, answer, .. } => {
                self.local(*from);
                self.local(*answer);
            }
            Statement::Each { answer, from, does } => {
                self.local(*from);
                self.repeated(*answer, does, depth);
            }
            Statement::Within { does, .. } => {
                // `break` and `continue` cannot reach the loops around a call.
                let around = std::mem::take(&mut self.loops);
                self.block(does, depth);
                self.loops = around;
            }
            Statement::Repeat { local, does, .. } => self.repeated(*local, does, depth),
            Statement::Break | Statement::Continue => {
                let rule = "must use break and continue inside loops only";
                self.require(self.loops > 0, rule, "outside");
            }
            Statement::Assert { test, says, .. } => {
                self.expression(test, depth);
                says.iter().for_each(|says| self.expression(says, depth));
            }
            Statement::Raise { says, .. } => {
                says.iter().for_each(|says| self.expression(says, depth));
            }
            Statement::RaiseForStatus { local, .. } => self.local(*local),
            Statement::Return => {}
        }
    }

    fn send(&mut self, send: &Send, depth: usize) {
        self.expression(&send.path, depth);
        for given in &send.given {
            self.expression(&given.value, depth);
        }
        if let Some(local) = send.answer {
            self.local(local);
        }
        let us = send.timeout_us.unwrap_or(1_000);
        let sound = (1_000..=limits::TIMEOUT_US_MAX).contains(&us);
        self.require(sound, "must have time-outs of 1 ms to 10 min", us);
    }

    fn metric(&mut self, kind: Metric, name: &str) {
        let rule = "must add to metrics with a name of letters, digits and _";
        self.require(is_metric_name(name), rule, name);
        let known = *self.metrics.entry(name.to_owned()).or_insert(kind);
        let rule = "must add to a metric of one kind under each name";
        self.require(known == kind, rule, name);
    }

    /// Rejects a literal as the value of a secret header; a computed value is allowed.
    fn entry(&mut self, name: &str, is_written: bool) {
        let lower = name.to_ascii_lowercase();
        let is_secret = is_secret_entry(&lower) || self.code.secret_headers.contains(&lower);
        let rule = "must not contain the value of a secret header: it would be stored in the log";
        self.require(!(is_secret && is_written), rule, name);
    }

    fn literal(&mut self, literal: &Literal, depth: usize) {
        if !self.fits(depth) {
            return;
        }
        match literal {
            Literal::Float(text) => {
                let sound = text.parse::<f64>().is_ok_and(f64::is_finite);
                self.require(sound, "must write finite numbers", text);
            }
            Literal::List(items) => {
                items.iter().for_each(|item| self.literal(item, depth + 1));
            }
            Literal::Dict(entries) => {
                for (key, value) in entries {
                    let is_scheme = matches!(value, Literal::Text(text)
                        if SCHEMES.contains(&text.as_str()));
                    self.entry(key, !is_scheme);
                    self.literal(value, depth + 1);
                }
            }
            Literal::None | Literal::Bool(_) | Literal::Int(_) | Literal::Text(_) => {}
        }
    }

    fn expression(&mut self, of: &Expression, depth: usize) {
        if !self.fits(depth) {
            return;
        }
        match of {
            Expression::Literal(literal) => self.literal(literal, depth),
            Expression::Local { local, .. } | Expression::Answer { local, .. } => {
                self.local(*local);
            }
            Expression::Header { local, .. } => self.local(*local),
            Expression::Comprehension { local, .. } => self.local(*local),
            Expression::Row { feed } => {
                let known = usize::from(*feed) < self.code.feeds.len();
                self.require(known, "must take rows of declared feeds", feed);
            }
            Expression::Dict(entries) => {
                for entry in entries {
                    self.entry(&entry.key, writes(&entry.value));
                }
            }
            Expression::Call { function, to, .. } => {
                let wanted = match function {
                    Function::Get => 2..=3,
                    Function::RandInt => 2..=2,
                    Function::Replace => 3..=3,
                    Function::Startswith | Function::Endswith | Function::Join => 2..=2,
                    Function::Strip | Function::Lstrip | Function::Rstrip | Function::Split => {
                        1..=2
                    }
                    Function::RandFloat
                    | Function::RandUuid
                    | Function::NowIsoformat
                    | Function::NowTimestamp => 0..=0,
                    _ => 1..=1,
                };
                let fits = wanted.contains(&to.len());
                self.require(
                    fits,
                    "must call functions with arguments that they accept",
                    to.len(),
                );
            }
            Expression::Compare { others, .. } => {
                let is_single = |next: &loadpilot_events::plan::code::Compared| match next.how {
                    Comparison::Is | Comparison::IsNot => matches!(
                        next.to,
                        Expression::Literal(Literal::None | Literal::Bool(_))
                    ),
                    _ => true,
                };
                let sound = others.iter().all(is_single);
                self.require(
                    sound,
                    "must ask `is` of None, True and False only",
                    "another",
                );
            }
            _ => {}
        }
        for part in parts(of) {
            self.expression(part, depth + 1);
        }
    }
}

/// Whether the expression contains a text other than the scheme of a secret as a literal.
fn writes(value: &Expression) -> bool {
    match value {
        Expression::Literal(Literal::Text(text)) => !SCHEMES.contains(&text.as_str()),
        // The key of a look-up is not its result.
        Expression::Item { of, .. } => writes(of),
        Expression::Call {
            function: Function::Get,
            to,
            ..
        } => to.iter().take(1).chain(to.iter().skip(2)).any(writes),
        other => parts(other).into_iter().any(writes),
    }
}

/// The direct parts of an expression.
fn parts(of: &Expression) -> Vec<&Expression> {
    match of {
        Expression::Literal(_)
        | Expression::Local { .. }
        | Expression::Own { .. }
        | Expression::Row { .. }
        | Expression::Answer { .. } => Vec::new(),
        Expression::List(parts)
        | Expression::Join(parts)
        | Expression::And(parts)
        | Expression::Or(parts)
        | Expression::Call { to: parts, .. } => parts.iter().collect(),
        Expression::Dict(entries) => entries.iter().map(|entry| &entry.value).collect(),
        Expression::Binary { left, right, .. } => vec![left, right],
        Expression::Item { of, key, .. } => vec![of, key],
        Expression::Slice { of, from, to, .. } => vec![of, from, to],
        Expression::Comprehension {
            over, test, item, ..
        } => {
            let test = test.as_deref();
            [&**over, &**item].into_iter().chain(test).collect()
        }
        Expression::Negate { of, .. }
        | Expression::Format { of, .. }
        | Expression::IsInstance { of, .. } => vec![of],
        Expression::Not(of) => vec![of],
        Expression::Compare { first, others, .. } => {
            let others = others.iter().map(|next| &next.to);
            std::iter::once(&**first).chain(others).collect()
        }
        Expression::Choose {
            test,
            then,
            otherwise,
        } => vec![test, then, otherwise],
        Expression::Header { otherwise, .. } => otherwise.as_deref().into_iter().collect(),
    }
}
