"""Other users on the same machine, root among them; umasks; and things planted where our files should be."""

from __future__ import annotations

import os
import socket
import stat
import time
from typing import TYPE_CHECKING, Any

import pytest

from proofs.ledgers import TEAMTASKS, Ledger
from proofs.machine import EXAMPLES, NOBODY, as_user, give, open_place, run
from proofs.scenes import make_team

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

SOMEBODY = NOBODY - 1
SOON = 5.0


@pytest.fixture
def place() -> Iterator[Path]:
    as_user(NOBODY)
    with open_place() as found:
        yield found


@pytest.fixture
def theirs(place) -> Ledger:
    """The examples' team, in the hands of another user."""
    make_team(place / "home")
    give(place / "home", SOMEBODY)
    return Ledger(place / "home")


def somebody(ledger: Ledger, *words: str) -> CompletedProcess[str]:
    """The user to whom the team belongs."""
    return run(ledger.home, [*as_user(SOMEBODY), TEAMTASKS, *words])


def nobody(ledger: Ledger, *words: str) -> CompletedProcess[str]:
    """A user who has no business there."""
    return run(ledger.home, [*as_user(NOBODY), TEAMTASKS, *words])


def everything(home: Path) -> dict[str, Any]:
    found = sorted(home.rglob("*"))
    return {str(path): (path.lstat(), path.read_bytes() if path.is_file() else None) for path in found}


# What is private stays private, and says so.

OPEN = {"nothing": [], "the home": ["."], "the home and what is in it": [".", "tasks", "teamtasks"]}


@pytest.mark.parametrize("can_be_read", OPEN)
def test_another_users_home_is_not_taken_for_an_empty_one(theirs, can_be_read):
    for name in OPEN[can_be_read]:
        (theirs.home / name).chmod(0o755)
    before = everything(theirs.home)
    for words in (
        ["list"], ["doctor"], ["create", "x"], ["-t", "payments", "list"], ["-t", "payments", "create", "x"],
        ["-t", "payments", "--as", "backend", "heartbeat"], ["-t", "payments", "--as", "backend", "claim"],
        ["init", "payments"], ["init", "other"], ["delete", "payments", "--yes"],
    ):  # fmt: skip
        done = nobody(theirs, *words)
        assert done.returncode == 9, (words, done)
        assert "Permission denied" in done.stderr
        assert str(theirs.home) in done.stderr
        assert "teamtasks init" not in done.stderr
    listed = nobody(theirs, "teams")
    assert "Permission denied" in listed.stdout + listed.stderr
    after = everything(theirs.home)
    assert {path: data for path, (_stat, data) in after.items()} == {path: data for path, (_stat, data) in before.items()}


def test_nothing_of_a_team_can_be_read_or_written_by_another_user(theirs):
    """Whatever teamtasks itself would do: the system refuses."""
    somebody(theirs, "--as", "backend", "claim")
    paths = [theirs.home, *theirs.home.rglob("*")]
    assert {stat.S_IMODE(path.lstat().st_mode) for path in paths if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.lstat().st_mode) for path in paths if path.is_file()} == {0o600}
    denied = run(theirs.home, [*as_user(NOBODY), "cat", str(theirs.tasks), str(theirs.journal)])
    assert (denied.returncode, denied.stdout) == (1, "")


def test_a_user_can_go_on_after_root_worked_in_the_same_home(theirs):
    somebody(theirs, "--as", "backend", "claim", "1")
    for words in (
        ["create", "by root"],
        ["--as", "backend", "note", "1", "hello"],
        ["--as", "new", "claim", "2"],
        ["doctor"],
    ):
        run(theirs.home, [TEAMTASKS, *words])

    for words in (["list"], ["create", "mine"], ["--as", "backend", "complete", "1"], ["doctor"]):
        done = somebody(theirs, *words)
        assert done.returncode == 0, (words, done)
    assert "mine" in theirs.titles().values()
    theirs.assert_in_order()


def test_a_team_that_root_makes_in_a_users_home_is_the_users(place):
    (place / "home").mkdir(mode=0o700)
    give(place / "home", SOMEBODY)
    ledger = Ledger(place / "home")
    run(ledger.home, [TEAMTASKS, "init", "payments"])

    done = somebody(ledger, "create", "mine")

    assert done.returncode == 0, done


@pytest.mark.parametrize("which", ["tasks", "teamtasks", "both"])
def test_a_directory_that_another_user_made_is_refused(place, which):
    """Whoever owns a directory can replace every file in it."""
    ledger = Ledger(place / "home")
    for path in (ledger.home, ledger.home / "tasks", ledger.home / "teamtasks"):
        path.mkdir()
        path.chmod(0o1777)
    planted = [ledger.public, ledger.private] if which == "both" else [ledger.home / which / "payments"]
    for path in planted:
        path.mkdir()
        path.chmod(0o777)
        give(path, NOBODY)

    done = somebody(ledger, "init", "payments")

    assert done.returncode in (8, 9), done
    assert any(str(path) in done.stderr for path in planted)
    assert [name for path in planted for name in os.listdir(path)] == []


@pytest.mark.parametrize("locked", ["public", "private", "tasks", "journal", "lock", "both"])
def test_what_the_user_himself_may_not_write_is_an_error_with_its_path(theirs, locked):
    """After a chmod that went too far. Readers go on as long as they may read."""
    paths = [theirs.public, theirs.private] if locked == "both" else [getattr(theirs, locked)]
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)

    written, read = somebody(theirs, "create", "x"), somebody(theirs, "list", "-q")

    assert (read.returncode, len(read.stdout.splitlines())) in ((0, 7), (0, 8)), read
    if written.returncode == 0:  # the file as such need not be written to: another takes its place
        assert locked in ("tasks", "private")
        return
    assert written.returncode == 9, written
    assert "Permission denied" in written.stderr
    assert str(theirs.home) in written.stderr
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)
    assert somebody(theirs, "create", "x").returncode == 0
    theirs.assert_in_order()


@pytest.mark.parametrize("mode", [0o000, 0o200], ids=oct)
def test_a_tasks_json_that_the_user_may_not_read_is_named(theirs, mode):
    theirs.tasks.chmod(mode)

    for words in (["create", "x"], ["list"]):
        done = somebody(theirs, *words)
        if done.returncode:
            assert done.returncode == 9
            assert str(theirs.public) in done.stderr


# Modes, whatever the umask.


@pytest.mark.parametrize("mask", ["000", "777"])
def test_whatever_any_command_makes_is_for_its_user_only_whatever_the_umask(place, tmp_path_factory, mask):
    templates = tmp_path_factory.mktemp("templates")
    for number, scene in enumerate(EXAMPLES):
        home = place / str(number)
        scene.prepare(home, templates)
        give(home, SOMEBODY)
        masked = [*as_user(SOMEBODY), "sh", "-c", f'umask {mask}; exec "$@"', "sh"]
        done = run(home, [*masked, *scene.run], stdin=scene.stdin)
        assert done.returncode == 0, (scene.example, done)
        for path in home.rglob("*"):
            wanted = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.lstat().st_mode) == wanted, (scene.example, path)


# Things planted in place of our files: directories and sockets (links and pipes are in test_hostile_files.py).

PUBLIC = ("tasks.json", ".tasks.json.new", ".tasks.json.prev", "agent_dev_1.json", ".agent_dev_1.json.new")
PRIVATE = ("journal.jsonl", ".journal.jsonl.new", "lock", "messages.jsonl", "quarantine")
WORDS = (["create", "three"], ["--as", "dev", "claim"], ["--as", "dev", "heartbeat"])
OURS_TO_REMOVE = (".tasks.json.new", ".tasks.json.prev", ".journal.jsonl.new")


def _plant(path: Path, what: str) -> None:
    path.unlink(missing_ok=True)
    if what == "a directory":
        path.mkdir()
        (path / "precious").write_text("x")
    else:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket may not be long
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
        os.chdir(here)


@pytest.mark.parametrize("what", ["a directory", "a socket"])
@pytest.mark.parametrize("name", [*PUBLIC, *PRIVATE])
def test_a_directory_or_a_socket_in_place_of_a_file_is_refused_or_replaced_and_nothing_hangs(cli, pair, name, what):
    path = (pair.public if name in PUBLIC else pair.private) / name
    _plant(path, what)
    if name in OURS_TO_REMOVE:
        pair.lock.write_text("pid 1, teamtasks create, since then\n")

    for words in (
        ["create", "three"],
        ["--as", "dev", "claim"],
        ["--as", "dev", "heartbeat"],
        ["list"],
        ["why", "1"],
        ["doctor"],
    ):
        began = time.monotonic()
        done = cli(*words, code=None)
        assert done.code in (0, 1, 3, 8, 9), (words, done)
        assert "error[bug]" not in done.err
        assert time.monotonic() - began < SOON

    if name in OURS_TO_REMOVE:
        assert list(pair.titles().values()) == ["one", "two", "three"]
    elif what == "a directory":
        assert (path / "precious").read_text() == "x"


@pytest.mark.parametrize("place", ["public", "private"])
@pytest.mark.parametrize("what", ["a file", "a socket", "a FIFO"])
def test_something_else_in_place_of_a_teams_directory_is_refused(cli, pair, tmp_path, place, what):
    path = getattr(pair, place)
    path.rename(tmp_path / "elsewhere")
    if what == "a file":
        path.write_text("precious")
    elif what == "a FIFO":
        os.mkfifo(path)
    else:
        _plant(path, what)

    for words in (
        ["-t", "payments", "create", "three"],
        ["-t", "payments", "list"],
        ["-t", "payments", "--as", "dev", "heartbeat"],
    ):
        began = time.monotonic()
        assert cli(*words, code=None).code in (0, 3, 8, 9)
        assert time.monotonic() - began < SOON
    assert what != "a file" or path.read_text() == "precious"


def test_the_mode_of_what_a_planted_link_points_to_stays(cli, pair, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    victim.chmod(0o644)
    for name in (*PUBLIC[1:], *PRIVATE[1:]):
        path = (pair.public if name in PUBLIC else pair.private) / name
        path.unlink(missing_ok=True)
        path.symlink_to(victim)
    before = victim.stat()

    for words in (*WORDS, ["doctor", "--fix"]):
        cli(*words, code=None)

    after = victim.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns, victim.read_text()) == (
        before.st_mode, before.st_mtime_ns, before.st_ctime_ns, "precious"
    )  # fmt: skip
