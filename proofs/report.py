"""How every proof works through its cases, on all cores, and what it says at the end."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MEMORY = Path("/dev/shm")


class Outcome(NamedTuple):
    name: str
    count: int
    problems: list[str]


@contextmanager
def workplace(proof: str) -> Iterator[Path]:
    """A directory that goes away at the end, unless something in it shows what was wrong."""
    parent = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    place = Path(tempfile.mkdtemp(prefix=f"teamtasks-{proof}-", dir=parent))
    yield place
    if not (place / "keep").exists():
        shutil.rmtree(place, ignore_errors=True)


def run(proof: str, unit: str, work: Callable[[Any], Outcome], jobs: Sequence[Any], place: Path, began: float) -> int:
    """Does all jobs, prints each problem, and the sum as the last line. 1 if there was a problem, 2 if nothing was done."""
    count, problems = 0, 0
    with get_context("fork").Pool(os.cpu_count()) as pool:
        for nth, outcome in enumerate(pool.imap_unordered(work, jobs), 1):
            count += outcome.count
            problems += len(outcome.problems)
            for problem in outcome.problems:
                print(f"VIOLATION {problem}\n", flush=True)
            if sys.stderr.isatty():
                print(f"\r{nth}/{len(jobs)} {outcome.name[:70]:70} {count:,} {unit}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if problems:
        (place / "keep").touch()
    print(f"{proof}: {count:,} {unit} of {len(jobs)} scenes, {problems} violations, {time.monotonic() - began:.0f} s")
    return 1 if problems else 0 if count else 2
