//! Scenarios that are code, behind the seam of [`crate::users::script`]: users without an
//! interpreter.
//!
//! What they want is computed by the engine (`loadpilot_script`); here its words meet the
//! agent's. The one thing that it cannot know is the time, which cookies want.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use loadpilot_engine::schedule::feed::Feeder;
use loadpilot_events::plan::code::Code;
use loadpilot_script::{Act, Program, Sources, Turn, Wish};

use crate::fire::CompiledCalls;
use crate::users::script::{
    Answer, Ended, Heard, Measured, Next, Occasion, Part, Request, Scenario, Scripting, Source,
    User,
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
        let feeds = source.feeds.iter().enumerate();
        let feeder = |(place, feed)| Feeder::new(Arc::clone(source.workload), place, feed);
        let (seed, minor) = (source.workload.seed(), self.0.python_minor);
        let sources = Sources::new(seed, feeds.map(feeder).collect(), source.bundle, minor);
        Ok(Box::new(CompiledScenario {
            program: Rc::new(program),
            sources: Rc::new(sources.map_err(|halt| halt.text)?),
            target: source.target.to_owned(),
        }))
    }
}

struct CompiledScenario {
    program: Rc<Program>,
    sources: Rc<Sources>,
    target: String,
}

impl Scenario for CompiledScenario {
    fn user(&self, _number: u32) -> Result<Box<dyn User>, String> {
        let (program, sources) = (Rc::clone(&self.program), Rc::clone(&self.sources));
        let user = loadpilot_script::User::new(program, &self.target, sources, now_s);
        Ok(Box::new(CompiledUser(user)))
    }
}

struct CompiledUser(loadpilot_script::User);

impl User for CompiledUser {
    fn begin(&mut self, part: Part, occasion: Occasion) -> Next {
        let act = match part {
            Part::Start => Act::Start,
            Part::Task(task) => Act::Task(task),
            Part::Stop => Act::Stop,
            // What happens once is played on the side that asks for the run, in Python.
            Part::Once(_) => return Next::Ended(Ended::default()),
        };
        let occasion = (occasion.whose, occasion.due.0);
        next(self.0.begin(act, occasion))
    }

    fn go_on(&mut self, heard: Heard) -> Next {
        next(self.0.go_on(heard_of(heard)))
    }

    fn measured(&mut self) -> Vec<Measured> {
        let measured = self.0.measured().into_iter();
        let told = |one: loadpilot_script::Measured| Measured {
            name: (&*one.name).into(),
            value: one.value,
        };
        measured.map(told).collect()
    }
}

fn heard_of(heard: Heard) -> loadpilot_script::Heard {
    match heard {
        Heard::Answer(answer) => loadpilot_script::Heard::Answer(answer_of(answer)),
        Heard::Broken { outcome, cause } => loadpilot_script::Heard::Broken(outcome, cause),
        Heard::Unsendable(why) => loadpilot_script::Heard::Unsendable(why),
        Heard::Batch(heard) => {
            loadpilot_script::Heard::Batch(heard.into_iter().map(heard_of).collect())
        }
        Heard::Awake => loadpilot_script::Heard::Awake,
        // Code has nothing under way beside what it waits for.
        Heard::One(_, heard) => heard_of(*heard),
        Heard::Stopped => loadpilot_script::Heard::Stopped,
    }
}

fn answer_of(answer: Answer) -> loadpilot_script::Answer {
    let Answer {
        status,
        head,
        body,
        elapsed_us,
        counted,
    } = answer;
    let mut told = loadpilot_script::Answer::new(status, head, body, elapsed_us);
    told.counted = counted;
    told
}

fn next(turn: Turn) -> Next {
    match turn {
        Turn::Send(wish) => Next::Send(request_of(&wish)),
        Turn::Batch(wishes) => Next::Batch(wishes.iter().map(|wish| request_of(wish)).collect()),
        Turn::Sleep(us) => Next::Sleep(Duration::from_micros(us)),
        Turn::Ended { check, raised } => Next::Ended(Ended {
            check,
            raised,
            trace: None,
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
            tokens_max: None,
            listen_us: None,
            composed: CompiledCalls::default(),
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
