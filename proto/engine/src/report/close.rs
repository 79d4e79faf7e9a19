//! Closes the fold: control side and data side of a run become its report.

use std::collections::BTreeMap;
use std::ops::Range;

use loadpilot_events::answers::report::{
    Bytes, CallCounts, Certificate, Failure, Gaps, Grade, Ladder, Quarantined, Rates, Report,
    ReportSchema, RunFacts, TickReport, Verdict, WarmUp,
};
use loadpilot_events::log::assign::ShardMap;
use loadpilot_events::log::evt::What;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::{Plan, Profile};
use loadpilot_events::rules::Rules;
use loadpilot_events::units::{Rate, SECOND_US};

use crate::check;
use crate::control::created_run::CreatedRun;
use crate::control::{Assignment, Control, Parsed};
use crate::fold::accounting::{WHOLE, account};
use crate::fold::arrival_counts::Accounts;
use crate::fold::progress::ticks_reached;
use crate::fold::project::{Projection, Window, first_measured_tick};
use crate::report::figures::generator_health::{anatomy, generator};
use crate::report::figures::held_rate::held_rate;
use crate::report::figures::holders::holders;
use crate::report::figures::percentiles::{ms, packed_percentiles_us};
use crate::report::figures::rows_end::rows_used_up;
use crate::report::figures::streams::streams;
use crate::report::figures::task_range::EVERY;
use crate::report::state::{digested, run_state};
use crate::report::{certificate, timeline, verdict};
use crate::schedule::workload::Workload;
use crate::tally::aggregates::{ArrivalSums, CallSums, add_counts};
use crate::tally::call_ids::CallId;
use crate::tally::packed_histogram::Precision;
use crate::tally::ratio::percent;

/// Why there is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoReport {
    /// The log has no such run.
    #[error("no run {0} in this log")]
    Unknown(String),
}

/// The report of a run, as far as its log goes. A run that is not over is judged by the arrivals
/// that were planned until then.
///
/// # Errors
/// The log has no request for the run.
pub fn report(control: &Control, data: &Projection) -> Result<Report, NoReport> {
    closed(control, data, |closing, accounts| closing.series(accounts)).map(digested)
}

/// The [`report`] without its series and without a digest. The series of a run of a day are
/// megabytes, and most of the time that its report takes.
///
/// # Errors
/// The log has no request for the run.
pub fn report_without_series(control: &Control, data: &Projection) -> Result<Report, NoReport> {
    closed(control, data, |_, _| Vec::new())
}

fn closed(
    control: &Control,
    data: &Projection,
    series: impl FnOnce(&Closing<'_>, &Accounts) -> Vec<TickReport>,
) -> Result<Report, NoReport> {
    let state = &control.state;
    let plan = match (&state.created, &state.requested) {
        (Some(created), _) => &created.plan,
        (None, Some(requested)) => &requested.plan,
        (None, None) => return Err(NoReport::Unknown(control.run.to_string())),
    };
    let seed = state
        .requested
        .as_ref()
        .map_or(0, |requested| requested.seed);
    let unsound = (!check::plan(plan).is_empty()).then(|| nothing_planned(plan));
    let plan = unsound.as_ref().unwrap_or(plan);
    let workload = Workload::new(plan, state.created.as_ref().map_or(seed, |c| c.seed));
    let workload = workload.steered(&state.steering.rates);
    let measured = first_measured_tick(plan)..u32::MAX;
    let closing = Closing {
        control,
        data,
        plan,
        workload: &workload,
        part: reached(control, data, plan),
        measured_sums: data.arrivals.by_task(measured.clone()),
        measured,
        rules: control.rules(),
    };
    let accounts = closing.accounts();
    let series = series(&closing, &accounts);
    let (load_curve, knee_point) = closing.load_curve_and_knee(&accounts);
    let mut report = closing.judged(accounts);
    report.series = series;
    (report.load_curve, report.knee_point) = (load_curve, knee_point);
    Ok(report)
}

/// The report of a created run by another plan and over other ticks than its own, without series
/// and digest, by the newest rules. In `data` the rows due in the ticks `measured` are in the
/// measured window.
pub(crate) fn judged(
    control: &Control,
    data: &Projection,
    plan: &Plan,
    workload: &Workload,
    measured: Range<u32>,
) -> Report {
    let closing = Closing {
        control,
        data,
        plan,
        workload,
        part: reached(control, data, plan),
        measured_sums: data.arrivals.by_task(measured.clone()),
        measured,
        rules: Rules::CURRENT,
    };
    closing.judged(closing.accounts())
}

/// The report of the arrivals of a created run that are due in the ticks of `part`, without series
/// and digest, by the rules of the run. In `data` only rows due in these ticks are in the measured
/// window.
pub(crate) fn judged_part(
    control: &Control,
    data: &Projection,
    plan: &Plan,
    workload: &Workload,
    part: Range<u32>,
) -> Report {
    let reached = reached(control, data, plan);
    let closing = Closing {
        control,
        data,
        plan,
        workload,
        part: part.start..part.end.min(reached.end).max(part.start),
        measured_sums: data.arrivals.by_task(part.clone()),
        measured: part,
        rules: control.rules(),
    };
    closing.judged(closing.accounts())
}

/// The due ticks by which a run is judged: all of them, or those that it has reached so far.
fn reached(control: &Control, data: &Projection, plan: &Plan) -> Range<u32> {
    match ticks_reached(control, data, plan.tick_us) {
        None => WHOLE,
        Some(ticks) => 0..ticks,
    }
}

/// A reportable plan for a run whose own plan is invalid: it was refused, so that nothing was
/// planned, and its figures must not be used in any arithmetic.
fn nothing_planned(plan: &Plan) -> Plan {
    Plan {
        profile: Profile {
            shape: plan.profile.shape,
            pieces: Vec::new(),
        },
        users: None,
        user_stages: None,
        rest: None,
        session: None,
        types: Vec::new(),
        paired: false,
        hold: Vec::new(),
        tasks: Vec::new(),
        thresholds: Vec::new(),
        warm_up_us: 0,
        tick_us: SECOND_US,
        ..plan.clone()
    }
}

pub(crate) struct Closing<'a> {
    pub(crate) control: &'a Control,
    pub(crate) data: &'a Projection,
    pub(crate) plan: &'a Plan,
    pub(crate) workload: &'a Workload,
    /// The due ticks whose planned arrivals are accounted for.
    pub(crate) part: Range<u32>,
    /// The due ticks that are judged.
    pub(crate) measured: Range<u32>,
    /// The arrivals due in these ticks, by task: reading their rows takes as long as the rest.
    pub(crate) measured_sums: BTreeMap<u16, ArrivalSums>,
    /// The rules of the judgement.
    pub(crate) rules: Rules,
}

impl Closing<'_> {
    fn accounts(&self) -> Accounts {
        account(
            self.control,
            self.data,
            self.plan,
            self.workload,
            &self.part,
        )
    }

    fn judged(&self, accounts: Accounts) -> Report {
        let mut report = self.report(accounts);
        report.verdict = verdict::verdict(self.plan, &report);
        report.certificate = certificate::certificate(&report);
        report
    }

    fn report(&self, accounts: Accounts) -> Report {
        let all = self.sum(|_, _| true);
        let ok = self.sum(|_, outcome| outcome == Outcome::Ok);
        let failed = self.sum(|_, outcome| outcome.is_error());
        let raises = self.raises(&EVERY);
        let finished = all.count + raises.without_call;
        let errors = failed.count + raises.more_errors();
        let measured_us = self.measured_us();
        let rates = self.rates(&accounts, measured_us);
        let latency = self.latency(&all, &ok, &failed);
        let response = latency.response.clone();
        let part_us = u64::from(self.part.end) * self.plan.tick_us;
        let point = |get: fn(&Ladder) -> u64| response.as_ref().map(|ladder| ms(get(ladder)));
        Report {
            schema: ReportSchema::V1,
            scenario: self.plan.scenario.clone(),
            target_url: self.plan.target.clone(),
            rps_target: Rate(self.workload.pace().peak()).as_rps(),
            rps_actual: rates.achieved_rps,
            requests_total: self.count(Window::Measured),
            errors_total: errors,
            error_rate_pct: (finished > 0).then(|| percent(errors, finished)),
            p50_ms: point(|ladder| ladder.p50_us),
            p95_ms: point(|ladder| ladder.p95_us),
            p99_ms: point(|ladder| ladder.p99_us),
            max_ms: point(|ladder| ladder.max_us),
            duration_secs: ms(self.offered_us()) / 1e3,
            run: self.run_facts(&accounts),
            verdict: Verdict {
                passed: false,
                thresholds: Vec::new(),
                reasons: Vec::new(),
            },
            certificate: Certificate {
                grade: Grade::Invalid,
                findings: Vec::new(),
            },
            calls: self.call_counts(|_| true),
            rates,
            latency,
            bytes: bytes(&all, measured_us),
            status: all.status,
            warm_up: WarmUp {
                warm_up_us: self.measured_from_us(),
                arrivals: self.planned_before(&accounts, self.measured_from_us().min(part_us)),
                calls: self.count(Window::WarmUp),
            },
            types: self.types(&accounts),
            tasks: self.tasks(&accounts),
            series: Vec::new(),
            load_curve: None,
            knee_point: None,
            generator: generator(self.data),
            streams: streams(&anatomy(self.data, |_| true)),
            task_raises: (!raises.is_none()).then_some(raises),
            checks: self.checks(&EVERY),
            metrics: self.metrics(&EVERY),
            gaps: self.gaps(&accounts),
            exchanges: self.data.exchanges.iter().cloned().collect(),
            story: timeline::lines(self.control),
            arrivals: accounts.total,
            digest: String::new(),
        }
    }

    /// The merged sums of finished calls in the measured time that `keep` selects by call and
    /// outcome.
    pub(crate) fn sum(&self, keep: impl Fn(&CallId, Outcome) -> bool) -> CallSums {
        let mut sum = CallSums::default();
        for ((window, call, outcome), more) in &self.data.calls {
            let measured = *window == Window::Measured && outcome.is_finished();
            if measured && keep(call, *outcome) {
                sum.add(more);
            }
        }
        sum
    }

    pub(crate) fn count(&self, of: Window) -> u64 {
        let calls = self.data.calls.iter();
        let calls = calls.filter(|((window, ..), _)| *window == of);
        calls.map(|(_, sums)| sums.count).sum()
    }

    pub(crate) fn call_counts(&self, keep: impl Fn(&CallId) -> bool) -> CallCounts {
        let mut counts = CallCounts::default();
        for ((_, call, outcome), sums) in &self.data.calls {
            let outcome = *outcome;
            if keep(call) {
                counts.attempted += sums.count;
                *counts.outcomes.entry(outcome).or_default() += sums.count;
                if !sums.causes.is_empty() {
                    add_counts(counts.causes.entry(outcome).or_default(), &sums.causes);
                }
            }
        }
        counts
    }

    /// Duration of the offered load of the part, in µs: less after a stop.
    fn offered_us(&self) -> u64 {
        let from_us = u64::from(self.part.start) * self.plan.tick_us;
        self.offered_to_us().saturating_sub(from_us)
    }

    /// End of the offered load, in µs: of the profile, of the part, or the stop.
    fn offered_to_us(&self) -> u64 {
        let part_us = u64::from(self.part.end) * self.plan.tick_us;
        let end_us = self.workload.duration_us().min(part_us);
        let stopped_us = self.control.stopped_at_us();
        stopped_us.map_or(end_us, |stopped_us| stopped_us.min(end_us))
    }

    /// Beginning of the measured time, in µs: the end of the warm-up, rounded up to a whole tick.
    pub(crate) fn measured_from_us(&self) -> u64 {
        u64::from(self.measured.start) * self.plan.tick_us
    }

    /// End of the measured time, in µs: that of the offered load, or earlier if less is judged.
    pub(crate) fn measured_to_us(&self) -> u64 {
        let to_us = u64::from(self.measured.end) * self.plan.tick_us;
        self.offered_to_us().min(to_us)
    }

    pub(crate) fn measured_us(&self) -> u64 {
        self.measured_to_us()
            .saturating_sub(self.measured_from_us())
    }

    fn rates(&self, accounts: &Accounts, measured_us: u64) -> Rates {
        let measured = accounts.ticks.iter();
        let measured = measured.filter(|(tick, _)| self.measured.contains(tick));
        let started = measured.map(|(_, tick)| tick.started).sum();
        let until = self.planned_before(accounts, self.measured_to_us());
        let from = self.planned_before(accounts, self.measured_from_us());
        let planned = until.saturating_sub(from);
        Rates {
            planned,
            started,
            measured_us,
            planned_rps: per_second(planned, measured_us),
            achieved_rps: per_second(started, measured_us),
            shortfall_pct: self.shortfall_pct(accounts, planned, started),
        }
    }

    /// Arrivals planned before `t_us`; in a closed loop those reported, in whole ticks.
    pub(crate) fn planned_before(&self, accounts: &Accounts, t_us: u64) -> u64 {
        if self.plan.users.is_none() {
            return self.workload.first_at_or_after(t_us);
        }
        let end = u32::try_from(t_us.div_ceil(self.plan.tick_us)).unwrap_or(u32::MAX);
        let ticks = accounts.ticks.range(..end);
        ticks.map(|(_, account)| account.planned).sum()
    }

    fn series(&self, accounts: &Accounts) -> Vec<TickReport> {
        let nothing = crate::fold::project::TickCalls::default();
        let tick_report = |(&tick, arrivals): (&u32, &crate::fold::arrival_counts::TickAccount)| {
            let calls = self.data.ticks.get(&tick).unwrap_or(&nothing);
            let points = packed_percentiles_us(
                &calls.responses,
                Precision::Latency,
                [50.0, 90.0, 95.0, 99.0, 100.0],
            );
            let point = |index: usize| points.map(|points| points[index]);
            let raises = self.raises_in(tick..=tick);
            TickReport {
                tick,
                planned: arrivals.planned,
                started: arrivals.started,
                dropped: arrivals.dropped,
                finished: calls.finished + raises.without_call,
                errors: calls.errors + raises.more_errors(),
                p50_us: point(0),
                p90_us: point(1),
                p95_us: point(2),
                p99_us: point(3),
                max_us: point(4),
            }
        };
        accounts.ticks.iter().map(tick_report).collect()
    }

    fn gaps(&self, accounts: &Accounts) -> Gaps {
        let mut quarantined: Vec<Quarantined> = self.control.quarantined.clone();
        quarantined.extend(self.data.quarantined.values().cloned());
        quarantined.extend(accounts.contradictions.iter().cloned());
        Gaps {
            lost: accounts.lost.clone(),
            lost_time_pct: accounts.lost_time_pct,
            surplus_pct: accounts.surplus_pct,
            excess_arrivals: self.data.excess_arrivals,
            excess_calls: self.data.excess_calls,
            quarantined,
            late_deltas: self.data.late_deltas,
        }
    }

    fn run_facts(&self, accounts: &Accounts) -> RunFacts {
        let state = &self.control.state;
        let created = state.created.as_deref();
        RunFacts {
            id: self.control.run.clone(),
            state: run_state(self.control),
            ending: self.control.sealed.as_ref().map(|sealed| sealed.ending),
            refused: self.control.refused.clone(),
            plan_hash: created.map_or_else(|| self.plan.hash(), |c| c.plan_hash.clone()),
            rules: self.rules,
            seed: created.map_or(0, |created: &CreatedRun| created.seed),
            shape: self.plan.profile.shape,
            users: self.plan.users,
            user_stages: self.plan.user_stages.clone(),
            rest: self.plan.rest,
            session: self.plan.session,
            profile_us: self.workload.duration_us(),
            tick_us: self.plan.tick_us,
            max_in_flight: self.plan.max_in_flight,
            connections: self.plan.connections.clone(),
            parameters: self.plan.parameters.clone(),
            tags: self.plan.tags.clone(),
            feeds: self.feeds(accounts),
            created_at: self.control.created_at,
            start_at: state.start.as_ref().map(|start| start.start_at),
            unanswered: state.stop.as_ref().and_then(|stop| stop.unanswered.clone()),
            stopped_at_us: self.control.stopped_at_us(),
            rows_used_up: rows_used_up(self.control),
            breach: state.breach().cloned(),
            held: held_rate(self.control),
            steered: timeline::steered(self.control),
            failure: self.failure(),
            holders: holders(self.control, self.data),
            generation: state.generation,
            maps: self.maps(),
        }
    }

    fn maps(&self) -> Vec<ShardMap> {
        let map = |assignment: &Assignment| ShardMap {
            generation: assignment.generation,
            from_tick: assignment.from_tick,
            holdings: assignment.holdings.clone(),
        };
        self.control.assignments.iter().map(map).collect()
    }

    fn failure(&self) -> Option<Failure> {
        let mut facts = self.control.records.iter().map(|(_, parsed)| parsed);
        facts.find_map(|parsed| match parsed {
            Parsed::Fact(_, envelope) => match &envelope.event.what {
                What::ShardsFailed(failed) => Some(Failure {
                    cause: failed.cause,
                    reason: failed.reason.clone(),
                }),
                _ => None,
            },
            _ => None,
        })
    }
}

fn bytes(all: &CallSums, measured_us: u64) -> Bytes {
    Bytes {
        sent: all.sent_bytes,
        received: all.received_bytes,
        received_per_sec: per_second(all.received_bytes, measured_us),
        sent_per_sec: per_second(all.sent_bytes, measured_us),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a rate for people and thresholds"
)]
pub(crate) fn per_second(count: u64, us: u64) -> f64 {
    if us == 0 {
        0.0
    } else {
        count as f64 * 1e6 / us as f64
    }
}
