"""Reads scripts of k6, and archives of ``k6 archive``; nothing is executed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...imported_scenario import Imported, Task, UserType
from ...names import class_name, class_of_file, method_name
from .archive import is_archive, read_archive
from .javascript import FUNCTIONS, Code, Script, Unknown
from .options import CHECKS_RATE, DEFAULT, Options
from .statements import Statements

if TYPE_CHECKING:
    from ...source import Source

HOOKS = {"setup": "@setup", "teardown": "@teardown", "handleSummary": "`loadpilot report`"}
SENDS = re.compile(r"https?\.(?:asyncRequest|batch|del|get|head|options|patch|post|put|request)")
ENDS = "a request without a response ends the iteration without its later sleeps; k6 goes on"


def read_k6(source: Source) -> Imported:
    """Read the functions that users run, and the options."""
    imported = Imported("import k6", source.name, keeps_types=True)
    stored: dict[str, Any] = {}
    if is_archive(source.content):
        text, stored = read_archive(source)
    else:
        text = source.text()
    script = Script(source, imported)
    reader = _Module(script)
    root = script.parse(text)
    reader.read(root)
    options = {name: one for name, one in stored.items() if one is not None} or reader.options
    loads = Options(options, source, reader.options_place).loads()
    script.rates.has_total = any(CHECKS_RATE in one.get("thresholds", ()) for _, _, one in loads)
    if len(loads) > 1 and "setup" in reader.functions:
        what = "scenarios that run together cannot have @setup: run one with --scenario"
        source.note(reader.functions["setup"].place, what)
    for name, function, settings in loads:
        body = reader.functions.get(function)
        if body is None:
            what = f"has no function {function[:60]!r} that a user runs"
            raise source.refuse("", what if function != DEFAULT else "exports no default function")
        task = Task(method_name(name or "journey"))
        statements = Statements(script, reader.functions, task)
        statements.function(body)
        if CHECKS_RATE in settings.get("thresholds", ()) and not any(
            one.checks for one in task.requests
        ):
            del settings["thresholds"][CHECKS_RATE]
            if not settings["thresholds"]:
                del settings["thresholds"]
            source.note(
                reader.options_place, "the threshold 'checks' is not carried over: no check is"
            )
        own = class_name(name, "Users") if name else class_of_file(source.name, "Script")
        imported.types.append(UserType(own, [task], settings))
    _note_unsent(root)
    source.note("", "k6 follows redirects by itself: add follow_redirects=True where that matters")
    steps = [step for users in imported.types for task in users.tasks for step in task.steps]
    if any(step.pause_after_s or any(one.pause_s for one in step.requests) for step in steps):
        source.note("", ENDS)
    return imported


def _note_unsent(root: Code) -> None:
    """Note each call that sends a request and that the scenario does not have."""
    pending = [root]
    while pending:
        one = pending.pop()
        name, function = one["name"], one["function"]
        if name is not None and name.text in HOOKS:
            continue
        if function is not None and SENDS.fullmatch(function.text):
            if one.place not in one.script.sent:
                one.note(f"{one.snippet!r} is not carried over: nothing that is read sends it")
            continue
        pending += reversed(list(one))


class _Module:
    """The top level of a script: constants, functions and options."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.functions: dict[str, Code] = {}
        self.options: dict[str, Any] = {}
        self.options_place = ""

    def read(self, root: Code) -> None:
        """Read all statements; imports, comments and empty ones need no words."""
        for one in root:
            if one.kind in {"import_statement", "empty_statement", "hash_bang_line"}:
                continue
            if one.kind == "export_statement":
                self._export(one)
            elif one.kind in {"lexical_declaration", "variable_declaration"}:
                self._constants(one)
            elif one.kind == "function_declaration":
                self._function(one)
            else:
                one.note(f"{one.snippet!r} is left out: it is no declaration")

    def _export(self, code: Code) -> None:
        declaration, value = code["declaration"], code["value"]
        if value is not None and value.kind in FUNCTIONS:
            self.functions[DEFAULT] = value
        elif value is not None and value.kind == "identifier":
            if value.text in self.functions:
                self.functions[DEFAULT] = self.functions[value.text]
        elif declaration is None:
            code.note(f"{code.snippet!r} is left out")
        elif declaration.kind == "function_declaration":
            is_default = any(one.type == "default" for one in code.node.children)
            self._function(declaration, is_default=is_default)
        else:
            self._constants(declaration)

    def _function(self, code: Code, *, is_default: bool = False) -> None:
        name = code["name"]
        word = name.text if name is not None else DEFAULT
        if word in HOOKS:
            code.note(f"{word}() is not carried over: use {HOOKS[word]}")
        self.functions[word] = code
        if is_default:
            self.functions[DEFAULT] = code

    def _constants(self, code: Code) -> None:
        for one in code:
            name, value = one["name"], one["value"]
            if name is None or value is None:
                continue
            if value.kind in FUNCTIONS:
                self.functions[name.text] = value
                continue
            found = self.script.value(value)
            if name.text == "options":
                self.options_place = one.place
                self.options = _data(found) if isinstance(found, dict) else {}
                if not isinstance(found, dict):
                    one.note("the options are only known when the script runs")
            elif isinstance(found, Unknown):
                one.note(f"{one.snippet!r} is only known when the script runs")
            else:
                self.script.names[name.text] = found


def _data(value: Any) -> Any:
    """Return options as data; a value with variables, or unknown, becomes its text."""
    if isinstance(value, dict):
        return {name: _data(one) for name, one in value.items() if not isinstance(one, Unknown)}
    if isinstance(value, list):
        return [_data(one) for one in value if not isinstance(one, Unknown)]
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return "a value that is only known when the script runs"
