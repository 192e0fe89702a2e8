"""Every changing command, killed at every system call after its first touch of the ledger, and every such call failing.

    scripts/crash --short              a seeded sample, under two minutes
    scripts/crash --full               every point
    scripts/crash --command complete   every point of one command, also with --state normal

A point is one scene (an example of a command, in one state of a team), one system call of it and one fault: the process is
killed there, or the call answers with an error of ``errors.txt``. After it the promises of ``promises.py`` must hold, and
the exit code must have told the truth. Of Python's own calls in a row, such as loading a module, one kill stands for all:
the disk is the same. They are made to fail only for want of memory: a Python that cannot be loaded is not ours to explain.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from proofs import report
from proofs.promises import Broken, Slow, essence, keep, seen
from proofs.scenes import STATES, Scene, scenes
from proofs.strace import MISSING, Run, is_usable
from teamtasks.domain.errors import TeamtasksError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.ledgers import Ledger
    from proofs.promises import Essence
    from proofs.strace import Call

ERRORS = {
    name: errors
    for name, *errors in map(str.split, (Path(__file__).parent / "errors.txt").read_text().splitlines())
    if name != "#"
}
KILL = "SIGKILL"
SHORT = 6  # points of each scene in the short form
_COMMITTED = re.compile(r"committed as revision \d+")


class Point(NamedTuple):
    call: Call
    fault: str

    @property
    def injection(self) -> str:
        fault = "signal=SIGKILL" if self.fault == KILL else f"error={self.fault}"
        return f"{self.call.name}:{fault}:when={self.call.which}"


class Sweep:
    """A scene that is played again and again, each time with another fault."""

    def __init__(self, scene: Scene, place: Path, templates: Path) -> None:
        self.scene, self.place, self.templates, self.played = scene, place, templates, 0
        self.before = seen(self._fresh())
        self.old = essence(self._fresh())
        self._run()  # bytecode is compiled now, so that calls can be counted
        whole, run = self._run()
        if run.code != 0:
            raise Broken(f"without any fault: {run}")
        self.new: Essence = essence(whole)
        self.calls = run.calls(whole.home)
        shutil.rmtree(whole.home)

    def _fresh(self, nth: str = "old") -> Ledger:
        shutil.rmtree(self.place / nth, ignore_errors=True)
        return self.scene.prepare(self.place / nth, self.templates)

    def _run(self, *injections: str) -> tuple[Ledger, Run]:
        self.played += 1
        ledger = self._fresh(str(self.played))
        return ledger, Run(ledger.home, self.scene.run, *injections, stdin=self.scene.stdin)

    def points(self) -> Iterator[Point]:
        between = False
        for call in self.calls:
            ours = str(self.place) in call.arguments or _is_output(call)
            if ours or not between:
                yield Point(call, KILL)
            between = not ours
            if ours or call.name == "mmap":
                for error in ERRORS.get(call.name, ()):
                    yield Point(call, error)

    def check(self, point: Point) -> str | None:
        """What is wrong at this point; None if nothing is."""
        for patience in (True, False):
            ledger, run = self._run(point.injection)
            try:
                keep(self.scene, ledger, self.before, self.old, self.new, self._allowed(point, run))
            except Slow as slow:
                if patience:
                    continue
                problem = str(slow)
            except (Broken, TeamtasksError) as broken:
                problem = str(broken)
            except Exception:
                problem = traceback.format_exc()
            else:
                shutil.rmtree(ledger.home)
                return None
            where = f"{self.scene.name}\n  at {point.injection}({point.call.arguments[:160]}"
            return f"{where}\n  {problem}\n  {_told(run)}\n  kept in {ledger.home}"
        raise AssertionError

    def _allowed(self, point: Point, run: Run) -> tuple[Essence, ...]:
        """What the ledger may be after what the command said of itself."""
        if point.fault == KILL:
            if not run.was_killed:
                raise Broken("the kill did not happen: the calls are not the same each time")
            return (self.new,) if run.out else (self.old, self.new)
        if not run.was_failed:
            raise Broken("the error did not happen: the calls are not the same each time")
        if run.code == 0 or _COMMITTED.search(run.err):
            return (self.new,)
        if "outcome_unknown" in run.err:
            return (self.old, self.new)
        if run.code == 70 and point.call.name != "mmap":
            raise Broken("the error was not foreseen")
        if point.call.name == "mmap":  # Python itself may end for want of memory, anywhere and without a word
            return (self.old,) if run.code in (1, 9) and run.err.startswith("error[") else (self.old, self.new)
        if not re.search(r"^(error\[|warning: )", run.err, re.M):
            raise Broken("it failed without a word")
        return (self.old,)


def _is_output(call: Call) -> bool:
    return call.name == "write" and call.arguments.startswith(("1<", "2<"))


def _told(run: Run) -> str:
    return f"exit {run.code}, out {run.out.strip()[:120]!r}, err {run.err.strip()[-300:]!r}"


def sweep(job: tuple[Scene, Path, argparse.Namespace]) -> report.Outcome:
    """One scene: all of its points, or a sample of them."""
    scene, base, options = job
    place = base / f"{abs(hash(scene.name)):x}"
    place.mkdir()
    try:
        played = Sweep(scene, place, base / "templates")
    except (Broken, TeamtasksError, AssertionError) as error:
        return report.Outcome(scene.name, 0, [f"{scene.name}\n  {error}"])
    points = [point for point in played.points() if options.fault in (None, point.fault)]
    if options.short:
        points = random.Random(f"{options.seed} {scene.name}").sample(points, min(SHORT, len(points)))
    problems = [problem for problem in map(played.check, points) if problem]
    if not problems:
        shutil.rmtree(place)
    return report.Outcome(scene.name, len(points), problems)


def chosen(options: argparse.Namespace) -> list[Scene]:
    """Every scene that was asked for; in the short form one of each command in each of the states that it is due for."""
    found = [each for each in scenes(options.command) if options.state in (None, each.state)]
    if not options.short:
        return found
    picker, by_command = random.Random(options.seed), {}
    for each in found:
        by_command.setdefault(each.command, []).append(each)
    return [scene for each in by_command.values() for scene in picker.sample(each, min(3, len(each)))]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/crash", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="a seeded sample")
    parser.add_argument("--full", action="store_true", help="every point (what happens without --short)")
    parser.add_argument("--command", metavar="NAME", help="only this command")
    parser.add_argument("--state", choices=STATES, help="only in this state of the team")
    parser.add_argument("--fault", metavar="NAME", help=f"only this fault: {KILL}, ENOSPC, EIO, …")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="for the sample")
    options = parser.parse_args(argv)
    if not is_usable():
        print(MISSING, file=sys.stderr)
        return 2
    began = time.monotonic()
    with report.workplace("crash") as base:
        (base / "templates").mkdir()
        jobs = [(scene, base, options) for scene in chosen(options)]
        return report.run("crash", "points", sweep, jobs, base, began)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
