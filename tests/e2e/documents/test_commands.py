"""Each command of a document runs, in a project with past runs, from the folder of the project.

Commands that would put load on a target run with ``--dry-run``, servers with ``--check-config``.
Commands run in this process, which saves the start of Python for each. NOT_RUN lists commands that
do not run here.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sdk.tests.support.documents import blocks
from tests.e2e.documents.recorded_project import RUN, Project, recorded
from tests.e2e.documents.shell_commands import Command, Stage, commands, documents, pipeline
from tests.e2e.support.command import COMMAND, SCENARIOS
from tests.oracle.oracle import Oracle, built_binary
from tests.tidy.tracked import ROOT

from loadpilot.cli import main
from loadpilot.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.support.command import Loadpilot

START = "docs/start.md"
"""A document that tests/deploy/test_wheels.py runs as a whole, from the wheel."""
TENANT_USERS = "tests/deploy/roles/test_tenant_roles.py"
IN_A_CLUSTER = "needs a cluster; tests/deploy/chart"
NOT_RUN = {
    "./dev demo": "tests/deploy/bare_debian.sh",
    "./dev test": "CI runs it",
    "target/debug/loadpilot-target": "tests/e2e/scenario/test_legacy_files.py",
    "python examples/stubs/": "tests/e2e/scenario/test_examples.py",
    "docker compose": "tests/deploy/test_containers.py",
    "docker volume": "tests/deploy/test_compose.py",
    "pip install": "tests/deploy/test_wheels.py",
    "python3 -m venv": "tests/deploy/test_wheels.py",
    "vegeta": "tests/nightly/test_vegeta.py",
    "curl": "tests/e2e/fleet/test_api.py, services/gateway/tests/test_start.py",
    "nats-server --signal reload": "tests/deploy/roles/test_operator_mode.py",
    "jq -n '{plan": "services/gateway/tests/test_start.py",
    "promtool": "tests/e2e/sinks/test_scrapes.py",
    "loadpilot record": "tests/e2e/imports/test_recorded_session.py",
    "loadpilot coordinator --connect nats-users": TENANT_USERS,
    "loadpilot agent --connect nats-users": TENANT_USERS,
    "loadpilot run hello.py --target https://shop.example --tenant shop": TENANT_USERS,
    "loadpilot ui": "services/gateway/tests/test_ui.py",
    **dict.fromkeys(("kind ", "for part in", "done", "kubectl ", "helm "), IN_A_CLUSTER),
    "loadpilot deploy": IN_A_CLUSTER,
    "docker build": "tests/deploy/test_containers.py",
    "loadpilot doctor --nats-url": "needs an account in a cloud",
    "loadpilot compare new.json main.json": "tests/e2e/control/test_search.py",
}
"""Commands that do not run here, by their first words, and the test that runs them. Their flags are
checked nevertheless."""
ABSENT = {"vegeta": "tests/nightly/test_vegeta.py"}
"""Other tools at the end of a pipeline, and the test that runs them."""
CONFIGURED = {
    "compare-two-servers.md": (0, "loadpilot.toml"),
    "configure-runs.md": (1, "configs.toml"),
    "secure-a-nats-server.md": (0, "tenants.toml"),
}
"""Documents whose commands read TOML above them: number of the block, and name of the file."""
IN_FLEETS = ("--nats-url", "--coordinator-url")
"""Flags of commands that need a fleet: tests/e2e/fleet/test_fleet.py runs them."""
LIVE = ("rate", "pause", "resume", "stop", "halt", "watch", "agents")
"""Commands for a running run."""
OF_LIVE_RUNS = "the test of live commands"
LOADING = ("run", "attack", "search", "versus")
SERVERS = ("agent", "coordinator")
PROCESSES = (*SERVERS, "attack")
"""Commands that run in a process of their own; `attack` keeps a file until its process ends."""
JUDGED = frozenset({0, 1, 3})
"""Exit codes of commands that judge short runs of a busy machine."""
CODES = {"compare": JUDGED, "verdict": JUDGED, "watch": JUDGED, "jq": frozenset({0, 5})}
"""Exit codes of commands that may not end with 0; jq's 5: there is no knee to divide."""
AT_A_TERMINAL = ("loadpilot", "run")
"""A command that asks at a terminal, and is refused without one."""
TOO_FEW_CONNECTIONS = "--nats-connections"
"""A flag of a command whose refusal a document shows."""
VARIABLES = {
    "URL": "http://localhost:8000",
    "OLD": "http://localhost:8000",
    "NEW": "http://localhost:8001",
    "NATS_URL": "nats://127.0.0.1:4222",
    "X_API_KEY": "made-up",  # a secret of an imported file
}
WORDS = {
    "RUN": RUN,
    "01k…": RUN,
    "UDKX…": "UDKXPNMALIMNYY34LHUNLLGNPRGG3ZBBZ72E6B4JBVPGP7YF5S2TQCYV",
    "FILE": "hello.py",
    "URL_A": "http://localhost:8000",
    "URL_B": "http://localhost:8001",
    "…": "--nats-url=nats://127.0.0.1:4222",
}
"""Placeholders of documents, and their values."""
PACKAGES = {"column": "bsdextrautils"}
"""Debian's packages with a program of another name."""
SHORTER = {"30s": "0s", "2m": "1s", "10s": "0s"}
"""Times of runs in documents, and those that fit the runs of two seconds here."""
SHORTENED = ("verdict", "replay")
PAGES = [path for path in documents() if str(path) != START]
STEERED = Path("docs/howto/run/steer-a-run.md")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("documents")
    with Oracle(built_binary(), folder / "oracle.jsonl") as oracle:
        yield recorded(folder / "project", oracle)


@pytest.fixture
def copied(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A copy of the project, which is the working directory of the test."""
    for name in list(os.environ):
        if name.startswith(("LOADPILOT_TARGET", "GITHUB_", "NATS_")):
            monkeypatch.delenv(name)
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    modules, path = set(sys.modules), list(sys.path)
    copy = project.copy(tmp_path / "project")
    monkeypatch.chdir(copy.folder)
    monkeypatch.setenv("PWD", str(copy.folder))
    yield copy
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("loadpilot_scenario_"):
            del sys.modules[name]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_commands_of_a_document_run(
    page: Path, copied: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Broken if a command of a document is refused, or if it does not work as described."""
    configure(page, copied)
    for command in commands(page):
        text = plain(command.text)
        if text.startswith("export "):
            for name, value in re.findall(r"(\w+)=(\S+)", text.replace('"', "")):
                if name != "PATH":
                    monkeypatch.setenv(name, os.path.expandvars(value))
            continue
        stages = pipeline(text)
        if reason(text, stages):
            for stage in stages:
                parsed(stage)
            continue
        data = b""
        for stage in stages:
            if stage.words[0] in ABSENT:
                break
            code, data = played(stage, data, copied, monkeypatch, capfd)
            error = capfd.readouterr().err
            assert code in codes(stage), f"{command}\nexit code {code}\n{error}"


@pytest.mark.slow
def test_the_commands_for_a_live_run_steer_it(
    loadpilot: Loadpilot, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a command of the document has no effect on a running run. 8 s."""
    listed = [one for page in PAGES for one in commands(page) if is_live(one)]
    steering = [plain(one.text).split() for one in listed if one.document == STEERED]
    assert {plain(one.text).split()[1] for one in listed} == {words[1] for words in steering}
    monkeypatch.chdir(loadpilot.folder)
    load = ("--rps", "20", "--duration", "60s", "--mode", "constant")
    names = [words[1] for words in steering]
    stopped = names.index("stop") + 1
    ended = []
    for some in (steering[:stopped], steering[stopped:]):
        with loadpilot.start(SCENARIOS / "weighted.py", oracle.url, *load) as running:
            running.until("steady")
            for words in some:
                code = main(["last" if word == "RUN" else word for word in words[1:]])
                # A halted run may fail, and `watch` has its exit code.
                assert code in ({0, 1, 3} if words[1] == "watch" else {0}), words
                if words[1] in {"stop", "halt"}:
                    ended.append(running.end())
    assert [names[stopped - 1], names[stopped]] == ["stop", "halt"]
    for number, happened in enumerate((("2000", "pause", "resume", "stop"), ("(halt)",))):
        story = " ".join(line["text"] for line in ended[number].report["story"])
        assert all(word in story for word in happened), story


def test_each_reason_not_to_run_a_command_is_needed() -> None:
    """Broken if NOT_RUN has an entry that no document needs."""
    texts = [plain(one.text) for page in PAGES for one in commands(page)]
    unused = [key for key in NOT_RUN if not any(text.startswith(key) for text in texts)]
    assert not unused
    in_cloud = [text for text in texts if "account in a cloud" in reason(text, pipeline(text))]
    assert len(in_cloud) == 1


def configure(page: Path, project: Project) -> None:
    """Write the scenario and the settings that a document shows."""
    whole = [one for one in blocks() if one.document == ROOT / page and one.is_whole]
    if whole:
        (project.folder / "shop.py").write_text(whole[0].text)
    if page.name in CONFIGURED:
        number, name = CONFIGURED[page.name]
        text = (ROOT / page).read_text(encoding="utf-8")
        shown = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
        (project.folder / name).write_text(shown[number])


def is_live(command: Command) -> bool:
    """Whether the command is for a running run."""
    why = reason(plain(command.text), pipeline(plain(command.text)))
    return why == OF_LIVE_RUNS


def plain(text: str) -> str:
    """The command as one of an installed LoadPilot, without substitutions."""
    text = re.sub(r"(\./dev |venv/bin/)(?=loadpilot )", "", text)
    return re.sub(r"\$\((cat (nats-)?token|hostname)\)", "here", text)


def reason(text: str, stages: list[Stage]) -> str:
    """Say why a command does not run here; empty if it does."""
    listed = next((why for begins, why in NOT_RUN.items() if text.startswith(begins)), "")
    for stage in stages:
        words = stage.words
        if listed or words[0] != "loadpilot" or words[1] in (*LOADING, *SERVERS):
            continue
        if any(flag in words for flag in IN_FLEETS):
            return "tests/e2e/fleet/test_fleet.py"
        if words[1] in LIVE and not words[-1].endswith(".lprun"):
            return OF_LIVE_RUNS
    return listed


def codes(stage: Stage) -> frozenset[int]:
    """Return the exit codes of a command that works as its document describes."""
    if stage.words == AT_A_TERMINAL or TOO_FEW_CONNECTIONS in stage.words:
        return frozenset({2})
    name = stage.words[stage.words[0] == "loadpilot"]
    return CODES.get(name, frozenset({0}))


def written(stage: Stage, project: Project) -> list[str]:
    """Return the words with the placeholders of documents replaced."""
    words = [os.path.expandvars(WORDS.get(word, word)) for word in stage.words]
    if words[1:] and words[1] in SHORTENED:
        words = [SHORTER.get(word, word) for word in words]
    return [project.runs[0] if word == RUN else word for word in words]


def parsed(stage: Stage) -> None:
    """Parse a command of LoadPilot that does not run here; a wrong name or flag raises."""
    words = [os.path.expandvars(WORDS.get(word, word)) for word in stage.words[1:]]
    if stage.words[0] == "loadpilot" and words[0] not in SERVERS:
        app.parse_args(words, print_error=False, exit_on_error=False)


def played(
    stage: Stage,
    data: bytes,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> tuple[int, bytes]:
    """Run one program of a pipeline; returns its exit code and its output."""
    words = written(stage, project)
    with monkeypatch.context() as patch:
        for name, value in stage.environ.items():
            patch.setenv(name, value)
        if words[0] == "loadpilot" and words[1] not in PROCESSES:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
            code, output = own(words[1:], project, capfd)
        else:
            code, output = foreign(words, data)
    if stage.output is not None:
        (project.folder / stage.output).write_bytes(output)
        output = b""
    return code, output


def own(words: list[str], project: Project, capfd: pytest.CaptureFixture[str]) -> tuple[int, bytes]:
    """Run a command of LoadPilot in this process."""
    if words[0] in LOADING and words[1:] and "--dry-run" not in words:
        words = [*words, "--dry-run"]
    if words[0] in {"import", "model"}:
        # Commands overwrite no file, and documents use the same file name again and again.
        (project.folder / words[-1]).unlink(missing_ok=True)
    capfd.readouterr()
    code = main(words)
    output, error = capfd.readouterr()
    sys.stderr.write(error)
    return code, output.encode()


def foreign(words: list[str], data: bytes) -> tuple[int, bytes]:
    """Run a program; a server of LoadPilot only checks its settings."""
    check = [] if "--check-config" in words else ["--check-config"]
    match words[0], words[1:]:
        case "loadpilot", ["attack", *_]:
            words = [str(COMMAND), *words[1:], "--dry-run"]
        case "loadpilot", [name, *rest]:
            words = [str(built_binary().with_name(f"loadpilot-{name}")), *rest, *check]
        case "loadpilot-gateway", rest:
            words = [str(COMMAND.with_name("loadpilot-gateway")), *rest, *check]
        case name, rest if name.startswith("loadpilot-"):
            words = [str(built_binary().with_name(name)), *rest, *check]
    if shutil.which(words[0]) is None:
        pytest.skip(f"needs {words[0]}: sudo apt-get install {PACKAGES.get(words[0], words[0])}")
    ran = subprocess.run(words, input=data, capture_output=True, check=False, timeout=60)
    sys.stderr.write(ran.stderr.decode())
    return ran.returncode, ran.stdout
