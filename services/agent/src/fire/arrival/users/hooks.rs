//! A user's preparation before the run and its clean-up after it.
//!
//! Requests of these parts are not counted. Both end in bounded time, and every prepared user gets
//! its clean-up within it.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tokio::time::timeout;

use super::part_context::PartContext;
use crate::fire::arrival::arrival_runner::ArrivalRunner;
use crate::fire::arrival::users::virtual_users::{VirtualUser, VirtualUsers};
use crate::fire::futures::join_all;
use crate::fire::http::wire::Wire;
use crate::fire::request::redaction::truncate;
use crate::fire::request::scratch::Scratch;
use crate::users::script::Part;

/// Maximum number of users prepared at the same time: a target must not be flooded before the run
/// has begun.
const PREPARED_AT_A_TIME: usize = 16;
/// Timeout for all clean-ups together.
pub(crate) const CLEANUP_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of the reason why users could not be prepared, in bytes.
const REASON_BYTES_MAX: usize = 4_000;

/// Result of the clean-up of users.
#[derive(Debug, Default)]
pub struct Retired {
    /// Number of users.
    total: usize,
    /// Number of those whose clean-up failed or was not over in time.
    failed: usize,
    /// The first error; empty without one.
    first_error: String,
}

impl Retired {
    /// The result for these users and `others`.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        let is_first = self.failed > 0;
        Self {
            total: self.total + others.total,
            failed: self.failed + others.failed,
            first_error: if is_first {
                self.first_error
            } else {
                others.first_error
            },
        }
    }

    /// How many failed, and the first error; `None` when none failed.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        let error = truncate(&self.first_error, REASON_BYTES_MAX);
        let (failed, total) = (self.failed, self.total);
        (failed > 0).then(|| format!("on_stop failed for {failed} of {total} users: {error}"))
    }
}

impl<W: Wire> ArrivalRunner<W> {
    /// Prepares the users before the start, a limited number at the same time.
    ///
    /// # Errors
    /// How many could not be prepared, and the error of the first of them.
    pub(crate) async fn prepare(&self, users: &VirtualUsers) -> Result<(), String> {
        let numbers = users.numbers();
        let (next, tried) = (Cell::new(0), Cell::new(0));
        let failed = RefCell::new((0_usize, None));
        let worker = async || {
            let mut scratch = Scratch::uncounted();
            while let Some(&number) = numbers.get(next.replace(next.get() + 1)) {
                if users.is_closed() {
                    return;
                }
                tried.set(tried.get() + 1);
                let prepared = self.prepare_user(users, number, (0, false), &mut scratch);
                if let Err(raised) = prepared.await {
                    let mut failed = failed.borrow_mut();
                    failed.0 += 1;
                    failed.1.get_or_insert(raised);
                    if failed.0 >= PREPARED_AT_A_TIME {
                        // So many failures are systematic: no further users are prepared.
                        next.set(numbers.len());
                    }
                }
            }
        };
        let workers = PREPARED_AT_A_TIME.min(numbers.len());
        let workers = workers.min(self.wire().calls_max());
        join_all((0..workers).map(|_| Box::pin(worker())).collect()).await;
        match failed.into_inner() {
            (_, None) => Ok(()),
            (count, Some(raised)) => {
                let raised = self.redact(&raised);
                let raised = truncate(&raised, REASON_BYTES_MAX);
                let tried = tried.get();
                Err(format!(
                    "on_start failed for {count} of {tried} users: {raised}"
                ))
            }
        }
    }

    /// Creates and prepares one user. `session` is the number of its session; `is_new_client`: it
    /// takes the place of another user.
    pub(super) async fn prepare_user(
        &self,
        users: &VirtualUsers,
        number: u32,
        (session, is_new_client): (u32, bool),
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let mut user = users.make(number)?;
        user.session = session;
        user.is_new_client = is_new_client;
        if users.comes_prepared {
            users.give(user);
            return Ok(());
        }
        let result = self
            .run_part(&mut user, Part::Start, &mut PartContext::uncounted(scratch))
            .await
            .unwrap_or_default();
        if let Some(blocked) = result.blocked {
            let blocked = self.redact(&blocked);
            tracing::warn!(user = number, blocked, "on_start");
        }
        if let Some(raised) = result.raised {
            return Err(raised);
        }
        user.is_prepared = true;
        match users.is_closed() {
            // The run was called off meanwhile. `clean_up` has logged its error.
            true => drop(self.clean_up(user, scratch).await),
            false => users.give(user),
        }
        Ok(())
    }

    /// Lets `user` play a part that is played once per run.
    ///
    /// # Errors
    /// The error that it raised.
    pub(crate) async fn once(&self, user: &mut VirtualUser, index: u16) -> Result<(), String> {
        let mut scratch = Scratch::uncounted();
        let mut context = PartContext::uncounted(&mut scratch);
        let result = self.run_part(user, Part::Once(index), &mut context).await;
        match result.and_then(|result| result.raised) {
            None => Ok(()),
            Some(raised) => Err(truncate(&self.redact(&raised), REASON_BYTES_MAX).to_owned()),
        }
    }

    /// Lets all users clean up, in bounded time; errors go to the log, too.
    pub(crate) async fn retire(&self, users: &VirtualUsers) -> Retired {
        let users_left = RefCell::new(users.close());
        let total = users_left.borrow().len();
        let (succeeded, first_error) = (Cell::new(0), RefCell::new(None));
        let worker = async || {
            let mut scratch = Scratch::uncounted();
            loop {
                let Some(user) = users_left.borrow_mut().pop() else {
                    return;
                };
                match self.clean_up(user, &mut scratch).await {
                    Ok(()) => succeeded.set(succeeded.get() + 1),
                    Err(raised) => {
                        first_error.borrow_mut().get_or_insert(raised);
                    }
                }
            }
        };
        let workers = PREPARED_AT_A_TIME.min(self.wire().calls_max());
        let workers = (0..workers).map(|_| Box::pin(worker())).collect();
        if timeout(CLEANUP_TIMEOUT, join_all(workers)).await.is_err() {
            let left = users_left.borrow().len();
            tracing::warn!(left, "on_stop took too long: users were not cleaned up");
            let secs = CLEANUP_TIMEOUT.as_secs();
            let error = || format!("it took longer than {secs} s for all users together");
            first_error.borrow_mut().get_or_insert_with(error);
        }
        Retired {
            total,
            failed: total - succeeded.get(),
            first_error: first_error.into_inner().unwrap_or_default(),
        }
    }

    /// Lets one user clean up, if it was prepared.
    pub(super) async fn clean_up(
        &self,
        mut user: VirtualUser,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        if !user.is_prepared {
            return Ok(());
        }
        let mut context = PartContext::uncounted(scratch);
        let result = self.run_part(&mut user, Part::Stop, &mut context).await;
        if let Some(raised) = result.and_then(|result| result.raised) {
            let raised = self.redact(&raised);
            tracing::warn!(user = user.number, raised, "on_stop failed");
            return Err(raised);
        }
        Ok(())
    }
}
