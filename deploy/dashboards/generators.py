"""The dashboard of load generators: whether they keep to the plan, and what limits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .layout import dashboard, runs, scenarios, several, timeline
from .panels import HALF, Query, lines
from .queries import AGENT, RUN, once, quantile, rate, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grafana_foundation_sdk.builders.dashboard import Dashboard
    from grafana_foundation_sdk.cog.builder import Builder
    from grafana_foundation_sdk.models.dashboard import Panel

    Panels = Sequence[Builder[Panel]]

LAG = "loadpilot_generator_schedule_lag_seconds"
CPU = "loadpilot_generator_cpu_ratio"


def health(selector: str = RUN) -> Panels:
    """Panels of the health of a run's generators."""
    return [
        lines(
            "Schedule lag",
            "From due to actual start. A lag that grows means that a generator is too small.",
            "s",
            Query(quantile(0.5, LAG, selector), "p50"),
            Query(quantile(0.99, LAG, selector), "p99"),
            Query(quantile(1, LAG, selector), "max"),
        ),
        lines(
            "CPU of agents",
            "Share of the cores of an agent.",
            "percentunit",
            Query(f"max by (agent) ({CPU}{{{selector}}})", "{{agent}}"),
        ),
        lines(
            "Log lag",
            "Age of the newest figures in the log. Everything else on this page is that old.",
            "s",
            Query(f"max by (exporter) (loadpilot_log_lag_seconds{{{selector}}})", "{{exporter}}"),
        ),
        lines(
            "Connections",
            "Opened, used again, and TLS handshakes.",
            "ops",
            Query(rate("loadpilot_connections_opened_total", selector), "opened"),
            Query(rate("loadpilot_connections_reused_total", selector), "used again"),
            Query(rate("loadpilot_tls_handshakes_total", selector), "TLS handshakes"),
        ),
    ]


def generators() -> Dashboard:
    """Build it."""
    by_agent = (
        ("loop_stall_seconds", "Longest stall of the loop", "Time in which an agent sent nothing."),
        ("open_descriptors", "Open descriptors", "Of an agent process; `ulimit -n` limits them."),
    )
    units = {"loop_stall_seconds": "s", "open_descriptors": "none"}
    sections = {
        "Schedule": health(RUN),
        "Agents": [
            lines(
                title,
                text,
                units[name],
                Query(f"max by (agent) (loadpilot_generator_{name}{{{AGENT}}})", "{{agent}}"),
            )
            for name, title, text in by_agent
        ],
        "Network": [
            lines(
                "Bytes",
                "Sent to and received from targets.",
                "Bps",
                Query(rate("loadpilot_bytes_sent_total"), "sent"),
                Query(rate("loadpilot_bytes_received_total"), "received"),
            ),
            lines(
                "Agents by run",
                "That hold shards.",
                "none",
                Query(total(f"loadpilot_run_agents{{{RUN}}}", "run"), "{{run}}"),
            ),
        ],
        "Certificates": [
            lines(
                "Runs by certificate",
                "Runs whose certificate is that now.",
                "none",
                Query(
                    f"sum by (certificate) ({once(f'loadpilot_run_certificate{{{RUN}}}')})",
                    "{{certificate}}",
                ),
                width=HALF,
                stacked=True,
            ),
            lines(
                "Dropped arrivals by run",
                "Planned, never started.",
                "reqps",
                Query(
                    rate("loadpilot_arrivals_dropped_total", by="run, reason"), "{{run}} {{reason}}"
                ),
                stacked=True,
            ),
        ],
    }
    text = "Whether load generators keep to the plans of their runs, and what limits them."
    variables = [scenarios(), runs(), several("agent", CPU)]
    made = dashboard("loadpilot-generators", "Generators", text, sections, variables)
    return made.annotation(timeline())
