"""The dashboard of a fleet: agents, runs, coordinators and gateways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .layout import dashboard
from .panels import BAD, GOOD, Query, figure, lines

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

INTERVAL = "[$__rate_interval]"
OPEN = 'phase!~"sealed|ended|refused"'


def fleet() -> Dashboard:
    """Build it."""
    sections = {
        "Now": [
            figure(
                "Open runs",
                "That are not over.",
                "none",
                f"max (sum by (instance, job) (loadpilot_runs{{{OPEN}}}))"
                " or max (loadpilot_exporter_runs) * 0",
                width=4,
            ),
            figure(
                "Agents",
                "That a coordinator hears; `-` where none is scraped.",
                "none",
                "max (loadpilot_coordinator_agents_heard)",
                (1, GOOD),
                width=4,
            ),
            figure(
                "Gateways without NATS",
                "They answer from what they have read; of several tenants, without one's.",
                "none",
                "sum (1 - min by (instance) (loadpilot_gateway_nats_up))",
                (1, BAD),
                width=4,
            ),
            figure(
                "Runs left out",
                "Runs above the number that a gateway exports.",
                "none",
                "max (loadpilot_exporter_runs_left_out)",
                width=4,
            ),
        ],
        "Runs": [
            lines(
                "Runs by phase",
                "As a gateway reads them.",
                "none",
                Query("sum by (phase) (max by (phase, tenant) (loadpilot_runs))", "{{phase}}"),
                stacked=True,
            ),
            lines(
                "Exported runs",
                "Runs whose series a gateway shows.",
                "none",
                Query("loadpilot_exporter_runs", "{{instance}} {{tenant}}"),
            ),
        ],
        "Gateways": [
            lines(
                "Requests by route",
                "Answered by gateways.",
                "reqps",
                Query(
                    f"sum by (route, code) (rate(loadpilot_gateway_http_requests_total{INTERVAL}))",
                    "{{route}} {{code}}",
                ),
            ),
            lines(
                "Ready gateways",
                "1 where NATS is reached and the log is read.",
                "none",
                Query(
                    "loadpilot_gateway_nats_up * loadpilot_gateway_log_read",
                    "{{instance}} {{tenant}}",
                ),
            ),
        ],
        "Coordinators": [
            lines(
                "Decisions",
                "Appends to the log by result; of several coordinators one wins.",
                "ops",
                Query(
                    f"sum by (end) (rate(loadpilot_coordinator_decisions_total{INTERVAL}))",
                    "{{end}}",
                ),
            ),
            lines(
                "Runs and agents",
                "Each coordinator folds all runs and hears all agents.",
                "none",
                Query("loadpilot_coordinator_runs_open", "{{instance}} open runs"),
                Query("loadpilot_coordinator_agents_heard", "{{instance}} agents"),
            ),
            lines(
                "Ready",
                "1 where NATS is reached and the whole log is read.",
                "none",
                Query(
                    "loadpilot_coordinator_nats_up * loadpilot_coordinator_log_read", "{{instance}}"
                ),
            ),
        ],
    }
    text = "Processes of a fleet. Coordinators appear once their --http address is scraped."
    return dashboard("loadpilot-fleet", "Fleet", text, sections, [])
