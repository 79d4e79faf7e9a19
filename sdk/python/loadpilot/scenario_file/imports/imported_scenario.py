"""The form between the files of other tools and a scenario in Python.

A reader turns a file into it, and ``python_source`` writes it. Texts that hold variables are lists
of pieces, so that no text of a file is ever taken for code. Pure data, no I/O.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Variable:
    """A value that a text takes from elsewhere, by its name in the file."""

    name: str


Text: TypeAlias = tuple[str | Variable, ...]
"""A text of pieces; adjacent texts are joined."""
Pairs: TypeAlias = list[tuple[Text, Text]]
"""Names and values, in order; a name may be repeated."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A variable that is a parameter of the scenario, ``env(…)``."""

    default: str | None
    """None without a default: the caller of a run sets it."""
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A variable that is a column of a feed."""

    file: str
    name: str


@dataclass(frozen=True, slots=True)
class Extracted:
    """A variable that a request takes from its response."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A variable that is new for each arrival."""

    code: str
    """Code by which a scenario draws it, never a text of a file."""
    module: str
    """Name that the code imports from LoadPilot."""


UUID = Drawn("rand.uuid()", "rand")
NUMBER = Drawn("rand.int(0, 1000)", "rand")
SECONDS = Drawn("int(now().timestamp())", "now")
MILLISECONDS = Drawn("int(now().timestamp() * 1000)", "now")
INSTANT = Drawn("now().isoformat()", "now")

Meaning: TypeAlias = Parameter | Column | Extracted | Drawn


@dataclass(frozen=True, slots=True)
class Number:
    """A number of JSON that is the value of a variable."""

    variable: Variable


@dataclass(frozen=True, slots=True)
class JsonBody:
    """A body of JSON; a text with variables in it is a tuple of pieces."""

    value: Any


@dataclass(frozen=True, slots=True)
class FormBody:
    """A body of form fields."""

    fields: Pairs


@dataclass(frozen=True, slots=True)
class RawBody:
    """A body as it is."""

    content: Text | bytes


@dataclass(frozen=True, slots=True)
class FileBody:
    """A body that is the content of a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Part:
    """A file in a multipart body, or a field with a content type."""

    name: str
    filename: str | None
    """None for a field."""
    content: str | bytes | FileBody | Text
    content_type: str | None


@dataclass(frozen=True, slots=True)
class MultipartBody:
    """A body of fields and files."""

    fields: Pairs
    parts: list[Part]


Body: TypeAlias = JsonBody | FormBody | RawBody | FileBody | MultipartBody


@dataclass(frozen=True, slots=True)
class Extraction:
    """A value of the JSON of a response, kept under the name of a variable."""

    variable: str
    steps: tuple[str | int, ...]
    """Keys and indices that lead to it."""


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on a response: a status, a text in its body, or both."""

    status: int | None = None
    contains: str | None = None
    rates: tuple[str, ...] = ()
    """Metrics that count it, and the task goes on; without one a failure ends the task."""


@dataclass(slots=True)
class Request:
    """One request."""

    place: str
    """Its place in the file: a line or a JSON path."""
    method: str
    url: Text
    """The whole URL, or the part after the origin."""
    headers: Pairs = field(default_factory=list)
    query: Pairs = field(default_factory=list)
    """Fields beside the query of the URL."""
    cookies: Pairs = field(default_factory=list)
    """Cookies that are sent beside those that the target sets for the user."""
    path: Text = ()
    """Path of the prepared URL, with a query that cannot be written as fields."""
    body: Body | None = None
    auth: tuple[Text, Text] | None = None
    """User and password of Basic credentials."""
    secret_field: str | None = None
    """Name, in lower case, of a header or a field of the query that the file declares a secret."""
    label: str | None = None
    """Name for reports; None for method and route."""
    checks: list[Check] = field(default_factory=list)
    extractions: list[Extraction] = field(default_factory=list)
    pause_s: tuple[float, float] | None = None
    """Think time before it, from and to."""
    sets_cookies: bool = False
    """Whether later requests depend on the cookies of its response."""
    batch: int | None = None
    """Number of the group that is sent at the same time; None for a request of its own."""
    timeout_s: float | None = None
    follows_redirects: bool = False


@dataclass(slots=True)
class Step:
    """Requests in their order, under a name that groups them in reports; None for no group."""

    name: str | None
    requests: list[Request] = field(default_factory=list)
    pause_after_s: tuple[float, float] | None = None
    """Think time after the last of them."""


@dataclass(slots=True)
class Task:
    """The steps of one user, from beginning to end."""

    name: str
    steps: list[Step] = field(default_factory=list)
    weight: int = 1
    """How often it runs, beside the weights of the other tasks."""

    @property
    def requests(self) -> list[Request]:
        """All requests, in their order."""
        return [request for step in self.steps for request in step.requests]


@dataclass(slots=True)
class UserType:
    """Users of one kind, written as one scenario."""

    name: str
    tasks: list[Task] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of ``@scenario``, by name: texts, numbers, lists and tuples of those."""


@dataclass(slots=True)
class Imported:
    """The content of a file, ready to be written as scenarios."""

    command: str
    """The command that reads it, such as ``import har``."""
    origin: str
    """Name of the file, or the origin that was recorded."""
    types: list[UserType] = field(default_factory=list)
    variables: dict[str, Meaning] = field(default_factory=dict)
    target: str | None = None
    """The origin that the requests go to."""
    keeps_types: bool = False
    """Whether an extracted value that is all of a text in JSON is sent as it was extracted."""

    @property
    def requests(self) -> list[Request]:
        """All requests, in their order."""
        return [one for users in self.types for task in users.tasks for one in task.requests]


def plain(text: Text) -> str | None:
    """Return a text without variables; None if it has one."""
    if any(isinstance(piece, Variable) for piece in text):
        return None
    return "".join(piece for piece in text if isinstance(piece, str))


def shown(text: Text) -> str:
    """Return a text with the names of its variables in braces."""
    return "".join(one if isinstance(one, str) else f"{{{one.name}}}" for one in text)


def joined(*texts: Text | str | Variable) -> Text:
    """Put texts after one another."""
    pieces: list[str | Variable] = []
    for one in texts:
        for piece in one if isinstance(one, tuple) else (one,):
            if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
                pieces[-1] += piece
            elif piece != "":
                pieces.append(piece)
    return tuple(pieces)


def variables_of(value: object) -> Iterator[Variable]:
    """Find the variables in a value: a text, a request, a task."""
    if isinstance(value, Variable):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from variables_of(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from variables_of(one)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from variables_of(getattr(value, name))


def with_variables(text: str, pattern: re.Pattern[str]) -> Text:
    """Read a text in which a pattern marks variables; its first group is their name."""
    pieces = pattern.split(text)
    return joined(*(Variable(one) if at % 2 else one for at, one in enumerate(pieces)))
