"""The power goes at any moment of any command: what is on the disk then is still the old ledger or the new one.

Each scene's command is recorded once (``record``). After each of its operations the power goes, and every state that the
disk may be in (``disks``, where both models are described) is built and used by the next command of the next boot. Then the
same for two commands in a row: the first is killed at each of its operations, so that what it did is in memory and only what
it synced is safe; a second one runs on that, and the power goes at each operation of the second. One kind of second command
commits; the other only looks, because whatever it was shown must still be there once the power is back. Of commands that do
the same operations on the same names in the same state of a team only one is the first of such a pair.

Of each scene's states all are tried, or a sample: the output says how many of how many, with a + where even those were too
many to count. The short form takes samples; so does the full one of two commands in a row and of the large ledger.

    scripts/powerloss [--short | --full] [--command NAME] [--state NAME] [--model ordered|weak|both] [--seed N]

Exit code: 0 no violation, 1 violations (each with where to find the state), 2 if nothing could be shown.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import time
from hashlib import blake2b
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple

from proofs.aftermath import documents, healthy, is_json, judge, next_boot
from proofs.disks import MODELS, Disk
from proofs.operations import State, Sync
from proofs.promises import Broken, Essence, difference, essence, seen
from proofs.record import CannotRecord, Recording
from proofs.report import workplace
from proofs.scenes import STATES, Scene, environ, scenes
from proofs.stage import Stage, scan
from proofs.strace import MISSING, is_usable, program
from teamtasks.domain.errors import TeamtasksError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

KEPT = 3  # states of one scene that are kept to be looked at

_STORE = """
import os
from teamtasks.domain.errors import TeamNotFound
from teamtasks.store.files.store import FileStore

def change(tx):
    tx.put("team", "payments", {**tx.get("team", "payments"), "second": True})
    tx.append("messages", {"id": tx.next_id("message"), "text": "second"})

try:
    FileStore(os.environ["TEAMTASKS_HOME"], "payments").transact(%s, by="human")
except TeamNotFound:
    pass
os.write(1, b"done")
"""
SECONDS = {"commits": program(_STORE % "change"), "looks": program(_STORE % "lambda tx: None")}


class Sample(NamedTuple):
    """How much is tried: states of one scene, kills of a first command, states of one pair. None: all of them.

    Where one point of the sequence has more than ``combinations`` of what may be lost, or two commands in a row have more
    than ``of_pairs``, only some are looked at.
    """

    states: int | None
    kills: int | None
    pairs: int
    combinations: int = 1024
    of_pairs: int = 100


SHORT = Sample(states=20, kills=2, pairs=8, combinations=64, of_pairs=32)
FULL = Sample(states=None, kills=None, pairs=40)
OF_LARGE = {  # it takes its time
    SHORT: SHORT._replace(states=4, kills=1, pairs=2),
    FULL: FULL._replace(states=24, pairs=3),
}
FAILURES = (TeamtasksError, OSError, ValueError, LookupError, TypeError, AssertionError)
SELDOM = 10  # how often the documents of a large ledger are looked over, which takes longest


class Job(NamedTuple):
    scene: Scene
    models: tuple[str, ...]
    sample: Sample
    seed: int
    place: Path


class Tally:
    """How many states were tried, and of how many."""

    def __init__(self) -> None:
        self.tried = self.legal = 0
        self.counted = True

    def __str__(self) -> str:
        return f"{self.tried:,} of {self.legal:,}{'' if self.counted else '+'}"


class Outcome(NamedTuple):
    name: str
    single: Tally
    double: Tally
    problems: list[str]
    failed: str = ""


class Case(NamedTuple):
    """A state of the disk, what may be found from it, and how it came to be."""

    state: State
    allowed: tuple[Essence, ...]
    story: str


def main(argv: list[str]) -> int:
    options = _options(argv)
    if not is_usable():
        print(MISSING, file=sys.stderr)
        return 2
    began = time.monotonic()
    models = MODELS if options.model == "both" else (options.model,)
    chosen = [scene for scene in scenes(options.command) if options.state in (None, scene.state)]
    if not chosen:
        print("no such scene", file=sys.stderr)
        return 2
    chosen.sort(key=lambda scene: scene.state != "large")  # what takes longest comes first
    with workplace("powerloss") as place:
        sample = FULL if options.full else SHORT
        jobs = [Job(scene, models, sample, options.seed, place) for scene in chosen]
        outcomes = list(_all(jobs))
        problems = sum(len(outcome.problems) for outcome in outcomes)
        if problems:
            (place / "keep").touch()
    states = sum(outcome.single.tried + outcome.double.tried for outcome in outcomes)
    seconds = time.monotonic() - began
    print(f"powerloss: {states:,} states of {len(outcomes)} scenes, {problems} violations, {seconds:.0f} s")
    if problems:
        return 1
    return 2 if any(outcome.failed for outcome in outcomes) else 0


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/powerloss", description="Every state that a disk may be in after a power loss."
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--short", action="store_true", help="a sample of each scene, about a minute (the default)")
    size.add_argument("--full", action="store_true", help="every state of each scene")
    parser.add_argument("--command", help="scenes of one command only")
    parser.add_argument("--state", choices=STATES, help="scenes in one state of the team only")
    parser.add_argument("--model", choices=(*MODELS, "both"), default="both")
    parser.add_argument("--seed", type=int, default=1, help="of the samples")
    return parser.parse_args(argv)


def _all(jobs: Sequence[Job]) -> Iterator[Outcome]:
    with get_context("fork").Pool(os.cpu_count()) as pool:
        for nth, outcome in enumerate(pool.imap_unordered(_prove, jobs), 1):
            tried = f"{outcome.single} states, {outcome.double} of two in a row"
            print(f"{tried}, {len(outcome.problems)} violations: {outcome.name}")
            for problem in outcome.problems[:KEPT]:
                print(f"VIOLATION {problem}\n", flush=True)
            if len(outcome.problems) > KEPT:
                print(f"and {len(outcome.problems) - KEPT} more of this scene\n")
            if outcome.failed:
                print(f"CANNOT SHOW {outcome.name}: {outcome.failed}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{nth}/{len(jobs)} {outcome.name[:70]:70}\r", end="", file=sys.stderr, flush=True)
            yield outcome


def _prove(job: Job) -> Outcome:
    place = job.place / blake2b(job.scene.name.encode(), digest_size=8).hexdigest()
    try:
        proof = Proof(job, place)
        proof.run()
    except (CannotRecord, OSError) as error:
        return Outcome(job.scene.name, Tally(), Tally(), [], str(error))
    except FAILURES as error:
        return Outcome(job.scene.name, Tally(), Tally(), [f"{job.scene.name}\n  {type(error).__name__}: {error}"])
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return Outcome(job.scene.name, proof.single, proof.double, proof.problems)


class Proof:
    """One scene: recorded, then used from every state that it may leave behind."""

    def __init__(self, job: Job, place: Path) -> None:
        self.job, self.scene, self.place = job, job.scene, place
        self.sample = OF_LARGE[job.sample] if job.scene.state == "large" else job.sample
        self.chance = random.Random(f"{job.seed} {job.scene.name}")
        self.single, self.double = Tally(), Tally()
        self.problems: list[str] = []
        place.mkdir()
        self.ledger = job.scene.prepare(place / "home", job.place / "templates")
        self.stage = Stage(self.ledger.home)
        self.start = scan(self.ledger.home)
        self.stage.keep(self.start)
        self.first = self._record(self.start, job.scene.run, job.scene.stdin)
        if self.first.code != 0:
            raise CannotRecord(f"the command exits with {self.first.code}: {self.first.err[-300:]}")
        self.old, self.new = self._essence(self.start), self._essence(self.first.live)
        self.stage.build(self.start)
        with next_boot():
            self.unmerged = seen(self.ledger)

    def run(self) -> None:
        first = self.first
        cases = self._cases(first, Disk(self.start, first.ops), 0, (self.old, self.new), self.new)
        self._try(cases, self.sample.states, self.single)
        if self._is_first_of_its_shape():
            kills = list(range(1, len(first.ops) + 1))  # a second command before the first of them is a scene of its own
            if self.sample.kills is not None and len(kills) > self.sample.kills:
                kills, self.double.counted = sorted(self.chance.sample(kills, self.sample.kills)), False
            for kill in kills:
                for name, command in SECONDS.items():
                    self._two_in_a_row(kill, name, command)

    def _record(self, start: State, command: list[str], stdin: str = "") -> Recording:
        recording = Recording(self.ledger.home, start).run(command, stdin, environ(self.ledger.home))
        self.stage.keep(recording.live)
        return recording

    def _essence(self, state: State) -> Essence:
        self.stage.build(state)
        with next_boot():
            return essence(self.ledger)

    def _is_first_of_its_shape(self) -> bool:
        """Commands that do the same to the same files need not be killed before the same second command again."""
        shape = [self.scene.state, *(str(op).partition(" of ")[0].partition(" to ")[0] for op in self.first.ops)]
        (self.job.place / "shapes").mkdir(exist_ok=True)
        try:
            (self.job.place / "shapes" / blake2b(" ".join(shape).encode()).hexdigest()).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _two_in_a_row(self, kill: int, name: str, command: list[str]) -> None:
        killed = self.start.after(self.first.ops[:kill])
        self.stage.build(killed)
        second = self._record(killed, command)
        what = f"killed after operation {kill} ({self.first.ops[kill - 1]}), then a command that {name}"
        if second.code != 0:
            self._problem(Case(killed, (), what), f"the second command exits with {second.code}: {second.err[-300:]}")
            return
        both = Disk(self.start, [*self.first.ops[:kill], *second.ops])
        done = self.first.answered is not None and kill >= self.first.answered
        after = self._essence(second.live)
        cases = self._cases(second, both, kill, (self.new, after) if done else (self.old, self.new, after), after, what)
        self._try(cases, self.sample.pairs, self.double)

    def _cases(
        self, last: Recording, whole: Disk, begin: int, either: tuple[Essence, ...], new: Essence, what: str = ""
    ) -> dict[bytes, Case]:
        """By content: of equal states the one from which the least may be found."""
        cases: dict[bytes, Case] = {}
        tally, most = (self.double, self.sample.of_pairs) if what else (self.single, self.sample.combinations)
        self._whole_at_all_times(last)
        for point in range(begin, len(whole.ops) + 1):
            done = last.answered is not None and point - begin >= last.answered
            for model in self.job.models:
                found, complete = whole.states(point, model, most, self.chance)
                tally.counted = tally.counted and complete
                for state, lost in found:
                    known = cases.get(key := state.key())
                    if known is None or (done and len(known.allowed) > 1):
                        cases[key] = Case(state, (new,) if done else either, _story(what, whole, point, model, lost, done))
        return cases

    def _whole_at_all_times(self, recording: Recording) -> None:
        """Whoever reads tasks.json while the command runs finds a whole one."""
        state = recording.start
        for nth, op in enumerate(recording.ops, 1):
            state = state.after([op])
            inode = state.paths().get("tasks/payments/tasks.json")
            if inode == op.inode and not isinstance(op, Sync) and not is_json(state.files[inode].data):
                self._problem(Case(state, (), f"after operation {nth} ({op})"), "tasks.json is not whole")

    def _try(self, cases: dict[bytes, Case], most: int | None, tally: Tally) -> None:
        tally.legal += len(cases)
        for case in self._chosen(list(cases.values()), most):
            tally.tried += 1
            try:
                self._judge(case, thorough=self.scene.state != "large" or tally.tried % SELDOM == 1)
            except Broken as error:
                self._problem(case, str(error))

    def _chosen(self, cases: list[Case], most: int | None) -> list[Case]:
        """A sample is half of what came after the answer, where the most is promised."""
        if most is None or len(cases) <= most:
            return cases
        exact = [case for case in cases if len(case.allowed) == 1]
        other = [case for case in cases if len(case.allowed) > 1]
        half = max(most - len(other), min(len(exact), most // 2))
        return [*self.chance.sample(exact, half), *self.chance.sample(other, most - half)]

    def _judge(self, case: Case, *, thorough: bool) -> None:
        self.stage.build(case.state)
        try:
            with next_boot():
                found, view = judge(self.scene, self.ledger, self.old, case.allowed)
                if view != documents(found) and not (found == self.old and view == self.unmerged):
                    raise Broken(f"a reader sees something else: {difference(view, documents(found))}")
                if thorough:
                    healthy(self.ledger)
        except FAILURES as error:
            raise Broken(f"{type(error).__name__}: {error}") from error

    def _problem(self, case: Case, why: str) -> None:
        where = ""
        if len(self.problems) < KEPT:
            kept = self.job.place / "violations" / f"{self.place.name}-{len(self.problems)}"
            self.stage.build(case.state)
            shutil.copytree(self.ledger.home, kept)
            where = f"\n  the state: {kept}"
        self.problems.append(f"{self.scene.name}\n  {case.story}\n  {why}{where}")


def _story(what: str, whole: Disk, point: int, model: str, lost: Sequence[str], done: bool) -> str:
    last = f" ({whole.ops[point - 1]})" if point else ""
    when = f"{model}: power lost after operation {point}{last}{', answered' if done else ''}"
    return "; ".join([*([what] if what else []), when, *(lost or ["nothing lost"])])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
