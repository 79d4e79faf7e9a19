//! Scenarios that are code, behind the seam of [`crate::script`]: users without an interpreter.
//!
//! What they want is computed by the engine (`loadpilot_engine::eval`); here its words meet the
//! agent's. The one thing that it cannot know is the time, which cookies want.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use loadpilot_engine::eval::{self, Act, Program, Turn, Wish};
use loadpilot_events::code::Code;

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

    fn load(&self, source: &Source<'_>) -> Result<Box<dyn Scenario>, String> {
        let program = Program::new(&self.0, source.scenario).map_err(|halt| halt.text)?;
        Ok(Box::new(CompiledScenario {
            program: Rc::new(program),
            requests: Rc::default(),
            target: source.target.to_owned(),
        }))
    }
}

/// Requests that are the same each time, by the address of their wish, which the program keeps.
type Requests = Rc<RefCell<BTreeMap<*const Wish, Arc<Request>>>>;

struct CompiledScenario {
    program: Rc<Program>,
    requests: Requests,
    target: String,
}

impl Scenario for CompiledScenario {
    fn user(&self, _number: u32) -> Result<Box<dyn User>, String> {
        Ok(Box::new(CompiledUser {
            user: eval::User::new(Rc::clone(&self.program), &self.target),
            requests: Rc::clone(&self.requests),
        }))
    }
}

struct CompiledUser {
    user: eval::User,
    requests: Requests,
}

impl CompiledUser {
    fn next(&self, turn: Turn) -> Next {
        match turn {
            Turn::Send { wish, is_constant } => Next::Send(match is_constant {
                true => {
                    let mut requests = self.requests.borrow_mut();
                    let request = requests.entry(Rc::as_ptr(&wish));
                    Arc::clone(request.or_insert_with(|| Arc::new(request_of(&wish))))
                }
                false => Arc::new(request_of(&wish)),
            }),
            Turn::Sleep(us) => Next::Sleep(Duration::from_micros(us)),
            Turn::Ended { check, raised } => Next::Ended(Ended {
                check,
                raised,
                blocked: None,
            }),
        }
    }
}

impl User for CompiledUser {
    fn begin(&mut self, part: Part, _occasion: Occasion) -> Next {
        let act = match part {
            Part::Start => Act::Start,
            Part::Task(task) => Act::Task(task),
            Part::Stop => Act::Stop,
            // What happens once is played on the side that asks for the run, in Python.
            Part::Once(_) => return Next::Ended(Ended::default()),
        };
        let turn = self.user.begin(act, now_s());
        self.next(turn)
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
        let turn = self.user.go_on(heard, now_s());
        self.next(turn)
    }
}

fn request_of(wish: &Wish) -> Request {
    Request {
        method: wish.method,
        path: wish.path.clone(),
        headers: wish.headers.clone(),
        body: wish.body.clone().map(Bytes::from),
        timeout_us: wish.timeout_us,
        name: wish.name.clone(),
        stream: None,
    }
}

/// The time in seconds of the Unix epoch.
fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}
