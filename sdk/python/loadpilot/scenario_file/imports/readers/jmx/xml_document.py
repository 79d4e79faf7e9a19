"""Reads XML into elements with their lines; entities, document types and depth are refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat

from ...source import DEPTH_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...source import Source

ELEMENTS_MAX = 1_000_000
"""Maximum number of elements."""


@dataclass(slots=True)
class Element:
    """An element."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def __iter__(self) -> Iterator[Element]:
        """List its elements."""
        return iter(self.children)


def xml_document(source: Source) -> Element:
    """Read the root element; raises :class:`Refused`."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    top = Element("", {}, 0)
    open_elements = [top]
    texts: list[list[str]] = [[]]
    count = 0
    declared = ""

    def declaration(_: str, encoding: str | None, __: int) -> None:
        nonlocal declared
        declared = encoding or ""

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber
        if len(open_elements) > DEPTH_MAX or count > ELEMENTS_MAX:
            raise source.refuse(
                f"line {line}", "has too many elements, or they are nested too deep"
            )
        element = Element(tag, attributes, line)
        open_elements[-1].children.append(element)
        open_elements.append(element)
        texts.append([])

    def end(_: str) -> None:
        open_elements.pop().text = "".join(texts.pop())

    def letters(text: str) -> None:
        texts[-1].append(text)

    def doctype(*_: object) -> None:
        line = parser.CurrentLineNumber
        raise source.refuse(f"line {line}", "must have no DOCTYPE: entities are not expanded")

    parser.XmlDeclHandler = declaration
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = letters
    parser.StartDoctypeDeclHandler = doctype
    source.check_size()
    try:
        parser.Parse(source.content, True)  # noqa: FBT003
    except expat.ExpatError as error:
        place = f"line {error.lineno}, column {error.offset + 1}"
        raise source.refuse(place, f"is not XML: {expat.ErrorString(error.code)}") from None
    except (LookupError, ValueError):  # of the codec
        what = f"declares the encoding {declared!r:.60}, which cannot be read; save it as UTF-8"
        raise source.refuse("line 1", what) from None
    return top.children[0]
