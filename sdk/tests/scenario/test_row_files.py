"""Files of rows: the native reader compared with Python's own readers, and memory that does not
grow."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from loadpilot import _native
from loadpilot.cli.hooks import drop_row_files
from loadpilot.inputs import random as rand
from loadpilot.inputs.feeds import HELD_BYTES_MAX, Feed, FeedError, FileRows
from loadpilot.play.scenario import bind_feeds

if TYPE_CHECKING:
    from pathlib import Path

    from sdk.tests.conftest import Compile

CASES = 4_000
PIECES = ["a", "é", "1", " ", ",", ",", '"', '""', '"x"', "\n", "\n", "\r\n", "\r", "b,c", '"y,\n"']


def by_python(text: str) -> list[dict[str, str]]:
    """Read CSV with Python's reader; raises ValueError."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        records = [fields for fields in reader if fields]
    except csv.Error as error:
        raise ValueError(str(error)) from None
    header, *rows = records or [[""]]
    names = [name.strip() for name in header]
    if not all(names) or len(set(names)) < len(names) or not rows:
        raise ValueError("header")
    return [dict(zip(names, fields, strict=True)) for fields in rows]


def table(dice: random.Random) -> str:
    """Write a table in which a field is rarely wrong."""
    fields = ["1", "é", "", " b ", '"x"', '"a,b"', '"a""b"', '"y\n"', '"\r"', 'a"b', *['"z"'] * 9]
    width = dice.randint(1, 3)
    widths = [width if dice.random() < 0.95 else width + 1 for _ in range(dice.randint(1, 6))]
    records = [["p", '"q"', " r "][:width], *(dice.choices(fields, k=one) for one in widths)]
    ends = dice.choices(["\n", "\r\n", "\r", "\n\n", "\r\n\n"], k=len(records) - 1)
    lines = [",".join(record) for record in records]
    text = "".join(map("".join, zip(lines, [*ends, dice.choice(["", "\n"])], strict=True)))
    return dice.choice(["\ufeff", "", ""]) + text + dice.choice(["", "", "", '"', '"" '])


@pytest.mark.slow
def test_csv_is_read_as_python_reads_it(tmp_path: Path) -> None:
    """Broken if a CSV file has other rows here than in Python, or if only one of the two readers
    refuses it: 4000 random files, and each row on its own. 2 s."""
    dice, path, read = random.Random(46), tmp_path / "rows.csv", 0  # noqa: S311
    for _ in range(CASES):
        text = "".join(dice.choices(PIECES, k=dice.randint(0, 12)))
        if dice.random() < 0.7:
            text = table(dice)
        path.write_text(text, encoding="utf-8", newline="")
        try:
            expected = by_python(text)
        except ValueError:
            with pytest.raises(ValueError, match=r"^(line|is empty|has no rows)"):
                _native.RowFile(path, "csv")
            continue
        rows = FileRows(_native.RowFile(path, "csv"))
        assert list(rows) == expected, text
        read += 1
    assert CASES // 4 < read < CASES * 3 // 4


def test_json_lines_are_read_as_python_reads_them(tmp_path: Path) -> None:
    """Broken if a value of JSON lines is another one here than in Python. 2 s."""
    dice, path, read = random.Random(47), tmp_path / "rows.jsonl", 0  # noqa: S311

    def value(depth: int) -> Any:
        kind = dice.randrange(9 if depth < 4 else 7)
        flat = [None, True, dice.randint(-(2**70), 2**70), dice.uniform(-1e300, 1e300)]
        flat += ["é\u2028\n\0", "\ud800", float("inf")]
        if kind < len(flat):
            return flat[kind]
        some = [value(depth + 1) for _ in range(dice.randrange(4))]
        return some if kind == len(flat) else dict(zip("abcd", some, strict=False))

    for _ in range(200):
        rows = [value(0) for _ in range(dice.randint(1, 20))]
        lines = [json.dumps(row, ensure_ascii=dice.random() < 0.5) for row in rows]
        text = dice.choice(["\n", "\r\n", "\n \n\u00a0\n"]).join(lines)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            text.encode()
        except UnicodeEncodeError:
            with pytest.raises(ValueError, match=r"^line \d+, column \d+: is not UTF-8"):
                _native.RowFile(path, "json_lines")
            continue
        read += 1
        file = _native.RowFile(path, "json_lines")
        assert [repr(row) for row in FileRows(file)] == [repr(row) for row in rows]
    assert read > 100


SCENE = """
from loadpilot import feed

@scenario(mode="constant"{more})
class Shop(VUser):
    users = feed("data/{file}")

    @task
    def browse(self, client): client.post("/", json=next(self.users))
"""


@pytest.mark.parametrize("more", ["", ", compile=False"], ids=["code", "Python"])
@pytest.mark.parametrize("file", ["rows.csv", "rows.JSONL"])
def test_rows_of_a_large_file_stay_there(
    compile_text: Compile, tmp_path: Path, file: str, more: str
) -> None:
    """Broken if the plan or its objects in memory contain the rows of a large file, or if the store
    does not get it. 1 s."""
    path = tmp_path / "data" / file
    path.parent.mkdir()
    rows = 30_000
    lines = ['{"a": 1.5, "b": [null]}'] * rows if "J" in file else ["a,b", *["1,é"] * rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    content = path.read_bytes()
    assert len(content) < HELD_BYTES_MAX or "J" in file
    path.write_bytes(content + b"\n" * HELD_BYTES_MAX)
    compiled = compile_text(SCENE.format(file=file, more=more))
    kind = "script" if more else "code"
    (planned,) = compiled.plan[kind]["feeds"]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert planned["rows"] == rows
    assert planned["file"] == {
        "name": f"data/{file}",
        "form": "json_lines" if "J" in file else "csv",
        "content": {"sha256": digest, "bytes": path.stat().st_size},
    }
    assert compiled.beside()[digest] == path
    assert sum(map(len, compiled.bodies.values())) < 10_000
    assert not any("rows" in name for name in compiled.files)


def test_a_value_without_a_form_in_code_is_seen_in_a_large_file(
    compile_text: Compile, tmp_path: Path
) -> None:
    """Broken if compiled code gets a row that it cannot represent, deep in a file. 1 s."""
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "rows.jsonl"
    path.write_text("[1]\n" * 100_000 + f"[{2**63}]\n", encoding="utf-8")
    compiled = compile_text(SCENE.format(file="rows.jsonl", more=""))
    assert "script" in compiled.plan
    what = "a row of self.users uses a whole number of more than 64 bits"
    assert compiled.reasons[-1].what == what


PEAK = """
import sys
from loadpilot.cli import main
main(["run", sys.argv[1], "--dry-run"])
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print("PEAK", status["VmHWM"].split()[0])
"""


def peak_kib(folder: Path, rows: int) -> int:
    """The maximum memory of a command that compiles a scenario with this number of rows."""
    path = folder / "data" / "rows.csv"
    lines = (f'{n},"user, {n}",{"x" * 200}\n' for n in range(rows))
    path.write_text("id,name,padding\n" + "".join(lines), encoding="utf-8")
    argv = [sys.executable, "-c", PEAK, str(folder / "scene.py")]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, cwd=folder)
    return int(done.stdout.split("PEAK")[1])


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Broken if the command keeps the rows of a file in memory: it may use a tenth more memory for
    200,000 rows, 45 MB, than for 2,000. 3 s."""
    (tmp_path / "data").mkdir()
    head = "from loadpilot import VUser, scenario, task\n"
    text = head + SCENE.format(file="rows.csv", more="")
    (tmp_path / "scene.py").write_text(text, encoding="utf-8")
    few, many = (peak_kib(tmp_path, rows) for rows in (2_000, 200_000))
    assert many < few * 1.1, (few, many)


def test_a_teardown_without_the_file_fails_only_where_a_row_is_taken(tmp_path: Path) -> None:
    """Broken if another command cannot play a teardown because its bundle lacks a file of rows, or
    if it takes rows that are not there. 1 s."""

    class Shop:
        users = Feed("rows.csv", tmp_path, "here")
        carts = Feed([1, 2], tmp_path, "here")

    planned = [{"name": "users", "rows": 5, "file": {}}, {"name": "carts", "rows": 2}]
    drop_row_files(Shop, planned)
    bind_feeds(Shop, [(feed["name"], feed["rows"], None) for feed in planned])
    rand.detach()
    Shop.users.row_index = Shop.carts.row_index = lambda: 1
    assert next(Shop.carts) == 2
    with pytest.raises(FeedError, match="not kept for a teardown"):
        next(Shop.users)


def test_a_file_that_changes_is_not_read_on(tmp_path: Path) -> None:
    """Broken if an arrival gets a row that was not checked."""
    path = tmp_path / "rows.csv"
    path.write_text("a\n" + "x\n" * 1000, encoding="utf-8")
    rows = FileRows(_native.RowFile(path, "csv"))
    assert rows[0] == {"a": "x"}
    with path.open("a", encoding="utf-8") as file:
        file.write('"\n')
    with pytest.raises(Exception, match="the file of rows was changed"):
        rows[999]
