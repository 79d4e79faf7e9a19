//! Admission: which runs of which tenant a shared fleet serves at the same time.
//!
//! The state is a fold over one subject. A decision is a pure function of that state, of the runs
//! that wait, of the rules and of the number of agents; it is appended after the last one that was
//! folded, so that there is no leader. It must never depend on which coordinator decides.
//!
//! - [`rules`]: limits of all runs of one tenant together
//! - [`admissions`]: the fold
//! - [`admit`]: the next decision, and the places of the runs that wait

pub mod admissions;
pub mod admit;
pub mod rules;
