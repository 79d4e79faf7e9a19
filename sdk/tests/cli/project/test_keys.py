"""Several writers of a file of keys at once, as processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadpilot.local.keys.key_file import read_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMAND = Path(sys.executable).with_name("loadpilot")
WRITERS = 8
"""Number of processes that change the file at a time."""


def at_once(file: Path, commands: Sequence[Sequence[str]]) -> list[str]:
    """Runs `loadpilot keys` several times at once; returns what each printed. Meanwhile the file is
    read again and again: a reader must never find it in part."""
    begun = [
        subprocess.Popen(
            [str(COMMAND), "keys", *words, "--file", str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in commands
    ]
    while any(one.poll() is None for one in begun):
        read_keys(file)
    printed = [one.communicate() for one in begun]
    assert [one.returncode for one in begun] == [0] * len(commands), printed
    return [text for text, _ in printed]


@pytest.mark.slow
def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Broken if two writers read the same keys and the later one drops the other's, or if a reader
    can find a file that is written in part.

    Costs 8 s.
    """
    file = tmp_path / "keys.json"
    at_init = ("init", "--tenant", "shop")
    subprocess.run(
        [str(COMMAND), "keys", *at_init, "--file", str(file)], check=True, capture_output=True
    )
    names = [f"ci-{number}" for number in range(WRITERS)]
    texts = at_once(file, [("create", "--name", name, "--tenant", "shop") for name in names])
    stored = {one.name: one for one in read_keys(file)}
    assert stored.keys() == {"admin", *names}
    for name, text in zip(names, texts, strict=True):
        assert stored[name].is_shown_by(text.strip()), name
    # Half of them are revoked while as many others are created.
    later = [f"later-{number}" for number in range(WRITERS // 2)]
    revoked = names[: WRITERS // 2]
    mixed = [("revoke", name) for name in revoked]
    mixed += [("create", "--name", name, "--tenant", "shop") for name in later]
    at_once(file, mixed)
    stored = {one.name: one for one in read_keys(file)}
    assert stored.keys() == {"admin", *names, *later}
    assert {name for name, one in stored.items() if one.revoked is not None} == set(revoked)
    assert len(json.loads(file.read_text(encoding="utf-8"))["keys"]) == 1 + WRITERS + len(later)
    assert file.stat().st_mode & 0o777 == 0o600


def test_only_one_writer_creates_the_file(tmp_path: Path) -> None:
    """Broken if two that create the file at once both succeed: the first key would be lost.

    Costs 3 s.
    """
    file = tmp_path / "keys.json"
    begun = [
        subprocess.Popen(
            [str(COMMAND), "keys", "init", "--tenant", "shop", "--file", str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(WRITERS // 2)
    ]
    printed = [one.communicate() for one in begun]
    codes = [one.returncode for one in begun]
    assert sorted(codes) == [0] + [2] * (len(codes) - 1), printed
    (text,) = [text for text, _ in printed if text]
    (key,) = read_keys(file)
    assert key.is_shown_by(text.strip())
