"""Bodies from files and in other forms: what the plan contains, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from loadpilot.compile.plan import compile_scenario
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.inputs import files
from loadpilot.problem import Refused
from loadpilot.scenario_file.load import choose, load

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile, Reasons, Refuse

BYTES = bytes(range(256))
SCENE = """
    @scenario(mode="constant")
    class S(VUser):
        @task
        def t(self, client):
            {}
"""


def steps_of(compiled: Any) -> list[dict[str, Any]]:
    (task,) = compiled.plan["tasks"]
    steps: list[dict[str, Any]] = task["steps"]
    return steps


def sent(step: dict[str, Any]) -> bytes:
    match step["body"]:
        case {"text": text}:
            return str(text).encode()
        case {"base64": text}:
            return base64.b64decode(text)
        case other:
            raise AssertionError(other)


def types_of(step: dict[str, Any]) -> list[str]:
    headers = step.get("headers", [])
    return [h["value"] for h in headers if h["name"].lower() == "content-type"]


IMPORTS = {
    "from loadpilot import file": "file",
    "from loadpilot import file as body": "body",
    "import loadpilot": "loadpilot.file",
    "import loadpilot as lp": "lp.file",
    "import loadpilot\n    import loadpilot.infer": "loadpilot.file",
}


@pytest.mark.parametrize("line", IMPORTS)
@pytest.mark.parametrize("constant", [False, True])
def test_a_file_is_sent_as_it_is(
    line: str, *, constant: bool, compile_text: Compile, tmp_path: Path
) -> None:
    """Broken if the bytes of a file are changed, if it is looked up elsewhere, or if some spelling
    of its path is refused."""
    (tmp_path / "image.jpg").write_bytes(BYTES)
    call = f"{IMPORTS[line]}('image.jpg')"
    first = f"BODY = {call}" if constant else ""
    use = "BODY" if constant else call
    scene = f"    {line}\n    {first}\n" + SCENE.format(f"client.post('/infer', content={use})")
    (step,) = steps_of(compile_text(scene))
    assert sent(step) == BYTES
    assert types_of(step) == ["image/jpeg"]


TYPES = {
    "a.jpg": ["image/jpeg"],
    "a.png": ["image/png"],
    "a.json": ["application/json"],
    "a.bin": ["application/octet-stream"],
    "a.json.gz": ["application/gzip"],
    "a.unheard-of": [],
    "a": [],
}


@pytest.mark.parametrize("name", TYPES)
def test_a_files_type_follows_from_its_name(
    name: str, compile_text: Compile, tmp_path: Path
) -> None:
    """Broken if a target gets the wrong content type, or one from this machine's own table."""
    (tmp_path / name).write_bytes(BYTES)
    line = f"from loadpilot import file\n{textwrap.dedent(SCENE)}"
    source = line.format(f"client.post('/', content=file({name!r}))")
    assert types_of(steps_of(compile_text(source))[0]) == TYPES[name]
    own = f"client.post('/', content=file({name!r}), headers={{'content-type': 'x/y'}})"
    assert types_of(steps_of(compile_text(line.format(own)))[0]) == ["x/y"]


def test_a_relative_file_starts_where_it_is_written(
    compile_text: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if the same scenario sends other bytes when it is started from another folder."""
    folder = tmp_path / "parts"
    elsewhere = tmp_path / "elsewhere"
    for place, content in {tmp_path: b"main", folder: b"part", elsewhere: b"wrong"}.items():
        place.mkdir(exist_ok=True)
        (place / "body.bin").write_bytes(content)
    (tmp_path / "mixin_files.py").write_text("from parts.mixin_part import Part\n")
    (folder / "mixin_part.py").write_text(
        "from loadpilot import VUser, file, task\n"
        "class Part(VUser):\n"
        "    @task\n"
        "    def part(self, client): client.post('/part', content=file('body.bin'))\n"
    )
    monkeypatch.chdir(elsewhere)
    compiled = compile_text("""
        from loadpilot import file
        from mixin_files import Part
        @scenario(mode="constant")
        class S(Part):
            @task
            def main(self, client): client.post('/main', content=file('body.bin'))
    """)
    bodies = {task["name"]: sent(task["steps"][0]) for task in compiled.plan["tasks"]}
    assert bodies == {"part": b"part", "main": b"main"}


def test_a_scenario_given_by_a_relative_path_finds_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if only absolute paths of scenario files work."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "body.bin").write_bytes(BYTES)
    scene = "from loadpilot import VUser, file, scenario, task\n" + textwrap.dedent(SCENE)
    scene = scene.format("client.post('/', content=file('body.bin'))")
    (tmp_path / "sub" / "scene.py").write_text(scene)
    monkeypatch.chdir(tmp_path)
    loaded = load(Path("sub/scene.py"))
    compiled = compile_scenario(loaded, choose(loaded, None), "http://localhost", Overrides())
    assert sent(steps_of(compiled)[0]) == BYTES


WRONG = {
    "file('none.jpg')": "there is no file",
    "file('.')": "is a directory",
    "file('/dev/zero')": "is not a regular file",
    "file(5)": "file() takes a path, not int",
    "file('large.bin')": "is larger than 64 MiB, the largest body",
    "file('x\\0y')": "cannot hold NUL",
}


@pytest.mark.parametrize("call", WRONG)
def test_a_file_that_cannot_be_a_body_is_refused_with_path_and_line(
    call: str, refuse_text: Refuse, tmp_path: Path
) -> None:
    """Broken if a run starts without its body, or if the error does not name the line."""
    with (tmp_path / "large.bin").open("wb") as large:
        large.truncate(files.FILE_BYTES_MAX + 1)
    scene = "from loadpilot import file\n" + textwrap.dedent(SCENE)
    (problem,) = refuse_text(scene.format(f"client.post('/', content={call})"))
    assert problem.place.endswith("scene.py:8")
    assert WRONG[call] in problem.what
    assert "file(" in problem.what


@pytest.mark.parametrize("name", ["json", "data"])
def test_a_file_is_content_and_nothing_else(name: str, refuse_text: Refuse, tmp_path: Path) -> None:
    """Broken if a file is sent as a form, or its path as JSON."""
    (tmp_path / "a.json").write_bytes(b"{}")
    scene = "from loadpilot import file\n" + textwrap.dedent(SCENE)
    (problem,) = refuse_text(scene.format(f"client.post('/', {name}=file('a.json'))"))
    assert "write content=file('a.json')" in problem.what


NO_FILE = {
    "def file(path): return b'x'": "a call of `file()`",
    "from os import path as file": "a call of `file()`",
    "from loadpilot import file\nfile = open": "a call of `file()`",
    "from loadpilot import file\nNAME = input": "`NAME` is not a literal",
}


@pytest.mark.parametrize("line", NO_FILE)
def test_only_our_own_file_may_be_called(line: str, reasons_of: Reasons) -> None:
    """Broken if another function of that name is called and its result frozen, or if its argument
    is."""
    argument = "NAME" if "NAME" in line else "'x'"
    line = line.replace("= input", "= str(1)")
    scene = f"{line}\n" + textwrap.dedent(SCENE)
    reasons = reasons_of(scene.format(f"client.post('/', content=file({argument}))"))
    assert NO_FILE.get(line, "`NAME` is not a literal") in reasons[0].what


def test_a_large_body_stands_beside_the_plan_under_its_hash(
    compile_text: Compile, tmp_path: Path
) -> None:
    """Broken if a body does not fit into a plan, or if equal scenarios name it differently."""
    content = BYTES * 256
    (tmp_path / "at_most.bin").write_bytes(content)
    (tmp_path / "larger.bin").write_bytes(content + b"x")
    scene = "from loadpilot import file\n" + textwrap.dedent(SCENE).format(
        "client.post('/a', content=file('at_most.bin')); "
        "client.post('/b', content=file('larger.bin')); "
        "client.put('/c', content=file('larger.bin'))"
    )
    compiled, again = compile_text(scene), compile_text(scene)
    inline, *beside = steps_of(compiled)
    assert sent(inline) == content
    digest = hashlib.sha256(content + b"x").hexdigest()
    named = {"object": {"sha256": digest, "bytes": len(content) + 1}}
    assert [step["body"] for step in beside] == [named, named]
    assert compiled.bodies == {digest: content + b"x"} == again.bodies
    assert compiled.plan == again.plan


def test_many_bodies_that_do_not_fit_together_stand_beside_the_plan(
    compile_text: Compile, tmp_path: Path
) -> None:
    """Broken if twenty pictures are refused, each of which alone is accepted."""
    calls = []
    for number in range(20):
        content = bytes([number]) * (40_000 + number)
        (tmp_path / f"{number}.bin").write_bytes(content)
        calls.append(f"client.post('/{number}', content=file('{number}.bin'))")
    scene = "from loadpilot import file\n" + textwrap.dedent(SCENE).format("; ".join(calls))
    compiled = compile_text(scene)
    assert len(compiled.plan_json().encode()) < 512 * 1024
    for number, step in enumerate(steps_of(compiled)):
        body = step["body"]
        found = compiled.bodies[body["object"]["sha256"]] if "object" in body else sent(step)
        assert found == bytes([number]) * (40_000 + number)
    assert 0 < len(compiled.bodies) < 20


def test_a_body_of_more_than_the_limit_is_refused(refuse_text: Refuse) -> None:
    """Broken if agents must keep bodies for which they have no memory."""
    scene = SCENE.format("client.post('/', content=b'x' * (64 * 1024 * 1024 + 1))")
    (problem,) = refuse_text(scene)
    assert "must be 1 byte to 64 MiB" in problem.what
    assert "scene.py:" in problem.place


def test_request_names_its_method(compile_text: Compile) -> None:
    """Broken if a method given by name makes another request than the function of that name."""
    steps = steps_of(
        compile_text(
            SCENE.format(
                "client.post('/a', json={'n': 1}); client.request('post', '/a', json={'n': 1}); "
                "client.request(method='POST', path='/a', **{'json': {'n': 1}})"
            )
        )
    )
    assert steps[0] == steps[1] == steps[2]


@pytest.mark.parametrize("value", ["text ä", b"\xff\x00", ""])
def test_data_that_is_no_form_is_content_as_in_httpx(
    value: str | bytes, compile_text: Compile
) -> None:
    """Broken if old code that gives text as data= sends something else here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        expected = httpx.Request("POST", "http://x/", data=value)  # type: ignore[arg-type]
    (step,) = steps_of(compile_text(SCENE.format(f"client.post('/', data={value!r})")))
    assert (sent(step) if "body" in step else b"") == expected.content
    assert types_of(step) == expected.headers.get_list("content-type") == []


def test_a_product_of_literals_is_a_constant(compile_text: Compile) -> None:
    """Broken if a tensor has to be written out, element by element."""
    scene = "ROW = [0.5] * 3\n" + textwrap.dedent(SCENE)
    (step,) = steps_of(compile_text(scene.format("client.post('/', json=[ROW] * 2)")))
    assert sent(step) == b"[[0.5,0.5,0.5],[0.5,0.5,0.5]]"


def test_a_body_that_is_not_named_is_refused(tmp_path: Path) -> None:
    """Broken if a file cannot be read and only the target detects that."""
    path = tmp_path / "scene.py"
    path.write_text(
        "from loadpilot import VUser, file, scenario, task\n"
        + textwrap.dedent(SCENE).format("client.post('/', content=file('secret.bin'))")
    )
    (tmp_path / "secret.bin").symlink_to(tmp_path / "secret.bin")
    loaded = load(path)
    with pytest.raises(Refused, match="cannot be read"):
        compile_scenario(loaded, choose(loaded, None), "http://localhost", Overrides())
