"""Fixed limits of the gateway. Settings of the operator are in ``config``."""

from __future__ import annotations

POST_BYTES_MAX = 32 << 20
"""Maximum bytes of a request for a run with its files and bodies; the coordinator's, too."""
ADJUST_BYTES_MAX = 2 << 20
"""Maximum bytes of a plan with its changes: the plan itself has at most 512 KiB."""
BODY_BYTES_MAX = 64 << 10
"""Maximum bytes of any other body."""
READERS_MAX = 4
"""Maximum number of requests for runs that are read at a time: each is held in memory."""
CHECKED_MAX = 2
"""Maximum number of them that are read at a time only to check them, which viewers may do."""
PLACE_SECS = 20.0
"""Maximum wait of such a request until others are read; then it is answered with 503."""
BODY_SECS = 30.0
"""Timeout for a whole body."""
HEAD_SECS = 10.0
"""Timeout for a TLS handshake, for each head from the connect or the previous answer on, and for
the rest of a body that the gateway did not read."""
STALLED_SECS = 30.0
"""Timeout for a caller that reads nothing of its answer; then the connection is cut."""
REQUEST_CONNECTIONS_MAX = 500
"""Maximum number of connections beside those of live views; further ones are answered with 503."""
ADDRESS_CONNECTIONS_DEFAULT = 256
"""Maximum number of connections of one address, unless the operator sets another."""
REQUESTS_PER_SECOND_DEFAULT = 50
REQUEST_BURST_DEFAULT = 200
REQUEST_LIMIT_MAX = 100_000
"""Requests of a tenant, and of an address without a valid key: a second, and at once. An open page
makes a few a second, and a script that polls one or two."""
STORED_TOKENS = 5
"""Number of requests for which one counts that stores something, such as a note."""
RUN_TOKENS = 10
"""Number of requests for which a request for a run counts, which coordinators and agents read."""
BODY_TOKEN_BYTES = 16 << 10
BODY_TOKENS_MAX = 40
"""A body counts as one more request for each 16 KiB, up to this number."""
ADDRESS_BUCKETS_MAX = 10_000
"""Maximum number of addresses whose requests are counted; the one unused the longest is dropped."""
REPEAT_LOG_SECS = 60.0
"""Interval at which the log repeats that an address holds too many connections."""
FILES_BESIDE = 3_096
"""Number of open files wanted beside connections: a few for each connection to a log."""
NATIVE_THREADS_MAX = 16
"""Number of threads that query the log; further queries wait. Steering has its own."""
INDEXED_RUNS_MAX = 32
"""Maximum number of runs of one log that stay folded, by their last use."""
SESSIONS_MAX = 12
"""Maximum number of connections to one log for queries, and of those kept unused."""
STEERED_MAX = 8
"""Maximum number of connections to one log that wait for a decision, and of threads."""
KEPT_MAX = 4
"""Maximum number of connections to one log for readiness, lists and halts; and of threads."""
FOLLOWED_MAX = 32
"""Maximum number of runs that are followed at a time, each on its own connection."""
LIVE_VIEWS_DEFAULT = 500
LIVE_VIEWS_MAX = 10_000
"""Maximum number of live views of all runs of a tenant: default, and maximum of the setting."""
WOKEN_MAX = 10
"""Maximum number of live views of a run that are woken at a time: each takes 0.2 ms."""
WAKING_SECS = 0.01
"""Interval at which further ones are woken, so that other answers wait 2 ms."""
STORY_LINES_MAX = 20_000
"""Maximum number of lines of one run's story in memory; the log has them all."""
ANSWERS_CHARS_MAX = 64 << 20
"""Maximum characters of answers in memory, from which changes are computed for live pages."""
EXPORTED_RUNS_MAX = 20
"""Maximum number of runs whose figures are in /metrics: the newest ones."""
EXPORTED_ENDED_SECS = 300.0
"""How long the figures of a run stay in /metrics after its end: as far as Prometheus looks back."""
EXPORTED_OVERDUE_SECS = 3600.0
"""How long after its planned end a run without an end stays in /metrics."""
EXPORTED_FRESH_SECS = 1.0
"""Minimum interval between two readings of the log for /metrics."""
EXPORTED_BUSY_FACTOR = 20
"""Minimum interval, too, as a multiple of the time that the last one took."""
READY_SECS = 5.0
"""Timeout for the log of one tenant when a probe asks for readiness."""
EXPORT_SECS = 5.0
"""Timeout for the log of one tenant in a scrape: Prometheus waits 10 s for all of them."""
LISTED_DEFAULT = 50
LISTED_MAX = 500
"""Number of runs on one page: default and maximum."""
OUTCOMES_MAX = 5_000
"""Number of outcomes in memory, one a listed run: at least LISTED_MAX, and more after a list that
needs more at once."""
NAMED_MAX = 100
"""Maximum number of values of one query parameter."""
TEXT_CHARS_MAX = 200
"""Maximum characters of a text in a query, and of a key."""
NOTE_CHARS_MAX = 2_000
"""Maximum characters of a note about a run; the native module has the same limit."""
TARGET_CHARS_MAX = 2_000
"""Maximum characters of a target."""
SCENARIOS_MAX = 200
"""Maximum number of scenarios in the list of those that can be started."""
COMPARED_MAX = 8
"""Maximum number of runs in one comparison."""
PROBLEMS_MAX = 100
"""Maximum number of problems in one answer; a last entry counts the others."""
DETAIL_CHARS_MAX = 1_000
"""Maximum characters of the description of an error."""
VALUE_CHARS_MAX = 120
"""Maximum characters of a value that a problem quotes."""
