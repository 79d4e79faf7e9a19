//! The firing threads of one run: commands go to all of them, and their counts are merged. Harvests
//! and the wait for the end wait for threads; commands do not wait.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use loadpilot_engine::control::agent_view::Hold;
use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_engine::tally::Rows;
use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_events::{DropReason, Holder, Plan, RunId, Timestamp};
use tokio::time::timeout;

use crate::fire::arrival::users::hooks::Retired;
use crate::fire::futures::join_all;
use crate::fire::{
    self, ConnectionQuota, Core, CoreHold, CoreSetup, Fault, Lease, MonoTime, Preconnected,
    Program, Ring, RingOwner, RingSettings, VirtualUsersSetup, portion,
};
use crate::process::gauges::CoreFigures;
use crate::runs::RETIRE_TIMEOUT;
use crate::runs::run_commands::RunCommands;

/// Minimum number of users of an open loop per thread, if there are several threads.
const USERS_A_THREAD_MIN: u32 = 32;

/// Setup that the threads of a run share.
pub(super) struct Common {
    /// Id of the run.
    pub(super) run: RunId,
    /// Its plan.
    pub(super) plan: Arc<Plan>,
    /// Arrivals of the run.
    pub(super) workload: Arc<Workload>,
    /// Compiled requests.
    pub(super) program: Arc<Program>,
    /// Number of shards of the run.
    pub(super) shards: u32,
    /// Agent and boot of this process.
    pub(super) me: Holder,
    /// Folder and size of the rings; `None`: calls are not recorded.
    pub(super) rings: Option<RingSettings>,
    /// Virtual users, if the scenario has them.
    pub(super) users_setup: Option<VirtualUsersSetup>,
    /// End of the time in which arrivals may be started.
    pub(super) lease: Lease,
}

/// Firing threads of one run.
pub(super) struct Cores {
    cores: Vec<Core>,
    workload: Arc<Workload>,
    shards: u32,
    /// Files of the rings.
    rings: Vec<PathBuf>,
}

/// Counts of all threads since the last harvest.
#[derive(Debug, Default)]
pub(super) struct Harvest {
    /// Counts of arrivals and calls.
    pub(super) rows: Rows,
    /// Gauges of the threads.
    pub(super) figures: CoreFigures,
    /// Number of dead threads; their counts since the last harvest are lost.
    pub(super) dead: usize,
    /// Watermark of each thread's ring: the last record that these counts contain.
    pub(super) marks: Vec<Option<Watermark>>,
    /// Number of calls that found no room in a ring.
    pub(super) unrecorded: u64,
}

impl Common {
    /// Creates the ring of a thread, if rings are written.
    fn ring(&self, core: u32, slots: u32) -> Result<Option<Ring>, Fault> {
        let Some(settings) = &self.rings else {
            return Ok(None);
        };
        let owner = RingOwner {
            run: self.run.clone(),
            holder: self.me.clone(),
            core,
        };
        let calls_max = self.workload.users().unwrap_or(slots);
        // A user of a scenario may make several requests at a time.
        let calls_max = match self.users_setup {
            Some(_) => calls_max.saturating_mul(8),
            None => calls_max,
        };
        let ring = Ring::create(settings, &owner, &self.plan, calls_max);
        ring.map(Some).map_err(|error| Fault::Ring {
            folder: settings.folder.clone(),
            error,
        })
    }
}

impl Harvest {
    fn add(&mut self, part: Option<fire::Harvest>) {
        let figures = &mut self.figures;
        let Some(part) = part else {
            self.dead += 1;
            figures.cpu_us.push(0);
            self.marks.push(None);
            return;
        };
        self.marks.push(part.mark);
        self.unrecorded += part.unrecorded;
        self.rows.merge(part.rows);
        figures.in_flight += part.in_flight;
        figures.waiting += part.waiting;
        figures.oldest_us = figures.oldest_us.max(part.oldest_us);
        figures.stall_us = figures.stall_us.max(part.stall_us);
        figures.cpu_us.push(part.cpu_us);
    }
}

impl Cores {
    /// Starts the threads: at most as many as there are slots and connections, since a thread needs
    /// one of each.
    pub(super) fn spawn(
        common: &Common,
        cores: u32,
        max_in_flight: u32,
        holds: &[Hold],
    ) -> Result<Self, Fault> {
        let settings = &common.plan.connections;
        let cores = cores
            .min(common.users_setup.as_ref().map_or(u32::MAX, threads_max))
            .min(max_in_flight)
            .min(settings.max.unwrap_or(u32::MAX))
            .max(1);
        let homes = homes(holds, cores as usize);
        let mut sum = Self {
            cores: Vec::new(),
            workload: Arc::clone(&common.workload),
            shards: common.shards,
            rings: Vec::new(),
        };
        for index in 0..cores {
            let slots = portion(max_in_flight, index, cores);
            let quota = ConnectionQuota::part(settings, index, cores);
            let users_setup = common.users_setup.as_ref().map(|setup| VirtualUsersSetup {
                users: users_at(common, &setup.users, &homes, (index, cores)),
                ..setup.clone()
            });
            if let Err(fault) = sum.add(common, (index, cores), slots, quota, users_setup) {
                sum.remove_rings();
                return Err(fault);
            }
        }
        Ok(sum)
    }

    fn add(
        &mut self,
        common: &Common,
        (index, cores): (u32, u32),
        slots: u32,
        quota: ConnectionQuota,
        users_setup: Option<VirtualUsersSetup>,
    ) -> Result<(), Fault> {
        let ring = common.ring(index, slots)?;
        self.rings
            .extend(ring.iter().map(|ring| ring.path().to_owned()));
        self.cores.push(Core::spawn(CoreSetup {
            run: common.run.clone(),
            plan: common.plan.clone(),
            workload: common.workload.clone(),
            program: common.program.clone(),
            max_in_flight: slots,
            quota,
            name: format!("fire-{index}"),
            place: (index, cores),
            ring,
            users_setup,
            lease: common.lease.clone(),
        })?);
        Ok(())
    }

    /// Number of threads.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.cores.len()).unwrap_or(u32::MAX)
    }

    /// Everything up to `marks` is in a delta: the rings may reuse its space.
    pub(super) fn close(&self, marks: &[Option<Watermark>]) {
        for (core, mark) in self.cores.iter().zip(marks) {
            if let Some(mark) = mark {
                core.close(*mark);
            }
        }
    }

    /// Removes the files of the rings: every record in them is in a stored delta.
    pub(super) fn remove_rings(&self) {
        for path in &self.rings {
            if let Err(error) = std::fs::remove_file(path) {
                tracing::warn!(path = %path.display(), %error, "a ring stays behind");
            }
        }
    }

    /// Waits for the connections that are opened before the start. The next harvest reports a dead
    /// thread.
    pub(super) async fn preconnected(&self) -> Preconnected {
        let mut sum = Preconnected::default();
        for core in &self.cores {
            sum = sum.and(core.preconnected().await.unwrap_or_default());
        }
        sum
    }

    /// Waits until the users of a scenario are prepared.
    ///
    /// # Errors
    /// The error that the scenario raised.
    pub(super) async fn users_prepared(&self) -> Result<(), String> {
        for core in &self.cores {
            core.users_prepared().await?;
        }
        Ok(())
    }

    /// Lets the users of all threads clean up at the same time, which is bounded.
    pub(super) async fn retire(&self) -> Retired {
        let retired = self.cores.iter();
        let retired = retired.map(|core| Box::pin(timeout(RETIRE_TIMEOUT, core.retire())));
        let retired = join_all(retired.collect()).await.into_iter();
        let retired = retired.map(|retired| {
            retired.unwrap_or_else(|_| {
                tracing::warn!("a load thread hangs while its users clean up");
                Retired::default()
            })
        });
        retired.fold(Retired::default(), Retired::and)
    }

    /// Applies shards, rates and pause; each shard goes to one thread.
    pub(super) fn apply(&self, commands: &RunCommands) {
        let holds = &commands.holds;
        let rates: Arc<[RateChange]> = commands.rates.clone().into();
        let homes = homes(holds, self.cores.len());
        let parts = (0..self.cores.len()).map(|core| {
            let part = |hold: &Hold| CoreHold {
                generation: hold.generation,
                from_tick: hold.from_tick,
                until_tick: hold.until_tick,
                share: self
                    .workload
                    .share_of(self.shards, shards_at(hold, &homes, core)),
            };
            holds.iter().map(part).collect()
        });
        for (core, holds) in self.cores.iter().zip(parts) {
            core.hold(holds, Arc::clone(&rates));
            core.pause(commands.paused);
        }
    }

    /// Starts the threads; due times count from `at`.
    pub(super) fn start(&self, at: MonoTime, shown: Timestamp) {
        self.cores.iter().for_each(|core| core.start(at, shown));
    }

    /// Stops the dispatch of arrivals.
    pub(super) fn stop(&self, reason: DropReason) {
        self.cores.iter().for_each(|core| core.stop(reason));
    }

    /// Ends calls in flight at once.
    pub(super) fn cancel(&self) {
        self.cores.iter().for_each(Core::cancel);
    }

    /// Fetches all counts since the last harvest.
    pub(super) async fn harvest(&self) -> Harvest {
        let mut sum = Harvest::default();
        for core in &self.cores {
            sum.add(core.harvest().await);
        }
        sum
    }

    /// Like [`Cores::harvest`]; a thread that does not answer within `limit` counts as dead.
    pub(super) async fn harvest_living(&self, limit: Duration) -> Harvest {
        let mut sum = Harvest::default();
        for core in &self.cores {
            sum.add(timeout(limit, core.harvest()).await.ok().flatten());
        }
        sum
    }

    /// Returns when no thread paces and no arrival is in flight or waiting.
    pub(super) async fn idle(&self) {
        for core in &self.cores {
            core.idle().await;
        }
    }
}

/// Maximum number of threads for these users. An interpreter has one thread: using more cores takes
/// more agents. In an open loop an arrival is served by an idle user of the thread, so each thread
/// needs several users.
fn threads_max(setup: &VirtualUsersSetup) -> u32 {
    if !setup.scripting.is_spread() {
        return 1;
    }
    let users = u32::try_from(setup.users.len()).unwrap_or(u32::MAX);
    match setup.workload.users() {
        Some(_) => users,
        None => users / USERS_A_THREAD_MIN,
    }
}

/// The users of one of `cores` threads; in a closed loop those of the thread's shards.
fn users_at(
    common: &Common,
    users: &[u32],
    homes: &BTreeMap<u32, usize>,
    (index, cores): (u32, u32),
) -> Vec<u32> {
    let is_here = |place: usize, user: u32| match common.workload.users() {
        Some(_) => {
            let shard = common.workload.shard_of(user.into(), common.shards);
            homes.get(&shard) == Some(&(index as usize))
        }
        None => place % cores as usize == index as usize,
    };
    let placed = users.iter().enumerate();
    let here = placed.filter(|(place, user)| is_here(*place, **user));
    here.map(|(_, user)| *user).collect()
}

/// The thread of each shard. A shard keeps its thread through all generations: only that thread
/// knows which of the shard's arrivals were sent. A new shard goes to the thread with the fewest
/// shards.
fn homes(holds: &[Hold], cores: usize) -> BTreeMap<u32, usize> {
    let mut homes = BTreeMap::new();
    for hold in holds {
        let mut load = vec![0_usize; cores];
        for core in hold
            .shards
            .iter()
            .filter_map(|shard| homes.get(shard).copied())
        {
            load[core] += 1;
        }
        for &shard in &hold.shards {
            homes.entry(shard).or_insert_with(|| {
                let fewest = (0..cores).min_by_key(|&core| load[core]).unwrap_or(0);
                load[fewest] += 1;
                fewest
            });
        }
    }
    homes
}

fn shards_at(hold: &Hold, homes: &BTreeMap<u32, usize>, core: usize) -> Vec<u32> {
    hold.shards
        .iter()
        .copied()
        .filter(|shard| homes.get(shard) == Some(&core))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(generation: u32, shards: &[u32]) -> Hold {
        Hold {
            generation,
            from_tick: generation,
            until_tick: None,
            shards: shards.to_vec(),
        }
    }

    /// Broken if a shard moves between threads: an arrival could be sent twice at the takeover.
    #[test]
    fn shards_keep_their_thread_and_new_ones_even_out() {
        let first = hold(1, &[0, 2, 4, 6]);
        let then = hold(2, &[2, 6, 8, 10]);
        let before = homes(std::slice::from_ref(&first), 2);
        let after = homes(&[first.clone(), then.clone()], 2);
        for shard in [0, 2, 4, 6] {
            assert_eq!(before[&shard], after[&shard], "shard {shard}");
        }
        for hold in [&first, &then] {
            let parts = [shards_at(hold, &after, 0), shards_at(hold, &after, 1)];
            assert_eq!(parts.map(|part| part.len()), [2, 2], "{hold:?}");
        }
    }
}
