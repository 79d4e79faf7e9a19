//! The weights of tasks among all arrivals of a run. In a mix of user types shares and weights are
//! brought to one measure.

use std::ops::Range;

use loadpilot_events::limits::WEIGHT_SUM_MAX;
use loadpilot_events::plan::Plan;

/// The weight of each task of a checked plan among all tasks of the run. In a mix these are the
/// smallest whole numbers in the ratio share × weight / sum of the weights of the type; `None` when
/// their sum is above the maximum.
#[must_use]
pub fn run_weights(plan: &Plan) -> Option<Vec<u64>> {
    let own = |tasks: Range<u16>| {
        let tasks = plan
            .tasks
            .get(usize::from(tasks.start)..usize::from(tasks.end));
        tasks
            .into_iter()
            .flatten()
            .map(|task| u64::from(task.weight))
    };
    if plan.types.is_empty() {
        return Some(plan.tasks.iter().map(|task| task.weight.into()).collect());
    }
    // Per type share / sum of weights, as a fraction in lowest terms.
    let fractions = plan.tasks_of_types().map(|(one, tasks)| {
        let (share, sum) = (
            u128::from(one.share),
            u128::from(own(tasks).sum::<u64>().max(1)),
        );
        let common = gcd(share, sum).max(1);
        (share / common, sum / common)
    });
    let fractions: Vec<(u128, u128)> = fractions.collect();
    let mut measure = 1_u128;
    for (_, below) in &fractions {
        measure = (measure / gcd(measure, *below)).checked_mul(*below)?;
    }
    let factors = fractions
        .iter()
        .map(|(above, below)| above.checked_mul(measure / below));
    let factors = factors.collect::<Option<Vec<u128>>>()?;
    let common = factors.iter().copied().fold(0, gcd).max(1);
    let mut weights = Vec::with_capacity(plan.tasks.len());
    for ((_, tasks), factor) in plan.tasks_of_types().zip(factors) {
        let factor = u64::try_from(factor / common).ok()?;
        for weight in own(tasks) {
            weights.push(weight.checked_mul(factor)?);
        }
    }
    let sum = weights.iter().copied().fold(0, u64::saturating_add);
    (sum <= WEIGHT_SUM_MAX).then_some(weights)
}

/// The greatest common divisor.
pub(super) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
