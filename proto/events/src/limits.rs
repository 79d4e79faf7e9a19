//! Every size limit of the formats, by name. Must never hold a tunable: those live in the plan.

/// Longest value that a refusal quotes, in characters.
pub const PROBLEM_VALUE_CHARS_MAX: usize = 120;
/// Mistakes that are told of one request: whoever makes more mends the first ones first.
pub const PROBLEMS_MAX: usize = 100;
/// Largest plan as JSON, in bytes (NATS carries 1 MiB a message; RunCreated repeats the plan).
pub const PLAN_BYTES_MAX: usize = 512 * 1024;
/// Largest request body, in bytes: agents hold each whole in memory.
pub const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// All bodies that one plan keeps in the object store, together, in bytes.
pub const OBJECTS_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Deepest nesting of statements and expressions in code. Each is up to four levels of JSON, of
/// which readers take 128, and messages that carry a plan have some of their own.
pub const CODE_DEPTH_MAX: usize = 20;
/// Most local variables of one function of code.
pub const CODE_LOCALS_MAX: usize = 200;
/// Longest rest in code, in microseconds (a day).
pub const SLEEP_US_MAX: u64 = 86_400_000_000;
/// Most tasks in a plan.
pub const TASKS_MAX: usize = 1_000;
/// Most steps in one task.
pub const STEPS_MAX: usize = 100;
/// Most calls (steps of all tasks) in a plan.
pub const CALLS_MAX: usize = 2_000;
/// Largest sum of task weights: the length of one block of the task permutation.
pub const WEIGHT_SUM_MAX: u64 = 1 << 20;
/// Most pieces of a profile.
pub const PIECES_MAX: usize = 10_000;
/// Highest rate, in millionths of an arrival per second (10 million per second).
pub const RATE_MAX_URPS: u64 = 10_000_000_000_000;
/// How often one run can be steered: each time costs whoever computes its arrivals a little.
pub const STEERED_MAX: usize = 1_000;
/// Longest profile, in microseconds (11 days): keeps the exact arithmetic inside 128 bits.
pub const PROFILE_US_MAX: u64 = 950_400_000_000;
/// Longest time-out or wait, in microseconds (10 min: the range of the histograms).
pub const TIMEOUT_US_MAX: u64 = 600_000_000;
/// Longest scenario, task, step, header, secret or agent name, in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Longest header value, in bytes.
pub const HEADER_VALUE_BYTES_MAX: usize = 16 * 1024;
/// Most headers in one step.
pub const HEADERS_MAX: usize = 64;
/// Longest base path of a target, in bytes.
pub const BASE_PATH_BYTES_MAX: usize = 1024;
/// Longest path with query, in bytes.
pub const PATH_BYTES_MAX: usize = 8 * 1024;
/// Most calls of a task in Python that an agent tells apart by name; the others go together.
pub const CALL_NAMES_MAX: usize = 200;
/// What the others are called.
pub const OTHER_CALLS: &str = "(other calls)";
/// Most different errors of a task in Python that an agent tells apart in a tick.
pub const RAISED_MAX: usize = 20;
/// What the others are called.
pub const OTHER_ERRORS: &str = "(other errors)";
/// Longest text of an error raised in Python, in bytes.
pub const RAISED_BYTES_MAX: usize = 400;
/// Longest traceback of one, in bytes: the lines of the user's that led to it.
pub const TRACE_BYTES_MAX: usize = 1_000;
/// Most parameters of a plan.
pub const PARAMETERS_MAX: usize = 200;
/// Longest value of a parameter, in bytes: what a header can carry.
pub const PARAMETER_BYTES_MAX: usize = 16 * 1024;
/// Most tags of a plan.
pub const TAGS_MAX: usize = 20;
/// Most feeds of a scenario.
pub const FEEDS_MAX: usize = 100;
/// Most values that a task adds to metrics of the scenario's own: they are kept until it has ended.
pub const MEASURED_MAX: usize = 100_000;
/// Most metrics of a scenario's own: names are for people to read, not for values.
pub const METRICS_MAX: usize = 100;
/// Most exchanges of a run that are written out.
pub const DEBUG_REQUESTS_MAX: u32 = 100;
/// Longest head of an answer that is written out, in bytes.
pub const SEEN_HEAD_BYTES_MAX: usize = 8 * 1024;
/// Most thresholds in a plan.
pub const THRESHOLDS_MAX: usize = 200;
/// Most needs of a run beside those of its plan, and most labels of an agent.
pub const NEEDS_MAX: usize = 20;
/// Most agents one run may ask for.
pub const AGENTS_MAX: u32 = 10_000;
/// Most shards of a run: the next power of two above sixteen for each agent.
pub const SHARDS_MAX: u32 = 1 << 18;
/// Most holders that a seal names one by one: so many final counts fit a message of 1 MiB. Of more
/// the facts say who spoke its last words.
pub const SEAL_NAMES_MAX: usize = 1_024;
/// Longest rest of a user of a closed loop, in µs: a day.
pub const REST_MAX_US: u64 = 24 * 3_600 * 1_000_000;
/// Most users of a closed loop.
pub const USERS_MAX: u32 = 1_000_000;
/// Largest seed: JSON readers that know only doubles must read it exactly.
pub const SEED_MAX: u64 = (1 << 53) - 1;
/// A delta above this many bytes is split into the next sequence number.
pub const DELTA_BYTES_MAX: usize = 200 * 1024;
/// Most calls that one delta tells one by one.
pub const SAMPLES_PER_DELTA_MAX: usize = 8_192;
/// Longest text of calls told one by one in a delta, in bytes.
pub const SAMPLES_BYTES_MAX: usize = 96 * 1024;
/// Most calls that an agent tells one by one in a tick; the others are counted as not told.
pub const SAMPLES_PER_TICK_MAX: usize = 100_000;
/// Most control events that one heartbeat reply brings; the rest comes with the next.
pub const NEWS_EVENTS_MAX: usize = 64;
/// Most counts that the histograms of one delta hold together when it is read (256 MiB): 800 rows
/// with answers of up to ten minutes have as many.
pub const HIST_COUNTS_PER_DELTA_MAX: usize = 1 << 25;
/// Most counts above zero that the histograms of a delta have for each byte of it. Times that were
/// measured take more bytes: no more than five such counts fit in one.
pub const HIST_FILLED_PER_BYTE_MAX: usize = 16;
/// Histogram counts that a reader keeps for each call of a run (1 MiB): those of eight outcomes
/// with answers of up to ten seconds.
pub const HIST_COUNTS_PER_CALL: u64 = 1 << 17;
/// Histogram counts that a reader keeps of one agent beside those for each call.
pub const HIST_COUNTS_PER_AGENT_MIN: u64 = 1 << 22;
/// Most histogram counts that a reader keeps of one agent, however many calls there are (2 GiB).
pub const HIST_COUNTS_PER_AGENT_MAX: u64 = 1 << 28;
/// Most histogram counts that a live view holds (256 MiB); its latency leaves out what is beyond.
pub const HIST_COUNTS_LIVE_MAX: usize = 1 << 25;
/// Most of all agents together: so many times those of one. They share what they agree on.
pub const HIST_COUNTS_RUN_FACTOR: u64 = 2;
