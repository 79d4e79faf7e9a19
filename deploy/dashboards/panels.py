"""Panels as the dashboards have them: one source of data, one style, a description each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.builders import (
    common as common_builders,
)
from grafana_foundation_sdk.builders import (
    dashboard as dashboard_builders,
)
from grafana_foundation_sdk.builders import (
    gauge,
    heatmap,
    prometheus,
    stat,
    table,
    timeseries,
)
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    BigValueTextMode,
    DataSourceRef,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grafana_foundation_sdk.builders.prometheus import Dataquery
    from grafana_foundation_sdk.cog.builder import Builder
    from grafana_foundation_sdk.models.dashboard import Panel, ThresholdsConfig

SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
"""The server that the variable of the dashboard names."""
GOOD, FAIR, BAD, NEUTRAL = "green", "orange", "red", "blue"
GRADES: Final = {"VALID": GOOD, "DEGRADED": FAIR, "INVALID": BAD}
VERDICTS: Final = {"passed": GOOD, "failed": BAD, "void": BAD, "stopped": FAIR}
"""Colours of certificates."""
FULL, HALF, QUARTER = 24, 12, 6
"""Widths in columns; a dashboard has 24."""
LAST: Final = common_builders.ReduceDataOptions().calcs(["lastNotNull"])
"""Reduction of a series to one number: its last value."""
ROWS_STAT, ROWS_CHART = 4, 8
"""Heights in rows of 30 pixels."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query and the name of its series, with labels in braces."""

    expression: str
    legend: str = ""


def lines(
    title: str,
    description: str,
    unit: str,
    *queries: Query,
    width: int = HALF,
    stacked: bool = False,
) -> Builder[Panel]:
    """Series over time."""
    legend = (
        common_builders.VizLegendOptions()
        .display_mode(LegendDisplayMode.TABLE if len(queries) > 1 else LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs(["mean", "max"] if len(queries) > 1 else [])
    )
    tooltip = (
        common_builders.VizTooltipOptions()
        .mode(TooltipDisplayMode.MULTI)
        .sort(SortOrder.DESCENDING)
    )
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .span(width)
        .height(ROWS_CHART)
        .unit(unit)
        .min(0)
        .legend(legend)
        .tooltip(tooltip)
        .show_points(VisibilityMode.AUTO)
        .fill_opacity(30 if stacked else 0)
        .targets([*over_time(queries)])
    )
    if stacked:
        panel.stacking(common_builders.StackingConfig().mode(StackingMode.NORMAL))
    return panel


def figure(
    title: str,
    description: str,
    unit: str,
    expression: str,
    *steps: tuple[float, str],
    width: int = 3,
) -> Builder[Panel]:
    """One number, as of the end of the time range; each step is a colour from a value on."""
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .span(width)
        .height(ROWS_STAT)
        .unit(unit)
        .no_value("-")
        .reduce_options(LAST)
        .graph_mode(BigValueGraphMode.NONE)
        .color_mode(BigValueColorMode.VALUE)
        .thresholds(colours(*steps))
        .targets([at_end(Query(expression, title), "A")])
    )


def state(
    title: str,
    description: str,
    query: Query,
    palette: Mapping[str, str],
    *,
    width: int = 4,
) -> Builder[Panel]:
    """The name of the state whose series is 1."""
    panel = (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .span(width)
        .height(ROWS_STAT)
        .no_value("-")
        .reduce_options(LAST)
        .text_mode(BigValueTextMode.NAME)
        .graph_mode(BigValueGraphMode.NONE)
        .color_mode(BigValueColorMode.BACKGROUND)
        .thresholds(colours())
        .targets([at_end(query, "A")])
    )
    for name, colour in palette.items():
        fixed = {"mode": "fixed", "fixedColor": colour}
        panel.override_by_name(name, [DynamicConfigValue("color", fixed)])
    return panel


def dial(
    title: str, description: str, unit: str, expression: str, *, width: int = QUARTER
) -> Builder[Panel]:
    """One number on a scale."""
    return (
        gauge.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .span(width)
        .height(ROWS_CHART)
        .unit(unit)
        .min(0)
        .no_value("-")
        .reduce_options(LAST)
        .thresholds(colours())
        .targets([at_end(Query(expression, title), "A")])
    )


def heat(title: str, description: str, unit: str, histogram: str) -> Builder[Panel]:
    """Number of values by height and time, from a native histogram."""
    target = over_time([Query(histogram)])[0].format(PromQueryFormat.HEATMAP)
    colour = heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges").steps(64)
    return (
        heatmap.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .span(HALF)
        .height(ROWS_CHART)
        .calculate(False)
        .color(colour)
        .y_axis(heatmap.YAxisConfig().unit(unit))
        .targets([target])
    )


def rows(
    title: str,
    description: str,
    columns: Mapping[str, str],
    *,
    states: Sequence[str] = (),
    width: int = HALF,
    properties: Mapping[str, list[DynamicConfigValue]] | None = None,
) -> Builder[Panel]:
    """A table of the labels of all queries, joined by those that they share.

    A query of `columns` adds its value under a name; one of `states` adds only its labels.
    """
    expressions = [*states, *columns.values()]
    letters = [chr(ord("A") + number) for number in range(len(expressions))]
    # Grafana names the one value column of a single query without its letter.
    values = [f"Value #{one}" for one in letters] if len(letters) > 1 else ["Value"]
    hidden = ["Time", *values[: len(states)]]
    options = {
        "excludeByName": dict.fromkeys(hidden, True),
        "renameByName": dict(zip(values[len(states) :], columns, strict=True)),
    }
    panel = (
        table.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .span(width)
        .height(ROWS_CHART)
        .targets(
            [
                at_end(Query(expression), letter).format(PromQueryFormat.TABLE)
                for letter, expression in zip(letters, expressions, strict=True)
            ]
        )
        .transformations(
            [
                DataTransformerConfig(id_val="merge", options={}),
                DataTransformerConfig(id_val="organize", options=options),
            ]
        )
    )
    for column, wanted in (properties or {}).items():
        panel.override_by_name(column, wanted)
    return panel


def over_time(queries: tuple[Query, ...] | list[Query]) -> list[Dataquery]:
    """Range queries with letters of their own."""
    return [
        prometheus.Dataquery()
        .datasource(SOURCE)
        .expr(query.expression)
        .legend_format(query.legend)
        .range()
        .ref_id(chr(ord("A") + number))
        for number, query in enumerate(queries)
    ]


def at_end(query: Query, letter: str) -> Dataquery:
    """An instant query, evaluated at the end of the time range."""
    return (
        prometheus.Dataquery()
        .datasource(SOURCE)
        .expr(query.expression)
        .legend_format(query.legend)
        .instant()
        .ref_id(letter)
    )


def colours(*steps: tuple[float, str]) -> Builder[ThresholdsConfig]:
    """Colours by value: the neutral one below the first step."""
    return (
        dashboard_builders.ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps(
            [
                Threshold(value=None, color=NEUTRAL),
                *(Threshold(value=value, color=colour) for value, colour in steps),
            ]
        )
    )
