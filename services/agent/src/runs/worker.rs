//! One run on this agent, told as a story: get ready, wait for the start, fire, say the last
//! words. It must never fire after it was told not to, and never forget to say what it counted.

use std::sync::{Arc, Mutex};

use loadpilot_engine::tally::unreached::Reach;
use loadpilot_events::log::ctl::RunCreated;
use loadpilot_events::log::delta::Totals;
use loadpilot_events::log::evt::IsolationStop;
use loadpilot_events::log::evt::{
    FailureCause, FinishReason, ShardsFailed, ShardsFinished, ShardsReady, What,
};
use loadpilot_events::{RunId, Timestamp};
use tokio::sync::watch;

use crate::crash::spool::Spool;
use crate::fire::{Lease, MonoTime};
use crate::fleet::clock;
use crate::fleet::event_publisher::Clerk;
use crate::process::shell::Shell;
use crate::runs::firing::{self, Fired};
use crate::runs::prepare::{Prepared, prepare};
use crate::runs::run_commands::Orders;

/// What a worker needs to know about its run.
pub struct Assignment {
    /// Which run.
    pub run: RunId,
    /// What it is.
    pub created: RunCreated,
    /// What to do; the worker gives up when the other side is gone.
    pub orders: watch::Receiver<Orders>,
    /// Who writes down what it states.
    pub clerk: Clerk,
    /// Until when anything may be started.
    pub lease: Lease,
    /// Where it notes whether a call has reached a server.
    pub reach: Arc<Mutex<Reach>>,
}

/// Why a run ended here without the whole story.
enum Cut {
    /// Nobody needs it any more.
    Forgotten,
    /// It ended before it began.
    Finished(FinishReason),
}

/// Does what is ordered until the run is over for this agent; says why it is, in case it could do
/// its shards.
pub async fn work(shell: Shell, mut task: Assignment) -> Option<FinishReason> {
    let run = task.run.clone();
    let cut = match story(&shell, &mut task).await {
        Ok(reason) => return reason,
        Err(cut) => cut,
    };
    let Cut::Finished(reason) = cut else {
        return None;
    };
    tracing::info!(%run, ?reason, "ends before the start");
    say_isolated(&task);
    let words = last_words(reason, 0, Totals::default());
    task.clerk.state(What::ShardsFinished(words));
    Some(reason)
}

async fn story(shell: &Shell, task: &mut Assignment) -> Result<Option<FinishReason>, Cut> {
    let mut orders = task.orders.clone();
    let holds = orders.borrow().holds.clone();
    let prepared = tokio::select! {
        cut = called_off(&mut orders) => return Err(cut),
        prepared = prepare(shell, &task.run, &task.created, &holds, &task.lease) => prepared,
    };
    let (prepared, spool) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            tracing::error!(run = %task.run, %error, "cannot do its shards");
            say_failed(task, FailureCause::NotPrepared, error.to_string());
            return Ok(None);
        }
    };
    let told = told(shell, task, &prepared, spool).await;
    let is_broken = matches!(told, Ok(Fired::Broken));
    if task.created.plan.scenario_users().is_some() && !is_broken {
        prepared.cores.retire().await;
    }
    if let Ok(Fired::Done {
        reason,
        last_seq,
        totals,
    }) = &told
    {
        tracing::info!(run = %task.run, ?reason, last_seq, "done");
        let words = last_words(*reason, *last_seq, totals.clone());
        task.clerk.state(What::ShardsFinished(words));
        // Killed before that is stored, a later process says it.
        task.clerk.settled().await;
    }
    if !is_broken {
        // If it is, what its rings hold is in no delta.
        prepared.remove_files();
    }
    match told? {
        Fired::Forgotten => Err(Cut::Forgotten),
        Fired::Done { reason, .. } => Ok(Some(reason)),
        Fired::Broken | Fired::Unprepared => Ok(None),
    }
}

/// The story of a holder that is ready but for its users.
async fn told(
    shell: &Shell,
    task: &mut Assignment,
    prepared: &Prepared,
    spool: Option<Spool>,
) -> Result<Fired, Cut> {
    if task.created.plan.scenario_users().is_some() {
        let mut orders = task.orders.clone();
        let staffed = tokio::select! {
            cut = called_off(&mut orders) => return Err(cut),
            staffed = prepared.cores.staffed() => staffed,
        };
        if let Err(reason) = staffed {
            tracing::error!(run = %task.run, reason, "its users cannot be prepared");
            say_failed(task, FailureCause::Scenario, reason);
            return Ok(Fired::Unprepared);
        }
    }
    let start = await_start(shell, task, prepared).await?;
    Ok(firing::fire(shell, task, prepared, start, spool).await)
}

/// Says that it is ready, once per assignment, until the start is decided.
async fn await_start(
    shell: &Shell,
    task: &mut Assignment,
    prepared: &Prepared,
) -> Result<MonoTime, Cut> {
    let mut ready = None;
    loop {
        let orders = task.orders.borrow_and_update().clone();
        if let Some(cut) = cut_of(&orders) {
            return Err(cut);
        }
        prepared.cores.obey(&orders);
        if ready != orders.held_generation() {
            ready = orders.held_generation();
            say_ready(shell, task, &orders, prepared);
        }
        if let Some(start_at) = orders.start_at() {
            return Ok(prepared.alignment.mono_of(start_at));
        }
        if task.orders.changed().await.is_err() {
            return Err(Cut::Forgotten);
        }
    }
}

/// Returns when the orders say that this run will not be fired here.
async fn called_off(orders: &mut watch::Receiver<Orders>) -> Cut {
    loop {
        if let Some(cut) = cut_of(&orders.borrow_and_update()) {
            return cut;
        }
        if orders.changed().await.is_err() {
            return Cut::Forgotten;
        }
    }
}

/// Before the start every reason to stop is one to end at once: nothing is due yet.
fn cut_of(orders: &Orders) -> Option<Cut> {
    if orders.over() {
        return Some(Cut::Forgotten);
    }
    orders
        .stops()
        .first()
        .map(|stop| Cut::Finished(stop.reason))
}

fn say_ready(shell: &Shell, task: &Assignment, orders: &Orders, prepared: &Prepared) {
    let Some(generation) = orders.held_generation() else {
        return;
    };
    let estimate = prepared.alignment.estimate(clock::wall(), MonoTime::now());
    tracing::info!(
        run = %task.run, generation, agent = %shell.me.agent, offset_us = estimate.offset_us,
        bound_us = estimate.bound_us, "ready"
    );
    task.clerk.state(What::ShardsReady(ShardsReady {
        generation,
        clock: estimate,
        max_in_flight: prepared.max_in_flight,
    }));
}

/// States that it cannot do its shards.
pub(super) fn say_failed(task: &Assignment, cause: FailureCause, reason: String) {
    let generation = task.orders.borrow().held_generation().unwrap_or_default();
    task.clerk.state(What::ShardsFailed(ShardsFailed {
        generation,
        cause,
        reason,
    }));
}

/// States that it stopped by itself, if it did.
pub(super) fn say_isolated(task: &Assignment) {
    let Some(fenced) = task.orders.borrow().isolated else {
        return;
    };
    let at: Timestamp = fenced.at;
    task.clerk.state(What::IsolationStop(IsolationStop {
        fenced_at: at,
        ctl_seq: fenced.ctl_seq,
        reason: fenced.why.reason().to_owned(),
    }));
}

fn last_words(reason: FinishReason, final_seq: u64, totals: Totals) -> ShardsFinished {
    ShardsFinished {
        reason,
        final_seq,
        totals,
    }
}
