//! Waits for several futures on one task.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Resolves when all of `futures` have, to their outputs in the order of the futures.
pub(crate) async fn join_all<F: Future + ?Sized>(futures: Vec<Pin<Box<F>>>) -> Vec<F::Output> {
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    let mut pending: Vec<(usize, Pin<Box<F>>)> = futures.into_iter().enumerate().collect();
    poll_fn(|cx| {
        pending.retain_mut(|(index, future)| match future.as_mut().poll(cx) {
            Poll::Ready(output) => {
                outputs[*index] = Some(output);
                false
            }
            Poll::Pending => true,
        });
        match pending.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
