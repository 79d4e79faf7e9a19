//! Waits for several futures on one task.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Resolves when all of `futures` have.
pub(crate) async fn join_all<F: Future<Output = ()> + ?Sized>(mut futures: Vec<Pin<Box<F>>>) {
    poll_fn(|cx| {
        futures.retain_mut(|future| future.as_mut().poll(cx).is_pending());
        match futures.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}
