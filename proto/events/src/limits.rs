//! Size limits of the formats, by name. Settings that users may change are in the plan.

/// Maximum number of secrets that the rows of a list of requests name.
pub const REQUEST_SECRETS_MAX: usize = 100;
/// Maximum length of a value that a refusal quotes, in characters.
pub const PROBLEM_VALUE_CHARS_MAX: usize = 120;
/// Maximum number of problems shown of one request; further ones are counted.
pub const PROBLEMS_MAX: usize = 100;
/// Maximum size of a plan as JSON, in bytes (NATS carries 1 MiB per message; RunCreated repeats the
/// plan).
pub const PLAN_BYTES_MAX: usize = 512 * 1024;
/// Maximum size of a request body, in bytes: agents hold each whole body in memory.
pub const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum size of all content of one plan in the object store, in bytes.
pub const OBJECTS_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Maximum size of a file of rows, in bytes: 1 TiB.
pub const ROW_FILE_BYTES_MAX: u64 = 1 << 40;
/// Maximum nesting of statements and expressions in code. Each level takes up to four levels of
/// JSON; readers accept 128, and messages that carry a plan add some of their own.
pub const CODE_DEPTH_MAX: usize = 20;
/// Maximum number of local variables of one function of code.
pub const CODE_LOCALS_MAX: usize = 200;
/// Maximum duration of a wait in code, in µs (a day).
pub const SLEEP_US_MAX: u64 = 86_400_000_000;
/// Maximum length of a note about a run, in characters.
pub const NOTE_CHARS_MAX: usize = 2_000;
/// Maximum number of notes about a run.
pub const NOTES_MAX: usize = 100;
/// Maximum number of tasks of a plan.
pub const TASKS_MAX: usize = 1_000;
/// Maximum number of user types of a plan.
pub const USER_TYPES_MAX: usize = 100;
/// Maximum share of a user type.
pub const TYPE_SHARE_MAX: u32 = 1_000_000;
/// Maximum number of steps of one task.
pub const STEPS_MAX: usize = 100;
/// Maximum number of calls (steps of all tasks) of a plan.
pub const CALLS_MAX: usize = 2_000;
/// Maximum sum of task weights, in a mix brought to a common measure: the length of one block of
/// the task permutation.
pub const WEIGHT_SUM_MAX: u64 = 1 << 20;
/// Maximum number of pieces of a profile.
pub const PIECES_MAX: usize = 10_000;
/// Maximum number of values of a replayed curve: one for each second of the longest profile.
pub const CURVE_VALUES_MAX: usize = 950_400;
/// Maximum rate, in millionths of an arrival per second (10 million per second).
pub const RATE_MAX_URPS: u64 = 10_000_000_000_000;
/// Maximum number of changes by steering in one run: each change makes the computation of arrivals
/// a little more expensive.
pub const STEERED_MAX: usize = 1_000;
/// Maximum length of a profile, in µs (11 days): keeps the exact arithmetic inside 128 bits.
pub const PROFILE_US_MAX: u64 = 950_400_000_000;
/// Maximum timeout or wait, in µs (10 min: the range of the histograms).
pub const TIMEOUT_US_MAX: u64 = 600_000_000;
/// Maximum length of the name of a scenario, task, step, header, secret or agent, in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Maximum length of a header value, in bytes.
pub const HEADER_VALUE_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of headers of one step.
pub const HEADERS_MAX: usize = 64;
/// Maximum length of the base path of a target, in bytes.
pub const BASE_PATH_BYTES_MAX: usize = 1024;
/// Maximum length of a path with query, in bytes.
pub const PATH_BYTES_MAX: usize = 8 * 1024;
/// Maximum number of call names of a Python task that an agent distinguishes; further ones share
/// [`OTHER_CALLS`].
pub const CALL_NAMES_MAX: usize = 200;
/// Name of the further calls.
pub const OTHER_CALLS: &str = "(other calls)";
/// Maximum number of distinct errors of a Python task that an agent distinguishes in a tick;
/// further ones share [`OTHER_ERRORS`].
pub const RAISED_MAX: usize = 20;
/// Text of the further errors.
pub const OTHER_ERRORS: &str = "(other errors)";
/// Maximum length of the text of a Python error, in bytes.
pub const RAISED_BYTES_MAX: usize = 400;
/// Maximum length of its traceback, in bytes: the user's lines that led to it.
pub const TRACE_BYTES_MAX: usize = 1_000;
/// Maximum number of parameters of a plan.
pub const PARAMETERS_MAX: usize = 200;
/// Maximum length of the value of a parameter, in bytes: what a header can carry.
pub const PARAMETER_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of tags of a plan.
pub const TAGS_MAX: usize = 20;
/// Maximum number of feeds of a scenario.
pub const FEEDS_MAX: usize = 100;
/// Maximum number of values that one task adds to own metrics: they are held until it ends.
pub const METRIC_VALUES_MAX: usize = 100_000;
/// Maximum number of own metrics of a scenario: names are for people, not for values.
pub const METRICS_MAX: usize = 100;
/// Maximum number of debug exchanges of a run.
pub const DEBUG_REQUESTS_MAX: u32 = 100;
/// Maximum length of the head of a response in a debug exchange, in bytes.
pub const RESPONSE_HEAD_BYTES_MAX: usize = 8 * 1024;
/// Maximum length of the beginning of a body in an example of a failed call, in bytes.
pub const FAILURE_BODY_BYTES_MAX: usize = 2 * 1024;
/// Maximum number of examples of failed calls of one call and outcome, of a thread and of a run.
pub const FAILURES_PER_OUTCOME_MAX: usize = 3;
/// Maximum number of examples of failed calls, of a thread of a load generator and of a run.
pub const FAILURES_MAX: usize = 50;
/// Maximum length of a line of an example, in bytes.
pub const FAILURE_LINE_BYTES_MAX: usize = 400;
/// Maximum number of thresholds of a plan.
pub const THRESHOLDS_MAX: usize = 200;
/// Maximum number of needs of a run beside those of its plan, and of labels of an agent.
pub const NEEDS_MAX: usize = 20;
/// Maximum number of agents of one run.
pub const AGENTS_MAX: u32 = 10_000;
/// Maximum number of shards of a run: the next power of two above sixteen per agent.
pub const SHARDS_MAX: u32 = 1 << 18;
/// Maximum number of holders that a seal names one by one, so that their final counts fit in a
/// message of 1 MiB. Above it the facts contain the names.
pub const SEAL_NAMES_MAX: usize = 1_024;
/// Maximum think time of a user of a closed loop, in µs (a day).
pub const REST_MAX_US: u64 = 24 * 3_600 * 1_000_000;
/// Maximum median of think times of an exponential distribution, in µs (3 h 36 min): 99 of 100 are
/// then at most [`REST_MAX_US`].
pub const REST_EXPONENTIAL_MEDIAN_MAX_US: u64 = (3 * 60 + 36) * 60 * 1_000_000;
/// Minimum median of the lengths of sessions, in µs.
pub const SESSION_MEDIAN_MIN_US: u64 = 1_000_000;
/// Maximum number of stages of the users of a closed loop.
pub const USER_STAGES_MAX: usize = 1_000;
/// Maximum number of users of a closed loop.
pub const USERS_MAX: u32 = 1_000_000;
/// Maximum seed: JSON readers that know only doubles read it exactly.
pub const SEED_MAX: u64 = (1 << 53) - 1;
/// Maximum size of a delta, in bytes; a larger one is split into the next sequence number.
pub const DELTA_BYTES_MAX: usize = 200 * 1024;
/// Maximum number of samples in one delta.
pub const SAMPLES_PER_DELTA_MAX: usize = 8_192;
/// Maximum length of the encoded samples of one delta, in bytes.
pub const SAMPLES_BYTES_MAX: usize = 96 * 1024;
/// Maximum number of samples of an agent in a tick; further ones are counted as dropped.
pub const SAMPLES_PER_TICK_MAX: usize = 100_000;
/// Maximum number of control events in one heartbeat reply; the next reply continues.
pub const NEWS_EVENTS_MAX: usize = 64;
/// Maximum number of counts of all histograms of one delta when it is read (256 MiB): equal to 800
/// rows with responses of up to ten minutes.
pub const HIST_COUNTS_PER_DELTA_MAX: usize = 1 << 25;
/// Maximum number of counts above zero in the histograms of a delta, for each of its bytes.
/// Measured times take more bytes: at most five such counts fit in one.
pub const HIST_FILLED_PER_BYTE_MAX: usize = 16;
/// Number of histogram counts that a reader holds for each call of a run (1 MiB): those of eight
/// outcomes with responses of up to ten seconds.
pub const HIST_COUNTS_PER_CALL: u64 = 1 << 17;
/// Number of histogram counts that a reader holds of one agent beside those for each call.
pub const HIST_COUNTS_PER_AGENT_MIN: u64 = 1 << 22;
/// Maximum number of histogram counts that a reader holds of one agent, for any number of calls (2
/// GiB).
pub const HIST_COUNTS_PER_AGENT_MAX: u64 = 1 << 28;
/// Maximum number of histogram counts of a live view (256 MiB); its latency omits values beyond.
pub const HIST_COUNTS_LIVE_MAX: usize = 1 << 25;
/// Maximum number of histogram counts of all agents together, as a multiple of one agent's: agents
/// share the counts in which they agree.
pub const HIST_COUNTS_RUN_FACTOR: u64 = 2;
