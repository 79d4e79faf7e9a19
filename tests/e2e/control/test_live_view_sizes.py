"""The live view at terminals of other sizes, and at one that changes its size during a run."""

from __future__ import annotations

import re
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.e2e.control.test_live_view import (
    COMPLETED,
    LOOSE,
    WEIGHTED,
    assert_left_as_it_was,
    compared,
    started,
)
from tests.e2e.support.command import COMMAND, Loadpilot
from tests.e2e.support.terminal import CTRL_C, Frame, Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.oracle import Oracle


def test_a_terminal_changes_its_size_in_a_run(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a frame is wider than its terminal, if parts of old frames stay, or if a terminal
    that became too small gets frames instead of lines."""
    flags = ("--rps", "50", "--duration", "60s", *LOOSE)
    with started(loadpilot, WEIGHTED, oracle.url, *flags, size=(120, 45)) as terminal:
        terminal.until_frame("in total")
        for size in ((70, 45), (200, 45), (60, 40)):
            terminal.resize(*size)
            after = len(terminal.frames)
            # Frames of the old size may still arrive; none arrives after one that fits,
            # unless the terminal became larger.
            terminal.wait(partial(has_fitting, terminal, after), 10, f"a frame of {size}")
            after = len(terminal.frames)
            terminal.wait(partial(has_more, terminal, after), 10, f"frames of {size}")
            frame = terminal.frames[-1]
            assert frame.size == size
            assert fits(frame), frame
        terminal.resize(50, 40)
        terminal.until("requests/s  total ")
        assert sum("in total" in row.text for row in terminal.screen.shown) == 0
        terminal.resize(100, 45)
        after = len(terminal.frames)
        terminal.wait(partial(has_more, terminal, after + 1), 10, "frames again")
        terminal.press(CTRL_C)
        assert terminal.end() == 130
        assert_left_as_it_was(terminal)
    compared(loadpilot, tmp_path, terminal)


def fits(frame: Frame) -> bool:
    """Whether a frame is narrower than its terminal, and no other one is on the screen."""
    is_alone = sum("in total" in row for row in frame.rows) == 1
    return is_alone and max(map(len, frame.block), default=0) < frame.size[0]


def has_fitting(terminal: Terminal, count: int) -> bool:
    """Whether one of the frames after the first ones fits."""
    return any(map(fits, terminal.frames[count:]))


def has_more(terminal: Terminal, count: int) -> bool:
    """Whether there are more frames than a number."""
    return len(terminal.frames) > count


SIZES = [(60, 10), (60, 24), (80, 24), (200, 60)]
STEADY = re.compile(r"\d\d:\d\d/01:00 steady ")


def has_lines(terminal: Terminal) -> bool:
    """Whether a terminal without frames has shown three lines of the steady rate."""
    return len(STEADY.findall(terminal.all)) >= 3


@pytest.mark.slow
def test_every_size_of_terminal_watches_the_same_run(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if `watch` shows other figures than `run`, if a frame does not fit, if the end of a
    watch stops the run, or if colours come with NO_COLOR, or frames on a dumb or a small
    terminal."""
    flags = ("--rps", "50", "--duration", "60s", "--agents", "2", *LOOSE)
    watch = [str(COMMAND), "watch", "last"]
    folder = loadpilot.folder
    with ExitStack() as stack:
        owner = stack.enter_context(started(loadpilot, WEIGHTED, oracle.url, *flags))
        assert oracle.wait_count(50, 30)
        sized = [stack.enter_context(Terminal(watch, folder, size=size)) for size in SIZES]
        plain = stack.enter_context(Terminal(watch, folder, env={"NO_COLOR": "1"}))
        dumb = stack.enter_context(Terminal(watch, folder, env={"TERM": "dumb"}))
        small = stack.enter_context(Terminal(watch, folder, size=(59, 24)))
        for terminal in (*sized, plain):
            terminal.until_frame("steady · ")
        sized[0].press(CTRL_C)
        assert sized[0].end(20) == 130
        assert "goes on" in sized[0].all
        assert oracle.wait_count(oracle.counts().received + 2 * 50, 30), "the run was stopped"
        for terminal in (dumb, small):
            terminal.wait(partial(has_lines, terminal), 30, "three lines")
        owner.press(CTRL_C)
        assert owner.end() == 130
        for terminal in (*sized[1:], plain, dumb, small):
            assert terminal.end() in COMPLETED
        for terminal in (owner, *sized[1:], plain, dumb, small):
            assert_left_as_it_was(terminal)
    for terminal in (*sized, plain):
        assert terminal.screen.overflows == 0
        size = (terminal.screen.columns, terminal.screen.height)
        assert max(len(frame.block) for frame in terminal.frames) < size[1]
        assert max(len(row) for frame in terminal.frames for row in frame.block) < size[0]
    assert (plain.screen.styles, dumb.screen.styles) == (set(), set())
    assert "\x1b" not in dumb.raw
    for terminal in (dumb, small):
        assert terminal.frames == []
    whole = [terminal for terminal in (owner, *sized, plain) if terminal.screen.height > 20]
    (*_, (_, last, _)) = compared(loadpilot, tmp_path, *whole)
    assert oracle.counts().received == last.counts[2]
