"""Killed at any moment, refused by the disk at any call: the old ledger or the new one, whole; what was said is true."""

from __future__ import annotations

import random
import shutil
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import teamtasks
from proofs.ledgers import TEAMTASKS, Ledger
from proofs.strace import FALLIBLE, Run, need_strace, program
from proofs.strace import teamtasks as command
from teamtasks.domain.errors import TeamNotFound

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Essence = dict[str, Any] | None


def essence(ledger: Ledger) -> Essence:
    """What the ledger says, without the times; None if there is none. A turn with the lock heals what there is to heal."""
    facts = ("title", "status", "assignee", "attempts", "result", "completed_by")

    def read(tx: Any) -> Essence:
        tasks = {id: [task.get(fact) for fact in facts] for id, task in tx.all("task").items()}
        return {**tasks, **{name: [agent["incarnation"], agent["holds"]] for name, agent in tx.all("agent").items()}}

    try:
        return ledger.store().transact(read, by="human")[0]
    except TeamNotFound:
        return None


class Scenario:
    """A command, and the team that it finds."""

    def __init__(self, run: list[str], prepare: Callable[[Ledger], None], *, always: str | None = None) -> None:
        self.run, self.prepare, self.always = run, prepare, always

    def fresh(self, place: Path) -> Ledger:
        ledger = Ledger(place)
        self.prepare(ledger)
        return ledger


def _nothing(ledger: Ledger) -> None:
    ledger.home.mkdir()


def _two_tasks(ledger: Ledger) -> None:
    team = teamtasks.open("payments", home=str(ledger.home), create=True)
    team.create("one")
    team.create("two")


def _held(ledger: Ledger) -> None:
    _two_tasks(ledger)
    teamtasks.open("payments", home=str(ledger.home), agent="dev").claim("task-1")


def _edited(ledger: Ledger) -> None:
    _two_tasks(ledger)
    ledger.tasks.write_bytes(ledger.tasks.read_bytes().replace(b'"one"', b'"first"'))


def _raced(ledger: Ledger) -> None:
    _two_tasks(ledger)
    ledger.previous.write_bytes(ledger.previous.read_bytes().replace(b'"one"', b'"first"'))


def _deleted(ledger: Ledger) -> None:
    _two_tasks(ledger)
    shutil.rmtree(ledger.public)


def _without_a_journal(ledger: Ledger) -> None:
    _two_tasks(ledger)
    ledger.journal.unlink()


CREATE = command("create", "three")
ROTATE = """
import sys
from teamtasks.cli.main import main
from teamtasks.store.files import session
session.ROTATE_AT = -(1 << 30)
sys.exit(main(["create", "three"]))
"""

ORDINARY = {
    "create": Scenario(CREATE, _two_tasks),
    "claim": Scenario(command("--as", "dev", "claim", "1"), _two_tasks),
    "complete": Scenario(command("--as", "dev", "complete", "1", "--result", "it works"), _held),
}
UNUSUAL = {
    "init": Scenario(command("init", "payments"), _nothing),
    "create that adopts an edit": Scenario(CREATE, _edited, always="first"),
    "create that finds a raced edit": Scenario(CREATE, _raced, always="first"),
    "create that restores the directory": Scenario(CREATE, _deleted, always="one"),
    "create that adopts a ledger without a journal": Scenario(CREATE, _without_a_journal, always="one"),
    "create that begins a new segment": Scenario(program(ROTATE), _two_tasks),
    "delete": Scenario(command("delete", "payments", "--yes"), _two_tasks),
}


@pytest.fixture(scope="module", autouse=True)
def _strace() -> None:
    need_strace()


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory) -> Callable[[str], Sweep]:
    """By the name of a scenario; what is common to its sweeps is found out once."""
    made: dict[str, Sweep] = {}

    def sweep(name: str) -> Sweep:
        if name not in made:
            made[name] = Sweep({**ORDINARY, **UNUSUAL}[name], tmp_path_factory.mktemp("sweep"))
        return made[name]

    return sweep


class Sweep:
    """A command that is run again and again on equal teams, each time with a fault somewhere else."""

    def __init__(self, scenario: Scenario, place: Path) -> None:
        self.scenario, self.place, self.count = scenario, place, 0
        self.old = essence(scenario.fresh(place / "old"))
        Run(scenario.fresh(place / "warm").home, scenario.run)  # bytecode is compiled, so that calls can be counted
        whole = scenario.fresh(place / "new")
        self.whole = Run(whole.home, scenario.run)
        assert self.whole.code == 0, self.whole
        self.calls = self.whole.calls(whole.home)
        self.new = essence(whole)
        assert len(self.calls) > 5

    def faulty(self, name: str, which: int, fault: str) -> tuple[Ledger, Run]:
        self.count += 1
        ledger = self.scenario.fresh(self.place / str(self.count))
        return ledger, Run(ledger.home, self.scenario.run, f"{name}:{fault}:when={which}")

    def check(self, ledger: Ledger, run: Run, *, new: bool | None) -> None:
        """``new``: what must be found; None if either may be. The next command works at once and leaves nothing behind."""
        began = time.monotonic()
        found = essence(ledger)
        assert found in ((self.old, self.new) if new is None else (self.new if new else self.old,)), (found, run)
        after = teamtasks.open("payments", home=str(ledger.home), create=True).create("after")
        assert time.monotonic() - began < 1, run
        assert essence(ledger) == {**(found or {}), after["task"]["id"]: ["after", "pending", None, 0, None, None]}, run
        if self.scenario.always and found:
            assert self.scenario.always in ledger.titles().values(), run
        if self.scenario in ORDINARY.values():  # what was committed is on record as itself, not as somebody's edit
            assert "edited_outside" not in {event["event"] for line in ledger.lines() for event in line["events"]}, run
        ledger.assert_in_order()
        assert [f for f in ledger.store().check(fix=False) if f["severity"] != "info"] == [], run


def _sample(calls: list[Any], most: int) -> list[Any]:
    return sorted(random.Random(4).sample(calls, min(most, len(calls))))


@pytest.mark.parametrize("name", ORDINARY)
def test_killed_at_every_call_a_command_leaves_the_old_ledger_or_the_new_one(sweeps, name):
    sweep = sweeps(name)
    outcomes = set()
    for call, which, _arguments in sweep.calls:
        ledger, run = sweep.faulty(call, which, "signal=SIGKILL")
        assert run.was_killed, (call, which, run)
        sweep.check(ledger, run, new=True if run.out else None)
        outcomes.add(ledger.revision())
    assert len(outcomes) == 2, "some kills come before the commit, some after it"


@pytest.mark.parametrize("name", UNUSUAL)
def test_killed_at_any_call_of_something_unusual_a_command_leaves_the_old_ledger_or_the_new_one(sweeps, name):
    sweep = sweeps(name)
    for call, which, _arguments in _sample([c for c in sweep.calls if c[0] != "openat"], 7):
        ledger, run = sweep.faulty(call, which, "signal=SIGKILL")
        assert run.was_killed, (call, which, run)
        sweep.check(ledger, run, new=True if run.out else None)


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("name", ORDINARY)
def test_whatever_the_disk_refuses_the_exit_code_tells_the_truth(sweeps, name, error):
    sweep = sweeps(name)
    codes = set()
    for call, which, _arguments in sweep.calls:
        if call not in FALLIBLE:
            continue
        ledger, run = sweep.faulty(call, which, f"error={error}")
        assert run.was_failed, (call, which, run)
        assert run.code in (0, 1, 9), run
        committed = run.code == 0 or "committed as revision" in run.err
        assert committed or run.err.startswith("error["), run
        sweep.check(ledger, run, new=None if "error[outcome_unknown]" in run.err else committed)
        codes.add(run.code)
    assert codes >= {0, 9}


@pytest.mark.parametrize("name", UNUSUAL)
def test_whatever_the_disk_refuses_something_unusual_happens_whole_or_not_at_all(sweeps, name):
    sweep = sweeps(name)
    for call, which, _arguments in _sample([c for c in sweep.calls if c[0] in FALLIBLE], 5):
        ledger, run = sweep.faulty(call, which, "error=EIO")
        assert run.was_failed, (call, which, run)
        assert run.code in (0, 1, 9), run
        sweep.check(ledger, run, new=True if run.code == 0 else None)


def test_a_journal_that_can_neither_be_written_nor_taken_back_is_an_unknown_outcome(tmp_path):
    ledger = Ledger(tmp_path / "home")
    _two_tasks(ledger)
    before = essence(ledger)

    run = Run(ledger.home, CREATE, "fdatasync:error=EIO", "fsync:error=EIO:when=2+")

    assert run.was_failed
    assert (run.code, run.out) == (9, "")
    assert run.err.startswith("error[outcome_unknown]: ")
    assert essence(ledger) in (before, {**before, "task-3": ["three", "pending", None, 0, None, None]})
    teamtasks.open("payments", home=str(ledger.home)).create("after")
    ledger.assert_in_order()


def test_a_commit_syncs_what_it_writes_in_the_order_that_recovery_relies_on(tmp_path):
    ledger = Ledger(tmp_path / "home")
    _two_tasks(ledger)

    calls = [(name, arguments) for name, _which, arguments in Run(ledger.home, CREATE).calls(ledger.home)]

    opened = next(a.rpartition("= ")[2] for name, a in calls if name == "openat" and '"journal.jsonl"' in a)
    beside = next(a.rpartition("= ")[2] for name, a in calls if name == "openat" and '".tasks.json.new"' in a)
    steps = [
        (name, arguments.partition(",")[0].partition(")")[0])
        for name, arguments in calls
        if name in ("write", "fsync", "fdatasync", "renameat", "rename", "linkat", "unlinkat")
    ]
    assert steps == [
        ("write", beside),
        ("fsync", beside),
        ("write", opened),
        ("fdatasync", opened),
        ("unlinkat", "3"),
        ("linkat", "3"),
        ("renameat", "3"),
        ("write", "1"),
    ]


def test_a_limit_on_the_size_of_files_is_a_clean_error(cli, pair):
    before = pair.tasks.read_bytes(), pair.journal.read_bytes()
    limit = len(before[1]) + 50
    assert limit > len(before[0]) + 300, "the new tasks.json has room, the journal's next line has not"

    refused = subprocess.run(
        ["prlimit", f"--fsize={limit}:{limit}", TEAMTASKS, "create", "three"],
        capture_output=True, text=True, env=cli.environ(), check=False,
    )  # fmt: skip

    assert refused.returncode == 9
    assert refused.stderr.startswith(
        "error[store_unavailable]: writing the journal failed: File too large; nothing was changed"
    )
    assert (pair.tasks.read_bytes(), pair.journal.read_bytes()) == before
    pair.assert_in_order()


# A storm: commands killed at random moments while others run.


class Worker(threading.Thread):
    """Creates, claims and completes; every other command is killed. Remembers what was acknowledged."""

    def __init__(self, cli: Any, name: str) -> None:
        super().__init__()
        self.cli, self.agent = cli, name
        self.random = random.Random(name)
        self.created: dict[str, str] = {}
        self.completed: list[str] = []
        self.asked: list[str] = []
        self.wrong: list[Any] = []
        self.killed = 0

    def run(self) -> None:
        for number in range(18):
            title = f"{self.agent} {number}"
            self.asked.append(title)
            if made := self.command("create", title, "--key", title.replace(" ", "-"), "-q"):
                self.created[title] = made
            held = self.command("--as", self.agent, "claim", "-q")
            if held and self.command("--as", self.agent, "complete", held, "--attempt", "1", "-q"):
                self.completed.append(held)

    def command(self, *words: str) -> str:
        """What it answered; nothing if it was killed first."""
        process = self.cli.popen(*words)
        if self.random.random() < 0.5:
            time.sleep(self.random.uniform(0, 0.08))
            process.kill()
            self.killed += 1
        out, err = process.communicate(timeout=60)
        if process.returncode not in (0, -9, 6, 10):
            self.wrong.append((words, process.returncode, err))
        return out.decode().strip() if process.returncode == 0 else ""


def test_of_what_was_acknowledged_nothing_is_lost_in_a_storm_of_kills(cli, team, ledger):
    workers = [Worker(cli, name) for name in ("anna", "bert", "cleo")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.wrong for worker in workers] == [[], [], []]
    assert sum(worker.killed for worker in workers) > 30
    assert sum(len(worker.created) for worker in workers) > 10

    began = time.monotonic()
    cli("create", "after")
    assert time.monotonic() - began < 1

    tasks = {task["id"]: task for task in ledger.document()["tasks"]}
    titles = [task["title"] for task in tasks.values()]
    assert len(set(titles)) == len(titles)
    for worker in workers:
        assert [tasks[id]["title"] for id in worker.created.values()] == list(worker.created)
        assert {id: (tasks[id]["status"], tasks[id]["completed_by"]) for id in worker.completed} == dict.fromkeys(
            worker.completed, ("completed", worker.agent)
        )
    holds = {name: agent["holds"] for name, agent in ledger.document()["agents"].items()}
    held = {t["id"]: t["assignee"] for t in tasks.values() if t["status"] == "in_progress"}
    assert {id: name for name, ids in holds.items() for id in ids} == held
    ledger.assert_in_order()
    assert cli("doctor").out.endswith("healthy\n")

    for worker in workers:  # whoever was killed asks again, with the same key: nothing is created twice
        for title in worker.asked[:5]:
            cli("create", title, "--key", title.replace(" ", "-"))
    titles = list(ledger.titles().values())
    assert len(set(titles)) == len(titles)
