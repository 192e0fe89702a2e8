"""When the answer cannot be written: what was committed stays committed, and the exit code and stderr tell the truth."""

from __future__ import annotations

import os
import subprocess

import pytest

from e2e.test_commands import CALLS, CHANGES
from e2e.world import TEAMTASKS, ledger


def shell(story, line: str) -> subprocess.CompletedProcess[str]:
    """A line as a shell runs it, ``teamtasks`` being the real one."""
    environ = {**story.environ(), "PATH": f"{os.path.dirname(TEAMTASKS)}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", line], env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "delete"])
def test_a_change_whose_answer_meets_a_full_disk_is_committed_and_says_so(story, name):
    before = ledger(story.home)
    revision = story("list", "--json").json["revision"]
    words = " ".join(f"'{word}'" for word in CALLS[name])
    done = shell(story, f"teamtasks {words} >/dev/full")
    made = 1 if name == "init" else revision + 1
    assert done.returncode != 0
    assert f"committed as revision {made}" in done.stderr
    assert "No space left on device" in done.stderr
    assert ledger(story.home) != before
    if name != "init":
        assert story("list", "--json").json["revision"] == made


@pytest.mark.parametrize("how", ["--json", "-q", ""])
def test_the_committed_revision_is_told_however_the_answer_was_asked_for(story, how):
    done = shell(story, f"teamtasks create Changelog {how} >/dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "committed as revision 19" in done.stderr


@pytest.mark.parametrize(
    "call",
    [
        "settings",
        "create Changelog --dry-run",
        "create Fuzzing --needs rust --key fuzz",
        "--as db complete 1",
        "--as db claim",
        "list",
        "schema task",
    ],
)
def test_what_changed_nothing_never_claims_a_commit(story, call):
    before = ledger(story.home)
    done = shell(story, f"teamtasks {call} >/dev/full")
    assert done.returncode == 1
    assert done.stderr == "warning: the answer could not be written: No space left on device\n"
    assert ledger(story.home) == before


def test_a_change_into_a_pipe_that_nobody_reads_is_committed_and_says_so(story):
    done = shell(story, "teamtasks create Changelog | true; exit ${PIPESTATUS[0]}")
    assert done.returncode in (0, 1)  # true may live long enough to hear it
    if done.returncode:
        assert "committed as revision 19" in done.stderr
    assert story("show", "9", "-q").out == "task-9\n"


@pytest.mark.parametrize("how", ["", "--json", "-q"])
def test_a_reader_that_has_enough_is_no_reason_to_talk(story, how):
    for _ in range(3):
        done = shell(story, f"teamtasks list {how} | head -n 1")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("\n") == 1


def test_a_reader_that_left_before_the_answer_is_no_reason_to_talk_either(story):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([TEAMTASKS, "list"], env=story.environ(), stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_deletion_whose_answer_meets_a_full_disk_is_told_as_done(story):
    done = shell(story, "teamtasks delete payments --yes >/dev/full")
    assert done.returncode == 1
    assert "committed" in done.stderr or "deleted" in done.stderr
    assert ledger(story.home) == {}


# standard streams that are closed


def test_closed_standard_streams_do_not_stop_a_change(story):
    for number, how in enumerate(["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"]):
        shell(story, f"teamtasks create 'Made {number}' {how}")
        assert story("list", "-q").out.split()[-1] == f"task-{9 + number}"
    assert story("doctor").out.endswith("healthy\n")


def test_a_closed_stdout_is_told_like_a_full_one(story):
    done = shell(story, "teamtasks create Changelog >&-")
    assert done.returncode == 1
    assert done.stderr == "warning: committed as revision 19, but the answer could not be written: Bad file descriptor\n"


@pytest.mark.parametrize(
    ("call", "code"), [("list", 0), ("create Changelog", 0), ("show 99", 3), ("--as otto claim", 6), ("nonsense", 2)]
)
def test_a_closed_stderr_does_not_change_the_exit_code(story, call, code):
    assert shell(story, f"teamtasks {call} 2>&-").returncode == code


def test_a_closed_stdin_is_no_input(story):
    done = shell(story, "teamtasks create Changelog -d - <&-")
    assert done.returncode in (0, 2)
    assert "bug" not in done.stderr


def test_nothing_that_is_said_ends_up_in_a_file_of_the_ledger(story, public, private):
    """With closed streams the ledger's own files get their numbers: no notice and no answer may be written to those."""
    for how in ("2>&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
        (public / "tasks.json").unlink()  # so that there is something to say
        shell(story, f"teamtasks note 3 x {how}")
        said = [place for place, data in ledger(story.home).items() if b"note: " in data]
        assert said == []
        assert (private / "lock").read_bytes() == b""
    assert story("doctor").out.endswith("healthy\n")
