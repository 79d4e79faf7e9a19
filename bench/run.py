"""The bench: measures the goals at the target, and writes the result pages.

    ./dev bench [--quick] [--profile] [FAMILY...]    LoadPilot beside its peers; bench/README.md
    ./dev bench fidelity [--rps 1000] [--secs 10] [--rounds 3] [--release]
    ./dev bench startup [--rounds 7] [--release]
    ./dev bench scale [--quick] [--rounds 3] [--secs 15]
    ./dev bench reading [--rounds 3] [--release]
    ./dev bench commands [--rounds 3] [--release]
    ./dev bench pages [--rounds 3] [--release]
    ./dev bench view [--rounds 3] [--release]
    ./dev bench rows [--rounds 3] [--release]

Run it on a quiet machine (`--patience-secs 600` waits for one): every result has the load before
it, the machine and the build. It is no test: a missed goal fails nothing.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

# The line above makes them importable.
from bench import compare  # noqa: E402
from bench.install import build, peers  # noqa: E402
from bench.measure import machine  # noqa: E402
from bench.single import (  # noqa: E402
    browser,
    fidelity,
    live_view,
    log_reader,
    read_commands,
    row_files,
    scale,
    startup,
    tenant_noise,
)

SINGLE = {
    "fidelity": (fidelity, 3),
    "startup": (startup, 7),
    "scale": (scale, 0),
    "reading": (log_reader, 3),
    "commands": (read_commands, 3),
    "pages": (browser, 3),
    "view": (live_view, 3),
    "rows": (row_files, 3),
    "noise": (tenant_noise, 5),
}
"""Measurements of LoadPilot alone, and their number of rounds; 0: by the module."""
READERS = {
    "reading": log_reader,
    "commands": read_commands,
    "pages": browser,
    "view": live_view,
    "rows": row_files,
    "noise": tenant_noise,
}
"""The measurements of the product around its engine."""
TITLES = {
    "startup": "Start-up",
    "scale": "Scale: many light agents, one server, one coordinator",
    "reading": "Reading a log",
    "commands": "Commands that read past runs",
    "pages": "The pages of a run that goes on",
    "view": "The live view at a terminal",
    "rows": "Files of rows",
    "noise": "A noisy neighbour on a shared fleet",
}


def main() -> None:
    """Measure what the command line names."""
    args = arguments()
    if args.install:
        for peer in peers.PEERS:
            print(f"{peer.name}: {peers.install(peer.name).version}", flush=True)
        return
    compared = [what for what in args.what if what not in SINGLE]
    for what in args.what:
        if what in SINGLE:
            single(what, args)
    if compared:
        request = compare.Request(
            compared,
            args.quick,
            args.rounds,
            args.secs,
            args.patience_secs,
            args.tools and args.tools.lower().split(","),
            args.wheel,
            args.profile,
        )
        for path in compare.compare(request):
            print(f"written to {path.relative_to(ROOT)}")


def single(what: str, args: argparse.Namespace) -> None:
    """Measure LoadPilot alone, and write the page."""
    made: scale.Programs | build.Build
    if what == "scale":
        made = scale.build(quick=args.quick)
    else:
        made = build.release() if args.release else build.installed()
    facts = machine.facts(made.name)
    for name, fact in facts:
        print(f"{name}: {fact}")
    module, full = SINGLE[what]
    patience_secs, quick = args.patience_secs, args.quick
    rounds: int = args.rounds or (min(1, full) if quick else full)
    title, drawn = TITLES.get(what, ""), ""
    if isinstance(made, scale.Programs):
        table = scale.measure(
            made, quick=quick, secs=args.secs, rounds=rounds, patience_secs=patience_secs
        )
    elif what == "fidelity":
        secs = args.secs or (2 if quick else 10)
        table, drawn = fidelity.measure(made, args.rps, secs, rounds, patience_secs)
        title = f"Schedule fidelity, {args.rps:,} rps for {secs} s"
    elif what == "startup":
        table = startup.measure(made, rounds, patience_secs)
    else:
        table = READERS[what].measure(made, rounds, patience_secs, quick=quick)
    print(table[-1])
    name = f"{what}-release" if args.release and what != "scale" else what
    folder = compare.QUICK_RESULTS if quick else compare.RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    if drawn:
        (folder / f"{name}.svg").write_text(drawn + "\n", encoding="utf-8")
        table += ["", f"![{fidelity.CHART.caption}]({name}.svg)"]
    path = folder / f"{name}.md"
    path.write_text(page(title, module.__doc__ or "", facts, table))
    print(f"written to {path.relative_to(ROOT)}")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    about = (__doc__ or "").split("\n", maxsplit=1)[0]
    parser = argparse.ArgumentParser(prog="./dev bench", description=about)
    families = list(compare.FAMILIES)
    parser.add_argument(
        "what",
        nargs="*",
        metavar="FAMILY",
        default=families,
        help=f"{', '.join([*families, *SINGLE])}; default: those with peers",
    )
    parser.add_argument("--quick", action="store_true", help="few short rounds, not for git")
    parser.add_argument(
        "--rounds", "--repeats", type=int, help="number of rounds; default: by family"
    )
    parser.add_argument("--secs", type=int, help="seconds of a run; default: by family")
    parser.add_argument("--rps", type=int, default=1_000, help="fidelity: the constant rate")
    parser.add_argument(
        "--patience-secs",
        type=float,
        default=0,
        help="maximum wait for a quiet machine before a round",
    )
    parser.add_argument(
        "--tools", help="only these tools, comma-separated; the page names the others"
    )
    parser.add_argument("--install", action="store_true", help="install the peers, and end")
    parser.add_argument(
        "--wheel", type=Path, help="an unpacked release wheel to measure; default: build one"
    )
    parser.add_argument(
        "--release", action="store_true", help="without peers: measure a release wheel"
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="one more run of LoadPilot a table under perf: the hottest symbols of its agent",
    )
    args = parser.parse_args()
    unknown = set(args.what) - {*families, *SINGLE}
    if unknown:
        parser.error(f"no such family: {', '.join(sorted(unknown))}")
    return args


def page(title: str, method: str, facts: list[tuple[str, str]], table: list[str]) -> str:
    """Write a page of results: method, machine, table."""
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    about = method.strip().split("\n\n", 1)[-1]
    command = " ".join(["./dev bench", *sys.argv[1:]])
    machine_rows = "".join(f"| {name} | {fact} |\n" for name, fact in facts)
    return (
        f"# {title}\n\nMeasured {when} with `{command}`. {about}\n\n"
        f"| measured on | |\n|---|---|\n{machine_rows}\n" + "\n".join(table) + "\n"
    )


if __name__ == "__main__":
    main()
