"""The order in which a commit reaches the disk, and what is said when it cannot. ``scripts/crash`` tries every call."""

from __future__ import annotations

import subprocess

import pytest

import teamtasks
from proofs.ledgers import TEAMTASKS
from proofs.promises import essence
from proofs.strace import Run, need_strace
from proofs.strace import teamtasks as command

CREATE = command("create", "three")


@pytest.fixture(scope="module", autouse=True)
def _strace() -> None:
    need_strace()


def test_a_journal_that_can_neither_be_written_nor_taken_back_is_an_unknown_outcome(pair):
    ledger = pair
    before = essence(ledger)

    run = Run(ledger.home, CREATE, "fdatasync:error=EIO", "fsync:error=EIO:when=2+")

    assert run.was_failed
    assert (run.code, run.out) == (9, "")
    assert run.err.startswith("error[outcome_unknown]: ")
    after = essence(ledger)
    assert after == before or [after["task"].pop("task-3")["title"], after] == ["three", before]
    teamtasks.open("payments", home=str(ledger.home)).create("after")
    ledger.assert_in_order()


def test_a_commit_syncs_what_it_writes_in_the_order_that_recovery_relies_on(pair):
    calls = [(name, arguments) for name, _which, arguments in Run(pair.home, CREATE).calls(pair.home)]

    steps = [
        (name, arguments.partition(">")[0].rpartition("/")[2])
        for name, arguments in calls
        if name in ("write", "fsync", "fdatasync", "renameat", "rename", "linkat", "unlinkat")
        and str(pair.home) in arguments
    ]
    assert steps == [
        ("write", ".tasks.json.new"),
        ("fsync", ".tasks.json.new"),
        ("write", "journal.jsonl"),
        ("fdatasync", "journal.jsonl"),
        ("unlinkat", "payments"),
        ("linkat", "payments"),
        ("renameat", "payments"),
    ]
    committed = [name for name, _arguments in calls].index("fdatasync")
    assert [name for name, arguments in calls[committed:] if arguments.startswith("1<")][-1] == "write"
    assert not [name for name, arguments in calls[:committed] if arguments.startswith("1<") and name == "write"]


def test_a_limit_on_the_size_of_files_is_a_clean_error(cli, pair):
    before = pair.tasks.read_bytes(), pair.journal.read_bytes()
    limit = len(before[1]) + 50
    assert limit > len(before[0]) + 300, "the new tasks.json has room, the journal's next line has not"

    refused = subprocess.run(
        ["prlimit", f"--fsize={limit}:{limit}", TEAMTASKS, "create", "three"],
        capture_output=True, text=True, env=cli.environ(PYTHONDONTWRITEBYTECODE="1"), check=False,
    )  # fmt: skip

    assert refused.returncode == 9
    assert refused.stderr.startswith(
        "error[store_unavailable]: nothing was changed, writing the journal failed: File too large"
    )
    assert (pair.tasks.read_bytes(), pair.journal.read_bytes()) == before
    pair.assert_in_order()
