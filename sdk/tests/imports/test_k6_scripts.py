"""Scripts of k6 as scenarios: checks, requests, values, thresholds and several scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sdk.tests.support.imported_scenario import written

from loadpilot.compile.plan import compile_scenario
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.compile.user_types import compile_together
from loadpilot.inputs.params import ParameterSource
from loadpilot.scenario_file.imports.readers.k6.reader import read_k6
from loadpilot.scenario_file.imports.source import Source
from loadpilot.scenario_file.load import load
from loadpilot.scenario_file.user_types import chosen

if TYPE_CHECKING:
    from pathlib import Path

ENVIRON = {"U_NAME": "ann", "U_PW": "wonder"}


def imported(script: str) -> tuple[str, list[str]]:
    """Write the scenario of a script; returns the notes, too."""
    source = Source("shop.js", script.encode())
    return written(read_k6, source), list(source.lines())


def plan(text: str, tmp_path: Path) -> dict[str, Any]:
    """Compile all scenarios of a file, as a run does."""
    path = tmp_path / "scene.py"
    path.write_text(text)
    loaded = load(path, ParameterSource(ENVIRON, {}))
    types = chosen([loaded], None, {})
    if len(types) == 1:
        return compile_scenario(loaded, types[0].cls, "http://a", Overrides()).plan
    return compile_together(types, "http://a", Overrides()).plan


def test_a_failed_check_does_not_end_the_iteration(tmp_path: Path) -> None:
    """Broken if a check ends the task before its think time: a target that fails gets as many
    requests as it can answer."""
    text, notes = imported("""
        export default function () {
          const r = http.get('http://a/b');
          check(r, { 'is 200': (r) => r.status === 200, 'says  ok': r => r.body.includes('o  k') });
          sleep(1);
        }""")
    assert "assert" not in text
    assert 'metrics.rate("is_200").add(response.status_code == 200)' in text
    assert 'metrics.rate("says_ok").add("o  k" in response.text)' in text
    (task,) = plan(text, tmp_path)["code"]["tasks"]
    assert [next(iter(one)) for one in task["body"]["does"]] == ["send", *["measure"] * 2, "rest"]
    assert any("a request without a response ends the iteration" in one for one in notes)


def test_each_check_has_a_rate_of_its_own_within_the_limit_of_metrics() -> None:
    """Broken if two checks share a rate, or if a script with many checks breaks the limit."""
    names = ["is 200", "is-200", *(f"check {at}" for at in range(200))]
    checks = ", ".join(f"'{one}': (r) => r.status === {at}" for at, one in enumerate(names, 200))
    text, _ = imported(
        f"export default () => {{ const r = http.get('http://a/b'); check(r, {{ {checks} }}); }}"
    )
    assert 'metrics.rate("is_200").add(response.status_code == 200)' in text
    assert 'metrics.rate("is_200_2").add(response.status_code == 201)' in text
    assert text.count("metrics.rate(") == len(names)
    found = {line.split('"')[1] for line in text.splitlines() if "metrics.rate(" in line}
    assert len(found) <= 100
