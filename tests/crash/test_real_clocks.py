"""Clocks that are wrong, stand still or go back, and machines that were started again: nothing is lost or taken away."""

from __future__ import annotations

import itertools
import re
import uuid
from typing import TYPE_CHECKING

import pytest

from proofs.ledgers import LONG_AGO, TEAMTASKS, Ledger
from proofs.machine import after_reboot, at_time, run, with_uptime

if TYPE_CHECKING:
    from subprocess import CompletedProcess

YEAR = 365 * 86_400
TIMES = {
    "a day ahead": "+1d",
    "a day behind": "-1d",
    "a year ahead": "+1y",
    "a year behind": "-1y",
    "after 2038": "@2039-06-01 12:00:00",
    "after 2106": "@2107-06-01 12:00:00",
    "1970": "@1970-01-01 00:00:01",
    "standing still": "2026-06-01 12:00:00",
}
NEGATIVE = re.compile(r"(^|[\s(])-\d")


@pytest.fixture
def held(cli, pair) -> Ledger:
    """task-1 is in the hands of dev."""
    cli("join", "dev")
    cli("join", "other")
    cli("--as", "dev", "claim", "1")
    return pair


def at(when: str, ledger: Ledger, *words: str) -> CompletedProcess[str]:
    return run(ledger.home, [*at_time(when), TEAMTASKS, *words])


def dev_still_holds_it(ledger: Ledger) -> bool:
    task = ledger.task("task-1")
    return (task["status"], task["assignee"], task["attempts"]) == ("in_progress", "dev", 1)


@pytest.mark.parametrize("clock", TIMES)
def test_whatever_the_clock_says_a_claim_stays_and_work_goes_on(cli, held, clock):
    when, before = TIMES[clock], held.revision()

    shown = [at(when, held, *words) for words in (["list"], ["why", "1"], ["brief", "1"], ["blocked"], ["show", "1"])]
    refused = at(when, held, "--as", "other", "claim", "1")
    noted = at(when, held, "--as", "dev", "note", "1", "seen")
    alive = at(when, held, "--as", "dev", "heartbeat")
    made = at(when, held, "create", "three")

    assert [done.returncode for done in (*shown, refused, noted, alive, made)] == [0] * 5 + [4, 0, 0, 0]
    assert [done.stdout for done in shown if NEGATIVE.search(done.stdout)] == []
    assert not NEGATIVE.search(refused.stderr)
    assert dev_still_holds_it(held)
    assert held.revision() == before + 2

    assert not NEGATIVE.search(cli("why", "1").out), "and back at the real time"
    cli("--as", "dev", "complete", "1")
    assert cli("doctor").out.endswith("healthy\n")
    held.assert_in_order()


def test_a_clock_that_jumps_between_commands_breaks_nothing(cli, held):
    jumps = [
        TIMES[name] for name in ("a year ahead", "1970", "after 2106", "a day behind", "standing still", "standing still")
    ]
    for number, when in enumerate(jumps):
        made = at(when, held, "create", f"number {number}", "--estimate", "5m")
        assert made.returncode == 0, made
        assert dev_still_holds_it(held)
    revisions = [line["rev"] for line in held.lines()]
    assert all(later == earlier + 1 for earlier, later in itertools.pairwise(revisions))
    assert len(held.titles()) == 2 + len(jumps)
    done = at("1970-01-01 00:00:01", held, "--as", "dev", "complete", "1")
    assert done.returncode == 0
    assert held.task("task-1")["completed_at"] == "1970-01-01T00:00:01Z"
    assert not NEGATIVE.search(cli("show", "1").out)
    assert cli("doctor").out.endswith("healthy\n")
    held.assert_in_order()


@pytest.mark.parametrize("clock", ["a year ahead", "a year behind"])
def test_a_file_that_was_saved_by_another_clock_is_taken_over_and_a_broken_one_is_refused_in_time(cli, held, clock):
    held.save(held.tasks.read_bytes().replace(b'"two"', b'"second"'))
    assert at(TIMES[clock], held, "create", "three").returncode == 0
    assert held.titles()["task-2"] == "second"

    saved = held.save("{", age=-YEAR)  # as if it came out of the future
    assert at(TIMES[clock], held, "create", "four").returncode == 8
    assert cli("create", "four", code=8).err.count("line 1, column 2") == 1
    assert held.tasks.read_bytes() == saved


# Another uptime: a container, or a machine that was suspended.


@pytest.mark.parametrize("seconds", [86_400 * 400, -60], ids=["longer", "shorter"])
def test_a_machine_that_counts_from_another_moment_shows_no_nonsense(cli, held, seconds):
    elsewhere = with_uptime(seconds)
    for words in (["--as", "dev", "heartbeat"], ["why", "1"], ["--as", "dev", "note", "1", "seen"], ["list"]):
        done = run(held.home, [*elsewhere, TEAMTASKS, *words])
        assert done.returncode == 0, done
        assert not NEGATIVE.search(done.stdout)
    assert "last sign of life 0s ago" in cli("why", "1").out or "last sign of life 1s ago" in cli("why", "1").out
    assert dev_still_holds_it(held)
    held.assert_in_order()


# A reboot.


def test_after_a_reboot_everything_is_verified_and_claims_are_kept(cli, held, tmp_path):
    held.send("hello")
    boot = tmp_path / "boot"
    boot.write_text(f"{uuid.uuid4()}\n")
    held.messages.write_bytes(b"")  # it was never synced
    held.previous.unlink()
    old = held.tasks.read_bytes()
    cli("create", "three")
    held.tasks.unlink()
    held.tasks.write_bytes(old)  # nor was the rename

    done = run(held.home, [*after_reboot(boot), TEAMTASKS, "create", "four"])

    assert (done.returncode, done.stdout) == (0, 'task-4 created "four"\n'), done
    assert "was restored from the journal" in done.stderr
    assert list(held.titles().values()) == ["one", "two", "three", "four"]
    assert held.texts() == ["hello"]
    assert dev_still_holds_it(held)
    assert held.lines()[-1]["boot"] == boot.read_text().strip() != held.lines()[-2]["boot"]
    held.assert_in_order()


def test_after_a_reboot_the_first_command_works_and_the_second_has_nothing_to_verify(held, tmp_path):
    boot = tmp_path / "boot"
    boot.write_text(f"{uuid.uuid4()}\n")
    for title in ("three", "four"):
        done = run(held.home, [*after_reboot(boot), TEAMTASKS, "create", title])
        assert (done.returncode, done.stderr) == (0, "")
    assert run(held.home, [*after_reboot(boot), TEAMTASKS, "--as", "dev", "complete", "1"]).returncode == 0
    held.assert_in_order()


def test_what_was_broken_by_the_power_loss_is_not_believed_after_the_reboot(cli, held, tmp_path):
    """The last line never reached the disk whole, though the file is as long as if it had."""
    boot = tmp_path / "boot"
    boot.write_text(f"{uuid.uuid4()}\n")
    cli("create", "three")
    whole = held.journal.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    held.journal.write_bytes(whole[:last] + b"\0" * (len(whole) - last))
    held.save(held.previous.read_bytes(), age=LONG_AGO)

    done = run(held.home, [*after_reboot(boot), TEAMTASKS, "create", "four"])

    assert done.returncode == 0, done
    assert list(held.titles().values()) == ["one", "two", "four"]
    assert dev_still_holds_it(held)
    held.assert_in_order()
