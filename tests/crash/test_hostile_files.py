"""Names that are paths, umasks that let everybody in, links and pipes where files should be, files made to exhaust us."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from proofs.ledgers import LONG_AGO, TEAMTASKS, Ledger, python
from teamtasks.store.files import session

if TYPE_CHECKING:
    from pathlib import Path

SOON = 5.0  # seconds within which a command has answered that does not hang

BAD_NAMES = {
    "a path": "../x",
    "a deep path": "a/b",
    "the directory": ".",
    "its parent": "..",
    "a line end": "x\n",
    "a device, upper case": "CON",
    "a capital": "Payments",
    "a Cyrillic а": "pаyments",
    "a full-width p": "ｐayments",
    "an Arabic digit": "x٣",
    "a blank": "pay ments",
    "a dot": "pay.ments",
    "an edge": "payments-",
    "300 characters": "x" * 300,
    "65 characters": "x" * 65,
    "nothing": "",
}


def everything(place: Path) -> dict[str, Any]:
    """Each path below a place, with what it is and what is in it."""
    found: dict[str, Any] = {}
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place))
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "something"
    return found


# Names.


def test_a_team_cannot_have_a_name_that_is_not_one(cli, tmp_path):
    for what, name in BAD_NAMES.items():
        assert cli("init", name, code=2).err.startswith("error[usage]: "), what
    assert everything(tmp_path) == {}


def test_an_agent_cannot_have_a_name_that_is_not_one(cli, pair, tmp_path):
    before = everything(tmp_path)
    for what, name in BAD_NAMES.items():
        assert cli("join", name, code=2).err.startswith("error[usage]: "), what
    assert everything(tmp_path) == before


def test_nobody_can_ask_for_a_team_or_as_an_agent_whose_name_is_not_one(cli, pair, tmp_path):
    before = everything(tmp_path)
    for what, name in BAD_NAMES.items():
        if name:
            assert cli("--as", name, "claim", code=2).err.startswith("error[usage]: "), what
            assert cli("-t", name, "create", "x", code=2).err.startswith("error[usage]: "), what
    assert everything(tmp_path) == before


def test_reserved_names_are_nobodys(cli, pair, tmp_path):
    before = everything(tmp_path)
    for name in ("all", "lead", "human", "system"):
        assert "is reserved" in cli("join", name, code=2).err
        assert "is reserved" in cli("init", name, code=2).err
    assert everything(tmp_path) == before


def test_an_agents_name_cannot_be_read_as_an_incarnation(cli, pair, tmp_path):
    before = everything(tmp_path)
    assert "does not end in _<number>" in cli("join", "backend_2", code=2).err
    assert everything(tmp_path) == before


# Modes.


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777], ids=oct)
def test_directories_are_0700_and_files_0600_whatever_the_umask(cli, ledger, monkeypatch, mask):
    umask = os.umask(mask)
    try:
        cli("init", "payments")
        cli("create", "one")
        cli("--as", "dev", "claim", "1")
        cli("--as", "dev", "heartbeat", "--context", "5")
        ledger.send("hello")
        ledger.save("{", age=LONG_AGO)
        cli("doctor", "--fix")
        monkeypatch.setattr(session, "ROTATE_AT", -(1 << 30))
        ledger.send("rotated")
        ledger.messages.unlink()
        cli("create", "two")
    finally:
        os.umask(umask)

    places = {ledger.public, ledger.private}
    paths = [ledger.home, *(p for p in ledger.home.rglob("*") if p in places or places & {*p.parents} or p.is_dir())]
    assert {"quarantine", "tasks.json", "journal.jsonl", "lock", "agent_dev_1.json", "messages.jsonl"} <= {
        p.name for p in paths
    }
    assert ledger.segments()
    modes = {
        str(path.relative_to(ledger.home)): stat.S_IMODE(path.lstat().st_mode) for path in paths if path.name != "state"
    }
    expected = {name: 0o700 if (ledger.home / name).is_dir() else 0o600 for name in modes}
    assert {name: oct(mode) for name, mode in modes.items()} == {name: oct(mode) for name, mode in expected.items()}


# Symlinks: refused or replaced, and what they point to is not touched.

PUBLIC = ("tasks.json", ".tasks.json.new", ".tasks.json.prev", "agent_dev_1.json", ".agent_dev_1.json.new")
PRIVATE = ("journal.jsonl", ".journal.jsonl.new", "lock", "messages.jsonl")


def _path(ledger: Ledger, name: str) -> Path:
    return (ledger.public if name in PUBLIC else ledger.private) / name


COMMANDS = (["create", "three"], ["--as", "dev", "claim"], ["--as", "dev", "heartbeat"], ["list"], ["why", "1"])
SEND = 'store.transact(lambda tx: tx.append("messages", {"id": "m", "text": "x"}), by="human")'


def _all_sorts_of_things(cli: Any, ledger: Ledger, name: str) -> dict[str, int]:
    """Commands of all kinds; what each exits with. None of them takes long, none has a traceback."""
    codes = {}
    for command in COMMANDS:
        began = time.monotonic()
        codes[" ".join(command)] = cli(*command, code=None).code
        assert time.monotonic() - began < SOON, command
    if name == "messages.jsonl":
        python(ledger.home, SEND).communicate(timeout=SOON)
    return codes


@pytest.mark.parametrize("target", ["a file", "nothing"])
@pytest.mark.parametrize("name", [*PUBLIC, *PRIVATE])
def test_a_planted_symlink_is_not_followed(cli, pair, tmp_path, name, target):
    victim = tmp_path / "victim"
    path = _path(pair, name)
    if target == "a file":
        victim.write_bytes(path.read_bytes() if path.exists() else b"precious")
        os.utime(victim, (1, 1))
    before = (victim.read_bytes(), victim.stat()) if target == "a file" else None
    path.unlink(missing_ok=True)
    path.symlink_to(victim)

    codes = _all_sorts_of_things(cli, pair, name)

    assert set(codes.values()) <= {0, 1, 3, 8, 9}, codes
    if before is None:
        assert not victim.exists()
    else:
        assert victim.read_bytes() == before[0]
        assert victim.stat().st_mtime == 1
        assert victim.stat().st_nlink == 1


@pytest.mark.parametrize("name", ["tasks.json", "journal.jsonl", "lock"])
def test_a_planted_symlink_is_refused_by_its_path(cli, pair, tmp_path, name):
    path = _path(pair, name)
    path.rename(tmp_path / "victim")
    path.symlink_to(tmp_path / "victim")

    assert f"error[invalid_data]: {path} is " in cli("create", "three", code=8).err


@pytest.mark.parametrize("name", [".tasks.json.new", ".journal.jsonl.new", ".tasks.json.prev"])
@pytest.mark.parametrize("what", ["a symlink", "a FIFO"])
def test_what_is_planted_under_our_own_working_names_is_replaced(cli, pair, tmp_path, name, what):
    (tmp_path / "victim").write_text("precious")
    path = _path(pair, name)
    path.unlink(missing_ok=True)
    if what == "a symlink":
        path.symlink_to(tmp_path / "victim")
    else:
        os.mkfifo(path)
    pair.lock.write_text("pid 1, teamtasks create, since then\n")

    cli("create", "three")
    cli("create", "four")

    assert list(pair.titles().values()) == ["one", "two", "three", "four"]
    assert (tmp_path / "victim").read_text() == "precious"
    pair.assert_in_order()


def test_a_planted_predecessor_is_replaced_and_its_victim_is_not_touched(cli, pair, tmp_path):
    (tmp_path / "victim").write_text("precious")
    pair.previous.unlink()
    pair.previous.symlink_to(tmp_path / "victim")

    cli("create", "three")

    assert (tmp_path / "victim").read_text() == "precious"
    assert not pair.previous.is_symlink()
    pair.assert_in_order()


@pytest.mark.parametrize("place", ["public", "private"])
def test_a_symlink_in_place_of_a_teams_directory_is_refused(cli, pair, tmp_path, place):
    path = getattr(pair, place)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    before = everything(tmp_path / "elsewhere")

    for command in (["create", "three"], ["--as", "dev", "claim"]):
        assert f"{path} is not a directory of its own" in cli(*command, code=8).err
    assert everything(tmp_path / "elsewhere") == before


@pytest.mark.parametrize("what", ["a symlink", "a file", "a FIFO"])
def test_something_else_in_place_of_the_quarantine_is_not_followed(cli, pair, tmp_path, what):
    victims = tmp_path / "victims"
    victims.mkdir()
    if what == "a symlink":
        pair.quarantine.symlink_to(victims)
    elif what == "a file":
        pair.quarantine.write_text("precious")
    else:
        os.mkfifo(pair.quarantine)
    pair.save("{", age=LONG_AGO)

    cli("doctor", "--fix", code=8)

    assert everything(victims) == {}
    assert pair.tasks.read_text() == "{"


def test_deleting_a_team_does_not_follow_a_planted_quarantine(cli, pair, tmp_path):
    victims = tmp_path / "victims"
    victims.mkdir()
    (victims / "precious").write_text("x")
    pair.quarantine.symlink_to(victims)

    cli("delete", "payments", "--yes")

    assert (victims / "precious").read_text() == "x"
    assert not pair.private.exists()


def test_a_stray_directory_does_not_keep_a_team_from_being_deleted(cli, pair):
    (pair.private / "notes" / "deep").mkdir(parents=True)
    (pair.private / "notes" / "deep" / "mine.txt").touch()

    cli("delete", "payments", "--yes")

    assert not pair.private.exists()
    assert "error[no_team]" in cli("list", code=3).err


# Pipes: nothing waits for a writer that never comes.


@pytest.mark.parametrize("name", [*PUBLIC, *PRIVATE])
def test_a_fifo_in_place_of_a_file_hangs_nothing(cli, pair, name):
    path = _path(pair, name)
    path.unlink(missing_ok=True)
    os.mkfifo(path)

    codes = _all_sorts_of_things(cli, pair, name)

    assert set(codes.values()) <= {0, 1, 3, 8, 9}, codes
    if name in ("tasks.json", "journal.jsonl"):
        assert codes["create three"] == 8


def test_a_fifo_in_place_of_the_messages_does_not_hang_a_commit(pair):
    os.mkfifo(pair.messages)

    out, err = python(pair.home, f"store.notice = say\nsay({SEND}[1])").communicate(timeout=SOON)

    notice, revision = out.splitlines()
    assert notice.startswith("committed as revision 4, but ")
    assert (revision, err) == ("4", "")
    pair.messages.unlink()
    assert pair.texts() == ["x"]


@pytest.mark.parametrize("what", ["a FIFO", "a symlink", "a directory", "a file of 100 MB"])
def test_doctor_mends_what_it_says_it_can_mend(cli, pair, tmp_path, what):
    good = pair.tasks.read_bytes()
    pair.tasks.unlink()
    {
        "a FIFO": lambda: os.mkfifo(pair.tasks),
        "a symlink": lambda: pair.tasks.symlink_to(tmp_path / "nowhere"),
        "a directory": pair.tasks.mkdir,
        "a file of 100 MB": lambda: _large(pair.tasks),
    }[what]()
    assert "teamtasks doctor --fix" in cli("doctor", code=1).out

    cli("doctor", "--fix")

    assert pair.tasks.read_bytes() == good
    assert len(list(pair.quarantine.iterdir())) == 1
    cli("create", "three")
    pair.assert_in_order()


# Files made to exhaust us.


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100 << 20)


def test_a_file_of_100_mb_is_refused_quickly(cli, pair):
    _large(pair.tasks)
    began = time.monotonic()

    refused = cli("create", "three", code=8)
    shown = cli("list", "-q")

    assert time.monotonic() - began < 3
    assert f"{pair.tasks} has 104,857,600 bytes" in refused.err
    assert shown.out == "task-1\ntask-2\n"
    assert pair.tasks.stat().st_size == 100 << 20


def test_a_file_of_100_mb_is_refused_in_little_memory(cli, pair):
    _large(pair.tasks)

    limited = ["sh", "-c", 'ulimit -v 300000; exec "$@"', "sh", TEAMTASKS, "create", "three"]
    refused = subprocess.run(limited, env=cli.environ(), capture_output=True, check=False)

    assert refused.returncode == 8, refused


DEEP = 100_000

NESTED = {
    "a list": "[" * DEEP,
    "a closed list": "[" * DEEP + "]" * DEEP,
    "objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "in the first line": '{"a":' + "[" * DEEP + "]" * DEEP + ',\n"tasks":[]}',
    "in a task": '{"tasks":[{"id":"task-1","title":"one","metadata":{"x":' + "[" * DEEP + "]" * DEEP + "}}]}",
    "65 deep": '{"tasks":[{"id":"task-1","title":"one","metadata":{"x":' + "[" * 62 + "]" * 62 + "}}]}",
}


@pytest.mark.parametrize("what", NESTED)
def test_a_file_nested_100000_deep_is_refused(cli, pair, what):
    saved = pair.save(NESTED[what], age=LONG_AGO)
    began = time.monotonic()

    refused = cli("create", "three", code=8).err
    shown = cli("list", "-q")

    assert time.monotonic() - began < SOON
    assert f"{pair.tasks}, line 1, column " in refused
    assert "nested" in refused
    assert shown.out == "task-1\ntask-2\n"
    assert pair.tasks.read_bytes() == saved


@pytest.mark.parametrize(
    "data", [b"\0" * 5000, b'{"tasks":' + b" " * 3_000_000, b'"' + b"x" * 3_000_000, b"{" + b'"a":1,' * 200_000]
)
def test_a_large_broken_file_is_refused_in_good_time(cli, pair, data):
    saved = pair.save(data, age=LONG_AGO)
    began = time.monotonic()

    cli("create", "three", code=8)

    assert time.monotonic() - began < SOON
    assert pair.tasks.read_bytes() == saved


@pytest.mark.parametrize(
    "data", [b"[" * 3000, b"{}", b"null", b"\0" * 900, b'{"format":1,"agent":"dev","incarnation":1}', b"x" * 200_000]
)
def test_a_broken_agent_file_is_only_a_missing_one(cli, pair, data):
    cli("--as", "dev", "claim", "1")
    (pair.public / "agent_dev_1.json").write_bytes(data)

    cli("why", "1")
    cli("--as", "dev", "heartbeat")
    cli("--as", "dev", "complete", "1")

    assert (pair.public / "agent_dev_1.json").read_bytes() != data
