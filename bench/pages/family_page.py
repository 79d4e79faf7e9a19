"""Writes a family's result: as Markdown for git, as one HTML file for people, as JSON for programs.

Every tool and every figure is shown, failures and tools that are missing included. The order is
that of the list of tools, never that of a figure.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.measure.rounds import agent_of
from bench.pages.distribution_plot import svg
from bench.pages.goals import Judged, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.families.family import Result
    from bench.measure.rounds import Table
    from bench.pages.distribution_plot import Chart

Rows = list[list[str]]
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem;
  color: #1b1f24; background: #fff; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #d0d7de; padding: .3rem .7rem; text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
thead th { white-space: normal; vertical-align: bottom; background: #f6f8fa; }
td small { display: block; color: #59636e; }
tr.ours td { background: #eef6ff; }
td.kept { color: #116329; } td.missed { color: #a40e26; font-weight: 600; }
code { font-size: 13px; } pre { background: #f6f8fa; padding: .8rem; overflow-x: auto; }
.goals td, .facts td { text-align: left; white-space: normal; }
"""


@dataclass(frozen=True)
class Page:
    """A result with the facts of its machine and build."""

    result: Result
    when: str
    command: str
    rounds: int
    facts: list[tuple[str, str]]

    def write(self, folder: Path) -> list[Path]:
        """Write all forms; returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        written_to = []
        forms = {"md": self.markdown(), "html": self.html(), "json": self.json()}
        files = {f"{self.result.name}.{ending}": text for ending, text in forms.items()}
        for table in self.result.tables:
            for chart, lines in table.charts.items():
                files[self._file(table, chart)] = svg(chart, lines) + "\n"
        for name, text in files.items():
            path = folder / name
            path.write_text(text, encoding="utf-8")
            written_to.append(path)
        return written_to

    def _file(self, table: Table, chart: Chart) -> str:
        """Name the file of a drawing, which Markdown shows from beside it."""
        return f"{self.result.name}-{self.result.tables.index(table) + 1}-{chart.name}.svg"

    def markdown(self) -> str:
        """Write it as Markdown."""
        result = self.result
        parts = [f"# {result.title}", self._when(), result.about.strip(), READING]
        parts.append(_markdown(*self._goals()))
        if self._unexplained():
            parts.append(UNEXPLAINED)
        for table in result.tables:
            parts.append(f"## {table.title}")
            parts.append(_markdown(*self._cells(table)))
            parts += [f"![{one.caption}]({self._file(table, one)})" for one in table.charts]
            parts.append("\n".join(f"- {line}" for line in self._remarks(table)))
            parts.append("\n".join(["```", *table.commands.values(), "```"]))
            if table.profile:
                parts.append(f"{PROFILE}\n\n```\n{table.profile}\n```")
        parts.append("## Measured on")
        parts.append(_markdown(["", ""], [[name, fact] for name, fact in self._facts()]))
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """Write it as one file that needs no other."""
        result = self.result
        title = html.escape(result.title)
        parts = [f"<h1>{title}</h1><p>{_inline(self._when())}</p>"]
        parts += [f"<p>{_inline(text)}</p>" for text in result.about.strip().split("\n\n")]
        parts.append(f"<p>{_inline(READING)}</p>")
        parts.append(_table(*self._goals(), "goals"))
        if self._unexplained():
            parts.append(f"<p>{_inline(UNEXPLAINED)}</p>")
        for table in result.tables:
            parts.append(f"<h2>{html.escape(table.title)}</h2>")
            parts.append(_table(*self._cells(table), "figures"))
            for chart, lines in table.charts.items():
                caption = f"<figcaption>{html.escape(chart.caption)}</figcaption>"
                parts.append(f"<figure>{svg(chart, lines)}{caption}</figure>")
            remarks = "".join(f"<li>{_inline(line)}</li>" for line in self._remarks(table))
            parts.append(f"<ul>{remarks}</ul>")
            parts.append(f"<pre>{html.escape(chr(10).join(table.commands.values()))}</pre>")
            if table.profile:
                parts.append(f"<p>{PROFILE}</p><pre>{html.escape(table.profile)}</pre>")
        parts.append("<h2>Measured on</h2>")
        parts.append(_table(["", ""], [[name, fact] for name, fact in self._facts()], "facts"))
        head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        body = "\n".join(parts)
        return f'<!doctype html><html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'

    def json(self) -> str:
        """Write every figure of every round."""
        tables = [
            {
                "title": table.title,
                "figures": table.figures,
                "failures": table.failures,
                "busy_before": table.busy,
                "commands": table.commands,
                "absent": table.absent,
                "profile": table.profile,
            }
            for table in self.result.tables
        ]
        goals = [
            {
                "goal": goal.words,
                "found": goal.found,
                "whole_command": goal.beside,
                "judged": goal.judged.value,
            }
            for goal in self.result.goals
        ]
        fields = {
            "name": self.result.name,
            "when": self.when,
            "command": self.command,
            "measured_on": dict(self._facts()),
            "goals": goals,
            "tables": tables,
        }
        return json.dumps(fields, indent=1, ensure_ascii=False) + "\n"

    def _when(self) -> str:
        return f"Measured {self.when} with `{self.command}`; rounds: {self.rounds}."

    def _goals(self) -> tuple[list[str], Rows]:
        """Write the goals; a column for the whole command where any was judged by the agent."""
        beside = any(goal.beside for goal in self.result.goals)
        head = ["goal", "found", *(["the whole command"] if beside else []), ""]
        rows = [
            [goal.words, goal.found, *([goal.beside] if beside else []), _strong(goal.judged)]
            for goal in self.result.goals
        ]
        return head, rows

    def _unexplained(self) -> bool:
        """Whether a goal was missed without a profile."""
        missed = any(goal.judged is Judged.MISSED for goal in self.result.goals)
        return missed and not any(table.profile for table in self.result.tables)

    def _cells(self, table: Table) -> tuple[list[str], Rows]:
        """Write the figures of all tools; a column that no tool fills is left out of this table."""
        columns = [
            column
            for column in self.result.columns
            if any(table.spread(tool, column.key) for tool in table.figures)
        ]
        names = sorted(set(table.figures) | set(table.failures), key=self._place(table))
        rows = [
            [name, *(written(table.spread(name, column.key)) for column in columns)]
            for name in names
        ]
        rows += [
            [f"{name}: *{why}*", *("-" for _ in columns)] for name, why in table.absent.items()
        ]
        return ["tool", *(column.title for column in columns)], rows

    @staticmethod
    def _place(table: Table) -> Callable[[str], int]:
        """Keep the order of the first round, in which every tool was called once."""
        tools = dict.fromkeys([*table.commands, *table.failures, *table.figures])
        agents = {agent_of(tool) for tool in tools}
        order = [row for tool in tools if tool not in agents for row in (tool, agent_of(tool))]
        return order.index

    def _remarks(self, table: Table) -> list[str]:
        lines = [f"CPU busy before each round: {', '.join(table.busy)}"]
        for tool, notes in table.notes.items():
            lines.append(f"{tool}: {'; '.join(sorted(notes))}")
        for tool, whys in table.failures.items():
            lines.append(f"**{tool} failed in {len(whys)} of {self.rounds} rounds**: {whys[0]}")
        lines += [f"not here: {tool} ({why})" for tool, why in self.result.skipped.items()]
        return lines

    def _facts(self) -> list[tuple[str, str]]:
        return [*self.facts, *self.result.setup]


PROFILE = "Where the agent's time went, in one more run that is in no figure:"
UNEXPLAINED = (
    "**A goal is MISSED and this page has no profile: run it again with `--profile`, where perf "
    "is.**"
)
READING = (
    "Each round runs every tool once, in an order that rotates by one. A figure is the median of "
    "the rounds with its 95 % interval (from order statistics; with fewer than six rounds, their "
    "whole range). A ratio is taken within a round, and its median is shown. A dash: the tool "
    "reports nothing. *LoadPilot* is the whole command, all its processes. *LoadPilot's agent* is "
    "the process that generates the load, with its histograms and the deltas that it sends to "
    "nats; its cost is that of its whole life, and its other figures are those of the row above."
)


def _strong(judged: Judged) -> str:
    return f"**{judged.value}**" if judged is Judged.MISSED else judged.value


def _markdown(head: list[str], rows: Rows) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines)


def _table(head: list[str], rows: Rows, kind: str) -> str:
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(f"<tr{_ours(row)}>{''.join(map(_cell, row))}</tr>" for row in rows)
    inside = f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wide"><table class="{kind}">{inside}</table></div>'


def _ours(row: list[str]) -> str:
    return ' class="ours"' if row[0].startswith("LoadPilot") else ""


def _cell(text: str) -> str:
    kinds = {f"**{Judged.MISSED.value}**": "missed", Judged.KEPT.value: "kept"}
    kind = f' class="{kinds[text]}"' if text in kinds else ""
    middle, bracket, interval = text.partition(" [")
    small = f"<small>[{html.escape(interval)}</small>" if bracket else ""
    return f"<td{kind}>{_inline(middle)}{small}</td>"


def _inline(text: str) -> str:
    """Turn the little Markdown that is used here into HTML."""
    safe = html.escape(text)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return re.sub(r"\*\*?([^*]+)\*\*?", r"<strong>\1</strong>", safe)
