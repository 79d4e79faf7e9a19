//! Requests of users during a run.

use loadpilot_events::log::req::Request;
use loadpilot_events::log::steer::{PauseRequested, RateChangeRequested, ResumeRequested};
use loadpilot_events::units::Rate;

use super::dice::Dice;

/// A random request of a user, sensible or not.
pub(crate) fn request(dice: &mut Dice) -> Request {
    let by = "a user".to_owned();
    match dice.pick(0..4) {
        0 => Request::PauseRequested(PauseRequested { by }),
        1 => Request::ResumeRequested(ResumeRequested { by }),
        _ => {
            let rate = Rate(dice.one_of(&[0, 333_333, 20_000_000, 70_000_000, u64::MAX]));
            Request::RateChangeRequested(RateChangeRequested {
                by,
                rate,
                hold: None,
            })
        }
    }
}
