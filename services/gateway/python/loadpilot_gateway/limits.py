"""Every limit of the gateway, by name. Must never hold what an operator may want to change."""

from __future__ import annotations

POST_BYTES_MAX = 32 << 20
"""Largest request for a run: a plan, and the files or bodies beside it; as a coordinator takes."""
BODY_BYTES_MAX = 64 << 10
"""Largest body of anything else."""
READERS_MAX = 4
"""Requests for runs that are read at a time: each is held in memory."""
BODY_SECS = 30.0
"""How long a body may take to come."""
HEAD_SECS = 10.0
"""Timeout for each head, from the connect or the answer before on; and for a TLS handshake. A body
that was not read has to end within it, too."""
STALLED_SECS = 30.0
"""How long a caller may read nothing of what is sent before the connection is cut."""
CONNECTIONS_MAX = 1_000
"""Connections at a time; further ones are answered with 503."""
ADDRESS_CONNECTIONS_DEFAULT = 256
"""Connections of one address at a time, unless the operator says otherwise."""
REPEAT_LOG_SECS = 60.0
"""Interval at which the log repeats that an address holds too many."""
FILES_WANTED = 4_096
"""Open files: connections of callers, and a few for each connection to a log."""
NATIVE_THREADS_MAX = 16
"""Threads that ask the log; what they are asked waits its turn. Steering has its own."""
READINGS_MAX = 32
"""Runs of one log that are kept folded; those that were asked for last."""
SESSIONS_MAX = 12
"""Connections to one log that wait for answers, and most that are kept while unused."""
STEERED_MAX = 8
"""Connections to one log that wait for a decision, and their threads."""
KEPT_MAX = 4
"""Connections to one log for readiness, lists and halts, and their threads."""
FOLLOWED_MAX = 32
"""Runs that are followed at a time, each on a connection of its own."""
WATCHERS_MAX = 500
"""Live views at a time, of all runs."""
STORY_LINES_MAX = 20_000
"""Lines of one run's story that are held for its live views; the log has them all."""
LISTED_DEFAULT = 50
LISTED_MAX = 500
"""Runs on one page."""
OUTCOMES_MAX = 5_000
"""Runs whose outcomes are held for lists, a line each; at least LISTED_MAX."""
NAMED_MAX = 100
"""Values that one query may repeat under one name."""
TEXT_CHARS_MAX = 200
"""Longest text in a query, and longest key."""
COMPARED_MAX = 8
"""Runs that are compared at a time."""
PROBLEMS_MAX = 100
"""Mistakes that one answer names; how many more there are is told."""
DETAIL_CHARS_MAX = 1_000
"""Longest description of what is wrong."""
VALUE_CHARS_MAX = 120
"""Longest value that a problem quotes."""
