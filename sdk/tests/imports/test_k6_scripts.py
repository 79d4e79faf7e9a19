"""Scripts of k6 as scenarios: checks, requests, values, thresholds and several scenarios."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
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


@pytest.mark.parametrize(
    "script",
    [
        "function buy(id) { return http.post(`http://a/b/${id}`); } export default () => { CALL }",
        "function buy(id = 7) { http.post(`http://a/b/${id}`); } export default () => { buy(); }",
        "const buy = (id) => http.post(`http://a/b/${id}`); export default () => { CALL }",
        "const buy = id => { return http.post(`http://a/b/${id}`) }; export default () => { CALL }",
        "export default () => { const buy = (id) => http.post(`http://a/b/${id}`); CALL }",
        "export default () => { function buy(i) { return http.post(`http://a/b/${i}`) } CALL }",
        "export default () => { group('pay', () => http.post('http://a/b/7')); }",
        "const pay = () => http.post('http://a/b/7'); export default () => { group('pay', pay); }",
        "export default function () { return http.post('http://a/b/7'); http.get('http://a/no'); }",
        "export default () => { switch (1) { case 1: http.post('http://a/b/7'); break; } }",
        "export default () => { check(http.post('http://a/b/7'), {}) || fail('no'); }",
    ],
)
def test_a_request_is_written_wherever_the_script_sends_it(script: str) -> None:
    """Broken if a request is lost that stands in a helper, a group, a case, or after return."""
    text, _ = imported(script.replace("CALL", "check(buy(7), { ok: (r) => r.status === 200 });"))
    assert text.count('client.post("/b/7"') == 1
    assert ("CALL" in script) == ('metrics.rate("ok")' in text)
    assert "/no" not in text


@pytest.mark.parametrize(
    "statement",
    [
        "ids.forEach((id) => http.post('http://a/lost'));",
        "ready ? http.post('http://a/lost') : null;",
        "if (ready) { http.get('http://a/c'); } else { http.post('http://a/lost'); }",
        "let last = [http.get('http://a/c'), () => http.post('http://a/lost')];",
    ],
)
def test_a_request_that_is_not_written_is_noted(statement: str) -> None:
    """Broken if a request is lost and no note names its line."""
    script = f"export default () => {{\n http.get('http://a/b');\n {statement}\n}}"
    text, notes = imported(script)
    assert "/lost" not in text
    assert [one for one in notes if "line 3" in one and "nothing that is read sends it" in one]


def test_a_threshold_of_checks_is_one_of_their_rate(tmp_path: Path) -> None:
    """Broken if LoadPilot refuses the scenario, or if the limit is not that of all checks."""
    options = "export const options = { thresholds: { checks: ['rate>0.95', 'rate>0.9'] } };"
    check = "check(http.get('http://a/b'), { 'is 200': (r) => r.status === 200 });"
    text, notes = imported(f"{options} export default () => {{ {check} }}")
    (gate,) = plan(text, tmp_path)["thresholds"]
    assert (gate["own"], gate["operator"], gate["limit"]) == (
        {"name": "checks", "figure": "rate"},
        ">",
        95,
    )
    assert 'metrics.rate("checks").add(response.status_code == 200)' in text
    assert any("'checks' is not carried over: only the first limit" in one for one in notes)
    text, notes = imported(f"{options} export default () => {{ http.get('http://a/b'); }}")
    assert not plan(text, tmp_path)["thresholds"]
    assert any("'checks' is not carried over: no check is" in one for one in notes)


@pytest.mark.parametrize(
    "body",
    [
        "{ user: u.name, password: u.pw }",
        "JSON.stringify({ user: u.name, password: u.pw })",
        "JSON.stringify([u.name, u.pw])",
        "`${u.name}&${u.pw}`",
    ],
)
def test_each_unknown_value_is_a_parameter_of_its_own(body: str) -> None:
    """Broken if two values that only a run would tell are sent as one."""
    text, notes = imported(
        f"export default () => {{ const u = pick(); http.post('http://a/b', {body}); }}"
    )
    sent = text.partition("client.post(")[2]
    assert re.findall("U_NAME|U_PW", sent) == ["U_NAME", "U_PW"]
    assert any("'u.name' is only known" in one for one in notes)
    assert any("'u.pw' is only known" in one for one in notes)


def test_a_url_holds_values_of_a_response() -> None:
    """Broken if a request with a value in its URL goes to /, or if a note says otherwise."""
    start = "const B = 'http://a'; export default () => { const r = http.get(`${B}/b`);"
    text, _ = imported(start + " http.get(http.url`${B}/u/${r.json().id}/${r.json().id}`); }")
    assert 'id_2 = response.json()["id"]' in text
    assert 'client.get(f"/u/{id_2}/{id_2}"' in text
    for url in ("r.json().next", "pick()"):
        text, notes = imported(f"{start} http.get({url}); }}")
        assert 'client.get("/")' in text
        (note,) = [one for one in notes if url in one]
        assert "/ is requested" in note


def test_the_users_at_the_start_are_carried_over_without_a_note() -> None:
    """Broken if a note says that an option is lost which the scenario has."""
    options = "{ startVUs: 5, stages: [{ duration: '1m', target: 9 }] }"
    text, notes = imported(
        f"export const options = {options}; export default () => {{ http.get('http://a/b'); }}"
    )
    assert 'user_stages=[("0s", 5), ("1m", 9)]' in text
    assert not any("startVUs" in one for one in notes)


def several(*scenarios: str, more: str = "") -> tuple[str, list[str]]:
    """Write the scenarios of a script whose options have several."""
    options = ", ".join(f"{name}: {{ {one} }}" for name, one in zip("abc", scenarios, strict=False))
    request = "export default () => { http.get('http://a/b'); }"
    return imported(f"export const options = {{ scenarios: {{ {options} }}{more} }}; {request}")


CONSTANT = "executor: 'constant-arrival-rate', duration: '1m', rate: "
RAMPING = "executor: 'ramping-arrival-rate', stages: [{ duration: '1m', target: %d }]"


@pytest.mark.parametrize(
    ("loads", "shares", "load", "noted"),
    [
        ([f"{CONSTANT} 70", f"{CONSTANT} 30"], [70, 30], "rps=100", 0),
        ([f"{CONSTANT} 90, timeUnit: '1m'", f"{CONSTANT} 3"], [3, 6], 'rps="9/2s"', 0),
        ([RAMPING % 20, RAMPING % 60], [20, 60], 'stages=[("1m", 80)]', 0),
        ([RAMPING % 20, f"{CONSTANT} 60"], [20, 60], 'stages=[("1m", 80)]', 1),
        ([f"{CONSTANT} 700001", f"{CONSTANT} 300001"], [7000, 3000], "rps=1000002", 0),
        ([f"{CONSTANT} 70", "executor: 'constant-vus', vus: 9"], [1, 1], "rps=70", 1),
        (["executor: 'constant-vus', vus: 9"] * 2, [9, 9], "users=18", 0),
    ],
)
def test_scenarios_share_the_sum_of_their_peaks(
    loads: list[str], shares: list[int], load: str, noted: int, tmp_path: Path
) -> None:
    """Broken if scenarios of known rates share their load in another proportion, or if a load that
    is not carried over is not noted."""
    text, notes = several(*loads)
    assert load in text
    found = plan(text, tmp_path)["types"]
    assert [one["share"] for one in found] == shares
    assert sum("scenario 'b': " in one and "carried over: " in one for one in notes) == noted


def test_what_several_scenarios_lose_is_noted(tmp_path: Path) -> None:
    """Broken if start, environment, setup or thresholds of scenarios are lost without a note."""
    more = ", thresholds: { http_req_failed: ['rate<0.01'] }"
    text, notes = several(
        f"{CONSTANT} 70", f"{CONSTANT} 30, startTime: '5s', env: {{ A: 'b' }}", more=more
    )
    assert [one["task"] for one in plan(text, tmp_path)["thresholds"]] == ["A", "B"]
    for what in ("startTime is not", "env is not", "thresholds of all scenarios together"):
        assert any(what in one for one in notes)
