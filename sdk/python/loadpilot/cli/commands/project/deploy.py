"""``loadpilot deploy`` and ``loadpilot teardown``: a fleet in Kubernetes, by Helm.

Must never pass a secret as an argument: all users of a machine see command lines.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ....control.exit_code import ExitCode
from ....control.terminal import safe, say
from ....problem import Problem, one_of, rule
from ...output.refusal import refuse

CHART = Path(__file__).parents[2] / "starter" / "chart"
"""The chart of this version."""
RELEASE = "loadpilot"
SERVICES = ("ClusterIP", "NodePort", "LoadBalancer")
SECRET = re.compile(r"(?i)password$")
"""Values that are secrets; those that end in `Secret` name one in the cluster."""
NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
WAIT = "10m"
"""Timeout of Helm for all parts to be ready."""
HELM = "install it from https://helm.sh/docs/intro/install, version 3.14 or newer"


@dataclass(frozen=True, slots=True)
class DeployFlags:
    """The flags as typed; any other setting stays as installed, or has the chart's default."""

    agents: int | None
    namespace: str
    nats_service: str | None
    monitoring: bool
    settings: list[str]
    values: list[str]
    chart: str | None
    dry_run: bool


def deploy(flags: DeployFlags) -> ExitCode:
    """Install the chart, or upgrade an installed one, and wait until all parts are ready.

    An upgrade keeps the values of earlier commands: with any value, Helm alone would drop the rest.
    """
    problems = mistakes(flags)
    if problems:
        return refuse(problems, "nothing was installed")
    chosen = {
        "agent.replicas": flags.agents,
        "nats.service.type": flags.nats_service,
        "monitoring.enabled": None if flags.monitoring else "false",
    }
    words = [RELEASE, flags.chart or str(CHART), "--namespace", flags.namespace]
    for file in flags.values:
        words += ["--values", file]
    own = [f"{name}={value}" for name, value in chosen.items() if value is not None]
    for setting in [*own, *flags.settings]:
        words += ["--set", setting]
    if flags.dry_run:
        return helm("template", *words)
    upgrade = ["upgrade", "--install", *words, "--reset-then-reuse-values"]
    return helm(*upgrade, "--create-namespace", "--wait", "--timeout", WAIT)


def teardown(namespace: str) -> ExitCode:
    """Uninstall the release; volumes stay, as Kubernetes leaves those of StatefulSets."""
    problems = namespace_mistakes(namespace)
    if problems:
        return refuse(problems, "nothing was uninstalled")
    ended = helm("uninstall", RELEASE, "--namespace", namespace, "--wait")
    if ended is ExitCode.PASSED:
        selector = f"app.kubernetes.io/instance={RELEASE}"
        say(f"the log of all runs stays: kubectl delete pvc -n {namespace} -l {selector}")
    return ended


def helm(*words: str) -> ExitCode:
    """Print a command of Helm and run it; its output is passed on."""
    say(f"$ {safe(shlex.join(['helm', *words]))}")
    program = shutil.which("helm")
    if program is None:
        say(f"error: helm is not on PATH: {HELM}")
        return ExitCode.INFRASTRUCTURE
    try:
        ran = subprocess.run([program, *words], check=False)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.PASSED if ran.returncode == 0 else ExitCode.INFRASTRUCTURE


def mistakes(flags: DeployFlags) -> list[Problem]:
    """List the mistakes in the flags."""
    problems = namespace_mistakes(flags.namespace)
    if flags.agents is not None and flags.agents < 0:
        problems.append(rule("--agents", "must be 0 or more", flags.agents))
    if flags.nats_service is not None and flags.nats_service not in SERVICES:
        problems.append(one_of("--nats-service", SERVICES, flags.nats_service))
    for setting in flags.settings:
        # Helm reads several, with commas between.
        names = [one.partition("=")[0].strip() for one in setting.split(",")]
        secret = next((name for name in names if SECRET.search(name)), None)
        if secret is not None:
            what = f"{safe(secret)} is a secret: put it into a file for --values"
            problems.append(Problem("--set", f"{what}, since others see command lines"))
        elif "=" not in setting or not names[0]:
            problems.append(rule("--set", "must be NAME=VALUE, a value of the chart", setting))
    problems += [
        rule("--values", "must be a file that can be read", file)
        for file in flags.values
        if not Path(file).is_file()
    ]
    return problems


def namespace_mistakes(namespace: str) -> list[Problem]:
    """List the mistakes in the name of a namespace."""
    if NAMESPACE.fullmatch(namespace):
        return []
    must = "must be up to 63 lower-case letters, digits and hyphens"
    return [rule("--namespace", must, namespace)]
