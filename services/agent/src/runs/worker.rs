//! One run on this agent: prepare, wait for the start, fire, publish the final event.

use loadpilot_events::log::delta::Totals;
use loadpilot_events::log::evt::{FailureCause, FinishReason, ShardsFinished, ShardsReady, What};
use tokio::sync::watch;

use crate::crash::spool::Spool;
use crate::fire::MonoTime;
use crate::process::shell::Shell;
use crate::runs::assignment::Assignment;
use crate::runs::firing::{self, Fired};
use crate::runs::prepare::{Prepared, prepare};
use crate::runs::run_commands::RunCommands;
use crate::wall_clock;

/// End of a run on this agent before its start.
enum EarlyEnd {
    /// The run is over.
    RunOver,
    /// A stop came before the start.
    Finished(FinishReason),
}

/// Follows the commands until the run is over for this agent; returns the reason, unless its shards
/// failed.
pub async fn work(shell: Shell, mut task: Assignment) -> Option<FinishReason> {
    let run = task.run.clone();
    let end = match prepare_and_fire(&shell, &mut task).await {
        Ok(reason) => return reason,
        Err(end) => end,
    };
    let EarlyEnd::Finished(reason) = end else {
        return None;
    };
    tracing::info!(%run, ?reason, "ends before the start");
    task.publish_isolation();
    let finished = shards_finished(reason, 0, Totals::default());
    task.publisher.publish(What::ShardsFinished(finished));
    Some(reason)
}

async fn prepare_and_fire(
    shell: &Shell,
    task: &mut Assignment,
) -> Result<Option<FinishReason>, EarlyEnd> {
    let mut commands = task.commands.clone();
    let holds = commands.borrow().holds.clone();
    let prepared = tokio::select! {
        end = until_cancelled(&mut commands) => return Err(end),
        prepared = prepare(shell, &task.run, &task.created, &holds, &task.lease) => prepared,
    };
    let (prepared, spool) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            tracing::error!(run = %task.run, %error, "cannot do its shards");
            task.publish_failure(FailureCause::NotPrepared, error.to_string());
            return Ok(None);
        }
    };
    let outcome = run_until_done(shell, task, &prepared, spool).await;
    let is_broken = matches!(outcome, Ok(Fired::Broken));
    let mut on_stop_failed = None;
    if task.created.plan.scenario_users().is_some() && !is_broken {
        on_stop_failed = prepared.cores.retire().await.error();
    }
    if let Ok(Fired::Done {
        reason,
        last_seq,
        totals,
    }) = &outcome
    {
        tracing::info!(run = %task.run, ?reason, last_seq, "done");
        let mut finished = shards_finished(*reason, *last_seq, totals.clone());
        finished.on_stop_failed = on_stop_failed;
        task.publisher.publish(What::ShardsFinished(finished));
        // If the process is killed before this is stored, a later process publishes it.
        task.publisher.flush().await;
    }
    if !is_broken {
        // The rings of dead threads contain calls that are in no delta.
        prepared.remove_files();
    }
    match outcome? {
        Fired::RunOver => Err(EarlyEnd::RunOver),
        Fired::Done { reason, .. } => Ok(Some(reason)),
        Fired::Broken | Fired::Unprepared => Ok(None),
    }
}

/// Prepares the users, waits for the start and fires.
async fn run_until_done(
    shell: &Shell,
    task: &mut Assignment,
    prepared: &Prepared,
    spool: Option<Spool>,
) -> Result<Fired, EarlyEnd> {
    if task.created.plan.scenario_users().is_some() {
        let mut commands = task.commands.clone();
        let users = tokio::select! {
            end = until_cancelled(&mut commands) => return Err(end),
            users = prepared.cores.users_prepared() => users,
        };
        if let Err(reason) = users {
            tracing::error!(run = %task.run, reason, "its users cannot be prepared");
            task.publish_failure(FailureCause::Scenario, reason);
            return Ok(Fired::Unprepared);
        }
    }
    let start = await_start(shell, task, prepared).await?;
    Ok(firing::fire(shell, task, prepared, start, spool).await)
}

/// Publishes `ShardsReady` once per assignment until the start is decided.
async fn await_start(
    shell: &Shell,
    task: &mut Assignment,
    prepared: &Prepared,
) -> Result<MonoTime, EarlyEnd> {
    let mut ready = None;
    loop {
        let commands = task.commands.borrow_and_update().clone();
        if let Some(end) = early_end(&commands) {
            return Err(end);
        }
        prepared.cores.apply(&commands);
        if ready != commands.held_generation() {
            ready = commands.held_generation();
            publish_ready(shell, task, &commands, prepared);
        }
        if let Some(start_at) = commands.start_at() {
            return Ok(prepared.alignment.mono_of(start_at));
        }
        if task.commands.changed().await.is_err() {
            return Err(EarlyEnd::RunOver);
        }
    }
}

/// Returns when a command ends the run on this agent before its start.
async fn until_cancelled(commands: &mut watch::Receiver<RunCommands>) -> EarlyEnd {
    loop {
        if let Some(end) = early_end(&commands.borrow_and_update()) {
            return end;
        }
        if commands.changed().await.is_err() {
            return EarlyEnd::RunOver;
        }
    }
}

/// Before the start every stop ends the run at once: no arrival is due yet.
fn early_end(commands: &RunCommands) -> Option<EarlyEnd> {
    if commands.over() {
        return Some(EarlyEnd::RunOver);
    }
    commands
        .stops()
        .first()
        .map(|stop| EarlyEnd::Finished(stop.reason))
}

fn publish_ready(shell: &Shell, task: &Assignment, commands: &RunCommands, prepared: &Prepared) {
    let Some(generation) = commands.held_generation() else {
        return;
    };
    let estimate = prepared
        .alignment
        .estimate(wall_clock::now(), MonoTime::now());
    tracing::info!(
        run = %task.run, generation, agent = %shell.me.agent, offset_us = estimate.offset_us,
        bound_us = estimate.bound_us, "ready"
    );
    task.publisher.publish(What::ShardsReady(ShardsReady {
        generation,
        clock: estimate,
        max_in_flight: prepared.max_in_flight,
    }));
}

fn shards_finished(reason: FinishReason, final_seq: u64, totals: Totals) -> ShardsFinished {
    ShardsFinished {
        reason,
        final_seq,
        totals,
        on_stop_failed: None,
    }
}
