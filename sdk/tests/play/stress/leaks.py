"""Puts users through all ways to play, and prints the interpreter's counts after each round.

    python leaks.py rehearsed 6 50
    python leaks.py sent 6 2

`rehearsed` advances users by hand, without a network, and drops some during a request; `sent`
prepares and retires users as a run does, batches and event loop included. Each line has the number
of blocks that Python has allocated, the number of objects that its collector knows, and the
references added to one of the shared objects: the one that has gained most. The reader judges.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
from array import array
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadpilot._native import Player, Rehearsal, new_run_id
from loadpilot.compile.plan import compile_scenario
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.play.local_runner import LocalScenario
from loadpilot.scenario_file.bundle import bundle
from loadpilot.scenario_file.load import choose, load

if TYPE_CHECKING:
    from collections.abc import Callable

    from loadpilot._native import RehearsedUser, Wanted

SCENE = Path(__file__).with_name("scene.py")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nset-cookie: sid=1\r\n\r\n"
TASKS = 5
ENDS = ("answered", "timed out", "unsendable", "stopped", "let go")
USERS = 20


class Shared:
    """The objects that modules and their classes name: they exist before the users come and after
    they have gone.

    The list does not come from the collector, which also lists what modules keep for reuse (the
    iterators of futures in CPython 3.12): a reference to those breaks them. And a debug build's
    `sys.gettotalrefcount` counts the references of the interpreter, but not those of the native
    module, which is no debug build.
    """

    def __init__(self) -> None:
        collect()
        found: dict[int, Any] = {id(one): one for one in (None, True, False, (), "", b"", 0, 1)}
        for module in tuple(sys.modules.values()):
            named = (module, *vars(module).values())
            classes = (one for one in named if isinstance(one, type))
            parts = (part for one in classes for part in vars(one).values())
            found.update((id(one), one) for one in (*named, *parts))
        self.objects = list(found.values())
        self.counts = array("q", bytes(8 * len(self.objects)))
        found.clear()
        self.counts = self.counted()

    def counted(self) -> array[int]:
        """The number of references to each object. It makes no object that would be counted."""
        counts = array("q", self.counts)
        for at, one in enumerate(self.objects):
            counts[at] = sys.getrefcount(one)
        return counts

    def gained(self) -> tuple[int, str]:
        """The maximum number of references that one object has gained since, and that object."""
        now = self.counted()
        at = max(range(len(now)), key=lambda at: now[at] - self.counts[at])
        return now[at] - self.counts[at], repr(self.objects[at])[:80]


def collect() -> None:
    """Collect all garbage, and what it held."""
    for _ in range(3):
        gc.collect()


def books(shared: Shared) -> dict[str, int | str]:
    """Python's counts when nothing is left to collect."""
    collect()
    found = {"blocks": sys.getallocatedblocks(), "objects": len(gc.get_objects())}
    gained, what = shared.gained()
    return found | {"references": gained, "to": what}


def compiled(target: str) -> Any:
    """Compile the scene as the command does."""
    loaded = load(SCENE)
    cls = choose(loaded, None)
    return cls, compile_scenario(loaded, cls, target, Overrides()), bundle(loaded)


def rehearsed() -> Callable[[], None]:
    """Play each task to each of its ends, with a new user for each."""
    _, made, packed = compiled("http://localhost")
    played = Rehearsal.in_python(packed.content, packed.file, made.plan_json())

    def once() -> None:
        for task in range(TASKS):
            for end in ENDS:
                user = played.user()
                live(user, task, end)

    return once


def live(user: RehearsedUser, task: int, end: str) -> None:
    """Play one user's task to its end, or to the request in which it ends."""
    wanted = user.begin(task)
    while wanted.sends is not None or wanted.rests_us is not None:
        if wanted.rests_us is not None:
            wanted = user.rested()
        elif end == "let go":
            return
        else:
            wanted = answered(user, end)
    user.begin(-2)
    user.answered(200, HEAD, b"{}")


def answered(user: RehearsedUser, end: str) -> Wanted:
    """Ends the request of a user."""
    match end:
        case "timed out":
            return user.timed_out()
        case "unsendable":
            return user.unsendable("path: must be short")
        case "stopped":
            return user.stopped()
        case _:
            return user.answered(200, HEAD, b'{"status": 200, "more": [1, 2.5, "x"]}')


class Target(BaseHTTPRequestHandler):
    """Answers every request alike."""

    protocol_version = "HTTP/1.1"
    # Head and body are sent together: apart, each answer would wait for an acknowledgement.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Set-Cookie", "sid=1")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A server that accepts all connections that users open at a time."""

    request_queue_size = 256


def target() -> str:
    """A server in this process, for as long as the process lives."""
    server = Server(("127.0.0.1", 0), Target)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def sent(url: str) -> Callable[[], None]:
    """Prepare and retire users, over real connections and an event loop."""
    cls, made, _ = compiled(url)

    def once() -> None:
        player = begun(cls, made, url)
        player.prepare()
        assert player.wait(60) == "", "the users were not prepared"
        player.retire()
        assert player.wait(60) == "", "the users were not retired"
        assert player.close(60)

    return once


def begun(cls: type, made: Any, url: str) -> Player:
    """A player of the scene, on a thread of its own."""
    hand = LocalScenario(cls, [], SCENE.parent, url, [])
    return Player(made.plan_json(), new_run_id(), {}, hand, USERS, 1, [])


def main() -> None:
    """Print the counts after each round."""
    kind, rounds, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    once = rehearsed() if kind == "rehearsed" else sent(target())
    # Permanent allocations of the first users are made before anything is counted.
    once()
    shared = Shared()
    for _ in range(rounds):
        for _ in range(times):
            once()
        print(json.dumps(books(shared)), flush=True)


if __name__ == "__main__":
    main()
