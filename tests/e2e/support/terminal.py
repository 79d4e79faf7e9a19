"""A command at a pseudo-terminal, which is its input, its output and its controlling terminal.

Keys are bytes, as a person types them: the terminal turns Ctrl-C into a signal. Must never read
anything except for what the terminal shows.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import threading
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Self

from sdk.tests.support.cell_screen import ESCAPE as CELL_ESCAPE
from sdk.tests.support.cell_screen import CellScreen
from sdk.tests.support.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

SETSID = shutil.which("setsid") or "setsid"
CTRL_C = b"\x03"
FRAME_END = re.compile(r"\x1b\[\?7h\x1b\[J")
"""The end of a frame of the live view: it enables line wrapping and clears the screen below."""
END_S = 60.0
COLOURED = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "NO_COLOR": ""}
"""Variables of a terminal with colours, also where a CI job turns them off; an empty NO_COLOR has
no effect."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The screen after a frame of the live view."""

    at: float
    """Time of the frame by the monotonic clock, in seconds."""
    wall_us: int
    size: tuple[int, int]
    rows: list[str]
    block: list[str]
    """The rows of the frame only."""


class Terminal:
    """A terminal with one command. The command is killed at the end of the block."""

    def __init__(
        self,
        argv: Sequence[str],
        folder: Path,
        *,
        size: tuple[int, int] = (100, 40),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.screen = Screen(*size)
        self.frames: list[Frame] = []
        self.raw = ""
        self.changed = threading.Condition()
        self._ended = False
        self._master, slave = pty.openpty()
        self._set_size(*size)
        self._process = subprocess.Popen(
            # The terminal controls the new session, so that its keys reach the command.
            [SETSID, "--ctty", *argv],
            cwd=folder,
            env=os.environ | COLOURED | dict(env or {}),
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(10.0)
        os.close(self._master)

    @property
    def pid(self) -> int:
        return self._process.pid

    def press(self, keys: bytes) -> None:
        """Types keys."""
        os.write(self._master, keys)

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size of the terminal, as a person does who drags its corner."""
        with self.changed:
            self.screen.resize(columns, rows)
            self._set_size(columns, rows)

    def until(self, text: str, timeout_s: float = END_S) -> None:
        """Waits until the terminal has shown a text. The text may have scrolled off the screen."""
        self.wait(lambda: text in self.raw, timeout_s, text)

    def until_frame(self, pattern: str, timeout_s: float = END_S) -> None:
        """Waits for a frame that matches a pattern."""
        self.wait(lambda: self._has_frame(pattern), timeout_s, pattern)

    def _has_frame(self, pattern: str) -> bool:
        return any(
            re.search(pattern, "\n".join(frame.block), re.MULTILINE) for frame in self.frames
        )

    def wait(self, condition: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Waits until a condition holds for the output."""
        deadline = monotonic() + timeout_s
        with self.changed:
            while not condition():
                left = deadline - monotonic()
                assert left > 0, f"{what!r} was not shown in time:\n{self.all}"
                assert not self._ended, f"ended without {what!r}:\n{self.all}"
                self.changed.wait(left)

    @property
    def all(self) -> str:
        """All text that is or was on the screen."""
        return "\n".join(self.screen.text)

    def end(self, timeout_s: float = END_S) -> int:
        """Waits for the end of the command; returns its exit code."""
        code = self._process.wait(timeout_s)
        self._reader.join(10.0)
        return code

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> None:
        pending = b""
        try:
            # The read fails when the last process with the terminal has ended.
            with suppress(OSError):
                while chunk := os.read(self._master, 65_536):
                    pending = self._take(pending + chunk)
        finally:
            with self.changed:
                self._ended = True
                self.changed.notify_all()

    def _take(self, data: bytes) -> bytes:
        """Shows the complete part of the output; returns the rest."""
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            if len(data) - error.start > 3:
                raise
            text = data[: error.start].decode()
        escape = text.rfind("\x1b")
        if escape >= 0 and not re.match(r"\x1b\[[?0-9;]*[A-Za-z]", text[escape:]):
            text = text[:escape]
        with self.changed:
            place = 0
            for end in FRAME_END.finditer(text):
                self.screen.feed(text[place : end.end()])
                place = end.end()
                self._keep()
            self.screen.feed(text[place:])
            self.raw += text
            self.changed.notify_all()
        return data[len(text.encode()) :]

    def _keep(self) -> None:
        screen = self.screen
        rows = [row.text for row in screen.shown]
        begins = [place for place, row in enumerate(rows) if " → " in row and " · " in row]
        block = rows[begins[-1] :] if begins else []
        while block and not block[-1]:
            block.pop()
        self.frames.append(
            Frame(monotonic(), time_ns() // 1000, (screen.columns, screen.height), rows, block)
        )


class CellTerminal(Terminal):
    """A terminal for a program that draws the whole screen, and may print lines afterwards."""

    def __init__(
        self, argv: Sequence[str], folder: Path, *, size: tuple[int, int] = (100, 30), **how: str
    ) -> None:
        self.cells = CellScreen(*size)
        super().__init__(argv, folder, size=size, env=how)

    def until_shown(self, text: str) -> None:
        """Waits until a text is on the screen."""
        self.wait(lambda: any(text in row for row in self.cells.text), END_S, text)

    def until_gone(self, text: str) -> None:
        """Waits until a text is no longer on the screen."""
        self.wait(lambda: not any(text in row for row in self.cells.text), END_S, f"no {text}")

    @property
    def all(self) -> str:
        return "\n".join(self.cells.text)

    def _take(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "ignore")
        if text.encode() != data:
            return data
        escape = text.rfind("\x1b")
        if escape >= 0 and not CELL_ESCAPE.match(text, escape):
            text = text[:escape]
        with self.changed:
            self.cells.feed(text)
            self.raw += text
            self.changed.notify_all()
        return data[len(text.encode()) :]
