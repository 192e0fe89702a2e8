"""Limits that an administrator sets, and files and directories that are far too large: a clear error or success, in time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

from proofs.ledgers import LONG_AGO, TEAMTASKS, Ledger
from proofs.machine import EXAMPLES, NOBODY, as_user, open_place, run, small_disk, with_limit
from proofs.scenes import environ, make_team

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MB = 1 << 20
FIRST = {scene.command: scene for scene in reversed(EXAMPLES)}


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    """Of the team that the examples speak of."""
    make_team(tmp_path / "home")
    return Ledger(tmp_path / "home")


def on_record(ledger: Ledger) -> list[bytes]:
    return [path.read_bytes() for path in (ledger.tasks, ledger.journal) if path.exists()]


# The size of files. The signal of that limit must not end us in the middle.


@pytest.mark.parametrize("command", ["init", "create", "claim", "heartbeat"])
def test_under_any_limit_on_the_size_of_files_a_command_works_or_changes_nothing(ledger, command):
    if command == "init":
        shutil.rmtree(ledger.home)
        steps = range(0, 600, 50)
    else:
        sizes = [path.stat().st_size for path in (ledger.tasks, ledger.journal)]
        steps = sorted({0, 1, 30, 100, *(size + more for size in sizes for more in (-1, 0, 1, 300, 900)), 9 * sizes[1]})
    codes = []
    for most in steps:
        before = on_record(ledger)
        done = run(ledger.home, [*with_limit("fsize", most), *FIRST[command].run])
        codes.append(done.returncode)
        if done.returncode == 0:
            break
        assert done.returncode == 9, done
        assert "File too large" in done.stderr
        assert on_record(ledger) == before
    assert codes[0] == 9
    assert codes[-1] == 0
    ledger.assert_in_order()


# Open files, processes, memory.


def _starts(limit: list[str]) -> bool:
    """Whether Python itself, and what a command always imports, can work with a limit. (Without memory it may spin.)"""
    needed = "import teamtasks.cli.main, teamtasks.cli.work, teamtasks.app.work, teamtasks.store.files.store"
    try:
        started = subprocess.run(
            [*limit, sys.executable, "-c", needed], cwd="/", capture_output=True, timeout=2, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return (started.returncode, started.stderr) == (0, b"")


def test_with_too_few_file_descriptors_a_command_says_so_or_works(ledger):
    before = on_record(ledger)
    said = []
    for limit in [with_limit("nofile", most) for most in range(4, 20)]:
        if not _starts(limit):
            continue
        done = run(ledger.home, [*limit, TEAMTASKS, "create", "one more"])
        if done.returncode == 0:
            break
        assert (done.returncode, on_record(ledger)) == (9, before), done
        assert done.stderr.startswith("error[store_unavailable]: ")
        said.append("Too many open files" in done.stderr)
    assert said
    assert all(said)
    assert list(ledger.titles().values())[7:] == ["one more"]
    ledger.assert_in_order()


def test_a_command_needs_no_other_process_or_thread():
    user = as_user(NOBODY)
    with open_place() as place:
        for words in (["init", "payments"], ["create", "one"], ["--as", "dev", "claim"], ["doctor"]):
            done = run(place / "home", [*user, *with_limit("nproc", 1), TEAMTASKS, *words])
            assert done.returncode == 0, done


@pytest.mark.parametrize("free", ["too late", "in time"])
def test_a_user_who_may_not_start_another_thread_can_still_wait_for_a_lock(free):
    user = as_user(NOBODY)
    with open_place() as place:
        ledger = Ledger(place / "home")
        assert run(ledger.home, [*user, TEAMTASKS, "init", "payments"]).returncode == 0
        held = FileLock(ledger.lock, thread_local=False)
        held.acquire()
        if free == "in time":
            threading.Timer(0.5, held.release).start()
        limit = ["env", "TEAMTASKS_LOCK_TIMEOUT=1.5", *with_limit("nproc", 1)]
        done = run(ledger.home, [*user, *limit, TEAMTASKS, "create", "one"])
        held.release()
    assert done.returncode == (7 if free == "too late" else 0), done


def test_with_too_little_memory_a_command_says_so_or_works(ledger):
    def fill(tx: Any) -> None:
        first = tx.get("task", "task-1")
        for number in range(1001, 5001):
            tx.get("task", f"task-{number}")
            tx.put("task", f"task-{number}", {**first, "id": f"task-{number}", "description": "x" * 400})

    ledger.store().transact(fill, by="human")
    before = on_record(ledger)
    codes, wrong = [], []
    for limit in [with_limit("as", most * MB) for most in range(12, 120, 3)]:
        if not codes and not _starts(limit):
            continue
        command = [*limit, TEAMTASKS, "create", "one more"]
        done = subprocess.run(command, env=environ(ledger.home), text=True, capture_output=True, check=False, timeout=20)
        if done.returncode == 0:
            break
        assert on_record(ledger) == before
        codes.append(done.returncode)
        if done.returncode != 9 or not done.stderr.startswith("error[") or "Traceback" in done.stderr:
            wrong.append((limit, done.returncode, done.stderr[-300:]))
    assert codes, "some limits let Python start and are too small for the ledger"
    assert wrong == []
    assert "one more" in ledger.titles().values()
    ledger.assert_in_order()


# Far too large.


@pytest.fixture
def large_disk(tmp_path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", size=512 * MB, nr_inodes=400_000) as place:
        yield place


def within_bounds(ledger: Ledger, *words: str, code: int = 0) -> str:
    """In so much time and memory. Returns everything that was said."""
    began = time.monotonic()
    done = run(ledger.home, [*with_limit("as", 700 * MB), TEAMTASKS, *words])
    assert done.returncode == code, done
    assert time.monotonic() - began < 20
    return done.stdout + done.stderr


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["torn", "with a line end"])
def test_a_last_line_of_100_mb_that_is_not_whole_is_cut_off_or_refused_and_never_believed(ledger, end):
    with ledger.journal.open("ab") as file:
        file.truncate(file.tell() + 100 * MB)
        file.seek(0, os.SEEK_END)
        file.write(end)
    size = ledger.journal.stat().st_size

    within_bounds(ledger, "list")
    if end:  # it looks like a commit that was acknowledged
        assert f"{ledger.journal} is damaged at byte " in within_bounds(ledger, "create", "one more", code=8)
        assert ledger.journal.stat().st_size == size
        within_bounds(ledger, "doctor", "--fix")
    within_bounds(ledger, "create", "one more")

    assert ledger.journal.stat().st_size < MB
    assert list(ledger.titles().values())[7:] == ["one more"]


def test_100_mb_in_the_middle_of_the_journal_are_kept_and_cost_no_task(ledger):
    first, *rest = ledger.journal.read_bytes().splitlines(keepends=True)
    with ledger.journal.open("wb") as file:
        file.write(first)
        file.seek(100 * MB, os.SEEK_CUR)
        file.writelines([b"\n", *rest])
    ledger.save(ledger.tasks.read_bytes(), age=LONG_AGO)

    within_bounds(ledger, "list")
    assert "kept as it is, a new one begins here" in within_bounds(ledger, "doctor")
    within_bounds(ledger, "create", "one more")

    assert (ledger.private / ledger.segments()[0]).stat().st_size > 100 * MB
    assert list(ledger.titles().values())[7:] == ["one more"]
    ledger.assert_in_order()


def test_100000_agents_and_100000_other_files_stop_nobody(large_disk):
    make_team(large_disk / "home")
    ledger = Ledger(large_disk / "home")
    within_bounds(ledger, "--as", "backend", "heartbeat")
    one = ledger.public / "agent_backend_1.json"
    for number in range(100_000):
        os.link(one, f"{ledger.public}/agent_x{number}_1.json")
        os.link(one, f"{ledger.public}/{number}.json")

    for words in (["--as", "backend", "claim"], ["--as", "backend", "heartbeat"], ["why", "4"], ["create", "one more"]):
        within_bounds(ledger, *words)
    ledger.tasks.unlink()
    assert "was restored from the journal" in within_bounds(ledger, "doctor")
    ledger.assert_in_order()
    within_bounds(ledger, "delete", "payments", "--yes")
    assert len(os.listdir(ledger.public)) == 100_000, "what is not ours stays"
