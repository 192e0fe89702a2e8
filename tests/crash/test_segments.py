"""The journal in segments: they begin with a snapshot, are kept for ever, and the board at any revision stays available."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

import teamtasks
from teamtasks.store.files import disk, journal, session

if TYPE_CHECKING:
    from proofs.ledgers import Ledger

REVISIONS = 24


@pytest.fixture
def rotating(monkeypatch) -> None:
    """A segment is full as soon as it is somewhat larger than the ledger."""
    monkeypatch.setattr(session, "ROTATE_AT", 0)


def _work(ledger: Ledger, upto: int = REVISIONS) -> dict[int, dict[str, str]]:
    """Creates, claims and completes until that revision. Returns who held what at each revision."""
    team = teamtasks.open("payments", home=str(ledger.home))
    board = {}
    while (view := team.store.read()).revision < upto:
        open_tasks = [task for task in view.all("task").values() if task["status"] != "completed"]
        if not open_tasks:
            team.create(f"made after {view.revision}")
        elif open_tasks[0]["status"] == "pending":
            team.as_("dev").claim()
        else:
            team.as_("dev").complete(open_tasks[0]["id"], attempt=1)
        board[view.revision + 1] = _holders(team.store.read().all("task"))
    return board


def _holders(tasks: dict[str, dict[str, str]]) -> dict[str, str]:
    return {id: f"{task['status']} {task['assignee']}" for id, task in tasks.items()}


def _at(ledger: Ledger, revision: int) -> dict[str, str] | None:
    private = disk.open_directory(str(ledger.private))
    try:
        state = journal.state_at(private, revision)
    finally:
        os.close(private)
    return None if state is None else _holders(state.documents["task"])


def test_a_full_journal_is_kept_and_a_new_one_begins_with_the_whole_ledger(team, ledger, rotating):
    _work(ledger)

    segments = ledger.segments()
    assert len(segments) >= 3
    assert segments[0] == "journal-000000001.jsonl"
    first = ledger.lines()[0]
    assert (first["snapshot"], first["format"]) == (True, 1)
    assert first["ledger"] == ledger.document()["ledger"]
    assert {kind for kind, _id, _document in first["docs"]} == {"team", "agent", "task"}
    ledger.assert_in_order()


def test_each_segment_begins_with_the_last_revision_of_the_one_before(team, ledger, rotating):
    _work(ledger)

    files = [*(ledger.private / name for name in ledger.segments()), ledger.journal]
    revisions = [[journal.decode(text)["rev"] for text in file.read_bytes().splitlines()] for file in files]
    assert [r for segment in revisions for r in segment[1:]] == list(range(2, REVISIONS + 1))
    assert [segment[0] for segment in revisions[1:]] == [segment[-1] for segment in revisions[:-1]]
    assert [int(name[8:17]) for name in ledger.segments()] == [segment[0] for segment in revisions[:-1]]


def test_the_board_at_every_revision_stays_available(team, ledger, rotating):
    board = _work(ledger)

    assert ledger.segments()
    assert {revision: _at(ledger, revision) for revision in board} == board
    assert _at(ledger, 1) == {}
    assert (_at(ledger, 0), _at(ledger, REVISIONS + 1)) == (None, None)


def test_full_segments_are_never_written_again(team, ledger, rotating):
    _work(ledger, REVISIONS // 2)
    before = {name: (ledger.private / name).read_bytes() for name in ledger.segments()}
    assert before

    _work(ledger)

    assert {name: (ledger.private / name).read_bytes() for name in before} == before


def test_every_older_version_is_known_across_segments(cli, team, ledger, rotating):
    versions = []
    for upto in range(2, 20, 3):
        _work(ledger, upto)
        versions.append(ledger.tasks.read_bytes())
    assert len(ledger.segments()) >= 2

    for version in versions[:-1]:
        ledger.save(version)
        assert "tasks.json was an older version" in cli("list").err
        assert ledger.tasks.read_bytes() == versions[-1]


def test_an_edit_of_a_revision_in_an_old_segment_is_merged(cli, team, ledger, rotating):
    _work(ledger, 5)
    document = ledger.document()
    _work(ledger)
    assert len(ledger.segments()) >= 2
    document["tasks"][0]["title"] = "a better title"
    ledger.save(document)

    assert "tasks.json was edited: 1 task(s) taken over" in cli("list").err

    assert ledger.task("task-1")["title"] == "a better title"
    assert len(ledger.titles()) == (REVISIONS + 1) // 3
    ledger.assert_in_order()


def test_messages_are_rebuilt_from_old_segments(cli, team, ledger, rotating):
    sent = []
    for upto in range(2, REVISIONS, 4):
        _work(ledger, upto)
        sent.append(f"at {upto}")
        ledger.send(sent[-1])
    assert len(ledger.segments()) >= 2
    right = ledger.messages.read_bytes()
    ledger.messages.unlink()

    cli("create", "more")

    assert ledger.messages.read_bytes() == right
    assert ledger.texts() == sent


def test_a_rotation_killed_between_its_two_steps_heals(cli, team, ledger):
    """The full journal has its second name already, and the new one has not taken its place yet."""
    _work(ledger, 9)
    whole = ledger.journal.read_bytes()
    os.link(ledger.journal, ledger.private / "journal-000000001.jsonl")
    ledger.journal_new.write_bytes(b'{"rev":9,"snapshot":tr')
    ledger.lock.write_text("pid 1, teamtasks create, since then\n")

    cli("create", "after")

    assert ledger.journal.read_bytes().startswith(whole)
    assert _at(ledger, 3) == {"task-1": "in_progress dev"}
    ledger.assert_in_order()
    assert cli("doctor").out.endswith("healthy\n")


def test_a_rotation_that_was_killed_is_done_again_and_loses_no_revision(cli, team, ledger, monkeypatch):
    board = _work(ledger, 9)
    os.link(ledger.journal, ledger.private / "journal-000000001.jsonl")
    board.update(_work(ledger, 12))
    monkeypatch.setattr(session, "ROTATE_AT", 0)
    board.update(_work(ledger))

    assert {revision: _at(ledger, revision) for revision in board} == board
    ledger.assert_in_order()


def test_a_new_segment_whose_name_is_taken_by_another_file_overwrites_no_history(cli, team, ledger, monkeypatch):
    """What is there under the name is not the journal itself, so it is not the first step of a rotation that was killed."""
    _work(ledger, 9)
    shutil.copy(ledger.journal, ledger.private / "journal-000000001.jsonl")
    board = _work(ledger, 15)
    monkeypatch.setattr(session, "ROTATE_AT", 0)
    board.update(_work(ledger))

    assert {revision: _at(ledger, revision) for revision in board} == board


def test_history_after_a_salvage_is_kept_by_the_next_rotations(cli, team, ledger, monkeypatch):
    _work(ledger, 9)
    ledger.flip(ledger.journal.read_bytes().index(b'"title":"made after 4"') + 9)
    ledger.tasks.unlink()
    cli("doctor", "--fix", code=None)
    team = teamtasks.open("payments", home=str(ledger.home))
    for title in ("x", "y", "z"):
        team.create(title)
    monkeypatch.setattr(session, "ROTATE_AT", 0)
    for number in range(9):
        team.create(f"more {number}")

    assert all(_at(ledger, revision) is not None for revision in range(9, ledger.revision() + 1))
    ledger.assert_in_order()


def test_damage_in_an_old_segment_leaves_the_ledger_working(cli, team, ledger, rotating):
    _work(ledger)
    oldest = ledger.private / ledger.segments()[0]
    data = bytearray(oldest.read_bytes())
    data[len(data) // 2] ^= 1
    oldest.write_bytes(data)

    assert f"{oldest.name} is damaged" in cli("doctor", code=None).out
    ledger.tasks.unlink()
    ledger.messages.unlink(missing_ok=True)
    assert cli("create", "more").err.startswith("note: tasks.json was missing")
    ledger.assert_in_order()
    assert oldest.read_bytes() == data
