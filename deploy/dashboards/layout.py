"""Parts that all dashboards share: variables, sections, annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import (
    AnnotationQuery,
    DashboardCursorSync,
    DashboardLinkType,
    Panel,
    VariableRefresh,
    VariableSort,
)

from .panels import SOURCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grafana_foundation_sdk.models.dashboard import VariableModel

    Sections = Mapping[str, Sequence[Builder[Panel]]]

TAG = "loadpilot"
RUN_START = "loadpilot_run_start_timestamp_seconds"
"""Each run has it: the source of the variables."""


def dashboard(
    uid: str,
    title: str,
    description: str,
    sections: Sections,
    variables: Sequence[Builder[VariableModel]],
    *,
    since: str = "now-30m",
) -> builders.Dashboard:
    """A dashboard of sections, each with its panels in reading order; `since` is its time range."""
    links = builders.DashboardLink("LoadPilot").type(DashboardLinkType.DASHBOARDS).tags([TAG])
    made = (
        builders.Dashboard(f"LoadPilot / {title}")
        .uid(uid)
        .description(description)
        .tags([TAG])
        .editable()
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time(since, "now")
        .refresh("5s")
        .link(links.as_dropdown(True).include_vars(True).keep_time(True))
        .variables([builders.DatasourceVariable("datasource").type("prometheus"), *variables])
    )
    number = 0
    for heading, panels in sections.items():
        made.with_row(builders.Row(heading).id(number := number + 1))
        for panel in panels:
            made.with_panel(_Numbered(panel, number := number + 1))
    return made


def scenarios() -> Builder[VariableModel]:
    """The variable `$scenario`."""
    return (
        _values("scenario", f"label_values({RUN_START}, scenario)")
        .multi(True)
        .include_all(True)
        .all_value(".*")
    )


def one_run() -> Builder[VariableModel]:
    """The variable `$run`: the newest at first, as ids of runs begin with their time."""
    return _runs().multi(False)


def runs() -> Builder[VariableModel]:
    """The variable `$run`: all at first."""
    return _runs().multi(True).include_all(True).all_value(".*")


def several(name: str, metric: str) -> Builder[VariableModel]:
    """Values of a label of the chosen runs, all at first."""
    chosen = f'{metric}{{scenario=~"$scenario", run=~"$run"}}'
    found = _values(name, f"label_values({chosen}, {name})")
    return found.multi(True).include_all(True).all_value(".*")


def timeline() -> Builder[AnnotationQuery]:
    """Events of the chosen runs, at the time that is their value."""
    metric = 'loadpilot_run_event_timestamp_seconds{scenario=~"$scenario", run=~"$run"}'
    return (
        builders.AnnotationQuery()
        .name("Events of the run")
        .datasource(SOURCE)
        .enable(True)
        .icon_color("blue")
        .expr(f"max by (run, event, detail) ({metric}) * 1000")
        .title_format("{{event}}")
        .text_format("{{detail}}")
        .tag_keys("run")
        .use_value_for_time(True)
    )


def _runs() -> builders.QueryVariable:
    found = _values("run", f'label_values({RUN_START}{{scenario=~"$scenario"}}, run)')
    return found.sort(VariableSort.ALPHABETICAL_DESC)


def _values(name: str, query: str) -> builders.QueryVariable:
    return (
        builders.QueryVariable(name)
        .label(name.capitalize())
        .datasource(SOURCE)
        .query({"query": query, "refId": name})
        .definition(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
    )


class _Numbered(Builder[Panel]):
    """A panel with its number in the dashboard."""

    def __init__(self, panel: Builder[Panel], number: int) -> None:
        self._panel = panel
        self._number = number

    def build(self) -> Panel:
        """Build the panel."""
        built = self._panel.build()
        built.id_val = self._number
        return built
