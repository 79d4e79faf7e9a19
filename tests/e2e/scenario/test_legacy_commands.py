"""Commands in the forms of earlier versions: they work as before.

A table of commands in one project, after a run of a scenario file in the same old form. Must never
depend on a figure: the tests read only files, lines and exit codes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.short_run import rerun_until_trusted
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Finished

HEALTH = """
from loadpilot import VUser, scenario, task, LoadClient

@scenario(
    rps=40,
    duration="2s",
    mode="constant",
    thresholds={"p99_ms": 60000, "p95_ms": 60000, "error_rate": 1.0},
)
class HealthFlow(VUser):

    @task(weight=3)
    def health(self, client: LoadClient):
        client.get("/health")

    @task()
    async def products(self, client: LoadClient):
        client.get("/api/products", headers={"Accept": "application/json"})
"""
FLOWS = """
from loadpilot import VUser, scenario, task, LoadClient

@scenario(rps=30, duration="1m")
class LightFlow(VUser):
    @task
    def light(self, client: LoadClient):
        client.get("/light")

@scenario(rps=100, duration="2m", mode="spike")
class HeavyFlow(VUser):
    @task
    def heavy(self, client: LoadClient):
        client.get("/heavy")
"""
RESULT_KEYS = {
    *("scenario", "target_url", "rps_target", "rps_actual", "requests_total", "errors_total"),
    *("error_rate_pct", "p50_ms", "p95_ms", "p99_ms", "max_ms", "duration_secs"),
}
"""Keys that programs read from a results file."""


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with scenarios and a run."""

    loadpilot: Loadpilot
    url: str
    first: Finished
    received: int
    """Number of requests that the target received from the run."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """One run for all rows, and a slower one: about five seconds.

    Both are repeated on a busy machine: an INVALID run is no baseline and is not compared."""
    folder = tmp_path_factory.mktemp("project")
    loadpilot = Loadpilot(folder / "work")
    scenarios = loadpilot.folder / "scenarios"
    scenarios.mkdir()
    (scenarios / "health.py").write_text(HEALTH)
    (scenarios / "flows.py").write_text(FLOWS)
    with Oracle(built_binary(), folder / "oracle.jsonl") as oracle:
        received = [0]

        def run(results: str, *flags: str) -> Finished:
            argv = ("run", "scenarios/health.py", "--target", oracle.url, *flags)
            finished = loadpilot.call(*argv, "--results-json", results)
            received.append(oracle.counts().received)
            return replace(finished, results=loadpilot.folder / results)

        flags = ("--save-baseline", "--report", "reports/today/report.html")
        first = rerun_until_trusted(lambda: run("results/before.json", *flags))
        of_first = received[-1] - received[-2]
        oracle.delay(300)
        rerun_until_trusted(lambda: run("results/slower.json", "--duration", "1s"))
        oracle.clear()
        yield Project(loadpilot, oracle.url, first, of_first)


@dataclass(frozen=True, slots=True)
class Row:
    """A command, and its expected result."""

    what: str
    typed: str
    code: int
    seen: tuple[str, ...] = ()
    """Patterns of lines, in standard output or standard error."""


TABLE = (
    Row("the version", "version", 0, (r"\d+\.\d+\.\d+.*",)),
    Row("the plan without a run", "run scenarios/health.py --dry-run", 0, (r"\{.*health.*\}",)),
    Row(
        "a file of several scenarios",
        "run scenarios/flows.py",
        2,
        (r"error: scenarios/flows\.py: defines 2 scenarios.*--scenario: LightFlow, HeavyFlow.*",),
    ),
    Row(
        "one of several scenarios",
        "run scenarios/flows.py --scenario HeavyFlow --dry-run",
        0,
        (r".* peak 100 arrivals/s.*",),
    ),
    Row(
        "flags by their letters",
        "run scenarios/flows.py -t http://127.0.0.1:9 -s LightFlow -a 2 -r out/a.html --dry-run",
        0,
        (
            r".* peak 30 arrivals/s.*",
            r" .*--target http://127\.0\.0\.1:9 .*",
            r" .*--agents 2 .*",
            r" .*--report out/a\.html .*",
        ),
    ),
    Row(
        "a server and agents that others started",
        "run scenarios/health.py --nats-url nats://127.0.0.1:9 --external-agents 2 --dry-run",
        0,
        (r" .*--external-agents 2 .*", r" .*--nats-url nats://127\.0\.0\.1:9 .*"),
    ),
    Row("no file, and no terminal to ask", "run", 2, (r"error: .*scenario.*",)),
    Row(
        "a missing file", "run scenarios/none.py", 2, (r"error: scenarios/none\.py: no such file",)
    ),
    Row(
        "a threshold without a limit",
        "run scenarios/health.py --threshold p99",
        2,
        (r"error: --threshold: must be key=value .*\(got 'p99'\)", "nothing was started"),
    ),
    Row(
        "a threshold that no metric has",
        "run scenarios/health.py --threshold p99ms=1",
        2,
        (r"error: --threshold.*'p99ms'; did you mean 'p99_ms'\?.*",),
    ),
    Row(
        "two results files",
        "compare results/before.json results/before.json --threshold 10",
        0,
        (r"    p99 +[\d.,]+ ms +[\d.,]+ ms +— +equal", r"no regression beyond 10 %.*"),
    ),
    Row(
        "a results file with the baseline of the directory",
        "compare results/before.json",
        0,
        (
            r"    p50 .*",
            r"    p95 .*",
            r"    p99 .*",
            r"    max .*",
            r"    rate .*",
            r"    errors .*",
            r"no regression beyond 10 %.*",
        ),
    ),
    Row(
        "a regression",
        "compare results/slower.json results/before.json",
        1,
        (r"  ✗ p50 +[\d.,]+ ms +[\d.,]+ ms +\+[\d.,]+ % .*worse", r"\d+ regressions beyond 10 %.*"),
    ),
    Row(
        "a lower latency is better",
        "compare results/before.json results/slower.json",
        0,
        (r"  ✓ p50 +[\d.,]+ ms +[\d.,]+ ms +-[\d.]+ % .*better",),
    ),
    Row(
        "a lower rate is worse",
        "compare results/halved.json results/before.json",
        1,
        (r"  ✗ rate +40 /s +20 /s +-50.0 % .*worse", r"1 regression beyond 10 %.*: rate"),
    ),
    Row(
        "a regression within the threshold",
        "compare results/slower.json results/before.json --threshold 1000000",
        0,
        (r"no regression beyond .*",),
    ),
    Row(
        "errors where there were none",
        "compare results/failing.json results/before.json",
        1,
        (r"  ✗ errors .*worse",),
    ),
    Row(
        "another scenario than before",
        "compare results/other.json results/before.json --threshold 1000000",
        0,
        (r"note .*scenario.*",),
    ),
    Row(
        "another server, side by side",
        "compare results/elsewhere.json results/before.json",
        0,
        (r"note .*http://127\.0\.0\.1:1\b.*", r" +baseline +current +change .*", "no regr.*"),
    ),
    Row("a results file that is not there", "compare results/none.json", 2, (r"error: .*",)),
)


@pytest.fixture(scope="module")
def results(project: Project) -> Path:
    """Results files of later runs, each with another figure or name."""
    folder = project.loadpilot.folder / "results"
    before = json.loads((folder / "before.json").read_text())
    variants = {
        "failing": {"errors_total": 40, "error_rate_pct": 50.0},
        "other": {"scenario": "OtherFlow"},
        "elsewhere": {"target_url": "http://127.0.0.1:1"},
        "halved": {"rates": before["rates"] | {"started": before["rates"]["started"] // 2}},
    }
    for name, changes in variants.items():
        (folder / f"{name}.json").write_text(json.dumps(before | changes))
    return folder


@pytest.mark.slow
def test_a_change_up_to_the_threshold_is_no_regression(project: Project) -> None:
    """Broken if the gate of a pipeline fails at another change than its threshold. 1 s."""
    files = ("results/slower.json", "results/before.json")
    compared = project.loadpilot.call("compare", *files, "--json")
    worse = [row for row in json.loads(compared.stdout)["figures"] if row["change"] == "worse"]
    most = max(worse, key=lambda row: row["change_pct"])
    for factor, code in ((0.999, 1), (1.001, 0)):
        threshold = str(most["change_pct"] * factor)
        gated = project.loadpilot.call("compare", *files, "--threshold", threshold)
        assert gated.code == code, gated.stdout
        assert ("no regression beyond" in gated.stdout) == (code == 0), gated.stdout


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.what)
def test_a_command_does_what_it_did(row: Row, project: Project, results: Path) -> None:
    """Broken if a command in its old form is refused, or has another exit code."""
    assert results.is_dir()
    ended = project.loadpilot.call(*row.typed.split())
    said = ended.stdout + ended.stderr
    assert ended.code == row.code, said
    for pattern in row.seen:
        assert re.search(f"^{pattern}$", said, re.MULTILINE), (pattern, said)


@pytest.mark.slow
def test_the_run_of_an_old_file_is_counted_by_its_target(project: Project) -> None:
    """Broken if a file in the old form sends other requests than those in it, or if the command
    prints no banner, progress, summary or thresholds."""
    first = project.first
    assert first.code in {0, 3}, first.stderr  # 3: a busy machine, as the certificate says
    assert project.received == 80
    for pattern in (
        r"LoadPilot  HealthFlow → http://127\.0\.0\.1:\d+.*",
        r"  load +40 arrivals/s",
        r"  duration +2 s",
        r"  execution  compiled: .*no Python runs under load",
        r"00:0\d/00:02 steady +[\d.]+ of [\d.]+ arrivals/s planned, .*total \d+ +errors .*p50.*",
        r"baseline \.loadpilot/baseline\.json: 1 run|baseline not saved: .*",
        r"results results/before\.json",
        r"report reports/today/report\.html",
    ):
        assert re.search(f"^{pattern}$", first.stderr, re.MULTILINE), (pattern, first.stderr)
    for pattern in (
        r"  ✓ p99_ms +[\d.,]+ <= 60,000",
        r"  ✓ error_rate +0 <= 1",
        r"  all passed",
        r"requests +80 .*",
        r"  p50 .*",
        r"  p99.*",
        r"achieved .*",
    ):
        assert re.search(f"^{pattern}$", first.stdout, re.MULTILINE), (pattern, first.stdout)


@pytest.mark.slow
def test_programs_read_the_keys_that_they_know(project: Project) -> None:
    """Broken if a figure in the results file has another name, so that programs do not find it."""
    results = json.loads((project.loadpilot.folder / "results/before.json").read_text())
    assert results.keys() >= RESULT_KEYS
    assert (results["scenario"], results["target_url"]) == ("HealthFlow", project.url)
    assert (results["rps_target"], results["requests_total"], results["errors_total"]) == (
        40,
        80,
        0,
    )
    assert results["p50_ms"] <= results["p95_ms"] <= results["p99_ms"] <= results["max_ms"]


def test_the_report_is_one_page_of_its_own(project: Project) -> None:
    """Broken if the page of `--report` is missing, or loads anything from another address."""
    page = (project.loadpilot.folder / "reports/today/report.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "HealthFlow" in page
    pages = project.loadpilot.folder.rglob("*.html")
    assert [path.name for path in pages] == ["report.html"], "a page was written without --report"
    assert not re.search(
        r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?:https?:)?//""", page
    )


@pytest.mark.slow
def test_a_gate_on_the_command_line_replaces_that_of_the_file(project: Project) -> None:
    """Broken if a limit cannot be overridden without an edit of the file, or if its breach has no
    exit code."""
    failed = project.loadpilot.call(
        *("run", "scenarios/health.py", "--target", project.url, "--duration", "1s"),
        *("--threshold", "p99_ms=0.001", "--threshold", "error_rate=2", "--agents", "2"),
    )
    assert failed.code in {1, 3}, failed.stderr
    assert re.search(r"^  ✗ p99_ms +[\d.,]+ <= 0\.001$", failed.stdout, re.MULTILINE)
    assert re.search(r"^  ✓ error_rate +0 <= 2$", failed.stdout, re.MULTILINE)
    assert re.search(r"^  on +2 agents.*$", failed.stderr, re.MULTILINE)


def test_a_project_is_begun_and_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if `init` does not write a file, changes an existing one, or if its example does not
    run."""
    monkeypatch.delenv("LOADPILOT_TARGET", raising=False)
    loadpilot = Loadpilot(tmp_path / "work")
    begun = loadpilot.call("init", "my-load-tests")
    assert begun.code == 0, begun.stderr
    assert re.search(r"^ +loadpilot run scenarios/example\.py .*$", begun.stdout, re.MULTILINE)
    project = Loadpilot(loadpilot.folder / "my-load-tests")
    assert "LOADPILOT_TARGET=http://localhost:8000" in (
        (project.folder / ".env.example").read_text().splitlines()
    )
    assert ".loadpilot/*" in (project.folder / ".gitignore").read_text().splitlines()

    (project.folder / ".env").write_text('LOADPILOT_TARGET="http://127.0.0.1:1/from-env"\n')
    planned = project.call("run", "scenarios/example.py", "--dry-run")
    assert planned.code == 0, planned.stderr
    assert json.loads(planned.stdout)["target"] == "http://127.0.0.1:1/from-env"

    (project.folder / "scenarios/example.py").write_text("# mine\n")
    again = project.call("init")
    assert again.code == 0, again.stderr
    assert (project.folder / "scenarios/example.py").read_text() == "# mine\n"
