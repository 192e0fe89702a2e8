"""Bad files, edits that race, names, texts and arguments: what comes in from outside never breaks a promise.

    files    damaged files of a team: refused and untouched, or healed with nothing lost
    edits    tasks.json saved at every step of a commit, and in a race with many of them
    names    names that are paths, look-alikes or no text at all: refused, or stored exactly
    texts    hostile texts in every field, through every command: shown, never obeyed
    argv     arguments at random and by the grammar of the command table

Every input that once broke something is in proofs/corpus and is tried again by ``--corpus``.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from proofs.fuzz.bench import Bench, Clock

WEIGHTS = {"files": 17.0, "edits": 7.0, "names": 3.0, "texts": 7.0, "argv": 5.0}  # seconds of a short run
FULL = 9.0  # times as long


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/fuzz", description="Fuzz teamtasks; exit 1 if a promise is broken.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(WEIGHTS)}; without any: all")
    parser.add_argument("--short", action="store_true", help="about 40 s for everything (the default)")
    parser.add_argument("--full", action="store_true", help="several minutes")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other inputs (1)")
    parser.add_argument("--seconds", type=float, help="how long, for all the parts together")
    parser.add_argument("--corpus", action="store_true", help="only what is in proofs/corpus")
    parser.add_argument("--replay", metavar="FILE", help="one input that was kept")
    given = parser.parse_args(argv)
    unknown = [part for part in given.parts if part not in WEIGHTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}: there are {', '.join(WEIGHTS)}")
    return given


def main(argv: list[str]) -> int:
    """0: no violation, 1: violations, 2: cannot run."""
    try:
        given = _arguments(argv)
    except SystemExit as end:
        return int(end.code or 0)
    try:
        return _run(given)
    except Exception:
        traceback.print_exc()
        print("fuzz: cannot run", file=sys.stderr)
        return 2


def _run(given: argparse.Namespace) -> int:
    began = time.monotonic()
    bench = Bench(given.seed)
    try:
        if given.corpus or given.replay:
            from proofs.fuzz import corpus

            corpus.replay(bench, given.parts, given.replay)
        else:
            _fuzz(bench, given)
    finally:
        bench.close()
    print(f"fuzz: {bench.inputs:,} inputs, {bench.violations} violations, {time.monotonic() - began:.0f} s")
    return 1 if bench.violations else 0


def _fuzz(bench: Bench, given: argparse.Namespace) -> None:
    from proofs.fuzz.corpus import part

    chosen = given.parts or list(WEIGHTS)
    total = sum(WEIGHTS[name] for name in chosen)
    seconds = given.seconds or total * (FULL if given.full else 1.0)
    for name in chosen:
        began = time.monotonic()
        told = part(name, bench).run(Clock(seconds * WEIGHTS[name] / total), given.seed)
        print(f"{name}: {told}, {time.monotonic() - began:.1f} s", flush=True)
