"""Text for terminals: escapes for foreign text, and colour around finished text.

Names, evidence and addresses come from users and targets; they must never move the cursor, change a
colour or reverse a line.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

GREEN, YELLOW, RED = "\x1b[32m", "\x1b[33m", "\x1b[31m"
BOLD, DIM, OFF = "\x1b[1m", "\x1b[2m", "\x1b[0m"
COLOURS = {
    "PASS": GREEN,
    "VALID": GREEN,
    "✓": GREEN,
    "DEGRADED": YELLOW,
    "STOPPED": YELLOW,
    "FAIL": RED,
    "INVALID": RED,
    "INCOMPLETE": RED,
    "✗": RED,
}
WORD = re.compile(
    r"(?:(?<=^verdict      )|(?<=^certificate  )|(?<=^  )|^(?=INCOMPLETE))(\w+|✓|✗)", re.MULTILINE
)

RUNNER_COMMAND = re.compile(r"^[^\S\n]*(?=::)|#(?=#\[)", re.MULTILINE)
"""Text before the place at which GitHub's runner would find a command."""


def safe(text: str) -> str:
    """Write every character that is not printable as a hexadecimal escape.

    That covers controls, bidirectional marks and other formats, odd blanks and line separators,
    surrogates, and unassigned code points.
    """
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def safe_lines(text: str) -> str:
    """Escape foreign text line by line."""
    return "\n".join(safe(line) for line in text.split("\n"))


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that takes colour; NO_COLOR and TERM=dumb turn it off."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    """Colour verdicts, grades and marks; the text without escapes stays the same."""
    return WORD.sub(lambda word: _wrapped(word[1]), text)


def inert(text: str) -> str:
    """Escape text that GitHub's runner would take for a command in a log.

    It reads ``::name::`` at the start of a line or after blanks, and ``##[name]`` anywhere.
    """
    return RUNNER_COMMAND.sub(r"\g<0>\\", text)


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a line for people on standard error, apart from the product."""
    write_line(inert(text), stream)


def write_line(text: str, stream: TextIO | None = None) -> None:
    """Write a line to standard error as it is; a reader that is gone changes nothing else."""
    stream = stream or sys.stderr
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        drop_output(stream)


class Notes:
    """Lines for people that a quiet command leaves out."""

    are_shown = True


def note(text: str) -> None:
    """Print a line for people on standard error, unless the command is quiet."""
    if Notes.are_shown:
        say(text)


def _wrapped(word: str) -> str:
    colour = COLOURS.get(word)
    return f"{colour}{word}{OFF}" if colour else word


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def write_product(text: str, stream: TextIO | None = None) -> None:
    """Write the product of a command to standard output, as UTF-8 whatever the locale says.

    The bytes are the same on a terminal, in a file and in another run of the same report; a
    terminal only gets colour around words. ``stream`` is standard output where that is redirected.
    """
    stream = stream or sys.stdout
    if wants_colour(stream):
        text = coloured(text)
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "backslashreplace"))
    stream.buffer.flush()


def write_result(text: str, stream: TextIO | None = None) -> None:
    """Write the result of a run; a reader that is gone changes nothing in files and exit code."""
    try:
        write_product(text, stream)
    except BrokenPipeError:
        drop_output(stream or sys.stdout)


def drop_output(stream: TextIO) -> None:
    """Discard the buffered and later text of a stream: the reader of its pipe is gone."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
