"""Properties of JMeter's elements, and texts with its variables and functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...imported_scenario import (
    MILLISECONDS,
    UUID,
    Column,
    Drawn,
    Parameter,
    Text,
    Variable,
    joined,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...imported_scenario import Imported
    from ...source import Source
    from .xml_document import Element

EXPRESSION = re.compile(r"\$\{([^${}]{1,200})\}")
PROPERTY = re.compile(r"__(?:P|property)\((?:([\w.-]+))(?:,([^(),]*))?(?:,([^(),]*))?\)")
RANDOM = re.compile(r"__Random\((-?\d{1,15}),(-?\d{1,15})(?:,\w*)?\)")
COLUMN = re.compile(r"[\w .-]{1,100}")
VALUES = frozenset({"boolProp", "intProp", "longProp", "stringProp"})


class Properties:
    """The properties of an element."""

    def __init__(self, element: Element) -> None:
        """Take the element."""
        self.element = element

    @property
    def is_enabled(self) -> bool:
        """Whether JMeter uses the element."""
        return self.element.attributes.get("enabled", "true") != "false"

    def text(self, name: str, default: str = "") -> str:
        """Return a property, also of an element within; ``default`` if it is absent or empty."""
        for one in self._all(self.element):
            if one.tag in VALUES and one.attributes.get("name") == name:
                return one.text.strip() or default
        return default

    def raw(self, name: str) -> str:
        """Return a property with its blanks."""
        found = (
            one.text
            for one in self._all(self.element)
            if one.tag in VALUES and one.attributes.get("name") == name
        )
        return next(found, "")

    def collection(self, name: str) -> list[Properties]:
        """Return the elements of a collection."""
        for one in self._all(self.element):
            if one.tag == "collectionProp" and one.attributes.get("name") == name:
                return [Properties(child) for child in one]
        return []

    def texts(self, name: str) -> list[str]:
        """Return the texts of a collection."""
        return [one.element.text for one in self.collection(name)]

    def _all(self, element: Element) -> Iterator[Element]:
        for one in element:
            yield one
            if one.tag == "elementProp":
                yield from self._all(one)


class Texts:
    """Reads texts, and declares the variables in them."""

    def __init__(self, source: Source, imported: Imported) -> None:
        """Take the file and its variables."""
        self.source = source
        self.imported = imported

    def declare(self, properties: Properties) -> None:
        """Declare the user-defined variables of an element."""
        for one in properties.collection("Arguments.arguments"):
            name, value = one.text("Argument.name"), one.text("Argument.value")
            found = PROPERTY.fullmatch(value[2:-1]) if EXPRESSION.fullmatch(value) else None
            if found is not None:
                value = found[2] or ""
            elif EXPRESSION.search(value):
                place = f"line {one.element.line}"
                self.source.note(place, f"the value of {name[:60]!r} is made of others: set it")
            if name:
                self.imported.variables[name] = Parameter(value or None)

    def declare_columns(self, properties: Properties) -> None:
        """Declare the columns of a file of rows."""
        place = f"line {properties.element.line}"
        path = properties.text("filename").replace("\\", "/")
        names = [one.strip() for one in properties.text("variableNames").split(",") if one.strip()]
        file = path.rpartition("/")[2]
        if not file.endswith((".csv", ".txt", ".tsv")):
            self.source.note(place, "a data set whose file is no .csv is not carried over")
            return
        feed = f"{file.rpartition('.')[0]}.csv"
        if names:
            what = (
                f"put {file!r} beside the scenario as {feed!r}, with the line {','.join(names)!r}"
            )
            self.source.note(place, f"{what[:300]} first")
        else:
            self.source.note(place, f"put {file!r} beside the scenario as {feed!r}")
            self.source.note(place, f"the columns of {file!r} are not known: name them in the task")
        if properties.text("delimiter", ",") != ",":
            self.source.note(place, f"separate the columns of {feed!r} with commas")
        for name in names:
            if COLUMN.fullmatch(name):
                self.imported.variables[name] = Column(feed, name)

    def read(self, text: str) -> Text:
        """Read a text with variables and functions."""
        pieces = EXPRESSION.split(text)
        return joined(*(self._expression(one) if at % 2 else one for at, one in enumerate(pieces)))

    def _expression(self, code: str) -> str | Variable:
        name = code.strip()
        if name in self.imported.variables:
            return Variable(name)
        drawn = self._function(name)
        if drawn is not None:
            self.imported.variables[name] = drawn
            return Variable(name)
        found = PROPERTY.fullmatch(name)
        if found is not None:
            self.imported.variables.setdefault(found[1], Parameter(found[2] or None))
            return Variable(found[1])
        if name.startswith("__"):
            self.source.note("", f"the function {name[:60]!r} is not carried over")
            return f"${{{code}}}"
        self.imported.variables[name] = Parameter(None)
        return Variable(name)

    def _function(self, code: str) -> Drawn | None:
        """Return how a scenario draws the value of a function; None for an unknown function."""
        if re.fullmatch(r"__UUID(\(\))?", code):
            return UUID
        if re.fullmatch(r"__time(\((,\w*)?\))?", code):
            return MILLISECONDS
        found = RANDOM.fullmatch(code)
        if found is not None and int(found[1]) <= int(found[2]):
            return Drawn(f"rand.int({int(found[1])}, {int(found[2])})", "rand")
        return None

    def number(self, properties: Properties, name: str, default: float, most: float = 1e9) -> float:
        """Read a number of at most ``most``; a variable has its default."""
        text = properties.text(name, str(default))
        found = EXPRESSION.fullmatch(text)
        if found is not None:
            named = PROPERTY.fullmatch(found[1])
            meaning = self.imported.variables.get(found[1])
            text = named[2] or "" if named else ""
            if isinstance(meaning, Parameter) and meaning.default is not None:
                text = meaning.default
            place = f"line {properties.element.line}"
            what = f"{name} is the variable {found[1][:60]!r}: its default is written"
            self.source.note(place, what)
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= most:
            must = f"must be a number from 0 to {most:,.0f}"
            self.source.wrong(f"line {properties.element.line}, {name}", must, text)
            return default
        return value
