"""The bench: measures what is promised, against an oracle, and writes the results into git.

    bench/run.py fidelity [--rps 1000] [--secs 10] [--repeats 3] [--patience-secs 0] [--release]
    bench/run.py startup [--repeats 7] [--patience-secs 0] [--release]

Run it on a quiet machine: the load before is part of every result. Must never be a test, and must
never print a figure without what it was measured on.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import build, fidelity, machine, startup  # noqa: E402  (they are found by the line above)

RESULTS = ROOT / "bench" / "results"


def main() -> None:
    """Measure what was asked for."""
    args = arguments()
    made = build.release() if args.release else build.development()
    facts = machine.facts(made.name)
    for name, fact in facts:
        print(f"{name}: {fact}")
    if args.what == "fidelity":
        table = fidelity.measure(made, args.rps, args.secs, args.repeats or 3, args.patience_secs)
        title = f"Schedule fidelity, {args.rps:,} rps for {args.secs} s"
    else:
        table = startup.measure(made, args.repeats or 7, args.patience_secs)
        title = "Start-up"
    print("\n".join(table[-1:]))
    name = f"{args.what}-release.md" if args.release else f"{args.what}.md"
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / name
    path.write_text(page(title, sys.modules[f"bench.{args.what}"].__doc__ or "", facts, table))
    print(f"written to {path.relative_to(ROOT)}")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    about = (__doc__ or "").split("\n", maxsplit=1)[0]
    parser = argparse.ArgumentParser(prog="bench/run.py", description=about)
    parser.add_argument("what", choices=["fidelity", "startup"])
    parser.add_argument("--rps", type=int, default=1_000, help="fidelity: the constant rate")
    parser.add_argument("--secs", type=int, default=10, help="fidelity: the length of a run")
    parser.add_argument("--repeats", type=int, help="default: 3 for fidelity, 7 for startup")
    parser.add_argument(
        "--patience-secs", type=float, default=0, help="wait so long for a quiet machine, per run"
    )
    parser.add_argument("--release", action="store_true", help="build and measure a release wheel")
    return parser.parse_args()


def page(title: str, method: str, facts: list[tuple[str, str]], table: list[str]) -> str:
    """Write a page of results: what was done, on what, and what came out."""
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    about = method.strip().split("\n\n", 1)[-1]
    command = " ".join(["bench/run.py", *sys.argv[1:]])
    machine_rows = "".join(f"| {name} | {fact} |\n" for name, fact in facts)
    return (
        f"# {title}\n\nMeasured {when} with `{command}`. {about}\n\n"
        f"| measured on | |\n|---|---|\n{machine_rows}\n" + "\n".join(table) + "\n"
    )


if __name__ == "__main__":
    main()
