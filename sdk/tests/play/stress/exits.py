"""Ends the interpreter while users are in the middle of something.

    python exits.py suspended
    python exits.py sent

`suspended`: plain users and coroutines stand still at a request, and stay there. `sent`:
requests are in flight, and the thread that plays the users waits for their answers.
"""

from __future__ import annotations

import socket
import sys

from leaks import begun, compiled

from loadpilot._native import Rehearsal

KEPT: list[object] = []
"""What is still there when the interpreter goes."""


def suspended() -> None:
    """Leave a user suspended in each task."""
    _, made, packed = compiled("http://localhost")
    played = Rehearsal.in_python(packed.content, packed.file, made.plan_json())
    KEPT.append(played)
    for task in range(5):
        user = played.user()
        assert user.begin(task).sends is not None
        KEPT.append(user)


def sent() -> None:
    """Exit as soon as the first request has reached a target that never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    cls, made, _ = compiled(url)
    player = begun(cls, made, url)
    player.prepare()
    connection, _ = listener.accept()
    assert connection.recv(1)
    KEPT.extend([player, listener, connection])


if __name__ == "__main__":
    {"suspended": suspended, "sent": sent}[sys.argv[1]]()
    print("left", flush=True)
