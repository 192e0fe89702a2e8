"""Hand edits that race with commits: at every step of one commit, and against many commits at full speed."""

from __future__ import annotations

import json
import os
import time
from random import Random
from typing import TYPE_CHECKING

import teamtasks
from proofs.fuzz import oracle, steps
from proofs.fuzz.bench import Violation
from proofs.fuzz.shapes import Shapes
from proofs.ledgers import Ledger, python
from teamtasks.domain.errors import TeamtasksError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from proofs.fuzz.bench import Bench, Clock, Input

COMMANDS = ("create", "note")
RACES = ("in place", "by rename", "in pieces")
RACE = 1.6  # seconds of one race
TOLERATED = 0.05  # of the saves by rename may fall into the window that remains

WRITER = """
import json, random
import teamtasks
team = teamtasks.open("payments", home=str(ledger.home))
say("ready")
made, stop = [], ledger.home / "stop"
while not stop.exists():
    try:
        made.append(team.create(f"{sys.argv[2]}-{len(made)}")["task"]["id"])
    except StoreUnavailable:
        pass
    time.sleep(random.random() * 0.02)
say(json.dumps(made))
"""


class Edits:
    name = "edits"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.shapes = Shapes(bench.place("edits-shapes"))
        self.saves = self.window = self.raced = self.raced_window = self.commits = 0
        self._reached = False

    def run(self, clock: Clock, seed: int) -> str:
        """Every step of every case as far as the time goes, in an order of the seed; a third of the time is for races."""
        random = Random(f"{seed}/edits")
        began, races = time.monotonic(), 0
        cases = [(save, found, command) for save in steps.SAVES for found in steps.FOUND for command in COMMANDS]
        cases = [case for case in cases if case[1] != "missing" or case[0] == "by rename"]  # nobody can open what is missing
        random.shuffle(cases)
        cases.sort(key=lambda case: case[1] != "in order")
        while clock or not races:
            if time.monotonic() - began > clock.seconds * (races + 1) / (clock.seconds / RACE / 3 + 1) or not cases:
                self.replay({"race": RACES[races % len(RACES)], "seconds": RACE, "seed": random.random()})
                races += 1
            else:
                self._sweep(*cases.pop(0), clock)
        return (
            f"{self.saves:,} saves at a step of a commit, {self.window} lost in the window that remains; "
            f"{self.raced} saves in {races} races with {self.commits:,} commits, {self.raced_window} lost in the window"
        )

    def _sweep(self, save: str, found: str, command: str, clock: Clock) -> None:
        for step in range(steps.MOST):
            self.replay({"save": save, "found": found, "command": command, "step": step})
            if not self._reached or not clock:
                return

    def replay(self, data: Input) -> None:
        self._reached = False
        self.bench.trial(self.name, data, self.judge, self.bench.work / "edits" / "home")

    def judge(self, data: Input) -> None:
        self.bench.place("edits")
        ledger, _truth = self.shapes.copy("claims", self.bench.work / "edits" / "home")
        try:
            if "race" in data:
                self._race(ledger, data)
                return
            self._reached, lost = steps.judge(ledger, data, _command(data["command"]))
        except (Violation, AssertionError, TeamtasksError) as wrong:
            self._reached = True
            raise Violation(f"{data}: {wrong or 'the ledger is not in order'}") from wrong
        self.saves, self.window = self.saves + self._reached, self.window + lost

    def _race(self, ledger: Ledger, data: Input) -> None:
        writers = [python(ledger.home, WRITER, name) for name in ("a", "b")]
        try:
            for writer in writers:
                assert writer.stdout is not None
                writer.stdout.readline()
            must, may = _saves(ledger, data["race"], data["seconds"])
        finally:
            (ledger.home / "stop").touch()
            told = [_ended(writer) for writer in writers]
        teamtasks.open("payments", home=str(ledger.home)).create("last")
        made = {id: f"{name}-{n}" for name, ids in zip("ab", told, strict=True) for n, id in enumerate(ids)}
        self.commits += len(made)
        if {id: ledger.titles().get(id) for id in made} != made:
            raise Violation("a commit was lost")
        ledger.assert_in_order()
        kept = b"".join([ledger.tasks.read_bytes(), *oracle.put_aside(ledger)])
        lost = [n for n in (*must, *may) if b'"edit-%d":' % n not in kept]
        self.raced, self.raced_window = self.raced + len(must) + len(may), self.raced_window + len(lost)
        if set(lost) & set(must):
            raise Violation(
                f"{len(lost)} of {len(must) + len(may)} saves are lost, among them {sorted(set(lost) & set(must))[:3]}"
            )
        if data["race"] == "by rename" and len(lost) > max(2, TOLERATED * len(may)):
            raise Violation(f"{len(lost)} of {len(may)} saves are lost: more than the window can explain")


def _command(name: str) -> Callable[[Ledger], str]:
    """A commit whose text is then in tasks.json."""

    def run(ledger: Ledger) -> str:
        text, team = f"written at {time.monotonic_ns()}", teamtasks.open("payments", home=str(ledger.home))
        team.create(text) if name == "create" else team.note("task-4", text)
        return text

    return run


def _saves(ledger: Ledger, how: str, seconds: float) -> tuple[list[int], list[int]]:
    """Saves one after the other. Those that certainly went into the newest version, and the others."""
    must: list[int] = []
    may: list[int] = []
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        current = _save(ledger, how, number)
        (must if current else may).append(number)
        number += 1
        time.sleep(0.015)
    return must, may


def _save(ledger: Ledger, how: str, number: int) -> bool:
    """True if the file that was written was still tasks.json when the last byte was written."""
    with open(ledger.tasks, "r+b", buffering=0) as file:
        data = file.read().replace(b'"metadata":{', b'"metadata":{"edit-%d":1,' % number, 1)
        if how == "by rename":
            aside = ledger.public / "tasks.json~"
            aside.write_bytes(data)
            aside.rename(ledger.tasks)
            return False
        file.truncate(0)
        file.seek(0)
        half = len(data) // 2 if how == "in pieces" else len(data)
        file.write(data[:half])
        if how == "in pieces":
            time.sleep(0.05)
            file.write(data[half:])
        return os.fstat(file.fileno()).st_ino == os.stat(ledger.tasks).st_ino


def _ended(writer: subprocess.Popen[str]) -> list[str]:
    try:
        out, err = writer.communicate(timeout=30)
    except Exception:
        writer.kill()
        writer.communicate()
        raise
    if err:
        raise Violation(f"a writer failed: {err[-1500:]}")
    return list(json.loads(out))
