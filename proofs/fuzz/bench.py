"""Where inputs are tried: a place to work in, a clock, an alarm against hangs, and a list of what went wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Input = dict[str, Any]

PATIENCE = 10.0  # seconds: nothing that is tried here takes as long as this
SHOWN = 20  # violations that are printed; all of them are kept


class Violation(Exception):
    """A promise that was not kept."""


class Hang(BaseException):
    """The alarm: not an Exception, so that nothing that is tried can swallow it."""


@contextmanager
def alarm(what: str, seconds: float = PATIENCE) -> Iterator[None]:
    """A violation if the block takes longer."""

    def ring(_signal: int, _frame: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    others = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except Hang:
        raise Violation(f"{what} took longer than {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *others)


class Bench:
    """One run: its inputs are counted per part, and what breaks something is kept."""

    def __init__(self, seed: int) -> None:
        self.origin = f"--seed {seed}"  # where the inputs come from
        shm = "/dev/shm"
        self.work = Path(tempfile.mkdtemp(prefix="teamtasks-fuzz-", dir=shm if os.access(shm, os.W_OK) else None))
        self.inputs = self.violations = 0
        self._kept = self.work / "kept"

    def place(self, name: str) -> Path:
        """An empty directory of that name."""
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def trial(self, part: str, data: Input, judge: Callable[[Input], None], keep: Path | None = None) -> None:
        """Judges one input. What is in ``keep`` is kept with an input that breaks something."""
        self.inputs += 1
        try:
            judge(data)
        except Violation as violation:
            self._record(part, data, str(violation), keep)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{part}: {self.inputs:,} inputs, {self.violations} violations ")
            sys.stderr.flush()

    def _record(self, part: str, data: Input, what: str, keep: Path | None) -> None:
        self.violations += 1
        place = self._kept / f"{part}-{self.violations}"
        place.mkdir(parents=True)
        text = json.dumps({"part": part, "went_wrong": what, "input": data}, indent=1)
        (place / "input.json").write_text(text + "\n")
        if keep is not None and keep.exists():
            shutil.copytree(keep, place / "files", symlinks=True, ignore=_no_pipes, dirs_exist_ok=True)
        if self.violations <= SHOWN:
            print(f"VIOLATION in {part}, {self.origin}: {what}\n  again: scripts/fuzz --replay {place}/input.json")

    def close(self) -> None:
        """Everything goes, unless there is something to look at."""
        if not self.violations:
            shutil.rmtree(self.work, ignore_errors=True)
            return
        for path in self.work.iterdir():
            if path != self._kept:
                shutil.rmtree(path, ignore_errors=True)


def _no_pipes(directory: str, names: list[str]) -> list[str]:
    paths = [Path(directory, name) for name in names]
    return [path.name for path in paths if not (path.is_symlink() or path.is_file() or path.is_dir())]


class Clock:
    """Says when a part has had its time; at least one input is always tried."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def __bool__(self) -> bool:
        return time.monotonic() < self._end
