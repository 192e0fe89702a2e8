"""Many at once on one ledger in files: threads of one process, processes of one machine, the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from store_suite import in_threads, nervous_threads

import teamtasks
from teamtasks.domain.errors import TaskAlreadyClaimed

if TYPE_CHECKING:
    from conftest import Cli

    from teamtasks.team import Team

LONG = 60.0


@pytest.fixture
def payments(home: Path) -> Team:
    return teamtasks.open("payments", home=str(home), create=True)


def anew(team: Team, agent: str) -> Team:
    """The team as another process would open it."""
    return teamtasks.open(team.store.team, home=str(Path(team.store.place).parent.parent), agent=agent)


def journal(private: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (private / "journal.jsonl").read_text(encoding="utf-8").splitlines()]


def check_whole(team: Team, private: Path) -> None:
    """Nothing is lost, nothing is doubled, nothing is broken."""
    revisions = [line["rev"] for line in journal(private)]
    assert revisions == list(range(1, team.store.read().revision + 1))
    assert team.doctor()["problems"] == 0


def one_more_attempt(store: Any) -> int:
    def body(tx: Any) -> None:
        found = tx.get("task", "task-1")
        tx.put("task", "task-1", {**found, "attempts": found["attempts"] + 1})

    return int(store.transact(body, by="human")[1])


WORKER = """
import sys
import teamtasks
home, agent, act, times = sys.argv[1:]
team = teamtasks.open("payments", home=home, agent=agent or None)

def one_more_attempt(tx):
    found = tx.get("task", "task-1")
    tx.put("task", "task-1", {**found, "attempts": found["attempts"] + 1})

def done():
    try:
        if act == "count":
            return team.store.transact(one_more_attempt, by="human")[1]
        if act == "create":
            return team.create("Import", key="the-same")["created"]
        return team.claim("task-1" if act == "claim-1" else None, another=act == "claim-another")["task"]["id"]
    except teamtasks.TeamtasksError as error:
        return error.code

print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(times)):
    print(done(), flush=True)
"""


def in_processes(home: Path, *calls: tuple[str, str], times: int = 1) -> list[list[str]]:
    """Starts a process for each (agent, act), lets them all go at the same moment, and gives what each said."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(home), agent, act, str(times)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for agent, act in calls
    ]  # fmt: skip
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [worker.communicate(timeout=LONG)[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * len(workers)
    return said


# Threads.


@pytest.mark.parametrize("opened", ["once", "each"])
def test_of_eight_threads_that_claim_one_task_one_gets_it(payments: Team, private: Path, opened: str) -> None:
    payments.create("the only one")

    def claim(name: str) -> str:
        team = payments.as_(name) if opened == "once" else anew(payments, name)
        try:
            return str(team.claim("1")["task"]["assignee"])
        except TaskAlreadyClaimed as refusal:
            return str(refusal.facts["holder"])

    names = [f"agent-{n}" for n in range(8)]
    with nervous_threads():
        holders = in_threads(*[lambda name=name: claim(name) for name in names])
    held = payments.show("1")["task"]
    assert set(holders) == {held["assignee"]}
    assert held["attempts"] == 1
    assert list(payments.store.read().all("agent")) == [held["assignee"]]
    check_whole(payments, private)


def test_eight_threads_share_a_plan_without_doing_anything_twice(payments: Team, private: Path) -> None:
    for n in range(24):
        payments.create(f"Task {n}")

    def work(name: str) -> list[str]:
        done = []
        while True:
            try:
                claimed = payments.as_(name).claim(wait=LONG)["task"]["id"]
            except teamtasks.TeamtasksError as error:
                assert error.code == "plan_finished"
                return done
            payments.as_(name).complete(claimed)
            done.append(claimed)

    with nervous_threads():
        done = in_threads(*[lambda name=f"agent-{n}": work(name) for n in range(8)])
    assert Counter(id for some in done for id in some) == Counter(list(payments.store.read().all("task")))
    assert {t["attempts"] for t in payments.list()["tasks"]} == {1}
    check_whole(payments, private)


def test_the_main_thread_and_other_threads_exclude_each_other(payments: Team, private: Path) -> None:
    """The main thread sleeps in the kernel for the lock, the others ask for it again and again: it is one lock."""
    payments.create("counted")
    revisions: list[list[int]] = [[], [], []]

    def count(mine: list[int]) -> None:
        mine += [one_more_attempt(payments.store) for _ in range(15)]

    threads = [threading.Thread(target=count, args=(mine,), daemon=True) for mine in revisions[1:]]
    with nervous_threads():
        for thread in threads:
            thread.start()
        count(revisions[0])
        for thread in threads:
            thread.join(LONG)
    assert payments.store.read().get("task", "task-1")["attempts"] == 45
    assert sorted(n for mine in revisions for n in mine) == list(range(3, 48))
    check_whole(payments, private)


# Processes.


def test_of_eight_processes_that_claim_one_task_one_gets_it(payments: Team, home: Path, private: Path) -> None:
    payments.create("the only one")
    said = in_processes(home, *[(f"agent-{n}", "claim-1") for n in range(8)])
    assert Counter(word for words in said for word in words) == {"task-1": 1, "claimed": 7}
    check_whole(payments, private)


def test_no_update_of_any_process_is_lost(payments: Team, home: Path, private: Path) -> None:
    payments.create("counted")
    said = in_processes(home, *[("", "count")] * 4, times=15)
    assert payments.store.read().get("task", "task-1")["attempts"] == 60
    assert sorted(int(word) for words in said for word in words) == list(range(3, 63))
    check_whole(payments, private)


def test_processes_that_create_with_one_key_create_one_task(payments: Team, home: Path, private: Path) -> None:
    said = in_processes(home, *[("", "create")] * 6)
    assert Counter(word for words in said for word in words) == {"True": 1, "False": 5}
    assert len(payments.list()["tasks"]) == 1
    check_whole(payments, private)


@pytest.mark.parametrize("limit", [1, 2])
def test_processes_of_one_agent_do_not_exceed_its_limit(payments: Team, home: Path, private: Path, limit: int) -> None:
    for n in range(4):
        payments.create(f"Task {n}")
    payments.settings(wip_limit=limit)
    said = Counter(word for words in in_processes(home, *[("backend", "claim-another")] * 4) for word in words)
    assert said.pop("wip_limit") == 4 - limit
    assert set(said) == set(payments.store.read().get("agent", "backend")["holds"])
    assert sum(said.values()) == limit
    check_whole(payments, private)


def test_processes_of_one_agent_that_claim_are_given_the_same_task(payments: Team, home: Path) -> None:
    for n in range(3):
        payments.create(f"Task {n}")
    said = in_processes(home, *[("backend", "claim")] * 4)
    assert said == [["task-1"]] * 4
    assert payments.show("1")["task"]["attempts"] == 1


def test_any_program_finds_a_whole_tasks_json_while_others_write(payments: Team, home: Path, public: Path) -> None:
    payments.create("counted")
    done = threading.Event()

    def write() -> None:
        try:
            in_processes(home, *[("", "count")] * 3, times=15)
        finally:
            done.set()

    def read() -> list[int]:
        revisions = []
        while not done.is_set():
            content = json.loads((public / "tasks.json").read_bytes())
            assert content["revision"] == content["tasks"][0]["attempts"] + 2
            revisions.append(content["revision"])
        return revisions

    _none, revisions = in_threads(write, read)
    assert revisions == sorted(revisions)
    assert payments.store.read().revision == 47


# The real command.


def test_sixteen_real_processes_share_a_plan_and_nothing_is_lost_or_done_twice(
    cli: Cli, payments: Team, private: Path
) -> None:
    waits_for: dict[str, list[str]] = {}
    for n in range(40):
        after = [f"task-{n}"] if n % 4 == 3 else []
        waits_for[payments.create(f"Task {n}", dependencies=after)["task"]["id"]] = after

    def work(name: str) -> list[str]:
        done = []
        while True:
            claimed = cli("--as", name, "claim", "--wait", "--timeout", "60s", "--json", code=None)
            if claimed.code:
                assert claimed.code == 10, claimed
                return done
            id = claimed.json["task"]["id"]
            cli("--as", name, "complete", id, "--result", name, "--attempt", "1")
            done.append(id)

    names = [f"agent-{n}" for n in range(16)]
    done = dict(zip(names, in_threads(*[lambda name=name: work(name) for name in names]), strict=True))
    tasks = payments.store.read().all("task")
    assert Counter(id for some in done.values() for id in some) == Counter(list(tasks))
    for name, ids in done.items():
        for id in ids:
            assert (tasks[id]["completed_by"], tasks[id]["result"], tasks[id]["attempts"]) == (name, name, 1)
    told = [(e["event"], e["task"]) for line in journal(private) for e in line["events"] if "task" in e]
    assert len(told) == len(set(told)) == 120
    for id, after in waits_for.items():
        for other in after:
            assert told.index(("task_completed", other)) < told.index(("task_claimed", id))
    check_whole(payments, private)


def test_real_commands_that_create_with_one_key_create_one_task(cli: Cli, payments: Team) -> None:
    started = [cli.popen("create", "Import", "--key", "the-same", "--json") for _ in range(6)]
    answers = [json.loads(process.communicate(timeout=LONG)[0]) for process in started]
    assert [process.returncode for process in started] == [0] * 6
    assert sorted(answer["created"] for answer in answers) == [False] * 5 + [True]
    assert {answer["task"]["id"] for answer in answers} == {"task-1"}
    assert list(payments.store.read().all("task")) == ["task-1"]


def test_a_real_command_that_waits_is_woken_by_another(cli: Cli, payments: Team) -> None:
    waiting = cli.popen("--as", "backend", "claim", "--wait", "--timeout", "60s", "-q")
    cli("create", "at last")
    out, _err = waiting.communicate(timeout=LONG)
    assert (waiting.returncode, out) == (0, b"task-1\n")


def test_a_team_can_be_created_once_only(cli: Cli) -> None:
    started = [cli.popen("init", "payments") for _ in range(5)]
    for process in started:
        process.communicate(timeout=LONG)
    assert sorted(process.returncode for process in started) == [0, 1, 1, 1, 1]
    assert cli("doctor", "--json").json["problems"] == 0


def test_a_writer_that_holds_the_ledger_is_waited_for_and_then_named(cli: Cli, payments: Team, private: Path) -> None:
    inside, leave = threading.Event(), threading.Event()

    def stay(tx: Any) -> None:
        inside.set()
        assert leave.wait(LONG)

    holder = threading.Thread(target=lambda: payments.store.transact(stay, by="human"), daemon=True)
    holder.start()
    assert inside.wait(LONG)
    refused = cli("create", "too soon", code=7, TEAMTASKS_LOCK_TIMEOUT="0.1")
    assert f"pid {os.getpid()}" in refused.err
    assert cli("list", "--json").json["tasks"] == []
    patient = cli.popen("create", "in time")
    leave.set()
    patient.communicate(timeout=LONG)
    holder.join(LONG)
    assert patient.returncode == 0
    assert [t["title"] for t in payments.list()["tasks"]] == ["in time"]
    check_whole(payments, private)
