"""Locks in real programs: a holder that forks, meets a full disk, or whose lock file is tampered with."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from typing import Any

import pytest

from proofs.ledgers import Ledger, python
from proofs.machine import leave_pages, small_disk
from proofs.scenes import make_team
from teamtasks.domain.errors import StoreUnavailable

HOLDS = """
def slow(tx):
    say("held")
    sys.stdin.readline()
    id = tx.next_id("task")
    tx.get("task", id)
    tx.put("task", id, {**tx.get("task", "task-1"), "id": id, "title": "slow"})
say(store.transact(slow, by="human")[1])
"""


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_process_that_met_a_full_disk_does_not_keep_the_lock(tmp_path):
    with small_disk(tmp_path / "disk", size=1 << 20) as disk:
        make_team(disk / "home")
        ledger = Ledger(disk / "home")
        store = ledger.store(lock_timeout=0.5)
        before = open_files()
        for pages in range(3):
            leave_pages(disk, pages)
            with pytest.raises(StoreUnavailable):
                store.transact(lambda tx: tx.append("messages", {"id": "m", "text": "x" * 30_000}), by="human")
        assert open_files() == before
        leave_pages(disk, 100)
        assert store.transact(lambda tx: "works", by="human") == ("works", 10)


# flock belongs to an open file, and a child has its parent's open files.

FORKS = """
def fork(tx):
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    return child
child, _revision = store.transact(fork, by="human")
say(child)
sys.stdin.readline()
"""


@pytest.mark.parametrize("parent", ["lives", "is killed"])
def test_a_child_that_was_forked_in_the_middle_of_a_transaction_does_not_keep_the_lock(cli, pair, parent):
    program = python(pair.home, FORKS)
    child = int(program.stdout.readline())
    try:
        if parent == "is killed":
            program.kill()
            program.wait()
        cli("create", "three", TEAMTASKS_LOCK_TIMEOUT="2")
    finally:
        os.kill(child, signal.SIGKILL)
        program.kill()
        program.communicate()
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()


def test_a_store_that_was_made_before_a_fork_works_in_parent_and_child(pair):
    store = pair.store()

    def send(text: str) -> None:
        for number in range(10):
            store.transact(
                lambda tx, number=number: tx.append("messages", {"id": tx.next_id("message"), "text": f"{text} {number}"}),
                by="human",
            )

    children = [multiprocessing.get_context("fork").Process(target=send, args=(name,)) for name in ("anna", "bert")]
    for child in children:
        child.start()
    send("parent")
    for child in children:
        child.join(30)

    assert sorted(pair.texts()) == sorted(f"{who} {n}" for who in ("anna", "bert", "parent") for n in range(10))
    assert pair.revision() == 33
    pair.assert_in_order()


# The lock file, tampered with while somebody holds it.


def _held(ledger: Ledger) -> Any:
    holder = python(ledger.home, HOLDS)
    assert holder.stdout.readline() == "held\n"
    return holder


@pytest.mark.parametrize("text", ["", "nonsense", "\x1b[2J" * 200, "\0" * 5000, "é\udcff" * 50])
def test_whatever_is_written_into_the_lock_under_its_holder_nobody_else_gets_it(cli, pair, text):
    holder = _held(pair)
    try:
        pair.lock.write_bytes(text.encode("utf-8", "surrogateescape"))
        refused = cli("create", "three", code=7, TEAMTASKS_LOCK_TIMEOUT="0.1").err
        out, err = holder.communicate("go\n", timeout=20)
    finally:
        holder.kill()
    assert "a process that left no name" in refused
    assert refused[:-1].isprintable()
    assert (out, err) == ("4\n", "")
    cli("create", "three")
    assert list(pair.titles().values()) == ["one", "two", "slow", "three"]
    pair.assert_in_order()


def test_a_stopped_command_is_named_and_finishes_when_it_goes_on(cli, pair):
    """A real command, stopped with Ctrl-Z while another has the lock, then the other one goes."""
    holder = _held(pair)
    waiting = cli.popen("create", "three")
    time.sleep(0.3)
    waiting.send_signal(signal.SIGSTOP)
    out, _err = holder.communicate("go\n", timeout=20)
    assert out == "4\n"
    waiting.send_signal(signal.SIGCONT)
    assert waiting.communicate(timeout=20)[0] == b'task-4 created "three"\n'
    cli("create", "four")
    assert list(pair.titles().values()) == ["one", "two", "slow", "three", "four"]
    pair.assert_in_order()


def test_a_holder_that_was_stopped_and_killed_leaves_the_old_ledger(cli, pair):
    holder = _held(pair)
    holder.send_signal(signal.SIGSTOP)
    assert f"pid {holder.pid}, " in cli("create", "three", code=7, TEAMTASKS_LOCK_TIMEOUT="0.1").err
    holder.kill()
    holder.communicate()
    cli("create", "three")
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()
