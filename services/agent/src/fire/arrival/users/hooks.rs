//! The rest of a user's life: its preparation before the run, its clean-up after it.
//!
//! Whatever is sent there is counted nowhere. Must end in bounded time, and must let everybody
//! clean up who was prepared.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tokio::time::timeout;

use super::{Stage, all, cut};
use crate::fire::arrival::arrival_runner::Calls;
use crate::fire::arrival::users::virtual_users::{Crew, Member};
use crate::fire::http::wire::Wire;
use crate::fire::request::scratch::Kit;
use crate::users::script::Part;

/// Users that are prepared at a time: a target must not be stormed before the run has begun.
const PREPARED_AT_A_TIME: usize = 16;
/// Longest time for all clean-ups together.
pub(crate) const FAREWELL: Duration = Duration::from_secs(10);
/// Longest reason why users could not be prepared, in bytes.
const REASON_BYTES_MAX: usize = 4_000;

impl<W: Wire> Calls<W> {
    /// Prepares the users of a crew before the start, some at a time.
    ///
    /// # Errors
    /// How many could not be prepared, and what the first of them raised.
    pub(crate) async fn prepare(&self, crew: &Crew) -> Result<(), String> {
        let numbers = crew.numbers();
        let (next, tried) = (Cell::new(0), Cell::new(0));
        let failed = RefCell::new((0_usize, None));
        let lane = async || {
            let mut kit = Kit::aside();
            while let Some(&number) = numbers.get(next.replace(next.get() + 1)) {
                if crew.is_dismissed() {
                    return;
                }
                tried.set(tried.get() + 1);
                if let Err(raised) = self.join(crew, number, &mut kit).await {
                    let mut failed = failed.borrow_mut();
                    failed.0 += 1;
                    failed.1.get_or_insert(raised);
                    if failed.0 >= PREPARED_AT_A_TIME {
                        // It is not going to get better.
                        next.set(numbers.len());
                    }
                }
            }
        };
        let lanes = PREPARED_AT_A_TIME.min(numbers.len());
        let lanes = lanes.min(self.wire().calls_max());
        all((0..lanes).map(|_| Box::pin(lane()) as _).collect()).await;
        match failed.into_inner() {
            (_, None) => Ok(()),
            (count, Some(raised)) => {
                let raised = self.mask(&raised);
                let raised = cut(&raised, REASON_BYTES_MAX);
                let tried = tried.get();
                Err(format!(
                    "on_start failed for {count} of {tried} users: {raised}"
                ))
            }
        }
    }

    /// Makes and prepares one user.
    pub(super) async fn join(&self, crew: &Crew, number: u32, kit: &mut Kit) -> Result<(), String> {
        let mut member = crew.make(number)?;
        if crew.comes_prepared {
            crew.give(member);
            return Ok(());
        }
        let ended = self
            .act(&mut member, Part::Start, &mut Stage::aside(kit))
            .await
            .unwrap_or_default();
        if let Some(blocked) = ended.blocked {
            let blocked = self.mask(&blocked);
            tracing::warn!(user = number, blocked, "on_start");
        }
        if let Some(raised) = ended.raised {
            return Err(raised);
        }
        member.is_prepared = true;
        match crew.is_dismissed() {
            // The run was called off meanwhile: what it raises now is in the log.
            true => drop(self.part_with(member, kit).await),
            false => crew.give(member),
        }
        Ok(())
    }

    /// Lets `member` do what happens once per run.
    ///
    /// # Errors
    /// What that raised.
    pub(crate) async fn once(&self, member: &mut Member, place: u16) -> Result<(), String> {
        let mut kit = Kit::aside();
        let mut stage = Stage::aside(&mut kit);
        let ended = self.act(member, Part::Once(place), &mut stage).await;
        match ended.and_then(|ended| ended.raised) {
            None => Ok(()),
            Some(raised) => Err(cut(&self.mask(&raised), REASON_BYTES_MAX).to_owned()),
        }
    }

    /// Lets everybody clean up, in bounded time; what they raise is told to the log.
    ///
    /// # Errors
    /// How many could not, and what the first of them raised.
    pub(crate) async fn retire(&self, crew: &Crew) -> Result<(), String> {
        let members = RefCell::new(crew.dismiss());
        let total = members.borrow().len();
        let failed = RefCell::new((0_usize, None));
        let lane = async || {
            let mut kit = Kit::aside();
            loop {
                let Some(member) = members.borrow_mut().pop() else {
                    return;
                };
                if let Err(raised) = self.part_with(member, &mut kit).await {
                    let mut failed = failed.borrow_mut();
                    failed.0 += 1;
                    failed.1.get_or_insert(raised);
                }
            }
        };
        let lanes = PREPARED_AT_A_TIME.min(self.wire().calls_max());
        let lanes = (0..lanes).map(|_| Box::pin(lane()) as _).collect();
        if timeout(FAREWELL, all(lanes)).await.is_err() {
            let left = members.borrow().len();
            tracing::warn!(left, "on_stop took too long: users were not cleaned up");
            return Err(format!(
                "on_stop took longer than {} s for all users together",
                FAREWELL.as_secs()
            ));
        }
        match failed.into_inner() {
            (_, None) => Ok(()),
            (count, Some(raised)) => Err(format!(
                "on_stop failed for {count} of {total} users: {raised}"
            )),
        }
    }

    /// Lets one user clean up, if it is owed that.
    async fn part_with(&self, mut member: Member, kit: &mut Kit) -> Result<(), String> {
        if !member.is_prepared {
            return Ok(());
        }
        let mut stage = Stage::aside(kit);
        let ended = self.act(&mut member, Part::Stop, &mut stage).await;
        if let Some(raised) = ended.and_then(|ended| ended.raised) {
            let raised = self.mask(&raised);
            tracing::warn!(user = member.number, raised, "on_stop failed");
            return Err(raised);
        }
        Ok(())
    }
}
