"""Many processes work on one team. First they are killed and stopped at random; then they only get in each other's way.

    scripts/storm [--short | --full] [--seed N] [--seconds S] [--processes P] [--operations N] [--place DIR]

storm        Writers, some in process and some through the real command, are killed and stopped at random, also while they
             hold the lock, and others take their place and repeat what was not answered.
contention   Every process makes its operations as fast as it can.

Afterwards nothing acknowledged may be lost, nothing happened twice or unasked, and every answer must be explained by one
order of events (``linear``). ``--seconds 0`` leaves out the storm, ``--operations 0`` the contention. A full run with
fewer than 200 operations a second is void: it did not press hard enough, and how long somebody waited says nothing.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from proofs import linear
from proofs.herd import Herd
from proofs.ledgers import Ledger
from proofs.writers import IN_A_STORM, TEAM, Writer, is_change, load, through_api, through_commands
from teamtasks.domain.agents import Actor
from teamtasks.store.files import disk, journal
from teamtasks.team import Team
from teamtasks.team import open as open_team

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.linear import Op

STORM_WRITERS = 12
CONTENDERS = 64
FIRST_TASKS = 20
LONGEST_WAIT = 2.0  # seconds
VOID_BELOW = 200  # operations a second
PATIENCE = (30.0, 0.3, 30.0, 30.0)  # seconds that a writer waits for the lock, by its place
GRACE = 60.0  # seconds after the end in which everybody must have come home
REFUSALS = {
    "claimed", "completed", "assigned", "wip_limit", "not_holder", "attempt_required", "late", "not_allowed", "refused",
    "blocked", "nothing_ready", "plan_finished", "usage",
}  # fmt: skip


class Report:
    """What was done and what went wrong, of one part or of both."""

    def __init__(self) -> None:
        self.operations = self.kills = self.stops = 0
        self.void = False
        self.violations: list[str] = []


def storm(place: Path, asked: argparse.Namespace, report: Report) -> None:
    """Everybody works for some seconds while chance strikes among them."""
    writers = asked.processes or STORM_WRITERS
    ledger, base = _team(place / "storm", writers)
    histories: dict[int, list[Path]] = {slot: [] for slot in range(writers)}
    end = monotonic() + asked.seconds
    herd = Herd(ledger.lock, random.Random(f"{asked.seed} strikes"))

    def begin(slot: int) -> None:
        life = len(histories[slot])
        histories[slot].append(ledger.home / f"w{slot}-{life}.history")
        herd.start(slot, lambda: _write_until(ledger, slot, histories[slot], end, f"{asked.seed} {slot} {life}", writers))

    with herd:
        for slot in histories:
            begin(slot)
        while monotonic() < end:
            sleep(herd.chance.uniform(0.0, 0.05))
            herd.strike()
            for slot in herd.fallen():
                begin(slot)
        herd.wake_all()
        stuck = herd.wait(GRACE)
    report.violations += [f"writer {slot} did not come home within {GRACE:g} s after the storm" for slot in stuck]
    _last_word(ledger)
    ops = _history(ledger)
    report.violations += _verify(ledger, ops, base, {"lock_timeout"})
    report.operations, report.kills, report.stops = _calls(ops), herd.kills, herd.stops
    unknown = sum(op.verdict is None for op in ops)
    timeouts = sum(op.verdict == "lock_timeout" for op in ops)
    print(
        f"storm        {writers} writers, {asked.seconds:g} s: {_calls(ops):,} operations, {ledger.revision():,} commits\n"
        f"             {herd.kills:,} kills ({herd.kills_in_lock} of the lock's holder), {herd.stops:,} stops "
        f"({herd.stops_in_lock} of the lock's holder, the longest {herd.longest:.1f} s)\n"
        f"             {unknown:,} calls without an answer, {timeouts:,} that gave up waiting for the lock"
    )


def _write_until(ledger: Ledger, slot: int, histories: list[Path], end: float, seed: str, writers: int) -> None:
    through = through_commands if slot % 3 == 2 else through_api
    call = through(ledger.home, PATIENCE[slot % len(PATIENCE)])
    agents = [f"w{n}" for n in range(writers)]
    writer = Writer(histories[-1], f"w{slot}", agents, call, random.Random(seed), IN_A_STORM)
    if histories[1:]:
        writer.repeat(histories[-2])
    while monotonic() < end:
        writer.work()


def contention(place: Path, asked: argparse.Namespace, report: Report) -> None:
    """Everybody works as fast as it can, and everybody must get through."""
    processes, operations = asked.processes or CONTENDERS, asked.operations
    ledger, base = _team(place / "contention", processes)
    gate = ledger.home / "gate"
    herd = Herd(ledger.lock, random.Random())
    with herd:
        for slot in range(processes):
            herd.start(slot, lambda slot=slot: _write_so_many(ledger, slot, operations, gate, asked.seed, processes))
        sleep(0.2 + processes * 0.005)
        gate.touch()
        began = monotonic()
        stuck = herd.wait(GRACE + processes * operations / 20)
        took = monotonic() - began
    report.violations += [f"contender {slot} did not come to an end" for slot in stuck]
    ops = [op for op in _history(ledger) if not op.name.startswith("setup")]
    waits = [op.answered - op.invoked for op in ops if op.verdict is not None]
    served = Counter(name.split("#")[0] for name in {op.name for op in ops if op.verdict is not None})
    changes = Counter(op.name.split("#")[0] for op in ops if is_change(op))
    rate, longest = _calls(ops) / took, max(waits, default=0.0)
    report.operations = _calls(ops)
    report.void = rate < VOID_BELOW
    report.violations += _verify(ledger, _history(ledger), base, set())
    if longest > LONGEST_WAIT and not asked.short and not report.void:
        report.violations.append(f"somebody waited {longest:.2f} s, more than {LONGEST_WAIT:g} s")
    if len(served) < processes or min(served.values()) < operations:
        report.violations.append(f"not everybody was served: {dict(served)}")
    print(
        f"contention   {processes} processes × {operations:,} operations: {rate:.0f} operations/s (≥ {VOID_BELOW}), "
        f"{(ledger.revision() - base) / took:.0f} commits/s\n"
        f"             longest wait {longest:.2f} s (≤ {LONGEST_WAIT:g}), {len(served)} processes served, "
        f"{min(changes.values(), default=0)} to {max(changes.values(), default=0)} changes each"
    )


def _write_so_many(ledger: Ledger, slot: int, operations: int, gate: Path, seed: int, processes: int) -> None:
    agents = [f"w{n}" for n in range(processes)]
    chance = random.Random(f"{seed} {slot}")
    writer = Writer(ledger.home / f"w{slot}.history", f"w{slot}", agents, through_api(ledger.home, 30.0), chance)
    while not gate.exists():
        sleep(0.01)
    for _ in range(operations):
        writer.work()


def _team(home: Path, agents: int) -> tuple[Ledger, int]:
    """A team with its agents and some tasks; and the revision after which everything is in a history."""
    home.mkdir()
    ledger = Ledger(home, TEAM)
    team = open_team(TEAM, create=True, home=str(home))
    base = team.settings(wip_limit=3)["revision"]
    for n in range(agents):
        base = Team(team.store, Actor(f"w{n}")).join(f"w{n}")["revision"]
    writer = Writer(home / "setup.history", "w0", [], through_api(home, 30.0), random.Random(0))
    for n in range(FIRST_TASKS):
        writer.do("w0", "create", "", {"text": f"setup-{n + 1}"})
    return ledger, base


def _last_word(ledger: Ledger) -> None:
    """One more commit, which puts in order whatever the dead left behind."""
    Writer(ledger.home / "end.history", "w0", [], through_api(ledger.home, 30.0), random.Random(0)).do(
        "w0", "note", "task-1", {"text": "the end"}
    )


def _history(ledger: Ledger) -> list[Op]:
    ops = [op for path in sorted(ledger.home.glob("*.history")) for op in load(path)]
    return [op for op in ops if op.verdict is not None or op.kind != "show"]


def _calls(ops: list[Op]) -> int:
    return len({op.name for op in ops})


def _verify(ledger: Ledger, ops: list[Op], base: int, allowed: set[str]) -> list[str]:
    """Everything that may not be, as one list. The journal comes first: it tells which task an unanswered claim got."""
    fine = REFUSALS | allowed | {"ok", "again", None}
    wrong = [f"an answer that nobody should get: {op}" for op in ops if op.verdict not in fine]
    for look in (_in_order, _healthy, _nothing_twice):
        try:
            wrong += look(ledger)
        except Exception as error:
            wrong.append(f"{look.__name__.strip('_')}: {type(error).__name__}: {error}")
    lines = _lines(ledger)
    wrong += _contiguous(lines)
    wrong += _hands_agree(lines)
    wrong += linear.accounts(ops, lines, base)
    return wrong + linear.check(ops)


def _lines(ledger: Ledger) -> list[dict[str, Any]]:
    """Every commit of every segment, oldest first. A segment's first line repeats the last one of the segment before."""
    private = disk.open_directory(str(ledger.private))
    found: dict[str, dict[str, Any]] = {}
    for segment in reversed(list(journal.history(private))):
        for line in segment:
            found.setdefault(line["id"], line)
    return list(found.values())


def _in_order(ledger: Ledger) -> list[str]:
    ledger.assert_in_order()
    return ["something is in quarantine, although nobody edited anything"] if ledger.quarantined() else []


def _healthy(ledger: Ledger) -> list[str]:
    return [f"doctor: {f['message']}" for f in ledger.store().check(fix=False) if f["severity"] != "info"]


def _nothing_twice(ledger: Ledger) -> list[str]:
    titles = Counter(ledger.titles().values())
    return [f"{count} tasks were created for {title!r}" for title, count in titles.items() if count > 1]


def _contiguous(lines: list[dict[str, Any]]) -> list[str]:
    revisions = [line["rev"] for line in lines]
    gaps = [f"revision {b} comes after {a}" for a, b in pairwise(revisions) if b != a + 1]
    return gaps if revisions[:1] == [1] else [f"the journal begins with {revisions[:1]}", *gaps]


def _hands_agree(lines: list[dict[str, Any]]) -> Iterator[str]:
    """At every revision each agent holds exactly the tasks that are in progress in its name."""
    holds: dict[str, set[str]] = {}
    holders: dict[str, str | None] = {}
    for line in lines:
        touched = set()
        for kind, id, document in line["docs"]:
            if kind == "agent":
                holds[id] = set(document["holds"])
                touched.add(id)
            elif kind == "task":
                touched.add(holders.get(id))
                holders[id] = document["assignee"] if document["status"] == "in_progress" else None
                touched.add(holders[id])
        for agent in touched - {None}:
            mine = {task for task, holder in holders.items() if holder == agent}
            if holds.get(agent, set()) != mine:
                yield f"at revision {line['rev']} {agent} holds {sorted(holds.get(agent, ()))}, but has {sorted(mine)}"


def main(argv: list[str]) -> int:
    asked = _asked(argv)
    began = monotonic()
    report = Report()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    place = Path(tempfile.mkdtemp(prefix="teamtasks-storm-", dir=asked.place))
    try:
        for part, wanted in ((storm, asked.seconds), (contention, asked.operations)):
            if wanted:
                one = Report()
                try:
                    part(place, asked, one)
                except Exception as error:  # a ledger too broken to be looked at
                    one.violations.append(f"could not be checked: {type(error).__name__}: {error}")
                report.operations += one.operations
                report.kills, report.stops = report.kills + one.kills, report.stops + one.stops
                report.void = report.void or one.void
                report.violations += [f"{part.__name__}: {wrong}" for wrong in one.violations]
    except KeyboardInterrupt:
        print("storm: interrupted", file=sys.stderr)
        shutil.rmtree(place, ignore_errors=True)
        return 2
    return _said(report, asked, place, monotonic() - began)


def _said(report: Report, asked: argparse.Namespace, place: Path, took: float) -> int:
    for wrong in report.violations[:20]:
        print(f"VIOLATION {wrong}")
    if report.violations:
        print(f"{len(report.violations)} violations, seed {asked.seed}; the teams and their histories are in {place}")
    else:
        shutil.rmtree(place)
    void = report.void and not asked.short and not report.violations
    if void:
        print(f"void: fewer than {VOID_BELOW} operations a second")
    print(
        f"storm: {report.operations:,} operations, {report.kills:,} kills, {report.stops:,} stops, "
        f"{len(report.violations)} violations, {took:.0f} s"
    )
    return 1 if report.violations else 2 if void else 0


def _asked(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="storm", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--short", action="store_true", help="8 s of storm, 15 operations each: shows that it works")
    length.add_argument("--full", action="store_true", help="30 s of storm, 1,000 operations each (the default)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--seconds", type=float, help="how long the storm lasts")
    parser.add_argument("--processes", type=int, help=f"else {STORM_WRITERS} in the storm, {CONTENDERS} in contention")
    parser.add_argument("--operations", type=int, help="of each process in contention")
    parser.add_argument("--place", help="where to work; else /dev/shm, else the usual temporary directory")
    asked = parser.parse_args(argv)
    asked.seconds = asked.seconds if asked.seconds is not None else 8.0 if asked.short else 30.0
    asked.operations = asked.operations if asked.operations is not None else 15 if asked.short else 1000
    asked.place = asked.place or ("/dev/shm" if Path("/dev/shm").is_dir() else None)
    return asked


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
