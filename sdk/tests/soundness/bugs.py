"""Bugs that a compiler could have, as changes of the code that it makes.

Each takes one piece of code and returns the output of a broken compiler, or None when that would be
the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Bug = "Callable[[Any], Any]"


def _inside(kind: str, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Change the content of pieces of this kind."""

    def bug(piece: Any) -> Any:
        if isinstance(piece, dict) and kind in piece and len(piece) == 1:
            changed = change(piece[kind])
            return None if changed is None else changed
        return None

    return bug


def _field(kind: str, field: str, swaps: dict[Any, Any]) -> Callable[[Any], Any]:
    """Change the value of a field of pieces of this kind."""

    def change(piece: Any) -> Any:
        if piece.get(field) not in swaps:
            return None
        return {kind: piece | {field: swaps[piece[field]]}}

    return _inside(kind, change)


def _compares(swaps: dict[str, str]) -> Callable[[Any], Any]:
    """Change how values are compared."""

    def change(piece: Any) -> Any:
        if not any(one["how"] in swaps for one in piece["others"]):
            return None
        others = [one | {"how": swaps.get(one["how"], one["how"])} for one in piece["others"]]
        return {"compare": piece | {"others": others}}

    return _inside("compare", change)


def _last_dropped(piece: Any) -> Any:
    return piece[:-1] if len(piece) > 1 else None


NOTHING = {"do": {"literal": "none"}}
BUGS: dict[str, Callable[[Any], Any]] = {
    "less is at most": _compares({"less": "at_most", "more": "at_least"}),
    "at most is less": _compares({"at_most": "less", "at_least": "more"}),
    "equal is unequal": _compares({"equal": "unequal"}),
    "in is not in": _compares({"in": "not_in"}),
    "is is equal": _compares({"is": "equal", "is_not": "unequal"}),
    "chains end early": _inside(
        "compare",
        lambda p: {"compare": p | {"others": p["others"][:1]}} if len(p["others"]) > 1 else None,
    ),
    "and is or": _inside("and", lambda parts: {"or": parts}),
    "or returns a bool": _inside(
        "or", lambda parts: {"call": {"function": "bool", "to": [{"or": parts}], "line": 1}}
    ),
    "not is lost": _inside("not", lambda part: part),
    "an assertion is lost": _inside("assert", lambda _: NOTHING),
    "the words of an assertion are lost": _inside(
        "assert",
        lambda p: {"assert": {k: v for k, v in p.items() if k != "says"}} if "says" in p else None,
    ),
    "what is raised is lost": _inside("raise", lambda _: NOTHING),
    "another error is raised": _inside(
        "raise",
        lambda p: {"raise": p | {"kind": "Exception"}} if p["kind"] != "Exception" else None,
    ),
    "the words of what is raised are lost": _inside(
        "raise",
        lambda p: {"raise": {k: v for k, v in p.items() if k != "says"}} if "says" in p else None,
    ),
    "branches are swapped": _inside(
        "if",
        lambda p: (
            {
                "if": {
                    "ways": [p["ways"][0] | {"does": p["otherwise"]}, *p["ways"][1:]],
                    "otherwise": p["ways"][0]["does"],
                }
            }
            if p.get("otherwise")
            else None
        ),
    ),
    "elif is lost": _inside(
        "if", lambda p: {"if": p | {"ways": p["ways"][:1]}} if len(p["ways"]) > 1 else None
    ),
    "int for str": _field("call", "function", {"str": "int"}),
    "repr for str": _inside(
        "join",
        lambda parts: {
            "join": [
                part
                if "literal" in part
                else {"call": {"function": "repr", "to": [part], "line": 1}}
                for part in parts
            ]
        },
    ),
    "minus for plus": _field("binary", "operator", {"add": "subtract"}),
    "modulo for floor division": _field("binary", "operator", {"floor_divide": "modulo"}),
    "get forgets its default": _inside(
        "call",
        lambda p: (
            {"call": p | {"to": p["to"][:2]}}
            if p["function"] == "get" and len(p["to"]) > 2
            else None
        ),
    ),
    "get for an item": _inside(
        "item",
        lambda p: {"call": {"function": "get", "to": [p["of"], p["key"]], "line": p["line"]}},
    ),
    "errors are a line late": _inside("item", lambda p: {"item": p | {"line": p["line"] + 1}}),
    "a loop counts once too often": _inside(
        "repeat", lambda p: {"repeat": p | {"times": p["times"] + 1}}
    ),
    "break for continue": lambda piece: "break" if piece == "continue" else None,
    "redirects are followed anyway": _inside(
        "send", lambda p: None if p.get("follows") else {"send": p | {"follows": True}}
    ),
    "a header is lost": _inside(
        "send",
        lambda p: (
            {"send": p | {"given": [g for g in p["given"] if g["what"] != "headers"]}}
            if any(g["what"] == "headers" for g in p.get("given", []))
            else None
        ),
    ),
    "json for data": _field("", "what", {}),
    "a time-out is lost": _inside(
        "send",
        lambda p: (
            {"send": {k: v for k, v in p.items() if k != "timeout_us"}}
            if "timeout_us" in p
            else None
        ),
    ),
    "rests are in milliseconds": _inside("sleep", lambda p: {"sleep": {"us": p["us"] // 1000}}),
    "raise_for_status is lost": _inside("raise_for_status", lambda _: NOTHING),
    "what is kept is lost": _inside("keep", lambda p: {"do": p["value"]}),
    "floats are whole": _inside(
        "literal",
        lambda p: (
            {"literal": {"int": int(float(p["float"]))}}
            if isinstance(p, dict) and "float" in p
            else None
        ),
    ),
    "bools are numbers": _inside(
        "literal",
        lambda p: (
            {"literal": {"int": int(p["bool"])}} if isinstance(p, dict) and "bool" in p else None
        ),
    ),
    "a bool is no int": _inside(
        "is_instance",
        lambda p: {"is_instance": p | {"kinds": ["float"]}} if p["kinds"] == ["int"] else None,
    ),
    "elapsed is the status": _field("answer", "part", {"elapsed_ms": "status_code"}),
    "a division is whole": _field("binary", "operator", {"divide": "floor_divide"}),
    "a UUID is a number": _field("call", "function", {"rand_uuid": "rand_float"}),
    "a text is drawn with a letter more": _inside(
        "call",
        lambda p: (
            {"call": p | {"to": [{"literal": {"int": 4}}]}}
            if p["function"] == "rand_text"
            else None
        ),
    ),
    "a draw is left out": _inside(
        "call",
        lambda p: {"literal": {"float": "0.5"}} if p["function"] == "rand_float" else None,
    ),
    "the time is a number": _field("call", "function", {"now_isoformat": "now_timestamp"}),
    "a row is lost": _inside("row", lambda _: {"literal": "none"}),
    "a rest is not drawn": _inside(
        "rest",
        lambda p: {"rest": p | {"times": p["times"][:1]}} if len(p["times"]) > 1 else None,
    ),
    "a wait is a sleep": _inside(
        "rest",
        lambda p: {"rest": p | {"how": "time_sleep", "times": p["times"][:1]}},
    ),
    "a step is lost": _inside(
        "send",
        lambda p: {"send": {k: v for k, v in p.items() if k != "steps"}} if "steps" in p else None,
    ),
    "a batch loses its last request": _inside(
        "batch",
        lambda p: (
            {"batch": p | {"requests": {"list": p["requests"]["list"][:-1]}}}
            if "list" in p["requests"]
            else None
        ),
    ),
    "the other answer is picked": _inside("pick", lambda p: {"pick": p | {"place": -1}}),
    "a batch has no steps": _inside(
        "batch",
        lambda p: {"batch": {k: v for k, v in p.items() if k != "steps"}} if "steps" in p else None,
    ),
    "what is called does nothing": _inside("within", lambda p: {"within": p | {"does": []}}),
    "the line of a call is lost": _inside("within", lambda p: {"within": p | {"line": 1}}),
    "returns are lost": lambda piece: NOTHING if piece == "return" else None,
    "a while goes round once": _inside(
        "while",
        lambda p: (
            {"if": {"ways": [{"test": p["test"], "does": p["does"]}]}}
            if "break" not in str(p) and "continue" not in str(p)
            else None
        ),
    ),
    "a comprehension takes everything": _inside(
        "comprehension",
        lambda p: (
            {"comprehension": {k: v for k, v in p.items() if k != "test"}} if "test" in p else None
        ),
    ),
    "a slice begins at once": _inside(
        "slice", lambda p: {"slice": p | {"from": {"literal": "none"}}}
    ),
    "zeros are blanks": _inside(
        "format", lambda p: {"format": p | {"zeros": False}} if p["zeros"] else None
    ),
    "a digit is lost": _inside(
        "format", lambda p: {"format": p | {"digits": 1}} if p.get("digits") == 2 else None
    ),
    "upper is lower": _field("call", "function", {"upper": "lower"}),
    "strip is on one side": _field("call", "function", {"strip": "lstrip"}),
    "starts are ends": _field("call", "function", {"startswith": "endswith"}),
    "join is split": _field("call", "function", {"split": "strip"}),
    "what is replaced is kept": _inside(
        "call",
        lambda p: (
            {"call": p | {"to": [p["to"][0], p["to"][1], p["to"][1]]}}
            if p["function"] == "replace"
            else None
        ),
    ),
    "an amount is lost": _inside(
        "measure",
        lambda p: (
            {"measure": {k: v for k, v in p.items() if k != "value"}} if "value" in p else None
        ),
    ),
    "a counter is a rate": _field("measure", "kind", {"counter": "rate"}),
    "the end of a list is lost": _inside(
        "list", lambda parts: {"list": parts[:-1]} if len(parts) > 1 else None
    ),
}
BUGS["json for data"] = lambda piece: (
    piece | {"what": "json"} if isinstance(piece, dict) and piece.get("what") == "data" else None
)


def broken(piece: Any, bug: Callable[[Any], Any]) -> tuple[Any, int]:
    """Return the code that a compiler with this bug would make, and the number of changed
    places."""
    changed = bug(piece)
    if changed is not None:
        return changed, 1
    if isinstance(piece, dict):
        made = {key: broken(value, bug) for key, value in piece.items()}
        return {key: one for key, (one, _) in made.items()}, sum(n for _, n in made.values())
    if isinstance(piece, list):
        parts = [broken(value, bug) for value in piece]
        return [one for one, _ in parts], sum(n for _, n in parts)
    return piece, 0
