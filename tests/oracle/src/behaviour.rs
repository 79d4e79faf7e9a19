//! What the server does with a request: a list of rules, each with one effect. Every rule that
//! matches applies, later ones over earlier ones. Fractions are exact, not random: of N matching
//! requests, `floor(N · fraction)` are hit, evenly spread. Pure: it does not wait or write.

use std::time::{Duration, Instant};

use crate::line_parser::{LineParser, parse_ms};
use crate::service_queue::{Served, ServiceQueue};

/// Maximum size of a response body that `size` may set, bytes.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Status of a request that a full queue refuses.
const QUEUE_FULL: u16 = 503;

/// One change to the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Answer this long after the first bytes of the request were read.
    Delay(Duration),
    /// Answer when one of these workers has served the request.
    Queue(ServiceQueue),
    /// Answer with this status.
    Status(u16),
    /// Answer with a body of this many bytes.
    Size(usize),
    /// Answer in this manner.
    Manner(Manner),
    /// Close the connection after the answer.
    Close,
}

/// How the response is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// In one write.
    Whole,
    /// The head at once, then the body byte by byte, this far apart.
    Drip(Duration),
    /// The head and half of the body, then the connection ends.
    Truncate,
    /// A TCP reset instead of a response.
    Reset,
    /// No response: the connection is held until the client gives up.
    Silent,
}

/// The response to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Time from arrival to answer.
    pub delay: Duration,
    /// HTTP status.
    pub status: u16,
    /// Size of the body, bytes; `None` is a short JSON body.
    pub body_bytes: Option<usize>,
    /// How it is sent.
    pub manner: Manner,
    /// Whether the connection ends after it.
    pub close: bool,
}

/// An effect, the paths it is for, and how many of the matching requests it hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    effect: Effect,
    path: Option<String>,
    fraction_ppm: u64,
    matched: u64,
}

impl Rule {
    /// Parses `EFFECT [VALUE] [path=P] [fraction=F]`; see README.md for the effects.
    ///
    /// # Errors
    /// A sentence that names the invalid token.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = LineParser::new(text);
        let effect = match words.keyword()? {
            "delay" => Effect::Delay(parse_ms(words.value()?)?),
            "queue" => Effect::Queue(parse_queue(&mut words)?),
            "status" => Effect::Status(parse_status(words.value()?)?),
            "size" => Effect::Size(parse_size(words.value()?)?),
            "drip" => Effect::Manner(Manner::Drip(parse_ms(words.value()?)?)),
            "truncate" => Effect::Manner(Manner::Truncate),
            "reset" => Effect::Manner(Manner::Reset),
            "silent" => Effect::Manner(Manner::Silent),
            "close" => Effect::Close,
            other => return Err(format!("unknown behaviour {other:?}")),
        };
        let path = words.option("path").map(str::to_owned);
        let fraction_ppm = words
            .option("fraction")
            .map_or(Ok(1_000_000), parse_fraction)?;
        words.finish()?;
        Ok(Self {
            effect,
            path,
            fraction_ppm,
            matched: 0,
        })
    }

    /// Whether this rule hits the request, which counts as one more match.
    fn hits(&mut self, target: &str) -> bool {
        let path = target.split('?').next().unwrap_or(target);
        let matches = match &self.path {
            None => true,
            Some(wanted) => match wanted.strip_suffix('*') {
                Some(prefix) => path.starts_with(prefix),
                None => path == wanted,
            },
        };
        if !matches {
            return false;
        }
        let before = self.matched * self.fraction_ppm / 1_000_000;
        self.matched += 1;
        self.matched * self.fraction_ppm / 1_000_000 > before
    }
}

/// All rules in force.
#[derive(Debug, Default)]
pub struct Behaviour {
    rules: Vec<Rule>,
}

impl Behaviour {
    /// Adds a rule, over the others.
    pub fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// Removes every rule.
    pub fn clear(&mut self) {
        self.rules.clear();
    }

    /// Decides about the next request, which came at `arrival`, in the order in which requests were
    /// received.
    pub fn answer(&mut self, target: &str, arrival: Instant) -> Answer {
        let mut answer = Answer {
            delay: Duration::ZERO,
            status: 200,
            body_bytes: None,
            manner: Manner::Whole,
            close: false,
        };
        for rule in &mut self.rules {
            if rule.hits(target) {
                match &mut rule.effect {
                    Effect::Delay(delay) => answer.delay = *delay,
                    Effect::Queue(queue) => match queue.take(arrival) {
                        Served::After(delay) => answer.delay = delay,
                        Served::Refused => answer.status = QUEUE_FULL,
                    },
                    Effect::Status(status) => answer.status = *status,
                    Effect::Size(bytes) => answer.body_bytes = Some(*bytes),
                    Effect::Manner(manner) => answer.manner = *manner,
                    Effect::Close => answer.close = true,
                }
            }
        }
        answer
    }
}

/// `WORKERS MS [wait_max_ms=T]`.
fn parse_queue(words: &mut LineParser<'_>) -> Result<ServiceQueue, String> {
    let workers = words.value()?;
    let workers: usize = workers
        .parse()
        .map_err(|_| format!("{workers:?} is not a number of workers"))?;
    let service = parse_ms(words.value()?)?;
    ServiceQueue::new(workers, service, words.option_ms("wait_max_ms")?)
}

fn parse_status(word: &str) -> Result<u16, String> {
    let status: u16 = word
        .parse()
        .map_err(|_| format!("status {word:?} is not a number"))?;
    let final_status = (200..=599).contains(&status);
    final_status
        .then_some(status)
        .ok_or_else(|| format!("status {status} is not in 200..=599"))
}

fn parse_size(word: &str) -> Result<usize, String> {
    let bytes: usize = word
        .parse()
        .map_err(|_| format!("size {word:?} is not a number"))?;
    (bytes <= BODY_BYTES_MAX)
        .then_some(bytes)
        .ok_or_else(|| format!("size {bytes} is above {BODY_BYTES_MAX}"))
}

/// A fraction of one in millionths, so that counting stays in integers.
fn parse_fraction(word: &str) -> Result<u64, String> {
    match word.parse::<f64>() {
        Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok((fraction * 1e6).round() as u64),
        _ => Err(format!("fraction {word:?} is not between 0 and 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaviour(rules: &[&str]) -> Behaviour {
        let mut behaviour = Behaviour::default();
        for rule in rules {
            behaviour.add(Rule::parse(rule).expect("a good rule"));
        }
        behaviour
    }

    #[test]
    fn a_fraction_hits_exactly_its_share_of_every_prefix() {
        for (fraction, ppm) in [
            ("0", 0),
            ("0.01", 10_000),
            ("0.3", 300_000),
            ("1", 1_000_000),
        ] {
            let mut behaviour = behaviour(&[&format!("status 503 fraction={fraction}")]);
            let mut hit = 0;
            for n in 1..=1000_u64 {
                hit += u64::from(behaviour.answer("/", Instant::now()).status == 503);
                assert_eq!(hit, n * ppm / 1_000_000, "after {n} at {fraction}");
            }
        }
    }

    #[test]
    fn rules_match_paths_without_query_and_later_ones_win() {
        let mut behaviour = behaviour(&[
            "delay 5",
            "status 404 path=/a",
            "delay 0.25 path=/a/*",
            "reset path=/r",
        ]);
        let answer = behaviour.answer("/a?x=1", Instant::now());
        assert_eq!(
            (answer.status, answer.delay),
            (404, Duration::from_millis(5))
        );
        let answer = behaviour.answer("/a/b", Instant::now());
        assert_eq!(
            (answer.status, answer.delay),
            (200, Duration::from_micros(250))
        );
        assert_eq!(behaviour.answer("/r", Instant::now()).manner, Manner::Reset);
        behaviour.clear();
        assert_eq!(behaviour.answer("/r", Instant::now()).manner, Manner::Whole);
    }

    #[test]
    fn a_bad_rule_is_refused() {
        for rule in [
            "",
            "nap",
            "delay",
            "delay -1",
            "delay x",
            "queue 4",
            "queue 0 20",
            "queue 4 0",
            "queue x 20",
            "queue 4 20 wait=5",
            "status 99",
            "status 700",
            "size -1",
            "reset 5",
            "reset fraction=2",
            "reset fraction=NaN",
            "reset paths=/",
            "reset path=/ path=/",
        ] {
            assert!(Rule::parse(rule).is_err(), "{rule:?}");
        }
    }
}
