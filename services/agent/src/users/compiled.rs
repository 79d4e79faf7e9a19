//! Compiled scenarios behind the interface of [`crate::users::script`]: users without an
//! interpreter.
//!
//! `loadpilot_script` plays them; the agent adds the time, which cookies need.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use loadpilot_engine::schedule::feed::Feeder;
use loadpilot_events::plan::code::Code;
use loadpilot_script::rows::RowReader;
use loadpilot_script::{CompiledUser, Program, Sources};

use crate::users::mix::MixedScenario;
use crate::users::row_file::Cursor;
use crate::users::script::{
    Completion, MetricSample, Occasion, Operation, Part, Scenario, Scripting, Source, User,
};

/// Compiled code in place of an interpreter. It holds nothing that threads share.
#[derive(Debug)]
pub struct Compiled(Code);

impl Compiled {
    /// Plays checked `code`.
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
        let feeds = source.feeds.iter().enumerate();
        let feeder = |(index, feed)| Feeder::new(Arc::clone(source.workload), index, feed);
        let (seed, minor) = (source.workload.seed(), self.0.python_minor);
        let feeders = feeds.map(feeder).collect();
        let readers = source.row_files.iter().map(|file| {
            let cursor = Cursor::new(Arc::clone(file.as_ref()?));
            Some(Box::new(cursor) as Box<dyn RowReader>)
        });
        let sources = Sources::new(seed, feeders, source.bundle, readers.collect(), minor);
        let sources = Rc::new(sources.map_err(|error| error.text)?);
        // In a mix, each type has a program of its own, with the tasks of all types.
        let scenarios = self
            .0
            .by_type()
            .into_iter()
            .enumerate()
            .map(|(place, code)| {
                let class = source
                    .types
                    .get(place)
                    .map_or(source.scenario, String::as_str);
                let program = Program::new(&code, class).map_err(|error| error.text)?;
                Ok(Box::new(CompiledScenario {
                    program: Rc::new(program),
                    sources: Rc::clone(&sources),
                    target: source
                        .type_targets
                        .get(place)
                        .map_or(source.target, String::as_str)
                        .to_owned(),
                }) as Box<dyn Scenario>)
            });
        let scenarios = scenarios.collect::<Result<Vec<_>, String>>()?;
        Ok(MixedScenario::of(scenarios, source.workload))
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
        let user = CompiledUser::new(program, &self.target, sources, now_s);
        Ok(Box::new(user))
    }
}

// Methods of the same names that are called here are the type's own, not the trait's.
impl User for CompiledUser {
    fn begin(&mut self, part: Part, occasion: Occasion) -> Operation {
        Self::begin(self, part, occasion)
    }

    fn resume(&mut self, completion: Completion) -> Operation {
        Self::resume(self, completion)
    }

    fn has_check(&self, task: u16) -> bool {
        Self::has_check(self, task)
    }

    fn take_samples(&mut self) -> Vec<MetricSample> {
        Self::take_samples(self)
    }
}

/// The time in seconds of the Unix epoch.
fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}
