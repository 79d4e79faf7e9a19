"""The list of requests that an attack names: a URL, a file, or standard input."""

from __future__ import annotations

import io
import json
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from ....problem import Problem, Refused, rule
from ....scenario_file.targets.target_request import Invalid, checked_method, read_header, read_url
from ....scenario_file.targets.targets_file import FORMS, TargetsFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from ....scenario_file.targets.targets_file import Form
    from .attack_flags import AttackFlags

URL = "URL"
"""Name of a list that is a URL."""
STANDARD_INPUT = "-"
BODY_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of a body, in bytes."""


@contextmanager
def opened(url: str | None, flags: AttackFlags, problems: list[Problem]) -> Iterator[TargetsFile]:
    """Open the list; raises :class:`Refused` where there is none, and adds other problems."""
    form = _format(flags, problems)
    headers = tuple(_headers(flags, problems))
    body = b"" if flags.body is None else _body(Path(flags.body), problems)
    if url is not None:
        _refuse_beside_url(flags, problems)
        content = _of_url(url, flags, problems)
        yield TargetsFile(io.BytesIO(content), URL, Path(), "json", headers, body)
        return
    if flags.method is not None:
        problems.append(Problem("--method", "is that of the URL; a list has one for each request"))
    with _file(flags.targets, problems) as (file, name, folder):
        yield TargetsFile(file, name, folder, form, headers, body)


def _format(flags: AttackFlags, problems: list[Problem]) -> Form | None:
    """Read the format; None to recognise it."""
    for form in FORMS:
        if flags.format == form:
            return form
    if flags.format is not None:
        hint = "; text is the format that vegeta calls http" if flags.format == "http" else ""
        problems.append(rule("--format", f"must be {' or '.join(FORMS)}{hint}", flags.format))
    return None


@contextmanager
def _file(name: str | None, problems: list[Problem]) -> Iterator[tuple[BinaryIO, str, Path]]:
    """Open the file of requests, its name in messages, and the folder of its bodies."""
    if name is not None and name != STANDARD_INPUT:
        path = Path(name)
        try:
            file = path.open("rb")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            problems.append(Problem("--targets", f"{name} cannot be read: {why}"))
            raise Refused(problems) from None
        with file:
            if not file.seekable():
                yield _copy(file), name, path.parent
            else:
                yield file, name, path.parent
        return
    if name is None and sys.stdin.isatty():
        what = "name a URL, or a file of requests with --targets FILE, or pipe requests in"
        raise Refused([*problems, Problem(URL, what)])
    yield _copy(sys.stdin.buffer), "standard input", Path()


def _copy(file: BinaryIO) -> BinaryIO:
    """Copy a stream to a file that can be read twice, and that has no name."""
    copy = TemporaryFile()  # noqa: SIM115  (closed with the process)
    shutil.copyfileobj(file, copy)
    return copy


def _of_url(url: str, flags: AttackFlags, problems: list[Problem]) -> bytes:
    """Write a URL as a list of one request."""
    method = flags.method or ("GET" if flags.body is None else "POST")
    for place, check, text in ((URL, read_url, url), ("--method", checked_method, method)):
        try:
            check(text)
        except Invalid as invalid:
            problems.append(Problem(place, str(invalid)))
    return json.dumps({"method": method, "url": url}).encode()


def _refuse_beside_url(flags: AttackFlags, problems: list[Problem]) -> None:
    for flag, value in (("--targets", flags.targets), ("--format", flags.format)):
        if value is not None:
            problems.append(Problem(flag, "cannot be used with a URL; drop one"))


def _headers(flags: AttackFlags, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    for text in flags.header:
        try:
            yield read_header(text)
        except Invalid as invalid:
            problems.append(Problem("--header", str(invalid)))


def _body(path: Path, problems: list[Problem]) -> bytes:
    try:
        with path.open("rb") as file:
            body = file.read(BODY_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        problems.append(Problem("--body", f"{path} cannot be read: {why}"))
        return b""
    if len(body) > BODY_BYTES_MAX:
        problems.append(Problem("--body", f"{path} must be at most 64 MiB"))
    return body
