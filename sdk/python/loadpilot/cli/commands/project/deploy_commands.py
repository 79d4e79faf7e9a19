"""The flags of ``loadpilot deploy`` and ``loadpilot teardown``."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import Annotated

from ....control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from ...flags.declaration import FLEET, OUTPUT, flag

NAMESPACE = "loadpilot"
"""Namespace of a fleet where none is named."""

Namespace = Annotated[
    str,
    flag(FLEET, "NAME", "Namespace of the fleet.", "--namespace", "-n", default=NAMESPACE),
]


def deploy(  # noqa: PLR0913  (flags)
    *,
    agents: Annotated[
        int | None, flag(FLEET, "INT", "Number of agents.", "--agents", "-a", default=3)
    ] = None,
    namespace: Namespace = NAMESPACE,
    nats_service: Annotated[
        str | None,
        flag(
            FLEET,
            "WHAT",
            "How NATS is reached: ClusterIP, NodePort or LoadBalancer, for agents and commands "
            "outside the cluster.",
            default="ClusterIP",
        ),
    ] = None,
    no_monitoring: Annotated[bool, flag(FLEET, "", "Without Prometheus and Grafana.")] = False,
    settings: Annotated[
        list[str] | None,
        flag(
            FLEET,
            "NAME=VALUE",
            "Set a value of the chart; NAME=null takes an earlier one back. Repeatable.",
            "--set",
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        flag(FLEET, "FILE", "File with values of the chart, YAML. Repeatable.", "--values", "-f"),
    ] = None,
    chart: Annotated[
        str | None,
        flag(FLEET, "WHAT", "Another chart, as Helm names it: a folder, a file or oci://…."),
    ] = None,
    dry_run: Annotated[
        bool,
        flag(
            OUTPUT,
            "",
            "Print the objects of these flags alone, without a cluster; nothing is installed.",
        ),
    ] = False,
) -> ExitCode:
    """Install a fleet in Kubernetes, or upgrade it: the chart of this version, by Helm.

    An upgrade keeps all values that earlier commands set, also the number of agents.

    The cluster is that of kubectl: KUBECONFIG, HELM_KUBECONTEXT. Needs helm.
    """
    from .deploy import DeployFlags
    from .deploy import deploy as execute

    return execute(
        DeployFlags(
            agents=agents,
            namespace=namespace,
            nats_service=nats_service,
            monitoring=not no_monitoring,
            settings=settings or [],
            values=values or [],
            chart=chart,
            dry_run=dry_run,
        )
    )


def teardown(*, namespace: Namespace = NAMESPACE) -> ExitCode:
    """Uninstall the fleet of `loadpilot deploy`. The log of all runs stays, in its volumes.

    Teardowns of scenarios are played by `loadpilot resume`.
    """
    from .deploy import teardown as execute

    return execute(namespace)
