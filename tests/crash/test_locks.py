"""One writer at a time, whoever it is; and a wait that says for whom, and ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock, Timeout

import teamtasks
from proofs.ledgers import Ledger, python
from teamtasks.domain.errors import LockTimeout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen

HOLDER = """
sys.argv = ["teamtasks", "create", "slow"]
def slow(tx):
    say("held")
    sys.stdin.readline()
    id = tx.next_id("task")
    tx.get("task", id)
    tx.put("task", id, {**tx.get("task", "task-1"), "id": id, "title": "slow"})
say(store.transact(slow, by="human")[1])
"""


@contextmanager
def held(ledger: Ledger) -> Iterator[Popen[str]]:
    """Another process is in the middle of a transaction; it creates a task "slow" as soon as it is let go."""
    holder = python(ledger.home, HOLDER)
    assert holder.stdout.readline() == "held\n"
    try:
        yield holder
    finally:
        holder.kill()
        holder.communicate()


def let_go(holder: Popen[str]) -> str:
    out, err = holder.communicate("go\n", timeout=20)
    assert err == ""
    return out


@contextmanager
def in_thread(work: Any) -> Iterator[list[Any]]:
    """Runs ``work`` in a thread of its own; what it returns or raises is in the list afterwards."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield outcome
    thread.join(20)


# filelock's lock and ours are the same lock.


def test_a_command_waits_for_a_holder_of_filelock(cli, pair):
    with FileLock(pair.lock):
        assert cli("create", "three", code=7, TEAMTASKS_LOCK_TIMEOUT="0.2").err.startswith("error[lock_timeout]")
    cli("create", "three")
    pair.assert_in_order()


@pytest.mark.parametrize("where", ["main thread", "another thread"])
def test_a_transaction_waits_for_a_holder_of_filelock(pair, where):
    def attempt() -> Any:
        return pair.store(lock_timeout=0.2).transact(lambda tx: "done", by="human")

    with FileLock(pair.lock):
        if where == "main thread":
            with pytest.raises(LockTimeout):
                attempt()
        else:
            with in_thread(attempt) as outcome:
                pass
            assert isinstance(outcome[0], LockTimeout)
    assert attempt() == ("done", 3)


@pytest.mark.parametrize("where", ["main thread", "another thread"])
def test_a_user_of_filelock_waits_for_a_transaction(pair, where):
    def attempt(_tx: object) -> str:
        try:
            with FileLock(pair.lock, timeout=0):
                return "two holders"
        except Timeout:
            return "one holder"

    def transaction() -> Any:
        return pair.store().transact(attempt, by="human")

    if where == "main thread":
        assert transaction() == ("one holder", 3)
    else:
        with in_thread(transaction) as outcome:
            pass
        assert outcome == [("one holder", 3)]


def test_a_thread_gets_the_lock_as_soon_as_it_is_free(pair):
    lock = FileLock(pair.lock)
    lock.acquire()
    with in_thread(lambda: pair.store().transact(lambda tx: time.monotonic(), by="human")) as outcome:
        time.sleep(0.2)
        assert outcome == []
        released = time.monotonic()
        lock.release()
    (got, _revision) = outcome[0]
    assert released <= got < released + 0.5


def test_threads_of_one_process_exclude_each_other(pair):
    team = teamtasks.open("payments", home=str(pair.home))

    def ten() -> list[str]:
        return [team.create(f"number {n}")["task"]["id"] for n in range(10)]

    with in_thread(ten) as one, in_thread(ten) as two, in_thread(ten) as three:
        mine = ten()

    ids = [id for made in (mine, one[0], two[0], three[0]) for id in made]
    assert len(set(ids)) == 40
    assert len(pair.titles()) == 42
    assert pair.revision() == 43
    pair.assert_in_order()


# A wait says for whom, and ends.


def test_a_short_wait_is_silent(cli, pair):
    with held(pair) as holder:
        waiting = cli.popen("create", "three")
        time.sleep(0.3)
        let_go(holder)
        out, err = waiting.communicate(timeout=20)
    assert (waiting.returncode, out, err) == (0, b'task-4 created "three"\n', b"")
    pair.assert_in_order()


def test_a_command_that_waits_says_after_a_second_for_whom_and_gives_up_in_time(cli, pair):
    with held(pair) as holder:
        began = time.monotonic()
        gave_up = cli("create", "three", code=7, TEAMTASKS_LOCK_TIMEOUT="1.5")
        waited = time.monotonic() - began
        who = rf"pid {holder.pid}, teamtasks create slow, since \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
        assert re.fullmatch(
            rf"note: waiting for another writer \({who}\)\n"
            rf"error\[lock_timeout\]: another process holds the ledger, waited 1\.5 s: {who}\. .*\n",
            gave_up.err,
        )
        assert 1.5 <= waited < 4
        assert let_go(holder) == "4\n"
    assert list(pair.titles().values()) == ["one", "two", "slow"]
    pair.assert_in_order()


def test_a_thread_that_waits_says_after_a_second_for_whom_and_gives_up_in_time(pair):
    notices: list[str] = []
    store = pair.store(lock_timeout=1.3, notice=notices.append)
    with held(pair) as holder, in_thread(lambda: store.transact(lambda tx: None, by="human")) as outcome:
        pass
    assert isinstance(outcome[0], LockTimeout)
    assert str(outcome[0].facts["holder"]).startswith(f"pid {holder.pid}, teamtasks create slow, since ")
    assert [text.split(", since")[0] for text in notices] == [
        f"waiting for another writer (pid {holder.pid}, teamtasks create slow"
    ]


def test_without_patience_nothing_is_waited_for(cli, pair):
    with held(pair):
        began = time.monotonic()
        cli("create", "three", code=7, TEAMTASKS_LOCK_TIMEOUT="0")
        assert time.monotonic() - began < 1


def test_readers_do_not_wait(cli, pair):
    with held(pair):
        assert cli("list", "-q", TEAMTASKS_LOCK_TIMEOUT="0").out == "task-1\ntask-2\n"


def test_a_longer_text_of_a_dead_holder_does_not_mix_with_that_of_the_next(cli, pair):
    pair.lock.write_text(f"pid 1, teamtasks create {'x' * 90}, since 2026-01-01T00:00:00Z\n")
    with held(pair) as holder:
        told = cli("create", "three", code=7, TEAMTASKS_LOCK_TIMEOUT="0").err
    assert f"pid {holder.pid}, teamtasks create slow" in told
    assert "xxx" not in told


# Holders that are stopped or killed.


def test_a_stopped_holder_is_named_and_not_robbed(cli, pair):
    with held(pair) as holder:
        holder.send_signal(signal.SIGSTOP)
        assert f"pid {holder.pid}, " in cli("create", "three", code=7, TEAMTASKS_LOCK_TIMEOUT="0.3").err
        assert cli("list", "-q").out == "task-1\ntask-2\n"
        holder.send_signal(signal.SIGCONT)
        assert let_go(holder) == "4\n"
    cli("create", "three")
    assert list(pair.titles().values()) == ["one", "two", "slow", "three"]
    pair.assert_in_order()


def test_a_killed_holder_releases_the_lock_at_once(cli, pair):
    with held(pair) as holder:
        waiting = cli.popen("create", "three")
        time.sleep(0.3)
        killed = time.monotonic()
        holder.kill()
        out, err = waiting.communicate(timeout=20)
        assert time.monotonic() - killed < 1
    assert (waiting.returncode, out, err) == (0, b'task-3 created "three"\n', b"")
    pair.assert_in_order()


def test_the_lock_file_is_never_deleted(cli, pair):
    before = pair.lock.stat().st_ino
    cli("create", "three")
    with held(pair) as holder:
        holder.kill()
    cli("create", "four")
    assert pair.lock.stat().st_ino == before


# The lock file, or the whole directory, taken away under its holder.


def test_the_wait_ends_in_time_even_if_the_lock_file_was_deleted_under_its_holder(cli, pair):
    with held(pair) as holder:
        pair.lock.unlink()
        began = time.monotonic()
        cli("create", "three", code=7, TEAMTASKS_LOCK_TIMEOUT="0.5")
        assert time.monotonic() - began < 3
        assert let_go(holder) == "4\n"
    cli("create", "three")
    assert list(pair.titles().values()) == ["one", "two", "slow", "three"]
    pair.assert_in_order()


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_no_two_holders_when_the_lock_file_is_taken_away_again_and_again(cli, pair, how):
    """Each process marks that it is inside; two marks at once would be two holders."""
    program = """
import teamtasks
from teamtasks.store.files import session
def inside(settle):
    def wrapped(self):
        mark = os.open(ledger.home / "inside", os.O_CREAT | os.O_EXCL)
        time.sleep(0.002)
        os.unlink(ledger.home / "inside")
        os.close(mark)
        return settle(self)
    return wrapped
session.Session.settle = inside(session.Session.settle)
team = teamtasks.open("payments", home=str(ledger.home))
say("ready")
sys.stdin.readline()
for number in range(25):
    team.create(f"{sys.argv[2]} {number}")
"""
    writers = [python(pair.home, program, str(n)) for n in range(3)]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    taken = 0
    while any(writer.poll() is None for writer in writers):
        if how == "deleted":
            pair.lock.unlink(missing_ok=True)
        else:
            (pair.private / "another").touch()
            (pair.private / "another").rename(pair.lock)
        taken += 1
        time.sleep(0.003)
    assert [writer.communicate()[1] for writer in writers] == ["", "", ""]
    assert taken > 20
    assert len(pair.titles()) == 2 + 75
    assert len(set(pair.titles().values())) == 2 + 75
    assert pair.revision() == 3 + 75
    cli("create", "last")
    pair.assert_in_order()


def test_a_writer_that_waited_in_a_deleted_directory_commits_in_the_new_one(cli, pair):
    with held(pair) as holder:
        waiting = cli.popen("create", "three")
        time.sleep(0.4)
        shutil.rmtree(pair.private)
        let_go(holder)
        out, _err = waiting.communicate(timeout=20)
    assert (waiting.returncode, out) == (0, b'task-4 created "three"\n')
    assert list(pair.titles().values()) == ["one", "two", "slow", "three"]
    pair.assert_in_order()


def test_a_writer_that_waited_in_a_directory_that_was_moved_away_commits_in_the_one_that_took_its_place(cli, pair):
    """As when somebody puts a backup in place. The lock that it waited for is still a lock, but of another directory."""
    with held(pair) as holder:
        waiting = cli.popen("create", "three")
        time.sleep(0.4)
        pair.private.rename(pair.home / "moved")
        shutil.copytree(pair.home / "moved", pair.private)
        let_go(holder)
        out, _err = waiting.communicate(timeout=20)
    assert (waiting.returncode, out.endswith(b'created "three"\n')) == (0, True)
    assert "three" in cli("list").out
    assert "three" in pair.titles().values()
    pair.assert_in_order()


def test_a_writer_that_waited_while_the_public_directory_was_deleted_restores_it(cli, pair):
    with held(pair) as holder:
        waiting = cli.popen("create", "three")
        time.sleep(0.4)
        shutil.rmtree(pair.public)
        holder.kill()
        out, err = waiting.communicate(timeout=20)
    assert (waiting.returncode, out) == (0, b'task-3 created "three"\n'), err
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()


# The timer of the program that we are a guest in.

HOST = """
rung = []
def handler(*_): rung.append(time.monotonic())
signal.signal(signal.SIGALRM, handler)
due = time.monotonic() + float(sys.argv[2])
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]), float(sys.argv[3]))
say("ready")
store.transact(lambda tx: None, by="human")
due = max(due, time.monotonic())
left, every = signal.getitimer(signal.ITIMER_REAL)
say(signal.getsignal(signal.SIGALRM) is handler)
say(every == float(sys.argv[3]))
time.sleep(max(0, due - time.monotonic()) + 0.2)
say(round(rung[0] - due, 1) if rung else "never")
"""


@pytest.mark.parametrize("due", ["1.5", "0.2"], ids=["after the wait", "during the wait"])
def test_the_alarm_of_a_host_program_rings_when_it_is_due(pair, due):
    """Or, if that was while we waited, as soon as we are done."""
    with held(pair) as holder:
        host = python(pair.home, HOST, due, "0")
        assert host.stdout.readline() == "ready\n"
        time.sleep(0.6)
        let_go(holder)
        out, err = host.communicate(timeout=20)
    same_handler, same_interval, late_by = out.split()
    assert (same_handler, same_interval, err) == ("True", "True", "")
    assert float(late_by) <= 0.1


def test_the_repeating_timer_of_a_host_program_goes_on(pair):
    with held(pair) as holder:
        host = python(pair.home, HOST, "1.0", "0.1")
        assert host.stdout.readline() == "ready\n"
        time.sleep(0.3)
        let_go(holder)
        out, err = host.communicate(timeout=20)
    assert (out.split()[:2], err) == (["True", "True"], "")


def test_a_command_that_need_not_wait_leaves_the_timer_alone(pair):
    host = python(pair.home, HOST, "0.4", "0")
    out, err = host.communicate(timeout=20)
    assert (out.split(), err) == (["ready", "True", "True", "0.0"], "")


def test_a_timeout_leaves_the_handler_of_a_host_program_in_place(pair):
    program = """
from teamtasks.domain.errors import LockTimeout
def handler(*_): pass
signal.signal(signal.SIGALRM, handler)
try:
    ledger.store(lock_timeout=0.2).transact(lambda tx: None, by="human")
except LockTimeout:
    say(signal.getsignal(signal.SIGALRM) is handler and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0))
"""
    with held(pair):
        assert python(pair.home, program).communicate(timeout=20) == ("True\n", "")


def test_nothing_of_a_turn_stays_open(pair):
    store = pair.store()
    before = len(os.listdir("/proc/self/fd"))
    for _turn in range(20):
        store.transact(lambda tx: None, by="human")
    with FileLock(pair.lock), pytest.raises(LockTimeout):
        pair.store(lock_timeout=0).transact(lambda tx: None, by="human")
    assert len(os.listdir("/proc/self/fd")) == before
