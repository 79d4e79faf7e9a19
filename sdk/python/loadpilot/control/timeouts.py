"""How long coordinators and agents are given to answer a command, in seconds."""

ANSWER_TIMEOUT_SECS = 15.0
"""How long a decision is waited for: longer than another coordinator takes to step in."""
LISTEN_SECS = 2.5
"""How long agents are listened for: each gives a sign of life every second."""
