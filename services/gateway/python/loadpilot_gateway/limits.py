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
"""How long a connection may take to say what it wants."""
STALLED_SECS = 30.0
"""How long somebody may read nothing of what is sent before the connection is cut."""
CONNECTIONS_MAX = 1_000
"""Connections at a time; further ones are answered with 503."""
NATIVE_THREADS_MAX = 16
"""Threads that ask the log; what they are asked waits its turn."""
READINGS_MAX = 32
"""Runs of one log that are kept folded; those that were asked for last."""
SESSIONS_MAX = 12
"""Connections to one log."""
FOLLOWED_MAX = 32
"""Runs that are followed at a time."""
WATCHERS_MAX = 500
"""Live views at a time, of all runs."""
STORY_LINES_MAX = 20_000
"""Lines of one run's story that are held for its live views; the log has them all."""
LISTED_DEFAULT = 50
LISTED_MAX = 500
"""Runs on one page."""
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
