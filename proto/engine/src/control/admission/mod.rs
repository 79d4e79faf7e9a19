//! Admission: which runs of which tenant a shared fleet serves at the same time.
//!
//! - [`quotas`]: what one tenant may use

pub mod quotas;
