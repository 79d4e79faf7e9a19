//! Parts that the laws and the simulation share: dice, random plans, and the invariants of a
//! control log. It must never compute what the engine computes.

pub(crate) mod dice;
pub(crate) mod invariants;
pub(crate) mod plans;
pub(crate) mod steering;
