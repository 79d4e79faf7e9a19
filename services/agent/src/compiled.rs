//! Scenarios that are code, behind the seam of [`crate::script`]: users without an interpreter.
//!
//! What they want is computed by the engine (`loadpilot_engine::eval`); here its words meet the
//! agent's. The one thing that it cannot know is the time, which cookies want.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use loadpilot_engine::eval::{self, Act, Program, Turn, Wish};
use loadpilot_events::code::Code;

use crate::fire::Composed;
use crate::script::{
    Ended, Heard, Next, Occasion, Part, Request, Scenario, Scripting, Source, User,
};

/// Code in the place of an interpreter: it needs no time of its own on a thread.
#[derive(Debug)]
pub struct Compiled(Code);

impl Compiled {
    /// What plays `code`, which was checked.
    #[must_use]
    pub fn scripting(code: &Code) -> Arc<dyn Scripting> {
        Arc::new(Self(code.clone()))
    }
}

impl Scripting for Compiled {
    fn inside(&self, work: Box<dyn FnOnce() + '_>) {
        work();
    }

    fn park(&self) {}

    fn unpark(&self) {}

    fn is_spread(&self) -> bool {
        true
    }

    fn load(&self, source: &Source<'_>) -> Result<Box<dyn Scenario>, String> {
        let program = Program::new(&self.0, source.scenario).map_err(|halt| halt.text)?;
        Ok(Box::new(CompiledScenario {
            program: Rc::new(program),
            target: source.target.to_owned(),
        }))
    }
}

struct CompiledScenario {
    program: Rc<Program>,
    target: String,
}

impl Scenario for CompiledScenario {
    fn user(&self, _number: u32) -> Result<Box<dyn User>, String> {
        let user = eval::User::new(Rc::clone(&self.program), &self.target);
        Ok(Box::new(CompiledUser(user)))
    }
}

struct CompiledUser(eval::User);

impl User for CompiledUser {
    fn begin(&mut self, part: Part, _occasion: Occasion) -> Next {
        let act = match part {
            Part::Start => Act::Start,
            Part::Task(task) => Act::Task(task),
            Part::Stop => Act::Stop,
            // What happens once is played on the side that asks for the run, in Python.
            Part::Once(_) => return Next::Ended(Ended::default()),
        };
        next(self.0.begin(act, now_s()))
    }

    fn go_on(&mut self, heard: Heard) -> Next {
        let heard = match heard {
            Heard::Answer(answer) => {
                eval::Heard::Answer(eval::Answer::new(answer.status, answer.head, answer.body))
            }
            Heard::Broken { outcome, cause } => eval::Heard::Broken(outcome, cause),
            Heard::Unsendable(why) => eval::Heard::Unsendable(why),
            Heard::Awake => eval::Heard::Awake,
            // Code asks for one request at a time.
            Heard::Stopped | Heard::Batch(_) => eval::Heard::Stopped,
        };
        next(self.0.go_on(heard, now_s()))
    }
}

fn next(turn: Turn) -> Next {
    match turn {
        Turn::Send(wish) => Next::Send(request_of(&wish)),
        Turn::Sleep(us) => Next::Sleep(Duration::from_micros(us)),
        Turn::Ended { check, raised } => Next::Ended(Ended {
            check,
            raised,
            blocked: None,
        }),
    }
}

/// The request that a wish is: the same one each time that the wish is the same.
fn request_of(wish: &Wish) -> Arc<Request> {
    wish.kept.get_or(|| {
        Arc::new(Request {
            method: wish.method,
            path: wish.path.clone(),
            headers: wish.headers.clone(),
            body: wish.body.clone().map(Bytes::from),
            timeout_us: wish.timeout_us,
            name: wish.name.clone(),
            stream: None,
            composed: Composed::default(),
        })
    })
}

/// The time in seconds of the Unix epoch.
fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}
