"""The scenario files of the directory of ``loadpilot ui``, and their plans.

A file is code with the rights of its user. It is listed by its syntax tree, and a child process
executes it: the command ``loadpilot run FILE --dry-run``. Must never import a file, take a path
from a caller, or leave a child behind.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from loadpilot.problem import nearest
from loadpilot.scenario_file.scenario_list import scenario_files

from .limits import POST_BYTES_MAX
from .problem import UNPROCESSABLE, ApiError, Code

if TYPE_CHECKING:
    from pathlib import Path

    from loadpilot.scenario_file.scenario_list import ScenarioFile

COMPILE_SECS = 30.0
"""Timeout of a child process."""
STDOUT, STDERR = 1, 2
PRINTED_BYTES_MAX = {STDOUT: POST_BYTES_MAX, STDERR: 64 << 10}
"""Maximum bytes that a child process may print."""
LINES_SHOWN = 5
"""Number of last lines that are quoted when the command printed no error of its own."""
ERROR = "error: "
"""Begin of an error that the command prints; further lines of it are indented."""
CHILD = "import signal, runpy; signal.alarm({secs}); runpy.run_module('loadpilot', alter_sys=True)"
"""The program of the child: the command, which ends even where the gateway was killed."""


class Compiled(BaseModel):
    """The output of the command: the plan, its bodies in base64, and its hooks."""

    plan: dict[str, Any]
    bodies: dict[str, str]
    hooks: list[str] = []


class ScenarioFiles:
    """The scenario files of a directory."""

    def __init__(self, directory: Path) -> None:
        """Take the directory."""
        self._directory = directory
        self._children: set[int] = set()
        self._compiling = asyncio.Semaphore(1)

    def files(self) -> list[ScenarioFile]:
        """List the files with scenarios, by name."""
        return scenario_files(self._directory)

    async def compile(self, file: str, scenario: str | None) -> Compiled:
        """Compile a scenario in a child process; raises ApiError with the command's errors."""
        files = await asyncio.to_thread(self.files)
        names = [one.file for one in files]
        if file not in names:
            near = nearest(file, names)
            known = f"did you mean {near}?" if near else f"known: {', '.join(names) or 'none'}"
            raise wrong("file", f"must be a scenario file of this directory; {known}", file)
        arguments = ["run", file, "--dry-run", "--json"]
        if scenario is not None:
            arguments += ["--scenario", scenario]
        async with self._compiling:
            code, output, errors = await self._run(arguments)
        if code != 0:
            raise refused(file, errors)
        try:
            return Compiled.model_validate_json(output)
        except ValidationError:
            rule = "must leave the standard output to the command, which prints the plan there"
            raise wrong("file", rule, file) from None

    def close(self) -> None:
        """Kill the child processes."""
        for pid in self._children:
            kill(pid)

    async def _run(self, arguments: list[str]) -> tuple[int, bytes, str]:
        """Run the command; returns code, output and errors, or raises ApiError."""
        program = CHILD.format(secs=round(COMPILE_SECS) + 5)
        transport, child = await asyncio.get_running_loop().subprocess_exec(
            Child,
            *(sys.executable, "-P", "-c", program, *arguments),
            cwd=self._directory,
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        pid = transport.get_pid()
        self._children.add(pid)
        try:
            async with asyncio.timeout(COMPILE_SECS):
                await child.complete
        except TimeoutError:
            rule = f"must compile within {COMPILE_SECS:g} s; what does it do while it is imported?"
            raise wrong("file", rule, arguments[1]) from None
        finally:
            kill(pid)
            await child.exited
            transport.close()
            self._children.discard(pid)
        code = transport.get_returncode()
        assert code is not None, "it exited"  # noqa: S101
        return code, bytes(child.printed[STDOUT]), child.printed[STDERR].decode("utf-8", "replace")


class Child(asyncio.SubprocessProtocol):
    """The output of a child process.

    The output may go on after the exit of the child: a process that it started may hold its pipes
    for ever.
    """

    def __init__(self) -> None:
        """Start with both pipes open."""
        loop = asyncio.get_running_loop()
        self.printed = {STDOUT: bytearray(), STDERR: bytearray()}
        self.exited: asyncio.Future[None] = loop.create_future()
        self.complete: asyncio.Future[None] = loop.create_future()
        """Done when it exited and both pipes are closed; or ApiError for too much output."""

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Store the output."""
        self.printed[fd] += data
        if len(self.printed[fd]) > PRINTED_BYTES_MAX[fd] and not self.complete.done():
            rule = f"must print at most {PRINTED_BYTES_MAX[fd]} bytes, its plan included"
            self.complete.set_exception(wrong("file", rule, len(self.printed[fd])))

    def process_exited(self) -> None:
        """Record the exit."""
        self.exited.set_result(None)

    def connection_lost(self, _: Exception | None) -> None:
        """Record the end of all output."""
        if not self.complete.done():
            self.complete.set_result(None)


def kill(pid: int) -> None:
    """Kill a child process and those that it started; it may have ended."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def refused(file: str, errors: str) -> ApiError:
    """Build the answer for a file that does not compile, from the output of the command."""
    problems: list[dict[str, str]] = []
    is_error = False
    for line in errors.splitlines():
        if line.startswith(ERROR):
            place, separator, what = line.removeprefix(ERROR).partition(": ")
            is_error = True
            problems.append(
                {"field": place if separator else file, "rule": what or place, "value": ""}
            )
        elif is_error and line.startswith(" "):
            problems[-1]["rule"] += f"\n{line}"
        else:
            is_error = False
    if not problems:
        last = "\n".join(errors.splitlines()[-LINES_SHOWN:])
        problems = [{"field": file, "rule": f"must compile; the command ended with: {last}"}]
        problems[0]["value"] = ""
    return ApiError(UNPROCESSABLE, Code.USAGE, f"the file {file} does not compile", problems)


def wrong(field: str, rule: str, value: object) -> ApiError:
    """Build the answer for one mistake."""
    problem = {"field": field, "rule": rule, "value": value}
    return ApiError(UNPROCESSABLE, Code.USAGE, f"{field} {rule}", [problem])
