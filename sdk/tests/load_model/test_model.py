"""Load models: mistakes are named by their place, and the scenario follows the model."""

from __future__ import annotations

from math import log
from random import Random
from typing import TYPE_CHECKING

import pytest

from loadpilot.compile.plan import Compiled, compile_scenario
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.problem import Refused
from loadpilot.scenario_file.load import choose, load
from loadpilot.scenario_file.load_model.log_summary import derive
from loadpilot.scenario_file.load_model.model import read
from loadpilot.scenario_file.load_model.scenario import scenario_path
from loadpilot.scenario_file.load_model.sessions import P99

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = 'model = 1\nusers = 10\n[[type]]\nname = "Visitor"\n'
ACTION = '[[type.action]]\npath = "/"\n'
WRONG = {
    "users = 3": "is no load model: it has no line `model = 1`",
    "model = 1.0\nusers = 1": "model: must be 1, the version of the form (got 1.0)",
    "model = [": "is not TOML: ",
    HEAD: "type[0].action: must be tables, [[action]] or [[type.action]], one at least",
    f"{HEAD}{ACTION}weight = 3": "type[0].action[0].weight: is no key here; known are method, path",
    f"{HEAD}{ACTION}shar = 3": "type[0].action[0].shar: is no key here; did you mean share?",
    f"{HEAD}wait = 'lognormal:median=8s'\n{ACTION}": "type[0].wait: must have a median and a p99",
    f"{HEAD}wait = 'soon'\n{ACTION}": "type[0].wait: must be a duration",
    f"{HEAD}session = 'lognormal:p99=8m'\n{ACTION}": "type[0].session: must have a median and a",
    f"{HEAD}sesion = '12m'\n{ACTION}": "type[0].sesion: is no key here; did you mean session?",
    f"{HEAD}{ACTION}method = 'GOT'": "type[0].action[0].method: must be one of GET, POST",
    f"{HEAD}{ACTION}paths = ['/a']": "type[0].action[0].path: must be there, or paths, and not",
    f"{HEAD}[[type.action]]\nname = 'a'\npaths = []": "type[0].action[0].paths: each must be a",
    f"{HEAD}{ACTION}json = 2026-11-26": "type[0].action[0].json: must be a value of JSON",
    f"{HEAD}{ACTION}{ACTION}": "type[0].action: two have the name 'GET /'",
    HEAD.replace("Visitor", "class") + ACTION: "type[0].name: must be a Python name (got 'class')",
    HEAD.replace("10", "0") + ACTION: "users: must be a whole number from 1 to 4,294,967,295",
    f"scale = 0\n{HEAD}{ACTION}": "scale: must be a number above 0",
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str) -> None:
    """Broken if a mistake in a model is accepted, or if the error lacks its place or rule."""
    file = tmp_path / "m.toml"
    file.write_text(text)
    with pytest.raises(Refused) as refused:
        read(file)
    assert f"{file}: {WRONG[text]}" in str(refused.value)


def compiled(file: Path, root: Path) -> Compiled:
    loaded = load(scenario_path(file, root))
    return compile_scenario(loaded, choose(loaded, None), "http://localhost:1", Overrides())


def test_a_model_is_a_compiled_scenario(tmp_path: Path) -> None:
    """Broken if an action is lost, has another share, or needs Python under load."""
    file = tmp_path / "shop.toml"
    file.write_text(
        f"""scale = 1.4
        {HEAD}wait = "exponential:median=8s"
        session = "lognormal:median=12m,p99=45m"
        [[type.action]]
        name = "wait"
        share = 3
        paths = ["/a", "/b"]
        [[type.action]]
        name = "import it"
        method = "POST"
        path = "/é?q=\\u0022x"
        json = {{ a = [1, 2.5, true], b = "\\u007f'" }}
        headers = {{ Accept = "*/*" }}
        """
    )
    plan = compiled(file, tmp_path).plan
    assert plan["users"] == 14
    assert plan["rest"] == {"exponential": {"median_us": 8_000_000}}
    length = {"median_us": 12 * 60_000_000, "p99_us": 45 * 60_000_000}
    assert plan["session"] == {"lognormal": length}
    assert [(task["name"], task["weight"]) for task in plan["tasks"]] == [
        ("action_wait", 3),
        ("import_it", 1),
    ]
    assert "code" in plan
    assert "script" not in plan
    assert (tmp_path / "models" / "shop.py").read_text().startswith('# Written from "shop.toml".')


def lines() -> Iterator[str]:
    """Two clients, a product every two seconds, and lines that a model leaves out."""
    for second in range(0, 40, 2):
        at = f"26/Nov/2026:10:00:{second:02} +0000"
        for client in ("10.0.0.1", "10.0.0.2"):
            yield f'{client} - - [{at}] "GET /products/{second} HTTP/1.1" 200 5'
            yield f'{client} - - [{at}] "GET /app.js HTTP/1.1" 200 5'
        yield f'10.0.0.1 - - [{at}] "POST /cart HTTP/1.1" 200 5'
        yield f'10.0.0.1 - - [{at}] "GET /gone HTTP/1.1" 404 5'
        yield f'10.0.0.1 - - [{at}] "\\x03" 400 5'
        yield f'10.0.0.1 - - [{at}] "GET //other HTTP/1.1" 200 5'


def test_a_derived_model_compiles(tmp_path: Path) -> None:
    """Broken if the command cannot run a derived model, or if the model hides what it left out."""
    log = tmp_path / "access.log"
    log.write_text("\n".join(lines()))
    found = derive(log, 1_800, with_assets=False)
    assert [(path, route.count) for _, path, route in found.routes] == [("/products/{id}", 40)]
    assert sorted(found.left_out.values()) == [20, 20, 20, 20, 40]
    file = tmp_path / "shop.toml"
    file.write_text(found.toml())
    plan = compiled(file, tmp_path).plan
    assert plan["tasks"] == [{"name": "get_products_id", "weight": 40, "steps": []}]
    assert plan["users"] == found.users
    # Two sessions of 38 s, in which forty requests came: a constant length is nearer to an
    # exponential distribution than none, and its distance says so.
    assert plan["session"] == {"exponential": {"median_us": 38_000_000}}
    assert "# Sessions of several requests: the distance is 0.5" in file.read_text()


def session_lines(random: Random) -> Iterator[tuple[int, str]]:
    """300 clients, each with one session, whose last request comes after a random time."""
    for client in range(300):
        begin = random.randrange(30_000)
        length = random.lognormvariate(log(720), log(2_700 / 720) / P99)
        for share in (0.0, 0.3, 0.6, 1.0):
            second = round(begin + share * length)
            at = f"26/Nov/2026:{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} +0000"
            address = f"10.0.{client // 200}.{client % 200}"
            yield second, f'{address} - - [{at}] "GET /p HTTP/1.1" 200 5'


def test_a_derived_model_has_the_sessions_of_the_log(tmp_path: Path) -> None:
    """Broken if the lengths of sessions are lost, or if lengths of another distribution are
    written."""
    log_file = tmp_path / "access.log"
    drawn = sorted(session_lines(Random(5)))  # noqa: S311
    log_file.write_text("\n".join(line for _, line in drawn))
    found = derive(log_file, 3_600, with_assets=False)
    assert found.stay is not None
    assert found.stay.name == "lognormal"
    assert found.stay.distance < 0.08
    assert abs(found.stay.median_s - 720) < 80
    file = tmp_path / "shop.toml"
    file.write_text(found.toml())
    assert f'session = "{found.stay.text()}"' in file.read_text()
    seconds = {"median_us": found.stay.median_s, "p99_us": found.stay.p99_s}
    length = {name: round(value) * 1_000_000 for name, value in seconds.items()}
    assert compiled(file, tmp_path).plan["session"] == {"lognormal": length}


def test_sessions_longer_than_a_day_are_left_out(tmp_path: Path) -> None:
    """Broken if a derived model is refused because of a client that never left."""
    log_file = tmp_path / "access.log"
    days = range(20, 27)
    requests = [f'10.0.0.1 - - [{d}/Nov/2026:10:00:00 +0000] "GET /p HTTP/1.1" 200 5' for d in days]
    log_file.write_text("\n".join(requests))
    text = derive(log_file, 200_000, with_assets=False).toml()
    assert "# No session: of those of the log more than one of 100 is longer than a day." in text
    assert "session =" not in text


def test_a_log_without_think_times_is_refused(tmp_path: Path) -> None:
    """Broken if clients with a single request each lead to a model of users without think time."""
    log = tmp_path / "access.log"
    log.write_text("\n".join(line for line in lines() if "products/2 " in line))
    with pytest.raises(Refused, match="2 requests of 2 clients, and no client with two"):
        derive(log, 1_800, with_assets=False)
