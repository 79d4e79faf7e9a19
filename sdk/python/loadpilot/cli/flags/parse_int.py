"""Whole numbers in flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...problem import rule

if TYPE_CHECKING:
    from ...problem import Problem


def parse_int(place: str, text: str, least: int, most: int, problems: list[Problem]) -> int:
    """Read a whole number; an invalid one adds a problem and reads as ``least``."""
    digits = text.strip()
    is_valid = digits.isascii() and digits.isdigit() and len(digits) <= 20
    if is_valid and least <= int(digits) <= most:
        return int(digits)
    problems.append(rule(place, f"must be a whole number from {least} to {most}", text))
    return least
