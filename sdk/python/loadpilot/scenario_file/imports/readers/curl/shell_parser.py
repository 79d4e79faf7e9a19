"""Words of shell commands, with quoting, line continuations and variables; nothing is executed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...imported_scenario import Text, Variable, joined

if TYPE_CHECKING:
    from ...source import Source

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
BRACED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
NUMBERED = re.compile(r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})")
OPERATORS = ("&&", "||", ";;", "|&", "\n", ";", "|", "&", "(", ")")
REDIRECTION = re.compile(r"\d*(?:>>|>\||>&|<&|<<<|<<-|<<|>|<|&>)")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command."""

    text: Text
    place: str
    """Line and column at which it begins."""


@dataclass(slots=True)
class _Reader:
    source: Source
    text: str
    at: int = 0

    def place(self, at: int) -> str:
        """Name a place in the text."""
        line = self.text.count("\n", 0, at) + 1
        return f"line {line}, column {at - self.text.rfind(chr(10), 0, at)}"

    def commands(self) -> list[list[Word]]:
        """Split the text into commands, and each command into words."""
        commands: list[list[Word]] = [[]]
        is_target = is_document = False
        documents: list[str] = []
        """The ends of here-documents that begin after this line."""
        while self._skip_blanks():
            operator = next((one for one in OPERATORS if self.text.startswith(one, self.at)), None)
            redirection = REDIRECTION.match(self.text, self.at)
            if redirection is not None:
                self.at = redirection.end()
                is_target, is_document = True, redirection[0].endswith(("<<", "<<-"))
            elif operator is not None:
                self.at += len(operator)
                commands.append([])
                is_target = False
                if operator == "\n":
                    self._skip_documents(documents)
            else:
                begin = self.at
                word = Word(self._word(), self.place(begin))
                if not is_target:
                    commands[-1].append(word)
                elif is_document:
                    documents.append("".join(one for one in word.text if isinstance(one, str)))
                is_target = is_document = False
        return [one for one in commands if one]

    def _skip_documents(self, ends: list[str]) -> None:
        """Skip here-documents: their lines are no commands."""
        while ends:
            end = ends.pop(0)
            found = re.compile(rf"^\t*{re.escape(end)}$", re.MULTILINE).search(self.text, self.at)
            self.at = found.end() if found else len(self.text)

    def _skip_blanks(self) -> bool:
        """Skip blanks, continued lines and comments; returns whether text follows."""
        while self.at < len(self.text):
            if self.text[self.at] in " \t\r":
                self.at += 1
            elif self.text.startswith(("\\\n", "\\\r\n"), self.at):
                self.at = self.text.index("\n", self.at) + 1
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return True
        return False

    def _word(self) -> Text:
        pieces: list[Text | str | Variable] = []
        while self.at < len(self.text):
            c = self.text[self.at]
            if c in " \t\r\n;|&()<>":
                break
            self.at += 1
            if c == "'":
                pieces.append(self._until("'", self.at - 1))
            elif c == '"':
                pieces.append(self._double(self.at - 1))
            elif c == "\\":
                pieces.append(self._escaped())
            elif c == "$" and self.text.startswith("'", self.at):
                self.at += 1
                pieces.append(self._ansi(self.at - 2))
            elif c in "$`":
                pieces.append(self._variable(c))
            else:
                end = self.at
                while end < len(self.text) and self.text[end] not in " \t\r\n;|&()<>'\"\\$`":
                    end += 1
                pieces.append(c + self.text[self.at : end])
                self.at = end
        return joined(*pieces)

    def _escaped(self) -> str:
        """Take the letter that a backslash outside of quotes escapes."""
        if self.text.startswith(("\n", "\r\n"), self.at):
            self.at = self.text.index("\n", self.at) + 1
            return ""
        self.at += 1
        return self.text[self.at - 1 : self.at]

    def _until(self, mark: str, begin: int) -> str:
        end = self.text.find(mark, self.at)
        if end < 0:
            raise self.source.refuse(self.place(begin), "has a quote that is not closed")
        found, self.at = self.text[self.at : end], end + 1
        return found

    def _double(self, begin: int) -> Text:
        pieces: list[Text | str | Variable] = []
        while True:
            if self.at >= len(self.text):
                raise self.source.refuse(self.place(begin), "has a quote that is not closed")
            c = self.text[self.at]
            self.at += 1
            if c == '"':
                return joined(*pieces)
            if c == "\\" and self.text[self.at : self.at + 1] in {"$", "`", '"', "\\"}:
                pieces.append(self.text[self.at])
                self.at += 1
            elif c == "\\" and self.text.startswith("\n", self.at):
                self.at += 1
            elif c in "$`":
                pieces.append(self._variable(c))
            else:
                end = self.at
                while end < len(self.text) and self.text[end] not in '"\\$`':
                    end += 1
                pieces.append(c + self.text[self.at : end])
                self.at = end

    def _ansi(self, begin: int) -> str:
        """Read ``$'…'``, in which a backslash names other letters."""
        found: list[str] = []
        while True:
            if self.at >= len(self.text):
                raise self.source.refuse(self.place(begin), "has a quote that is not closed")
            c = self.text[self.at]
            self.at += 1
            if c == "'":
                return "".join(found)
            if c != "\\":
                found.append(c)
                continue
            number = NUMBERED.match(self.text, self.at)
            if number is None:
                letter = self.text[self.at : self.at + 1]
                found.append(ESCAPES.get(letter, letter))
                self.at += 1
                continue
            self.at = number.end()
            digits = number[1] or number[2] or number[3]
            code = int(digits, 16) if digits else int(number[4], 8)
            is_letter = code <= 0x10FFFF and not 0xD800 <= code < 0xE000
            found.append(chr(code) if is_letter else "\ufffd")

    def _variable(self, c: str) -> Text | str | Variable:
        """Read a variable of the shell; a command in its place is refused."""
        found = BRACED.match(self.text, self.at) or NAME.match(self.text, self.at)
        if c == "$" and found is not None:
            self.at = found.end()
            return Variable(found[found.lastindex or 0])
        if c == "`" or self.text.startswith(("(", "{"), self.at):
            place = self.place(self.at - 1)
            self.source.wrong(place, "must be a text or a variable, since nothing is executed", c)
        return c


def commands_of(source: Source) -> list[list[Word]]:
    """Read the commands of a file; raises :class:`Refused` for a quote that is not closed."""
    return _Reader(source, source.text()).commands()
