//! A mix of user types behind the interface of [`crate::users::script`]: a scenario for each.
//!
//! In a closed loop a user is of one type. A user that serves arrivals consists of one user of each
//! type, of which one plays at a time: any idle user can then take any arrival, and each type keeps
//! its own state and cookies.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use loadpilot_engine::schedule::workload::Workload;

use crate::fire::futures::join_all;
use crate::users::script::{
    Completion, MetricSample, Occasion, Operation, Part, PartResult, Scenario, User,
};

/// The scenarios of a mix, in the order of the plan.
pub struct MixedScenario {
    scenarios: Vec<Box<dyn Scenario>>,
    workload: Arc<Workload>,
}

impl MixedScenario {
    /// The scenarios of the user types of a plan, or the only one of a plan without a mix.
    #[must_use]
    pub fn of(
        mut scenarios: Vec<Box<dyn Scenario>>,
        workload: &Arc<Workload>,
    ) -> Box<dyn Scenario> {
        match (scenarios.len(), scenarios.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                scenarios.extend(last);
                Box::new(Self {
                    scenarios,
                    workload: Arc::clone(workload),
                })
            }
        }
    }
}

impl Scenario for MixedScenario {
    fn user(&self, number: u32) -> Result<Box<dyn User>, String> {
        if self.workload.users().is_some() {
            let own = self.scenarios.get(self.workload.type_of_user(number));
            return own.ok_or("its user type has no scenario")?.user(number);
        }
        let users = self.scenarios.iter().map(|scenario| scenario.user(number));
        let users = users.collect::<Result<_, _>>()?;
        Ok(Box::new(AllTypes::new(users, Arc::clone(&self.workload))))
    }

    fn background(&self) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        let tasks = self
            .scenarios
            .iter()
            .filter_map(|scenario| scenario.background());
        let tasks: Vec<_> = tasks.collect();
        match tasks.is_empty() {
            true => None,
            false => Some(Box::pin(async { drop(join_all(tasks).await) })),
        }
    }
}

/// One user of each type.
struct AllTypes {
    users: Vec<Box<dyn User>>,
    workload: Arc<Workload>,
    /// The user that plays, by the position of its type.
    playing: usize,
    /// The hook that all types play, one after the other.
    hook: Option<(Part, Occasion)>,
}

impl AllTypes {
    /// The users of all types, in the order of the plan; at least one.
    fn new(users: Vec<Box<dyn User>>, workload: Arc<Workload>) -> Self {
        Self {
            users,
            workload,
            playing: 0,
            hook: None,
        }
    }

    /// Continues a hook with the user of the next type, as long as no user has raised an error.
    fn continued(&mut self, mut next: Operation) -> Operation {
        while let (Operation::Ended(ended), Some((part, occasion))) = (&next, self.hook) {
            if ended.raised.is_some() || self.playing + 1 >= self.users.len() {
                self.hook = None;
                break;
            }
            self.playing += 1;
            next = self.users[self.playing].begin(part, occasion);
        }
        next
    }
}

impl User for AllTypes {
    fn begin(&mut self, part: Part, occasion: Occasion) -> Operation {
        (self.playing, self.hook) = match part {
            Part::Task(task) => (self.workload.type_of_task(task), None),
            Part::Start | Part::Stop | Part::Once(_) => (0, Some((part, occasion))),
        };
        let Some(user) = self.users.get_mut(self.playing) else {
            return Operation::Ended(PartResult::default());
        };
        let next = user.begin(part, occasion);
        self.continued(next)
    }

    fn resume(&mut self, completion: Completion) -> Operation {
        let next = self.users[self.playing].resume(completion);
        self.continued(next)
    }

    fn poll_external(&mut self, cx: &mut Context<'_>) -> Poll<Operation> {
        match self.users[self.playing].poll_external(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(next) => Poll::Ready(self.continued(next)),
        }
    }

    fn playing_type(&self) -> usize {
        self.playing
    }

    fn take_samples(&mut self) -> Vec<MetricSample> {
        self.users[self.playing].take_samples()
    }

    fn has_check(&self, task: u16) -> bool {
        let user = self.users.get(self.workload.type_of_task(task));
        user.is_some_and(|user| user.has_check(task))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use loadpilot_engine::schedule::random::DrawScope;
    use loadpilot_events::Timestamp;
    use loadpilot_events::plan::Plan;

    use super::*;

    type Played = Rc<RefCell<Vec<(char, Part)>>>;

    /// A user that waits once in each part, and records the parts that it plays.
    struct Noting {
        name: char,
        fails: bool,
        played: Played,
    }

    impl User for Noting {
        fn begin(&mut self, part: Part, _: Occasion) -> Operation {
            self.played.borrow_mut().push((self.name, part));
            Operation::External
        }

        fn resume(&mut self, _: Completion) -> Operation {
            let raised = self.fails.then(|| self.name.to_string());
            Operation::Ended(PartResult {
                raised,
                ..PartResult::default()
            })
        }

        fn has_check(&self, _: u16) -> bool {
            false
        }
    }

    /// A user of the two types of the stored mix; the first has tasks 0 and 1.
    fn user(fails: char) -> (AllTypes, Played) {
        let text = include_str!("../../../../proto/golden/plan-user-types.v2.json");
        let plan: Plan = serde_json::from_str(text).expect("a plan");
        let played = Played::default();
        let noting = ['a', 'b'].map(|name| {
            let played = Rc::clone(&played);
            let fails = name == fails;
            Box::new(Noting {
                name,
                fails,
                played,
            }) as Box<dyn User>
        });
        let workload = Arc::new(Workload::new(&plan, 1));
        (AllTypes::new(noting.into(), workload), played)
    }

    fn play(user: &mut AllTypes, part: Part) -> PartResult {
        let occasion = Occasion {
            whose: DrawScope::Arrival(0),
            due: Timestamp(0),
        };
        let mut next = user.begin(part, occasion);
        loop {
            match next {
                Operation::Ended(ended) => return ended,
                _ => next = user.resume(Completion::Awake),
            }
        }
    }

    /// Broken if a task is played by the user of another type, or a hook by one type only.
    #[test]
    fn tasks_are_of_one_type_and_hooks_of_all() {
        let (mut user, played) = user(' ');
        for part in [Part::Start, Part::Task(1), Part::Task(2), Part::Stop] {
            assert_eq!(play(&mut user, part), PartResult::default());
        }
        let expected = [
            ('a', Part::Start),
            ('b', Part::Start),
            ('a', Part::Task(1)),
            ('b', Part::Task(2)),
            ('a', Part::Stop),
            ('b', Part::Stop),
        ];
        assert_eq!(*played.borrow(), expected);
    }

    /// Broken if an error of one type is hidden by the end of the next.
    #[test]
    fn the_first_error_of_a_hook_ends_it() {
        let (mut user, played) = user('a');
        assert_eq!(play(&mut user, Part::Start).raised.as_deref(), Some("a"));
        assert_eq!(*played.borrow(), [('a', Part::Start)]);
        assert_eq!(play(&mut user, Part::Task(2)).raised, None);
    }
}
