"""The bench: measures what is promised, at the target, and writes the results into git.

    ./dev bench [--quick] [--profile] [FAMILY...]    LoadPilot beside its peers; bench/README.md
    ./dev bench fidelity [--rps 1000] [--secs 10] [--rounds 3] [--release]
    ./dev bench startup [--rounds 7] [--release]
    ./dev bench scale [--quick] [--rounds 3] [--secs 15]
    ./dev bench reading [--rounds 3] [--release]
    ./dev bench pages [--rounds 3] [--release]

Run it on a quiet machine (`--patience-secs 600` waits for one): the load before is part of every
result. Must never be a test, and must never print a figure without what it was measured on.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

# They are found by the line above.
from bench import compare  # noqa: E402
from bench.install import build, peers  # noqa: E402
from bench.measure import machine  # noqa: E402
from bench.single import browser, fidelity, log_reading, scale, startup  # noqa: E402

MODULES = {
    "fidelity": fidelity,
    "startup": startup,
    "scale": scale,
    "reading": log_reading,
    "pages": browser,
}
ALONE = tuple(MODULES)
"""What looks at LoadPilot alone."""


def main() -> None:
    """Measure what was asked for."""
    args = arguments()
    if args.install:
        for peer in peers.PEERS:
            print(f"{peer.name}: {peers.install(peer.name).version}", flush=True)
        return
    compared = [what for what in args.what if what not in ALONE]
    for what in args.what:
        if what in ALONE:
            alone(what, args)
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


def alone(what: str, args: argparse.Namespace) -> None:
    """Measure LoadPilot by itself."""
    if what == "scale":
        programs = scale.build(quick=args.quick)
        name = programs.name
    else:
        made = build.release() if args.release else build.development()
        name = made.name
    facts = machine.facts(name)
    for name, fact in facts:
        print(f"{name}: {fact}")
    drawn = ""
    if what == "scale":
        table = scale.measure(
            programs,
            quick=args.quick,
            secs=args.secs,
            rounds=args.rounds,
            patience_secs=args.patience_secs,
        )
        title = "Scale: many light agents, one server, one coordinator"
    elif what == "fidelity":
        secs, rounds = (
            args.secs or (2 if args.quick else 10),
            args.rounds or (1 if args.quick else 3),
        )
        table, drawn = fidelity.measure(made, args.rps, secs, rounds, args.patience_secs)
        title = f"Schedule fidelity, {args.rps:,} rps for {secs} s"
    elif what == "reading":
        rounds = args.rounds or (1 if args.quick else 3)
        table = log_reading.measure(made, rounds, args.patience_secs, quick=args.quick)
        title = "Reading a log"
    elif what == "pages":
        rounds = args.rounds or (1 if args.quick else 3)
        table = browser.measure(made, rounds, args.patience_secs, quick=args.quick)
        title = "The pages of a run that goes on"
    else:
        rounds = args.rounds or (1 if args.quick else 7)
        table = startup.measure(made, rounds, args.patience_secs)
        title = "Start-up"
    print(table[-1])
    name = f"{what}-release" if args.release and what != "scale" else what
    folder = compare.QUICK_RESULTS if args.quick else compare.RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    if drawn:
        (folder / f"{name}.svg").write_text(drawn + "\n", encoding="utf-8")
        table += ["", f"![{fidelity.CHART.caption}]({name}.svg)"]
    path = folder / f"{name}.md"
    path.write_text(page(title, MODULES[what].__doc__ or "", facts, table))
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
        help=f"{', '.join([*families, *ALONE])}; default: those with peers",
    )
    parser.add_argument("--quick", action="store_true", help="few short rounds, not for git")
    parser.add_argument("--rounds", "--repeats", type=int, help="default: as the family wants")
    parser.add_argument("--secs", type=int, help="the length of a run; default: as it wants")
    parser.add_argument("--rps", type=int, default=1_000, help="fidelity: the constant rate")
    parser.add_argument(
        "--patience-secs", type=float, default=0, help="wait so long for a quiet machine, a round"
    )
    parser.add_argument("--tools", help="only these, by name with commas; the rest is named")
    parser.add_argument("--install", action="store_true", help="install the peers, and end")
    parser.add_argument(
        "--wheel", type=Path, help="an unpacked release wheel to measure; default: build one"
    )
    parser.add_argument(
        "--release", action="store_true", help="not with peers: measure a release wheel"
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="one more run of LoadPilot a table under perf: which symbols its agent is in",
    )
    args = parser.parse_args()
    unknown = set(args.what) - {*families, *ALONE}
    if unknown:
        parser.error(f"no such family: {', '.join(sorted(unknown))}")
    return args


def page(title: str, method: str, facts: list[tuple[str, str]], table: list[str]) -> str:
    """Write a page of results: what was done, on what, and what came out."""
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
