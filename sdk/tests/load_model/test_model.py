"""Load models: mistakes are named by their place, and the scenario is what the model says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loadpilot.compile.plan import Compiled, compile_scenario
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.problem import Refused
from loadpilot.scenario_file.load import choose, load
from loadpilot.scenario_file.load_model.log_summary import derive
from loadpilot.scenario_file.load_model.model import read
from loadpilot.scenario_file.load_model.scenario import scenario_path

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
    """Broken if a mistake in a model passes, or its place or rule is not said."""
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
    assert [(task["name"], task["weight"]) for task in plan["tasks"]] == [
        ("action_wait", 3),
        ("import_it", 1),
    ]
    assert "code" in plan
    assert "script" not in plan
    assert (tmp_path / "models" / "shop.py").read_text().startswith('# Written from "shop.toml".')


def lines() -> Iterator[str]:
    """Two clients, a product each two seconds, and what a model leaves out."""
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
    """Broken if a derived model is not one that the command runs, or hides what it left out."""
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


def test_a_log_without_think_times_is_refused(tmp_path: Path) -> None:
    """Broken if users without a pause are derived from requests of strangers."""
    log = tmp_path / "access.log"
    log.write_text("\n".join(line for line in lines() if "products/2 " in line))
    with pytest.raises(Refused, match="2 requests of 2 clients, and no client with two"):
        derive(log, 1_800, with_assets=False)
