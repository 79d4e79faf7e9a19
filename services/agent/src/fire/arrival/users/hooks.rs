//! The rest of a user's life: its preparation before the run, its clean-up after it.
//!
//! Whatever is sent there is counted nowhere. Must end in bounded time, and must let everybody
//! clean up who was prepared.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tokio::time::timeout;

use super::{PartContext, all, cut};
use crate::fire::arrival::arrival_runner::ArrivalRunner;
use crate::fire::arrival::users::virtual_users::{VirtualUser, VirtualUsers};
use crate::fire::http::wire::Wire;
use crate::fire::request::scratch::Scratch;
use crate::users::script::Part;

/// Users that are prepared at a time: a target must not be stormed before the run has begun.
const PREPARED_AT_A_TIME: usize = 16;
/// Longest time for all clean-ups together.
pub(crate) const CLEANUP_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest reason why users could not be prepared, in bytes.
const REASON_BYTES_MAX: usize = 4_000;

impl<W: Wire> ArrivalRunner<W> {
    /// Prepares the users of a crew before the start, some at a time.
    ///
    /// # Errors
    /// How many could not be prepared, and what the first of them raised.
    pub(crate) async fn prepare(&self, users: &VirtualUsers) -> Result<(), String> {
        let numbers = users.numbers();
        let (next, tried) = (Cell::new(0), Cell::new(0));
        let failed = RefCell::new((0_usize, None));
        let worker = async || {
            let mut scratch = Scratch::uncounted();
            while let Some(&number) = numbers.get(next.replace(next.get() + 1)) {
                if users.is_dismissed() {
                    return;
                }
                tried.set(tried.get() + 1);
                if let Err(raised) = self.prepare_user(users, number, &mut scratch).await {
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
        let workers = PREPARED_AT_A_TIME.min(numbers.len());
        let workers = workers.min(self.wire().calls_max());
        all((0..workers).map(|_| Box::pin(worker()) as _).collect()).await;
        match failed.into_inner() {
            (_, None) => Ok(()),
            (count, Some(raised)) => {
                let raised = self.redact(&raised);
                let raised = cut(&raised, REASON_BYTES_MAX);
                let tried = tried.get();
                Err(format!(
                    "on_start failed for {count} of {tried} users: {raised}"
                ))
            }
        }
    }

    /// Makes and prepares one user.
    pub(super) async fn prepare_user(
        &self,
        users: &VirtualUsers,
        number: u32,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let mut user = users.make(number)?;
        if users.comes_prepared {
            users.give(user);
            return Ok(());
        }
        let ended = self
            .run_part(&mut user, Part::Start, &mut PartContext::uncounted(scratch))
            .await
            .unwrap_or_default();
        if let Some(blocked) = ended.blocked {
            let blocked = self.redact(&blocked);
            tracing::warn!(user = number, blocked, "on_start");
        }
        if let Some(raised) = ended.raised {
            return Err(raised);
        }
        user.is_prepared = true;
        match users.is_dismissed() {
            // The run was called off meanwhile: what it raises now is in the log.
            true => drop(self.clean_up(user, scratch).await),
            false => users.give(user),
        }
        Ok(())
    }

    /// Lets `user` do what happens once per run.
    ///
    /// # Errors
    /// What that raised.
    pub(crate) async fn once(&self, user: &mut VirtualUser, place: u16) -> Result<(), String> {
        let mut scratch = Scratch::uncounted();
        let mut context = PartContext::uncounted(&mut scratch);
        let ended = self.run_part(user, Part::Once(place), &mut context).await;
        match ended.and_then(|ended| ended.raised) {
            None => Ok(()),
            Some(raised) => Err(cut(&self.redact(&raised), REASON_BYTES_MAX).to_owned()),
        }
    }

    /// Lets everybody clean up, in bounded time; what they raise is told to the log.
    ///
    /// # Errors
    /// How many could not, and what the first of them raised.
    pub(crate) async fn retire(&self, users: &VirtualUsers) -> Result<(), String> {
        let users_left = RefCell::new(users.dismiss());
        let total = users_left.borrow().len();
        let failed = RefCell::new((0_usize, None));
        let worker = async || {
            let mut scratch = Scratch::uncounted();
            loop {
                let Some(user) = users_left.borrow_mut().pop() else {
                    return;
                };
                if let Err(raised) = self.clean_up(user, &mut scratch).await {
                    let mut failed = failed.borrow_mut();
                    failed.0 += 1;
                    failed.1.get_or_insert(raised);
                }
            }
        };
        let workers = PREPARED_AT_A_TIME.min(self.wire().calls_max());
        let workers = (0..workers).map(|_| Box::pin(worker()) as _).collect();
        if timeout(CLEANUP_TIMEOUT, all(workers)).await.is_err() {
            let left = users_left.borrow().len();
            tracing::warn!(left, "on_stop took too long: users were not cleaned up");
            return Err(format!(
                "on_stop took longer than {} s for all users together",
                CLEANUP_TIMEOUT.as_secs()
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
    async fn clean_up(&self, mut user: VirtualUser, scratch: &mut Scratch) -> Result<(), String> {
        if !user.is_prepared {
            return Ok(());
        }
        let mut context = PartContext::uncounted(scratch);
        let ended = self.run_part(&mut user, Part::Stop, &mut context).await;
        if let Some(raised) = ended.and_then(|ended| ended.raised) {
            let raised = self.redact(&raised);
            tracing::warn!(user = user.number, raised, "on_stop failed");
            return Err(raised);
        }
        Ok(())
    }
}
