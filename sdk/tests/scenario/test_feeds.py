"""Feeds: their rows, which arrivals take them, and what is refused before anything starts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from loadpilot import now, rand
from loadpilot.inputs.feeds import Feed, FeedError

if TYPE_CHECKING:
    from pathlib import Path

    from sdk.tests.conftest import Compile, Refuse

CSV = "name,city\nada,London\n\n'émile',\"Paris, 5e\"\n"
ROWS = [{"name": "ada", "city": "London"}, {"name": "'émile'", "city": "Paris, 5e"}]
SCENE = """
from loadpilot import feed

def pick(user):
    return next(user.carts)

class Base(VUser):
    users = feed("data/users.csv", order="shuffled")
    unused = feed([])

    def one(self):
        return next(self.users)

@scenario(mode="constant")
class Shop(Base):
    carts = feed([{"id": 1}, {"id": 2}, {"id": 3}], cycle=True)

    def on_start(self, client):
        self.name = next(self.users)["name"]

    @task
    def browse(self, client): client.get("/")

    @task
    def pay(self, client): client.post("/", json=[self.one(), pick(self)])

    @task
    def look(self, client): client.get("/look")

    def check_look(self, status, body): next(self.carts)
"""


def test_who_takes_rows_is_read_from_the_source(compile_text: Compile, tmp_path: Path) -> None:
    """Broken if an arrival that takes a row is not counted: two would get the same row."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "users.csv").write_text(CSV, encoding="utf-8")
    compiled = compile_text(SCENE)
    script = compiled.plan["script"]
    assert [task["name"] for task in compiled.plan["tasks"]] == ["browse", "pay", "look"]
    assert script["feeds"] == [
        {"name": "users", "rows": 2, "tasks": [1], "prepares": True, "shuffled": True},
        {"name": "carts", "rows": 3, "tasks": [1, 2], "cycles": True},
    ]
    assert compiled.files == ("data/users.csv", "scene.py")


@pytest.mark.parametrize(
    ("body", "tasks"),
    [
        ("data = client.get('/'); print(data)", [0]),
        ("client.get('/', json=[data for data in range(3)])", [0]),
        ("answer = client.get('/'); print(answer.data, client.get('/').data)", [0]),
        ("self.parse(client.get('/'))", [0]),
        ("me = self; client.get('/', json=next(me.data))", [0, 1]),
        ("client.get('/', json=next(Shop.data))", [0, 1]),
        ("client.get('/', json=next(type(self).data))", [0, 1]),
        ("client.get('/', json=next(super().data))", [0, 1]),
        ("client.get('/', json=(lambda user: next(user.data))(self))", [0, 1]),
        ("client.get('/', json=pick(client, self))", [0, 1]),
        ("client.get('/', json=self.other(client, self))", [0, 1]),
        ("client.get('/', json=[next(self.data) for _ in range(2)])", [0, 1]),
    ],
)
def test_another_thing_of_the_name_of_a_feed_takes_no_row(
    compile_text: Compile, body: str, tasks: list[int]
) -> None:
    """Broken if rows are skipped for arrivals that take none, or missing for those that do."""
    compiled = compile_text(f"""
        from loadpilot import feed

        def pick(client, user):
            return next(user.data)

        @scenario(mode="constant", compile=False)
        class Shop(VUser):
            data = feed([1, 2, 3])

            def parse(self, response):
                return response.data

            @staticmethod
            def other(client, user):
                return next(user.data)

            @task
            def taking(self, client): client.get("/", json=next(self.data))

            @task
            def browse(self, client): {body}
    """)
    (planned,) = compiled.plan["script"]["feeds"]
    assert planned["tasks"] == tasks


TAKING = """
from loadpilot import feed

@scenario(mode="constant")
class Shop(VUser):
    rows = feed({rows})

    @task
    def browse(self, client): client.post("/", json=next(self.rows))
"""


def test_rows_of_code_are_kept_beside_the_plan(compile_text: Compile) -> None:
    """Broken if code takes other rows than Python, or if the plan contains them all."""
    compiled = compile_text(TAKING.format(rows='[{"name": "\'é"}, [1, 2.5, None], "x"]'))
    code = compiled.plan["code"]
    assert code["feeds"] == [{"name": "rows", "rows": 3, "tasks": [0]}]
    rows = '[[{"name":"\'é"},[1,2.5,null],"x"]]'.encode()
    assert compiled.bodies == {code["rows"]["sha256"]: rows}
    assert code["rows"]["bytes"] == len(rows)


@pytest.mark.parametrize(
    "row", ["(1, 2)", "{1: 2}", "2**70", "float('inf')", "b'x'", "'\\ud800'", "[" * 21 + "]" * 21]
)
def test_rows_that_code_has_no_form_for_stay_in_python(compile_text: Compile, row: str) -> None:
    """Broken if a row has another value in code, or if the scenario is refused."""
    compiled = compile_text(TAKING.format(rows=f"[1, {row}]"))
    assert "script" in compiled.plan
    assert "a row of self.rows" in compiled.reasons[-1].what


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", CSV),
        ("rows.CSV", "\ufeff" + CSV.replace("\n", "\r\n")),
        ("rows.json", json.dumps(ROWS)),
        ("rows.ndjson", "\n".join(map(json.dumps, ROWS)) + "\n\n"),
    ],
)
def test_rows_are_read(tmp_path: Path, name: str, text: str) -> None:
    """Broken if the same data means something else in another form."""
    (tmp_path / name).write_bytes(text.encode())
    assert Feed(name, tmp_path, "here", cycle=False, order="file").rows == ROWS


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("none.csv", None, "there is no file "),
        ("rows.txt", b"a\n1\n", "the name must end in .csv, .json, .ndjson, .jsonl"),
        ("rows.csv", b"", "is empty"),
        ("rows.csv", b"a,b\n", "has no rows"),
        ("rows.csv", b"a,b\n1,2\n1,2,3\n", "line 3: has 3 fields, but the header has 2"),
        ("rows.csv", b'a,b\n"1\n2",2\n1\n', "line 4: has 1 field, but the header has 2"),
        ("rows.csv", b"a,\n1,2\n", "line 1: the header must name every column"),
        ("rows.csv", b"a,b,a\n1,2,3\n", "line 1: the header names 'a' twice"),
        ("rows.csv", b'a,b\n1,"2\n', "line 2, column 3: the quotes are not closed"),
        ("rows.csv", b'a,b\n1,"2" \n', "line 2, column 6: a comma or the end of the line must"),
        ("rows.csv", b"a,b\n1,2\n3,4\xe9\n", "line 3, column 4: is not UTF-8"),
        ("rows.csv", b'a,b\r\n1,2\r\n"3\r\n\0",4', "line 4, column 1: has a NUL character"),
        ("rows.json", b'{"a": 1}', "must be a list of rows, not dict"),
        ("rows.json", b"[]", "has no rows"),
        ("rows.json", b"[1,\n2", "line 2, column 2: is not JSON: Expecting ',' delim"),
        ("rows.json", b'\xef\xbb\xbf["\xc3\xa9\xff"]', "line 1, column 4: is not UTF-8"),
        ("rows.json", b'[1,\n"\xff"]', "line 2, column 2: is not UTF-8"),
        ("rows.json", b"[" * 100_000 + b"]" * 100_000, "has a row that is nested too deep"),
        ("rows.ndjson", b"1\n\n{\n", "line 3, column 2: is not JSON: Expecting property name"),
        ("rows.ndjson", b'"\xc3\xa9", 1\n', "line 1, column 4: is not JSON: Extra data"),
        ("rows.ndjson", b'["\\ud800\\ud800", x]\n', "line 1, column 18: is not JSON"),
        ("rows.ndjson", b"1\n\xff\n", "line 2, column 1: is not UTF-8"),
    ],
)
def test_a_wrong_file_is_refused_at_the_line_that_names_it(
    refuse_text: Refuse, tmp_path: Path, name: str, content: bytes | None, what: str
) -> None:
    """Broken if a run begins with rows that are missing, cut off or different from the file, or if
    an error does not name the place."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    (problem,) = refuse_text(taking(f"feed({name!r})"))
    assert problem.place.endswith("scene.py:6")
    assert problem.what.startswith(f"feed({name!r}): ")
    assert what in problem.what


def test_a_change_of_a_row_reaches_no_other_arrival(tmp_path: Path) -> None:
    """Broken if a nested dict or list of a row is the same object in two arrivals."""
    (tmp_path / "rows.json").write_text('[{"cart": {"items": [1]}}, [[1]]]', encoding="utf-8")
    for source in ("rows.json", [{"cart": {"items": [1]}}, [[1]]]):
        feed = Feed(source, tmp_path, "here")
        feed.row_index = lambda: 0
        next(feed)["cart"]["items"].append(2)
        assert next(feed) == {"cart": {"items": [1]}}
        feed.row_index = lambda: 1
        next(feed)[0].append(2)
        assert next(feed) == [[1]]


def test_a_row_that_nests_as_deep_as_json_can_stays_in_python(
    compile_text: Compile, tmp_path: Path
) -> None:
    """Broken if deep rows of a file are an internal error."""
    (tmp_path / "rows.json").write_text(f"[{'[' * 900}{']' * 900}]", encoding="utf-8")
    compiled = compile_text(TAKING.format(rows='"rows.json"'))
    assert "script" in compiled.plan
    assert compiled.reasons[-1].what == "a row of self.rows nests deeper than 20"


def taking(feed: str, in_task: str = "next(self.users)") -> str:
    return f"""
        from loadpilot import feed
        @scenario(mode="constant")
        class S(VUser):
            users = {feed}
            @task
            def t(self, client):
                client.get("/", json={in_task})
    """


@pytest.mark.parametrize(
    ("feed", "what"),
    [
        ("feed(7)", "feed('…'): takes a file or a list of rows, not int"),
        ("feed([])", "feed('…'): has no rows"),
        ("feed([1], order='random')", 'order must be "file" or "shuffled" (got \'random\')'),
        ("feed([1], cycle=1)", "cycle must be True or False (got 1)"),
        ("feed([1], unique=1)", "unique must be True or False (got 1)"),
        ("feed([1], unique=True, cycle=True)", "give cycle or unique, not both"),
        ("feed([1], when_used_up='end')", 'must be "cycle", "error" or "stop" (got \'end\')'),
        ("feed([1], cycle=True, when_used_up='stop')", "give cycle or when_used_up, not both"),
        ("feed([1], unique=True, when_used_up='stop')", "give unique or when_used_up, not both"),
        ("feed('../outside.csv')", "agents get files beside the scenario only"),
    ],
)
def test_a_wrong_feed_is_refused(refuse_text: Refuse, tmp_path: Path, feed: str, what: str) -> None:
    """Broken if an agent cannot get the rows, or if a misspelt word is taken for another."""
    (tmp_path.parent / "outside.csv").write_text("a\n1\n", encoding="utf-8")
    (problem,) = refuse_text(taking(feed))
    assert what in problem.what


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "flags"),
    [
        ("cycle=True", {"cycles": True}),
        ("when_used_up='cycle'", {"cycles": True}),
        ("unique=True", {"unique": True}),
        ("when_used_up='error'", {"unique": True}),
        ("when_used_up='stop'", {"unique": True, "stops": True}),
    ],
)
def test_what_happens_without_a_row_stands_in_the_plan(
    compile_text: Compile, setting: str, flags: dict[str, bool]
) -> None:
    """Broken if a run ends, continues or is refused in another way than the scenario says."""
    rows = f"[0] * 1_000_000, {setting}"
    (feed,) = compile_text(TAKING.format(rows=rows)).plan["code"]["feeds"]
    assert feed == {"name": "rows", "rows": 1_000_000, "tasks": [0], **flags}


def test_a_closed_loop_has_no_last_row(refuse_text: Refuse) -> None:
    """Broken if users that move to another agent take rows twice."""
    text = TAKING.replace('mode="constant"', 'users=3, duration="1s"')
    problems = refuse_text(text.format(rows="[1, 2], when_used_up='stop'"))
    assert any("must not be set in a closed loop" in problem.what for problem in problems)


def test_a_feed_that_is_no_attribute_is_refused(refuse_text: Refuse) -> None:
    """Broken if an uncounted arrival can take rows."""
    text = """
        from loadpilot import feed
        USERS = feed([1, 2])

        @scenario(mode="constant")
        class S(VUser):
            @task
            def t(self, client): client.get("/", json=next(USERS))
    """
    (problem,) = refuse_text(text)
    assert problem.place.endswith("scene.py:4")
    assert "must be an attribute of the scenario" in problem.what


def test_outside_of_a_run_there_is_no_row_and_nothing_to_draw(tmp_path: Path) -> None:
    """Broken if a scenario can draw values during its import, where no seed fixes them."""
    with pytest.raises(FeedError, match="inside a task, on_start or on_stop"):
        next(Feed([1], tmp_path, "here", cycle=False, order="file"))
    for draw in (rand.float, rand.uuid, now):
        with pytest.raises(RuntimeError, match="while a run plays them"):
            draw()
