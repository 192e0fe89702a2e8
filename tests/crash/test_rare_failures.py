"""What goes wrong once in years: the system refuses a call in the middle, or somebody else is quicker than we look."""

from __future__ import annotations

import _thread
import errno
import os
import shutil
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

import teamtasks
from proofs.ledgers import LONG_AGO, TEAMTASKS, Ledger
from proofs.machine import NOBODY, acting_as, give, open_place, run, without_proc
from teamtasks.domain.errors import InvalidData, OutcomeUnknown, StoreUnavailable, TeamExists, TeamNotFound
from teamtasks.store.files import disk, doctor, layout, lock, session, store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def refuse(monkeypatch: pytest.MonkeyPatch, call: str, error: int, *, of: Callable[..., bool] = lambda *_: True) -> None:
    """A system call fails, where ``of`` says so of its arguments."""
    real = getattr(os, call)

    def failing(*args: Any, **options: Any) -> Any:
        if of(*args):
            raise OSError(error, os.strerror(error))
        return real(*args, **options)

    monkeypatch.setattr(os, call, failing)


def meanwhile(
    monkeypatch: pytest.MonkeyPatch,
    where: Any,
    call: str,
    action: Callable[[], Any],
    *,
    of: Callable[..., bool] = lambda *_: True,
) -> None:
    """Something happens just before a call, once, where ``of`` says so of its arguments."""
    real = getattr(where, call)
    left = [action]

    def interrupted(*args: Any, **options: Any) -> Any:
        if left and of(*args):
            left.pop()()
        return real(*args, **options)

    monkeypatch.setattr(where, call, interrupted)


def create(ledger: Ledger, title: str = "three", **options: Any) -> Any:
    team = teamtasks.open("payments", home=str(ledger.home))
    team.store = ledger.store(**options)
    return team.create(title)


def named(name: str) -> Callable[..., bool]:
    return lambda path, *_: path == name


# The disk refuses.


@pytest.mark.parametrize("call", ["fsync", "fdatasync", "write"])
def test_a_commit_that_the_disk_refuses_changes_nothing_and_the_next_one_works(pair, monkeypatch, call):
    before = pair.tasks.read_bytes(), pair.journal.read_bytes()
    refuse(monkeypatch, call, errno.EIO)
    with pytest.raises(StoreUnavailable):
        create(pair)
    monkeypatch.undo()
    assert (pair.tasks.read_bytes(), pair.journal.read_bytes()) == before
    create(pair)
    pair.assert_in_order()


def test_a_commit_that_is_refused_in_a_directory_that_is_gone_is_refused_once(pair, monkeypatch):
    """What cannot be tidied up any more does not hide why it failed."""

    def gone(*_args: object) -> bool:
        shutil.rmtree(pair.public)
        return True

    refuse(monkeypatch, "fdatasync", errno.EIO, of=gone)
    with pytest.raises(StoreUnavailable, match="Input/output error"):
        create(pair)
    monkeypatch.undo()
    create(pair)
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()


def test_a_message_that_the_disk_refuses_is_not_sent_and_the_next_one_is(pair, monkeypatch):
    refuse(monkeypatch, "fdatasync", errno.EIO)
    with pytest.raises(StoreUnavailable):
        pair.send("lost")
    monkeypatch.undo()
    pair.send("hello")
    assert pair.texts() == ["hello"]
    pair.assert_in_order()


def test_what_the_system_writes_in_several_pieces_is_written_whole(pair, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:100]))
    create(pair)
    monkeypatch.undo()
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()


def test_a_commit_that_can_neither_be_made_nor_taken_back_is_an_unknown_outcome(pair, monkeypatch):
    refuse(monkeypatch, "fdatasync", errno.EIO)
    refuse(monkeypatch, "ftruncate", errno.EIO, of=lambda _fd, length: length > 500)
    with pytest.raises(OutcomeUnknown):
        create(pair)
    monkeypatch.undo()
    create(pair, "after")
    assert "after" in pair.titles().values()
    pair.assert_in_order()


def test_a_commit_that_cannot_be_shown_stands_and_is_shown_by_the_next_command(pair, monkeypatch):
    notices: list[str] = []
    refuse(monkeypatch, "rename", errno.EIO)
    assert create(pair, notice=notices.append)["revision"] == 4
    monkeypatch.undo()
    assert [text.partition(", but")[0] for text in notices] == ["committed as revision 4"]
    assert list(pair.titles().values()) == ["one", "two"]
    create(pair, "four")
    assert list(pair.titles().values()) == ["one", "two", "three", "four"]
    pair.assert_in_order()


def test_a_lock_whose_text_cannot_be_cleared_only_has_the_next_command_look_everything_over(pair, monkeypatch):
    refuse(monkeypatch, "ftruncate", errno.EIO, of=lambda _fd, length: length == 0)
    create(pair)
    monkeypatch.undo()
    assert pair.lock.read_text().startswith("pid ")
    create(pair, "four")
    assert list(pair.titles().values()) == ["one", "two", "three", "four"]
    pair.assert_in_order()


def test_a_ledger_that_would_be_too_large_to_be_read_again_is_not_written(pair, monkeypatch):
    before = pair.tasks.read_bytes()
    monkeypatch.setattr(disk, "LARGEST", len(before) + 10)
    with pytest.raises(StoreUnavailable, match="at most"):
        create(pair)
    assert pair.tasks.read_bytes() == before
    pair.assert_in_order()


@pytest.mark.parametrize("call", ["rename", "link"])
def test_a_segment_that_cannot_begin_leaves_the_old_one(pair, monkeypatch, call):
    monkeypatch.setattr(session, "ROTATE_AT", -(1 << 30))
    refuse(monkeypatch, call, errno.EIO)
    with pytest.raises(StoreUnavailable):
        create(pair)
    monkeypatch.undo()
    assert not pair.journal_new.exists()
    create(pair)
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()


def test_a_segment_whose_name_may_not_be_durable_is_an_unknown_outcome_and_loses_nothing(pair, monkeypatch):
    monkeypatch.setattr(session, "ROTATE_AT", -(1 << 30))
    synced: list[int] = []

    def second_directory(fd: int) -> bool:
        synced.extend([fd] if os.path.isdir(f"/proc/self/fd/{fd}") else [])
        return len(synced) == 2

    refuse(monkeypatch, "fsync", errno.EIO, of=second_directory)
    with pytest.raises(OutcomeUnknown, match="could not be made durable"):
        create(pair)
    monkeypatch.undo()
    create(pair)
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()


def test_a_segment_that_begins_and_cannot_be_opened_is_an_unknown_outcome_and_loses_nothing(pair, monkeypatch):
    monkeypatch.setattr(session, "ROTATE_AT", -(1 << 30))

    def begun(path: object, flags: int, *_mode: int) -> bool:
        return path == "journal.jsonl" and bool(flags & os.O_APPEND) and pair.segments() != []

    refuse(monkeypatch, "open", errno.EMFILE, of=begun)
    with pytest.raises(OutcomeUnknown, match="a new journal was begun"):
        create(pair)
    monkeypatch.undo()
    create(pair)
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()


def test_a_file_that_cannot_be_closed_any_more_does_not_undo_a_commit(pair, monkeypatch):
    """Network file systems say only then that something was wrong; what counts was synced before."""
    real = os.close

    def late_error(fd: int) -> None:
        real(fd)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    meanwhile(monkeypatch, lock, "clear", lambda: monkeypatch.setattr(os, "close", late_error))
    made = create(pair)
    monkeypatch.undo()
    assert made["revision"] == 4
    pair.assert_in_order()


def test_a_sign_of_life_that_cannot_be_written_leaves_the_last_one(pair, monkeypatch):
    pair.store().beat("dev", 1, {"doing": "this"}, acted=True)
    refuse(monkeypatch, "rename", errno.EIO)
    with pytest.raises(StoreUnavailable):
        pair.store().beat("dev", 1, {"doing": "that"}, acted=True)
    monkeypatch.undo()
    assert pair.store().pulses()["dev", 1]["doing"] == "this"
    assert list(pair.public.glob(".agent*")) == []


def test_a_lock_that_cannot_be_given_back_does_not_undo_a_commit(pair, monkeypatch):
    def no_locks(fd: int, how: int) -> None:
        if how == lock.LOCK_UN:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(lock, "flock", no_locks)
    assert create(pair)["task"]["id"] == "task-3"


# Somebody is quicker.


def test_a_private_directory_that_is_deleted_while_it_is_locked_costs_the_history_only(pair, monkeypatch):
    meanwhile(monkeypatch, os, "open", lambda: shutil.rmtree(pair.private), of=named("lock"))
    create(pair)
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()


def test_a_team_that_is_deleted_while_it_is_locked_is_not_found(pair, monkeypatch):
    def delete() -> None:
        shutil.rmtree(pair.private)
        shutil.rmtree(pair.public)

    meanwhile(monkeypatch, os, "open", delete, of=named("lock"))
    with pytest.raises(TeamNotFound):
        create(pair)


def test_a_public_directory_that_is_deleted_again_and_again_in_the_middle_is_made_again(pair, monkeypatch):
    calls: list[int] = []

    def opened(path: object) -> bool:
        return path == str(pair.public) and pair.public.is_dir()

    def delete(tx: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            shutil.rmtree(pair.public)
            meanwhile(monkeypatch, os, "open", lambda: shutil.rmtree(pair.public), of=lambda path, *_: opened(path))
        id = tx.next_id("task")
        tx.get("task", id)
        tx.put("task", id, {**tx.get("task", "task-1"), "id": id, "title": "three"})

    pair.store().transact(delete, by="human")
    assert len(calls) == 2
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()


def test_a_public_directory_that_is_deleted_while_a_file_is_restored_in_it_is_restored_too(pair, monkeypatch):
    pair.tasks.unlink()
    meanwhile(monkeypatch, disk, "rename", lambda: shutil.rmtree(pair.public))
    create(pair)
    assert list(pair.titles().values()) == ["one", "two", "three"]
    pair.assert_in_order()


def test_a_team_that_is_there_is_not_made_again(pair):
    before = pair.journal.read_bytes()
    with pytest.raises(TeamExists, match="there is a team 'payments' already"):
        pair.store().create({}, by="human")
    assert pair.journal.read_bytes() == before


def test_two_signs_of_life_at_once_do_not_mix(pair, monkeypatch):
    from teamtasks.store.files import pulse

    (pair.public / ".agent_dev_1.json.new").touch()
    meanwhile(monkeypatch, pulse, "flock", (pair.public / ".agent_dev_1.json.new").unlink)
    pair.store().beat("dev", 1, {"doing": "this"}, acted=True)
    assert pair.store().pulses()["dev", 1]["doing"] == "this"


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end():
    """Files of the system say that they are empty; what counts is what comes."""
    directory = disk.open_directory(f"/proc/{os.getpid()}")
    try:
        data, stamp = disk.read(directory, "status") or (b"", None)
    finally:
        os.close(directory)
    assert (stamp or ())[1] == 0
    assert f"Pid:\t{os.getpid()}\n".encode() in data


def test_a_team_that_somebody_writes_by_hand_while_we_make_it_is_theirs(ledger, monkeypatch):
    def by_hand() -> None:
        ledger.tasks.write_text('{"tasks":[{"id":"task-1","title":"by hand"}]}')

    meanwhile(monkeypatch, disk, "link", by_hand)
    meanwhile(monkeypatch, os, "fsync", by_hand, of=lambda _fd: ledger.new.exists())
    with pytest.raises(TeamExists):
        teamtasks.open("payments", home=str(ledger.home), create=True)
    monkeypatch.undo()
    assert "by hand" in ledger.titles().values()


def test_a_program_that_saves_all_the_time_is_named_in_the_end(pair):
    def save(tx: Any) -> None:
        number = len(list(tx.scan("task"))) + 1
        tasks = [*pair.document()["tasks"], {"id": f"task-{number}", "title": "saved again"}]
        pair.save({**pair.document(), "tasks": tasks})
        tx.get("task", "task-1000")
        tx.put("task", "task-1000", {**tx.get("task", "task-1"), "id": "task-1000"})

    with pytest.raises(StoreUnavailable, match="written by another program all the time"):
        pair.store().transact(save, by="human")
    titles = list(pair.titles().values())
    assert titles[2:] == ["saved again"] * store.RACES
    create(pair, "works again")
    pair.assert_in_order()


def test_doctor_says_that_somebody_is_editing_right_now(pair, monkeypatch):
    edited = pair.tasks.read_bytes().replace(b'"one"', b'"first"')
    pair.tasks.unlink()
    meanwhile(monkeypatch, os, "fsync", lambda: pair.save(edited), of=lambda _fd: pair.new.exists())
    findings = pair.store().check(fix=False)
    assert [(f["severity"], f["message"]) for f in findings] == [("problem", "tasks.json is being edited right now")]
    monkeypatch.undo()
    pair.store().transact(lambda tx: None, by="human")
    assert list(pair.titles().values()) == ["first", "two"]


def test_an_alarm_that_rings_just_after_the_lock_was_got_disturbs_nothing(pair, monkeypatch):
    held = FileLock(pair.lock)
    held.acquire()
    timers: list[float] = []

    def ring(_which: int, seconds: float, *_more: float) -> bool:
        timers.append(seconds)
        if len(timers) == 1:
            held.release()
        return seconds == 0

    meanwhile(monkeypatch, signal, "setitimer", lambda: os.kill(os.getpid(), signal.SIGALRM), of=ring)
    assert create(pair)["task"]["id"] == "task-3"
    assert timers[-1] == 0
    pair.assert_in_order()


@pytest.mark.parametrize("how", ["it is said", "it cannot be said", "it is too short for that", "no thread can be started"])
def test_a_wait_goes_on_whether_or_not_anybody_is_told_of_it(pair, monkeypatch, how):
    """The thread that says so is started so that its lines are counted."""

    def start(say: Callable[[], None], _args: tuple[()]) -> None:
        if how == "no thread can be started":
            raise RuntimeError
        threading.Thread(target=say).start()

    monkeypatch.setattr(_thread, "start_new_thread", start)
    monkeypatch.setattr(lock, "SAY_AFTER", 20 if how == "it is too short for that" else 0.05)
    said: list[str] = []

    def notice(text: str) -> None:
        said.append(text)
        if how == "it cannot be said":
            raise BrokenPipeError

    held = FileLock(pair.lock, thread_local=False)
    held.acquire()
    threading.Timer(0.3, held.release).start()
    assert create(pair, notice=notice)["task"]["id"] == "task-3"
    assert len(said) == (how in ("it is said", "it cannot be said"))
    pair.assert_in_order()


# Another user, and what only root can do.


@pytest.fixture
def theirs() -> Iterator[Ledger]:
    with open_place() as place:
        with acting_as(NOBODY):
            teamtasks.open("payments", home=str(place / "home"), create=True).create("one")
        yield Ledger(place / "home")


def test_a_user_has_what_he_made_and_is_told_what_he_may_not_use(theirs):
    with acting_as(NOBODY):
        assert create(theirs, "two")["task"]["id"] == "task-2"
        theirs.tasks.chmod(0)
        with pytest.raises(StoreUnavailable) as denied:
            create(theirs)
        assert denied.value.facts["path"] == str(theirs.tasks)
        theirs.tasks.chmod(0o600)
    with acting_as(NOBODY - 1):
        with pytest.raises(StoreUnavailable):
            theirs.store().transact(lambda tx: None, by="human")
        assert layout.is_team(str(theirs.home), "payments")
        for path in (theirs.home, theirs.home / "tasks", theirs.home / "teamtasks", theirs.public, theirs.private):
            os.seteuid(0)
            path.chmod(0o777)
            os.seteuid(NOBODY - 1)
        with pytest.raises(InvalidData, match="belongs to another user"):
            theirs.store().transact(lambda tx: None, by="human")


def test_what_root_makes_in_a_users_home_is_the_users_and_nobody_elses(theirs):
    theirs.public.chmod(0o777)
    create(theirs, "by root")
    with open_place() as place:
        give(place, NOBODY)
        teamtasks.open("payments", home=str(place / "home"), create=True)
        owners = {path.stat().st_uid for path in (place / "home").rglob("*")}
    assert owners == {NOBODY}
    assert {path.stat().st_uid for path in theirs.home.rglob("*")} == {NOBODY}
    assert theirs.public.stat().st_mode & 0o022 == 0


# A machine that is not as usual.


def test_without_proc_everything_works_but_knowing_a_boot(cli, pair):
    hidden = without_proc()
    for words in (["create", "three"], ["--as", "dev", "claim"], ["list"], ["doctor"]):
        done = run(pair.home, [*hidden, TEAMTASKS, *words])
        assert (done.returncode, done.stderr) == (0, ""), done
    assert pair.lines()[-1]["boot"] == "unknown"
    pair.tasks.unlink()
    pair.tasks.mkdir()
    refused = run(pair.home, [*hidden, TEAMTASKS, "create", "four"])
    assert (refused.returncode, "tasks.json is not a regular file" in refused.stderr) == (8, True)
    pair.tasks.rmdir()
    cli("create", "four")
    assert list(pair.titles().values()) == ["one", "two", "three", "four"]
    pair.assert_in_order()


def test_doctor_warns_of_a_network_file_system(pair, monkeypatch):
    assert not [f for f in pair.store().check(fix=False) if f["severity"] == "problem"]
    monkeypatch.setattr(doctor, "NETWORK", (doctor._file_system(str(pair.public)),))
    problems = [f["message"] for f in pair.store().check(fix=False) if f["severity"] == "problem"]
    assert len(problems) == 2
    assert all("network file system" in text for text in problems)


def test_a_public_directory_that_is_gone_is_an_error_of_a_sign_of_life_and_not_a_missing_team(pair):
    shutil.rmtree(pair.public)
    with pytest.raises(StoreUnavailable):
        pair.store().beat("dev", 1, {}, acted=True)
    create(pair)
    pair.store().beat("dev", 1, {}, acted=True)


# What is on disk is not what it was.


def test_a_line_that_is_longer_than_a_look_at_the_end_is_found(pair):
    team = teamtasks.open("payments", home=str(pair.home))
    team.create("large", description="x" * 50_000)
    team.create("after")
    assert pair.revision() == 5
    pair.assert_in_order()


def test_a_journal_that_was_emptied_and_a_broken_file_cannot_be_shown(pair):
    pair.journal.write_bytes(b"")
    saved = pair.save("{", age=LONG_AGO)
    with pytest.raises(InvalidData, match="line 1, column 2"):
        pair.store().read()
    assert pair.tasks.read_bytes() == saved


def test_an_empty_file_without_a_journal_is_no_team(pair):
    shutil.rmtree(pair.private)
    pair.save("", age=LONG_AGO)
    with pytest.raises(TeamNotFound):
        create(pair)
    assert pair.tasks.read_bytes() == b""


def test_a_line_that_is_missing_from_the_journal_is_noticed(pair):
    """Each of the others is whole."""
    first, _second, *rest = pair.journal.read_bytes().splitlines(keepends=True)
    pair.journal.write_bytes(b"".join([first, *rest]))
    pair.tasks.unlink()
    with pytest.raises(InvalidData, match=f"is damaged at byte {len(first)}"):
        create(pair)


def test_a_task_can_be_removed_and_the_team_be_changed_at_once(pair):
    def both(tx: Any) -> None:
        tx.get("task", "task-1")
        tx.put("task", "task-1", None)
        tx.put("team", "payments", {**tx.get("team", "payments"), "topology": "hub"})
        tx.put("task", "task-2", {**tx.get("task", "task-2"), "title": "second"})

    pair.store().transact(both, by="human")
    assert (pair.titles(), pair.document()["topology"]) == ({"task-2": "second"}, "hub")
    pair.assert_in_order()


def test_where_nothing_is_whole_doctor_says_what_is_left_to_do(pair):
    pair.journal.write_bytes(b"x" * 500 + b"\n")
    pair.save("{", age=LONG_AGO)
    with pytest.raises(InvalidData, match="is damaged at byte 0") as told:
        pair.store().check(fix=True)
    assert told.value.hint
    assert pair.tasks.read_text() == "{"


def test_a_damaged_last_line_and_an_older_file_are_refused_until_doctor_is_asked(pair):
    old = pair.tasks.read_bytes()
    create(pair)
    damaged = pair.flip(len(pair.journal.read_bytes()) - 40)
    pair.save(old, age=LONG_AGO)
    with pytest.raises(InvalidData, match="is damaged at byte"):
        create(pair, "four")
    assert (pair.journal.read_bytes(), pair.tasks.read_bytes()) == (damaged, old)
    pair.store().check(fix=True)
    create(pair, "four")
    assert list(pair.titles().values()) == ["one", "two", "four"]


def test_a_segment_that_is_full_and_damaged_is_kept_and_the_next_begins_with_the_file(pair, monkeypatch):
    damaged = pair.flip(100)
    monkeypatch.setattr(session, "ROTATE_AT", -(1 << 30))
    notices: list[str] = []
    create(pair, notice=notices.append)
    assert [text.partition(": ")[0] for text in notices] == ["the journal is damaged at byte 0"]
    assert damaged in [(pair.private / path.name).read_bytes() for path in pair.private.glob("journal-*")]
    assert list(pair.titles().values()) == ["one", "two", "three"]


def test_a_version_that_was_written_in_another_form_is_written_again_in_ours(pair):
    """As after an upgrade: the journal is right, but tasks.json would be laid out otherwise."""
    pair.rewrite_last_line(tasks={**pair.lines()[-1]["tasks"], "crc": "00000000"})
    pair.tasks.unlink()
    notices: list[str] = []
    create(pair, notice=notices.append)
    assert [text.partition(":")[0] for text in notices] == ["tasks.json was missing"]
    assert [line["events"][0]["event"] for line in pair.lines()[-2:]] == ["republished", "task_created"]
    pair.assert_in_order()


def test_a_journal_that_tells_another_story_than_the_file_is_a_problem(pair):
    pair.rewrite_last_line(docs=[])
    problems = [f["message"] for f in pair.store().check(fix=False) if f["severity"] == "problem"]
    assert problems == ["tasks.json and the journal do not agree"]


def test_documents_that_an_older_version_let_pass_are_reported(pair, monkeypatch):
    monkeypatch.setattr(store, "check_document", lambda *_: None)

    def spoil(tx: Any) -> None:
        for id, other in (("task-1", "task-2"), ("task-2", "task-1")):
            tx.put("task", id, {**tx.get("task", id), "priority": 9, "dependencies": [other]})

    pair.store().transact(spoil, by="human")
    monkeypatch.undo()
    problems = [f["message"] for f in pair.store().check(fix=False) if f["severity"] == "problem"]
    assert [text.partition(" ")[0] for text in problems] == ["task", "task", "task-1"]
    assert "stands in a cycle" in problems[-1]


def test_a_directory_in_place_of_an_old_segment_is_not_on_record_and_stops_nobody(pair, monkeypatch):
    monkeypatch.setattr(session, "ROTATE_AT", -(1 << 30))
    create(pair)
    monkeypatch.undo()
    (segment,) = pair.segments()
    (pair.private / segment).unlink()
    (pair.private / segment).mkdir()
    told = [f["message"] for f in pair.store().check(fix=False)]
    assert f"{segment} is damaged at byte 0: what comes after it there is not on record" in told
    create(pair, "four")
    pair.assert_in_order()


def test_an_edit_that_began_behind_damage_changes_nothing_of_ours(pair):
    """Nobody can tell any more what it started from."""
    for title in ("three", "four"):
        create(pair, title)
    old = pair.tasks.read_bytes()
    create(pair, "five")
    lines = pair.journal.read_bytes().splitlines(keepends=True)
    pair.flip(len(b"".join(lines[:3])) + 50)
    pair.store().check(fix=False)  # begins a new segment and keeps the damaged one
    create(pair, "six")
    pair.save(old.replace(b'"one"', b'"first"'), age=LONG_AGO)
    create(pair, "seven")
    assert list(pair.titles().values()) == ["one", "two", "three", "four", "five", "six", "seven"]
    assert pair.quarantined() == [old.replace(b'"one"', b'"first"')]


# Messages.


@pytest.mark.parametrize("what", ["a directory", "other bytes"])
def test_messages_that_are_not_what_they_were_are_put_right_when_they_are_read(pair, what):
    pair.send("hello", "world")
    if what == "a directory":
        pair.messages.unlink()
        pair.messages.mkdir()
    else:
        pair.messages.write_bytes(b"x" * pair.messages.stat().st_size)
    assert pair.texts() == ["hello", "world"]
    assert what != "a directory" or [path.is_dir() for path in pair.quarantine.iterdir()] == [True]


def test_a_message_that_is_committed_but_cannot_be_shown_is_said_and_shown_later(pair):
    os.mkfifo(pair.messages)
    notices: list[str] = []
    pair.store(notice=notices.append).transact(lambda tx: tx.append("messages", {"id": "m", "text": "x"}), by="human")
    assert [text.partition(", but")[0] for text in notices] == ["committed as revision 4"]
    assert pair.texts() == ["x"]
    create(pair)
    pair.assert_in_order()


def test_messages_that_are_lost_together_with_their_history_are_an_error_and_not_silence(pair, monkeypatch):
    pair.send("hello")
    monkeypatch.setattr(session, "ROTATE_AT", -(1 << 30))
    create(pair)
    monkeypatch.undo()
    (segment,) = pair.segments()
    (pair.private / segment).unlink()
    pair.messages.write_bytes(b"x" * pair.messages.stat().st_size)
    with pytest.raises(InvalidData, match="messages from byte 0 on are damaged"):
        pair.texts()
    began = time.monotonic()
    create(pair, "four")
    assert time.monotonic() - began < 1


def test_a_home_below_a_directory_that_may_not_be_read_can_be_used(tmp_path, monkeypatch):
    synced = []

    def sync(path: str) -> None:
        if path == str(tmp_path):
            raise PermissionError(13, "Permission denied", path)
        synced.append(path)

    (tmp_path / "home").mkdir()
    monkeypatch.setattr(disk, "sync_directory", sync)
    teamtasks.open("payments", home=str(tmp_path / "home"), create=True)
    assert str(tmp_path / "home") in synced
