"""Configuration by files and variables: what is refused, and how sources are combined."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from loadpilot.cli import main
from loadpilot.cli.app import app
from loadpilot.cli.configuration.sources import current
from loadpilot.cli.flags.run_flags import RunFlags

ROOT = Path(__file__).parents[4]
SCENE = """
from loadpilot import VUser, env, scenario, task

BASE = env("BASE", "/")


@scenario(duration="5s", thresholds={"p99_ms": 100})
class Shop(VUser):
    @task
    def browse(self, client):
        client.get(BASE)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a scenario, in which commands are parsed."""
    (tmp_path / "shop.py").write_text(SCENE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str, name: str = "loadpilot.toml") -> None:
    (folder / name).write_text(text, encoding="utf-8")


def flags_of(*argv: str) -> Any:
    _, bound, _ = app.parse_args(["run", *argv])
    return bound.arguments.get("flags", RunFlags())


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 2
    text = capsys.readouterr().err
    assert "nothing was" in text
    return text


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("duraton = 5", "loadpilot.toml: duraton: is not an option; did you mean duration?"),
        ("profile = 'x'", "loadpilot.toml: profile: selects a configuration"),
        ("profiles = 3", "loadpilot.toml: profiles: must be a table of options"),
        ("nats_token = 'hush'", "loadpilot.toml: nats_token: is a secret"),
        ("rps = [1]", "loadpilot.toml: rps: must be text or a number (got [1])"),
        ("rps = true", "loadpilot.toml: rps: must be text or a number (got True)"),
        ("strict = 'yes'", "loadpilot.toml: strict: must be true or false (got 'yes')"),
        ("source = 5", "loadpilot.toml: source: must be a list of texts (got 5)"),
        ("warm-up = 1\nwarm_up = 2", "loadpilot.toml: warm_up: stands there twice"),
        ("rps = ", "loadpilot.toml: must be TOML: "),
        ("rps = 'often'", "loadpilot.toml: rps: must be a rate such as 50, 0.5"),
        ("agents = 0", "loadpilot.toml: agents: must be a whole number from 1 to 256 (got '0')"),
        ("[threshold]\np99 = 5", "loadpilot.toml: threshold: unknown metric 'p99'"),
        ("target = 'ftp://x'", "loadpilot.toml: target: must be http://host"),
        ("append = true", "loadpilot.toml: append: needs a baseline to add to"),
        ("[profiles.low]\nrpz = 1", "loadpilot.toml: profiles.low.rpz: is not an option"),
    ],
)
def test_a_mistake_names_file_key_and_rule(
    file: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a mistake in a file is skipped, or reported for a flag that was not typed."""
    write(folder, file)
    text = refused(capsys, "run", "shop.py", "--dry-run")
    assert says in text
    assert "hush" not in text


def test_a_damaged_baseline_is_refused_before_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if the whole load is sent before the command says that it cannot append."""
    (folder / ".loadpilot").mkdir()
    baseline = folder / ".loadpilot" / "baseline.json"
    save = ("run", "shop.py", "--dry-run", "--save-baseline")
    for content, must in ((b"{", "must be JSON"), (b"\xff\xfe", "must be JSON in UTF-8")):
        baseline.write_bytes(content)
        text = refused(capsys, *save, "--append")
        assert f"--append: .loadpilot/baseline.json: {must}" in text
    assert main(list(save)) == 0, "it is replaced"


def test_an_env_file_in_utf_16_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Broken if the settings of a file that an editor of Windows saved are skipped."""
    (folder / ".env").write_text("LOADPILOT_RPS=5\n", encoding="utf-16")
    assert ".env: must be text in UTF-8" in refused(capsys, "run", "shop.py", "--dry-run")
    (folder / ".env").write_bytes(b"# caf\xe9, of another program\nLOADPILOT_RPS=5\n")
    assert main(["run", "shop.py", "--dry-run"]) == 0


def test_the_documented_files_are_accepted(folder: Path) -> None:
    """Broken if an example of the documentation is refused."""
    text = (ROOT / "docs/howto/run/configure-runs.md").read_text(encoding="utf-8")
    project, profiles = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    write(folder, project)
    write(folder, profiles, "configs.toml")
    flags = flags_of("--config", "configs.toml", "--profile", "high")
    assert (flags.users, flags.wait, flags.duration, flags.agents) == ("50", "0", "2m", "5")
    assert flags.threshold == ("p99_ms=500", "error_rate=1", "orders.count=>= 100")
    assert flags.env == ("BASE=/api", "SERVER=triton")


def test_a_profile_that_does_not_exist_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a typo runs the load of another profile."""
    none = "--profile: there is no profile 'hgh'; no configuration file has profiles"
    assert none in refused(capsys, "run", "shop.py", "--profile", "hgh")
    write(folder, "[profiles.high]\nrps = 5\n")
    near = "there is no profile 'hgh'; did you mean high?"
    assert f"--profile: {near}" in refused(capsys, "run", "shop.py", "--profile", "hgh")
    monkeypatch.setenv("LOADPILOT_PROFILE", "hgh")
    assert f"LOADPILOT_PROFILE: {near}" in refused(capsys, "run", "shop.py")
    assert "--config: must be a TOML file" in refused(capsys, "run", "shop.py", "--config", "none")


def test_a_table_in_pyproject_is_the_project_s_configuration(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a project needs a further file, or if one of two files is silently ignored."""
    table = "[project]\nname = 'x'\n[tool.loadpilot]\nrps = 7\n[tool.loadpilot.profiles.a]\nrps = 9"
    write(folder, table, "pyproject.toml")
    assert flags_of("shop.py").rps == "7"
    assert flags_of("shop.py", "--profile", "a").rps == "9"
    assert current().place("--rps") == "pyproject.toml: tool.loadpilot.profiles.a.rps"
    assert flags_of("shop.py", "--config", "pyproject.toml").rps == "7"
    write(folder, "rps = 1")
    says = "pyproject.toml: [tool.loadpilot]: is not used beside loadpilot.toml; keep one of them"
    assert says in refused(capsys, "run", "shop.py")
    write(folder, "[tool.other]\ndependencies = ['loadpilot']\n", "pyproject.toml")
    assert flags_of("shop.py").rps == "1"


@pytest.mark.slow
def test_another_kind_of_load_replaces_that_of_a_lower_source(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a flag that contradicts a file is refused: the user would have to edit the file for
    one run."""
    write(folder, "rps = 5\nmode = 'step'\nramp_up = '1s'\n[profiles.loop]\nusers = 3\nwait = 1")
    loop = flags_of("shop.py", "--profile", "loop")
    assert (loop.users, loop.wait, loop.rps, loop.mode, loop.ramp_up) == ("3", "1", *[None] * 3)
    assert ("loadpilot.toml: rps", "loadpilot.toml: profiles.loop.users") in current().unused
    rate = flags_of("shop.py", "--profile", "loop", "--rps", "9")
    assert (rate.users, rate.wait, rate.rps, rate.mode) == (None, None, "9", "step")
    write(folder, "ramp_up = '1s'\nbaseline = 5")
    assert flags_of("shop.py", "--mode", "ramp").ramp_up == "1s"
    sine = flags_of("shop.py", "--mode", "sine")
    assert (sine.ramp_up, sine.baseline) == (None, "5")
    assert current().unused == [("loadpilot.toml: ramp_up", "--mode")]
    write(folder, "stages = '1s:5'\nquiet = true")
    assert flags_of("shop.py", "--max", "--verbose").stages is None
    staged = flags_of("shop.py", "--user-stages", "1s:5", "--verbose")
    assert (staged.user_stages, staged.stages) == ("1s:5", None)
    monkeypatch.setenv("LOADPILOT_USER_STAGES", "2s:5")
    assert flags_of("shop.py", "--verbose").user_stages == "2s:5"
    assert flags_of("shop.py", "--users", "3", "--verbose").user_stages is None
    monkeypatch.delenv("LOADPILOT_USER_STAGES")
    assert (current().place("--quiet"), flags_of("shop.py", "-v").quiet) == ("--quiet", False)
    write(folder, "nats_url = 'tls://a'\ntenant = 'shop'\nexternal_agents = 3")
    fleet = flags_of("shop.py", "--coordinator-url", "https://b").fleet
    assert (fleet.server.nats_url, fleet.server.tenant) == (None, None)
    assert (fleet.api.coordinator_url, fleet.agents.external_agents) == ("https://b", "3")
    monkeypatch.setenv("LOADPILOT_NATS_URL", "")
    here = flags_of("shop.py").fleet
    assert (here.server.tenant, here.agents.external_agents) == (None, None)


def test_a_switch_that_a_file_turns_on_can_be_turned_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a setting of the project's file cannot be switched off for one run."""
    write(folder, "strict = true")
    assert flags_of("shop.py").strict is True
    assert flags_of("shop.py", "--strict=false").strict is False
    monkeypatch.setenv("LOADPILOT_STRICT", "off")
    assert flags_of("shop.py").strict is False
    monkeypatch.setenv("LOADPILOT_STRICT", "maybe")
    says = "LOADPILOT_STRICT: must be true or false, also 1 or 0 (got 'maybe')"
    assert says in refused(capsys, "run", "shop.py")


def test_pairs_are_merged_by_name_and_gates_by_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a flag for one gate or tag drops those of the file, or a file's value wins."""
    text = "source = ['10.0.0.1']\ntag = {team = 'a', kind = 'b'}\n[threshold]\np99_ms = 5\n"
    write(folder, f'{text}orders.count = ">= 100"\n')
    monkeypatch.setenv("LOADPILOT_THRESHOLD", "p99_ms=7,error_rate=1")
    argv = ("--threshold", "p99_ms=9", "--tag", "team=c", "--source", "10.0.0.2")
    flags = flags_of("shop.py", *argv)
    gates = ("p99_ms=5", "orders.count=>= 100", "p99_ms=7", "error_rate=1", "p99_ms=9")
    assert flags.threshold == gates
    assert flags.tag == ("kind=b", "team=c")
    assert flags.connections.sources == ("10.0.0.2",)


def test_two_gates_of_one_key_in_one_source_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if the first of two gates is dropped, so that a run passes that it would fail."""
    flags = ("--threshold", "p99_ms=200", "--threshold", "p99_ms=9000")
    says = "--threshold: must have p99_ms once (got 'p99_ms=200' and 'p99_ms=9000')"
    assert says in refused(capsys, "run", "shop.py", *flags)
    flags = ("--threshold", "p(99)<200", "--threshold", "p99_ms=9000")
    assert "--threshold: must have p99_ms once" in refused(capsys, "run", "shop.py", *flags)
    flags = ("--slo", "mean_ms>=1", "--slo", "mean_ms<=5")
    assert "--slo: must have mean_ms once" in refused(capsys, "search", "shop.py", *flags)
    write(folder, "[threshold]\nmean_ms = ['>= 1', '<= 5']")
    says = "loadpilot.toml: threshold: must have mean_ms once (got 'mean_ms=>= 1' and "
    assert says in refused(capsys, "run", "shop.py", "--dry-run")
    write(folder, "[threshold]\nhttp_req_duration = ['p(95)<500', 'avg<200']")
    assert main(["run", "shop.py", "--dry-run"]) == 0
    monkeypatch.setenv("LOADPILOT_THRESHOLD", "p99_ms=7,p99_ms=9")
    says = "LOADPILOT_THRESHOLD: must have p99_ms once"
    assert says in refused(capsys, "run", "shop.py", "--dry-run")


def test_the_environment_goes_before_parameters_and_credentials_of_a_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a file's value is used although the machine's environment sets one."""
    write(folder, "nats_url = 'tls://a'\ncreds = 'a.creds'\n[env]\nBASE = '/file'\nMORE = 1")
    assert flags_of("shop.py").env == ("BASE=/file", "MORE=1")
    assert flags_of("shop.py").fleet.server.creds == "a.creds"
    monkeypatch.setenv("BASE", "/machine")
    monkeypatch.setenv("NATS_TOKEN", "s3cret")
    assert flags_of("shop.py").env == ("MORE=1",)
    assert flags_of("shop.py").fleet.server.creds is None
    assert flags_of("shop.py", "--env", "BASE=/flag").env == ("MORE=1", "BASE=/flag")


def test_other_commands_take_the_fleet_and_nothing_else(folder: Path) -> None:
    """Broken if a run goes to a fleet and `watch` reads the local log, or if a report is written
    twice."""
    write(folder, "nats_url = 'tls://a'\nstrict = true\nresults_json = 'r.json'\nverbose = true")
    _, bound, _ = app.parse_args(["watch", "last"])
    assert bound.arguments["server"].nats_url == "tls://a"
    assert (bound.arguments["strict"], bound.arguments.get("verbose", False)) == (True, False)
    _, bound, _ = app.parse_args(["report"])
    assert "results" not in bound.arguments or bound.arguments["results"].results_json is None


@pytest.mark.parametrize(
    ("line", "urls"),
    [
        ('LOADPILOT_TARGET="http://a"', "http://a"),
        ("LOADPILOT_TARGET='http://a'", "http://a"),
        ("export LOADPILOT_TARGET = http://a", "http://a"),
        ("LOADPILOT_TARGET=http://a # staging", "http://a"),
        ("  LOADPILOT_TARGET=http://a  ", "http://a"),
        ("LOADPILOT_TARGET=\"http://a\" # 'staging'", "http://a"),
        ("LOADPILOT_TARGET='http://a' # our \"a\", 'b'", "http://a"),
        ("LOADPILOT_TARGET='http://a #b'", "http://a #b"),
        ("\ufeffLOADPILOT_TARGET=http://a", "http://a"),
        ("LOADPILOT_TARGET=http://a\nLOADPILOT_TARGET=http://b", "http://b"),
        ("LOADPILOT_TARGET=http://a/x,y http://b", "http://a/x,y http://b"),
        ("#LOADPILOT_TARGET=http://a", None),
        ("XLOADPILOT_TARGET=http://a\nTOKEN=x", None),
        ("LOADPILOT_TARGET=", ""),
    ],
)
def test_lines_of_the_env_file(line: str, urls: str | None, folder: Path) -> None:
    """Broken if quotes stay in the address, or a comment is taken for a setting."""
    write(folder, f"{line}\n", ".env")
    assert flags_of("shop.py").target == (() if urls is None else tuple(urls.split(" ")))


def test_headers_in_the_environment_are_lines(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a header is split at its blank, or several cannot be set."""

    def headers() -> tuple[str, ...]:
        _, bound, _ = app.parse_args(["attack", "http://h/"])
        return tuple(bound.arguments["requests"].header)

    write(folder, 'LOADPILOT_HEADER="X-Team: shop"', ".env")
    assert headers() == ("X-Team: shop",)
    monkeypatch.setenv("LOADPILOT_HEADER", "X-Team: shop\nAccept: text/html, */*\n")
    assert headers() == ("X-Team: shop", "Accept: text/html, */*")


def test_a_misspelt_variable_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a typing error in `.env` runs another load than its author meant."""
    monkeypatch.setenv("LOADPILOT_DURATON", "9s")
    assert main(["run", "shop.py", "--dry-run"]) == 0
    hint = "is not an option; did you mean LOADPILOT_DURATION?"
    assert f"the environment has LOADPILOT_DURATON, which {hint}" in capsys.readouterr().err
    write(folder, "LOADPILOT_GATEWAY_PORT=1\nLOADPILOT_DURATON=9s", ".env")
    assert f".env: LOADPILOT_DURATON: {hint}" in refused(capsys, "run", "shop.py", "--dry-run")


def test_a_dry_run_says_where_each_value_comes_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a user cannot find what set a value, or a secret is printed."""
    write(folder, "file = 'shop.py'\nrps = 40\n[profiles.high]\nrps = 400\n[env]\nBASE = '/h'")
    write(folder, "LOADPILOT_TARGET=http://here:1\nLOADPILOT_NATS_TOKEN=s3cret", ".env")
    monkeypatch.setenv("LOADPILOT_COORDINATOR_URL", "")
    monkeypatch.setenv("LOADPILOT_NATS_URL", "nats://bob:hunter2@127.0.0.1:1")
    assert main(["run", "--profile", "high", "--seed", "3", "--dry-run"]) == 0
    text = capsys.readouterr().err
    for said, source in (
        ("shop.py", "loadpilot.toml: file"),
        ("--target http://here:1", ".env: LOADPILOT_TARGET"),
        ("--rps 400", "loadpilot.toml: profiles.high.rps"),
        ("--env BASE=…", "loadpilot.toml: env"),
        ("--seed 3", "command line"),
        ("--nats-token (hidden)", ".env: LOADPILOT_NATS_TOKEN"),
        ("--nats-url nats://127.0.0.1:1", "LOADPILOT_NATS_URL"),
        ("duration='5s'", "shop.py:7"),
    ):
        (line,) = [one for one in text.splitlines() if f" {said} " in one]
        assert line.endswith(f"  {source}")
    assert "s3cret" not in text
    assert "hunter2" not in text
