"""Damaged files: every kind of damage to every file of a team, then readers, writers and doctor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import teamtasks
from proofs.fuzz import oracle
from proofs.fuzz.bench import Violation, alarm
from proofs.fuzz.damage import age, damage
from proofs.fuzz.damages import random_input
from proofs.fuzz.shapes import Shapes, path_of
from teamtasks.domain.errors import InvalidData, StoreUnavailable, TeamNotFound, TeamtasksError

if TYPE_CHECKING:
    from proofs.fuzz.bench import Bench, Clock, Input
    from proofs.fuzz.shapes import Documents
    from proofs.ledgers import Ledger
    from teamtasks.team import Team

ROOT = Path(__file__).parents[2]
CODES = (0, 1, 3, 8, 9)
REAL_EVERY = 60  # inputs between two that are also tried with the real command


class Files:
    name = "files"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.shapes = Shapes(bench.place("shapes"))
        self.place = bench.work / "files"
        self.refused = self.accepted = 0

    def run(self, clock: Clock, seed: int) -> str:
        number = 0
        while clock or not number:
            data = random_input(Random(f"{seed}/files/{number}"))
            data["real"] = number % REAL_EVERY == REAL_EVERY - 1
            self.replay(data)
            number += 1
        return f"{number:,} damaged ledgers, {self.accepted:,} healed or merged, {self.refused:,} refused"

    def replay(self, data: Input) -> None:
        self.bench.trial(self.name, data, self.judge, self.place / "found")

    def judge(self, data: Input) -> None:
        self.bench.place("files")
        ledger, truth = self.shapes.copy(data["shape"], self.place / "home")
        _do(ledger, data["changes"])
        _keep(ledger, self.place / "found")
        victim = oracle.regular(self.place / "victim")
        found = oracle.Found(ledger, truth, [change[0] for change in data["changes"]])
        descriptors = len(os.listdir("/proc/self/fd"))
        if data.get("real"):
            _real(ledger)
        else:
            story = Story(ledger, found)
            for step in data["steps"]:
                story.step(step)
                self._check_expected(data, step, story)
            self.accepted, self.refused = self.accepted + story.accepted, self.refused + (not story.accepted)
        if oracle.regular(self.place / "victim") != victim:
            raise Violation("what a symlink points to was changed")
        if len(os.listdir("/proc/self/fd")) != descriptors:
            raise Violation("a file was left open")

    def _check_expected(self, data: Input, step: str, story: Story) -> None:
        """An input that was kept may say what the first writer must come to."""
        expected = data.get("expect") if step == "write" and len(story.titles) < 2 and not story.mended else None
        if expected and (expected == "accepted") != story.accepted:
            raise Violation(f"a writer should have {expected} it, and did not")


def _do(ledger: Ledger, changes: list[list[Any]]) -> None:
    """All changes, each made from the files as they were before the first."""
    names = [name for name, *_change in changes] + [
        c[k] for c in changes for k in (2, 4) if len(c) > k and isinstance(c[k], str)
    ]
    before = {name: oracle.regular(path_of(ledger, name)) or b"" for name in names if "/" not in name and "\0" not in name}
    paths = {name: path_of(ledger, name) for name, *_change in changes}
    for name, *change in changes:
        damage(paths[name], change, lambda other: before.get(other, b""))
        age(paths[name])


def _keep(ledger: Ledger, place: Path) -> None:
    """A copy of the damaged files, in case they break something."""
    for path in (*ledger.public.iterdir(), *ledger.private.iterdir()):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20:
            copy = place / path.relative_to(ledger.home)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())


class Story:
    """A reader, a writer and doctor meet a damaged ledger, one after the other; each step is judged."""

    def __init__(self, ledger: Ledger, found: oracle.Found) -> None:
        self.ledger, self.found = ledger, found
        self.notices: list[str] = []
        self.titles: list[str] = []
        self.promised = self.mended = self.looked_over = self.must_work = False
        self.accepted = False

    def team(self) -> Team:
        team = teamtasks.open("payments", home=str(self.ledger.home))
        team.store.notice = self.notices.append  # type: ignore[attr-defined]
        return team

    def step(self, name: str) -> None:
        before = oracle.Found(self.ledger, self.found.truth, self.found.touched)
        try:
            with alarm(name):
                getattr(self, name)()
        except TeamtasksError as error:
            self._refused(name, error, before)
        except Violation as wrong:
            raise Violation(f"{name}: {wrong}") from wrong
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.name} in {Path(where.filename).name}: {where.line}"
            raise Violation(f"{name}: {type(error).__name__}: {error} ({place})") from error
        oracle.check_history(before, oracle.Found(self.ledger, self.found.truth, self.found.touched))

    def _refused(self, name: str, error: TeamtasksError, before: oracle.Found) -> None:
        self.promised |= "doctor --fix" in f"{error.message} {error.hint}"
        if not isinstance(error, InvalidData | StoreUnavailable | TeamNotFound):
            raise Violation(f"{name}: {type(error).__name__} is no answer to a damaged file: {error}")
        if isinstance(error, TeamNotFound) and (before.journal or before.tasks):
            raise Violation(f"{name}: the team is there, but not found: {error}")
        if self.must_work and name in ("write", "read"):
            raise Violation(f"{name}: doctor --fix mended it, and the next command was refused: {error}")
        if name == "read" and self.found.journal_is_whole:
            raise Violation(f"the journal is whole, and a reader was refused: {error}")
        if name == "fix" and self.promised and any(line.get("snapshot") for line in self.found.whole):
            raise Violation(f"doctor --fix was promised to help, and was refused: {error}")
        if name == "tail" and self.looked_over and self.found.touched.isdisjoint(("journal.jsonl", "segment")):
            raise Violation(f"the journal is whole, and the messages were refused: {error}")
        if name in ("read", "write", "tail"):
            oracle.check_untouched(name, before, oracle.Found(self.ledger, self.found.truth, self.found.touched))

    def read(self) -> None:
        view = self.team().store.read()
        documents: Documents = {(k, id): d for k in ("team", "agent", "key", "task") for id, d in view.all(k).items()}
        mine = {key for key, d in documents.items() if key[0] == "task" and d["title"] in self.titles}
        documents = {key: d for key, d in documents.items() if key not in mine}
        if not self.titles:
            oracle.check_view(self.found, view.revision, documents, self.notices)
        fallback = any("the last good one" in notice for notice in self.notices) and not self.found.journal_is_whole
        oracle.check_documents(self.found, documents, mended=self.mended or fallback)
        self.team().list()

    def write(self) -> None:
        title = f"written after the damage, {len(self.titles)}"
        made = self.team().create(title)
        self.titles.append(title)
        self.accepted = True
        if any("not everything could be published" in notice for notice in self.notices):
            self.notices.clear()  # it was said, and the next command must finish it
            return
        oracle.check_in_order(self.found)
        if made["revision"] <= self.found.truth.revision and self.found.journal_is_whole:
            raise Violation(f"revision {made['revision']} was given again")
        if made["task"]["id"] in {id for _kind, id in self.found.truth.final} and self.found.journal_is_whole:
            raise Violation(f"{made['task']['id']} was given again")
        if title not in self.ledger.titles().values():
            raise Violation("what was just written is not there")
        self.read()

    def doctor(self) -> None:
        findings = self.team().doctor()["findings"]
        self._heard(findings)
        self.promised |= any("doctor --fix" in f.get("hint", "") for f in findings)
        self.looked_over |= not any(f["severity"] == "problem" for f in findings)

    def fix(self) -> None:
        findings = self.team().doctor(fix=True)["findings"]
        self._heard(findings)
        problems = [f for f in findings if f["severity"] == "problem"]
        again = [f["message"] for f in problems if "doctor --fix" in f.get("hint", "")]
        if again:
            raise Violation(f"doctor --fix says to use doctor --fix: {again[0]}")
        self.looked_over |= not problems
        self.must_work = not problems

    def _heard(self, findings: list[dict[str, Any]]) -> None:
        said = [f["message"] for f in findings if f["severity"] == "fixed"]
        self.notices += said
        self.mended |= any("was restored" in text and "restored from the journal" not in text for text in said)

    def tail(self) -> None:
        messages, _end = self.team().store.tail("messages", 0)
        oracle.check_messages(self.found, [str(m.get("text")) for m in messages], looked_over=self.looked_over)


COMMANDS = (["list"], ["create", "x"], ["doctor"], ["doctor", "--fix"], ["--json", "list"], ["create", "y"])


def _real(ledger: Ledger) -> None:
    """The real command: a documented exit code, in good time, and never a traceback."""
    environ = {
        **os.environ,
        "TEAMTASKS_HOME": str(ledger.home),
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(ledger.home / "s"),
    }
    for words in COMMANDS:
        call = [sys.executable, "-m", "teamtasks", "-t", "payments", *words]
        try:
            done = subprocess.run(call, env=environ, capture_output=True, timeout=10, check=False)
        except subprocess.TimeoutExpired:
            raise Violation(f"{' '.join(words)} hangs") from None
        if done.returncode not in CODES or b"Traceback" in done.stderr:
            raise Violation(f"{' '.join(words)} exits with {done.returncode}: {done.stderr.decode(errors='replace')[:400]}")
        if "--json" in words:
            json.loads(done.stdout)
