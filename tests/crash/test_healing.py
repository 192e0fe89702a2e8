"""What the next command finds, and what it does about it: every row of the healing table, through the real command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

import teamtasks
from proofs.ledgers import BY_HAND, LONG_AGO, TEAMTASKS, Ledger, python
from teamtasks.store.files import heal, journal

TICK = 10_000_000  # nanoseconds: the coarsest that file times are on Linux
RESTORED = "revision 3 was restored from the journal\n"
EDITED = "note: tasks.json was edited: 1 task(s) taken over as revision 4\n"


# What the newest commit published: nothing happens.


def test_a_ledger_in_order_is_left_alone(cli, pair):
    before = [(s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in map(os.stat, (pair.tasks, pair.journal))]

    assert cli("list").err == ""
    assert cli("show", "9", code=3).err.startswith("error[no_task]")

    after = [(s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in map(os.stat, (pair.tasks, pair.journal))]
    assert after == before
    pair.assert_in_order()


# Missing or empty: the newest is published again.


@pytest.mark.parametrize("command", [["list"], ["show", "2"], ["settings"]])
def test_a_missing_file_is_published_again(cli, pair, command):
    whole = pair.tasks.read_bytes()
    pair.tasks.unlink()

    assert cli(*command).err == f"note: tasks.json was missing: {RESTORED}"

    assert pair.tasks.read_bytes() == whole
    pair.assert_in_order()
    assert cli(*command).err == ""


def test_a_writer_restores_a_missing_file_before_it_commits(cli, pair):
    pair.tasks.unlink()

    assert cli("create", "three").err == f"note: tasks.json was missing: {RESTORED}"

    assert pair.titles() == {"task-1": "one", "task-2": "two", "task-3": "three"}
    pair.assert_in_order()


@pytest.mark.parametrize("command", [["list"], ["create", "three"]])
def test_the_whole_public_directory_may_be_deleted(cli, pair, command):
    shutil.rmtree(pair.public)

    assert cli(*command).err == f"note: tasks.json was missing: {RESTORED}"

    assert pair.public.stat().st_mode & 0o777 == 0o700
    assert list(pair.titles().values())[:2] == ["one", "two"]
    pair.assert_in_order()


def test_the_housekeeping_of_claude_code_costs_an_agent_nothing(cli, pair):
    cli("--as", "dev", "claim", "1")
    for path in pair.public.glob("[!.]*.json"):
        path.unlink()

    done = cli("--as", "dev", "complete", "1", "--attempt", "1", "--result", "it works")

    assert done.err == "note: tasks.json was missing: revision 4 was restored from the journal\n"
    assert (pair.task("task-1")["status"], pair.task("task-1")["result"]) == ("completed", "it works")
    assert (pair.public / "agent_dev_1.json").exists()
    pair.assert_in_order()


def test_files_of_claude_codes_own_are_left_alone(cli, pair):
    own = {"1.json": b"{}", ".highwatermark": b"1", ".lock": b""}
    for name, data in own.items():
        (pair.public / name).write_bytes(data)
    pair.tasks.unlink()

    cli("list")
    assert {name: (pair.public / name).read_bytes() for name in own} == own
    cli("delete", "payments", "--yes")
    assert {path.name: path.read_bytes() for path in pair.public.iterdir()} == own


def test_with_both_directories_gone_there_is_no_team(cli, pair):
    shutil.rmtree(pair.public)
    shutil.rmtree(pair.private)

    assert "error[no_team]" in cli("list", code=3).err
    assert not pair.private.exists()


def test_an_empty_file_that_nobody_is_saving_is_published_again_at_once(cli, pair):
    pair.save(b"", age=LONG_AGO)
    began = time.monotonic()

    assert cli("list").err == f"note: tasks.json was empty: {RESTORED}"

    assert time.monotonic() - began < 0.9
    pair.assert_in_order()


def test_an_empty_file_that_stays_empty_is_published_again_after_a_second(cli, pair):
    pair.save(b"")
    began = time.monotonic()

    assert cli("list").err == f"note: tasks.json was empty: {RESTORED}"

    assert time.monotonic() - began >= 0.9
    pair.assert_in_order()


# An older version of ours: the newest is published again.


@pytest.mark.parametrize("command", [["list"], ["create", "four"]])
def test_an_older_copy_put_back_undoes_nothing(cli, pair, command):
    old = pair.tasks.read_bytes()
    cli("create", "three")
    pair.save(old)

    told = cli(*command).err

    assert told == "note: tasks.json was an older version: revision 4 was restored from the journal\n"
    assert pair.titles()["task-3"] == "three"
    pair.assert_in_order()


def test_every_older_version_is_known(cli, pair):
    versions = [pair.tasks.read_bytes()]
    for command in (
        ["--as", "dev", "claim", "1"],
        ["--as", "dev", "fail", "1", "--reason", "no key"],
        ["settings", "wip_limit=2"],
    ):
        cli(*command)
        versions.append(pair.tasks.read_bytes())

    for version in versions[:-1]:
        pair.save(version)
        assert "tasks.json was an older version: revision 6 was restored" in cli("list").err
        assert pair.tasks.read_bytes() == versions[-1]
    pair.assert_in_order()


# Other bytes, valid: somebody edited it.


def test_a_task_written_by_hand_needs_only_an_id_and_a_title(cli, pair):
    document = pair.document()
    document["tasks"].append(BY_HAND)
    pair.save(document)

    assert cli("list").err == EDITED

    made = pair.task("task-9")
    assert made == {
        "id": "task-9", "status": "pending", "assignee": None, "priority": 2, "dependencies": [], "title": "written by hand",
        "attempts": 0, "description": "", "acceptance_criteria": [], "created_at": made["created_at"], "created_by": "human",
        "completed_at": None,
    }  # fmt: skip
    pair.assert_in_order()


def test_an_edit_is_in_the_history(cli, pair):
    document = pair.document()
    document["tasks"][0]["title"] = "first"
    pair.save(document)
    cli("list")

    line = pair.lines()[-1]
    assert (line["rev"], line["by"]) == (4, "human")
    assert line["events"] == [{"event": "edited_outside", "tasks": ["task-1"], "conflicts": []}]
    assert [(kind, id) for kind, id, _document in line["docs"]] == [("task", "task-1")]


def test_ids_given_by_hand_are_never_given_again(cli, pair):
    document = pair.document()
    document["tasks"].append(BY_HAND)
    pair.save(document)
    assert cli("create", "next", "-q").out == "task-10\n"

    document = pair.document()
    document["tasks"] = [task for task in document["tasks"] if task["id"] not in ("task-9", "task-10")]
    pair.save(document)
    assert cli("create", "after", "-q").out == "task-11\n"
    assert list(pair.titles()) == ["task-1", "task-2", "task-11"]
    pair.assert_in_order()


def test_a_changed_title_is_taken_over_and_all_else_stays(cli, pair):
    document = pair.document()
    document["tasks"][1]["title"] = "second"
    pair.save(document)

    assert cli("list").err == EDITED

    assert pair.document()["tasks"] == document["tasks"]
    pair.assert_in_order()


def test_in_progress_may_be_spelt_with_a_dash(cli, pair):
    document = pair.document()
    document["tasks"][0].update(status="in-progress", assignee="backend")
    pair.save(document)

    assert cli("list").err == EDITED

    held = pair.task("task-1")
    assert (held["status"], held["attempts"], held["claim"]["attempt"]) == ("in_progress", 1, 1)
    assert pair.document()["agents"]["backend"]["holds"] == ["task-1"]
    cli("--as", "backend", "complete", "1")
    pair.assert_in_order()


def test_a_task_removed_by_hand_is_removed(cli, pair):
    document = pair.document()
    del document["tasks"][0]
    pair.save(document)

    assert cli("list").err == EDITED

    assert pair.titles() == {"task-2": "two"}
    pair.assert_in_order()


@pytest.mark.parametrize("indent", [2, "\t"])
def test_a_file_that_was_only_reformatted_is_no_change(cli, pair, indent):
    whole = pair.tasks.read_bytes()
    pair.save(json.dumps(pair.document(), indent=indent, sort_keys=True))

    cli("list")

    assert pair.tasks.read_bytes() == whole
    assert pair.revision() == 3
    pair.assert_in_order()


@pytest.mark.parametrize("command", [["list"], ["create", "three"]])
def test_a_byte_order_mark_is_tolerated(cli, pair, command):
    document = pair.document()
    document["tasks"][0]["title"] = "größer"
    pair.save(b"\xef\xbb\xbf" + json.dumps(document, ensure_ascii=False).encode())

    assert cli(*command).err == EDITED

    assert pair.task("task-1")["title"] == "größer"
    assert not pair.tasks.read_bytes().startswith(b"\xef\xbb\xbf")
    pair.assert_in_order()


def test_an_edit_may_leave_out_the_header(cli, pair):
    pair.save({"tasks": [*pair.document()["tasks"], BY_HAND]})

    assert cli("list").err == EDITED

    assert list(pair.titles()) == ["task-1", "task-2", "task-9"]
    pair.assert_in_order()


def test_a_section_that_an_edit_leaves_out_stays_as_it_is(cli, pair):
    cli("create", "three", "--key", "once")
    cli("--as", "dev", "claim", "1")
    pair.save({"tasks": [{**task, "title": task["title"].upper()} for task in pair.document()["tasks"]]})
    cli("list")
    assert list(pair.document()["agents"]) == ["dev"]
    assert list(pair.document()["keys"]) == ["once"]

    pair.save("{}")
    cli("list")
    assert list(pair.titles().values()) == ["ONE", "TWO", "THREE"]


def test_an_agent_that_holds_a_task_cannot_be_edited_away(cli, pair):
    cli("--as", "dev", "claim", "1")
    pair.save({**pair.document(), "agents": {}})

    cli("list", code=None)

    cli("doctor", "--fix", code=None)
    holders = {task["assignee"] for task in pair.document()["tasks"] if task["status"] == "in_progress"}
    assert holders <= set(pair.document()["agents"])


def test_the_fence_of_a_task_cannot_be_lowered_by_hand(cli, pair):
    cli("--as", "dev", "claim", "1")
    cli("--as", "dev", "release", "1", "--reason", "later")
    document = pair.document()
    document["tasks"][0].update(attempts=0, title="first")
    pair.save(document)

    cli("list")

    assert (pair.task("task-1")["attempts"], pair.task("task-1")["title"]) == (1, "first")


@pytest.mark.parametrize("full", [".tasks.json.new", "the journal"])
def test_an_edit_is_not_overwritten_before_it_is_committed(cli, pair, full):
    """Its commit cannot be made, because one of the two files has no room: what the person saved stays as it is."""
    document = pair.document()
    document["tasks"][0]["title"] = "first"
    edited, journal_before = pair.save(document), pair.journal.read_bytes()
    limit = 300 if full == ".tasks.json.new" else len(journal_before) + 50
    assert full == ".tasks.json.new" or limit > len(edited) + 100

    refused = subprocess.run(
        ["prlimit", f"--fsize={limit}:{limit}", TEAMTASKS, "create", "three"],
        capture_output=True, text=True, env=cli.environ(PYTHONDONTWRITEBYTECODE="1"), check=False,
    )  # fmt: skip

    assert refused.returncode == 9
    assert refused.stderr.startswith(f"error[store_unavailable]: nothing was changed, writing {full} failed: File too large")
    assert (pair.tasks.read_bytes(), pair.journal.read_bytes()) == (edited, journal_before)
    assert EDITED in cli("create", "three").err
    assert pair.titles() == {"task-1": "first", "task-2": "two", "task-3": "three"}
    pair.assert_in_order()


# An edit of an older revision is merged.


def _edited_later(cli: Any, ledger: Ledger, edit: Any, *commands: list[str]) -> str:
    """Somebody opens the file, others go on, then the file is saved."""
    document = ledger.document()
    for command in commands:
        cli(*command)
    edit(document)
    ledger.save(document)
    return str(cli("list").err)


def test_edits_of_other_tasks_are_merged(cli, pair):
    def edit(document: dict[str, Any]) -> None:
        document["tasks"][0]["title"] = "first"

    told = _edited_later(cli, pair, edit, ["--as", "dev", "claim", "2"], ["create", "three"])

    assert told == "note: tasks.json was edited: 1 task(s) taken over as revision 6\n"
    assert pair.titles() == {"task-1": "first", "task-2": "two", "task-3": "three"}
    assert pair.task("task-2")["assignee"] == "dev"
    assert pair.quarantined() == []
    pair.assert_in_order()


def test_edits_of_other_fields_of_one_task_are_merged(cli, pair):
    def edit(document: dict[str, Any]) -> None:
        document["tasks"][0]["title"] = "first"

    told = _edited_later(cli, pair, edit, ["--as", "dev", "claim", "1"])

    assert told == "note: tasks.json was edited: 1 task(s) taken over as revision 5\n"
    assert (pair.task("task-1")["title"], pair.task("task-1")["status"]) == ("first", "in_progress")
    assert pair.quarantined() == []
    pair.assert_in_order()


def test_where_both_sides_changed_a_field_the_ledger_stands(cli, pair):
    def edit(document: dict[str, Any]) -> None:
        document["tasks"][0].update(assignee="anna", title="first")
        document["tasks"][1]["title"] = "second"

    cli("join", "dev")
    told = _edited_later(cli, pair, edit, ["assign", "1", "dev"])

    [kept] = pair.quarantine.iterdir()
    assert told == (
        f"note: changed both here and in tasks.json: task-1. The ledger's stands; the file is in {kept}\n"
        "note: tasks.json was edited: 2 task(s) taken over as revision 6\n"
    )
    assert pair.task("task-1")["assignee"] == "dev"
    assert pair.titles() == {"task-1": "first", "task-2": "second"}
    assert json.loads(kept.read_bytes())["tasks"][0]["assignee"] == "anna"
    assert kept.stat().st_mode & 0o777 == 0o600
    pair.assert_in_order()


def test_an_id_that_both_sides_gave_stays_with_the_ledger(cli, pair):
    def edit(document: dict[str, Any]) -> None:
        document["tasks"].append({"id": "task-3", "title": "by hand"})

    told = _edited_later(cli, pair, edit, ["create", "three"])

    assert told.startswith("note: changed both here and in tasks.json: task-3. The ledger's stands; the file is in ")
    assert pair.task("task-3")["title"] == "three"
    assert b"by hand" in pair.quarantined()[0]
    pair.assert_in_order()


def test_a_task_removed_by_hand_and_changed_by_an_agent_stays(cli, pair):
    def edit(document: dict[str, Any]) -> None:
        del document["tasks"][0]

    told = _edited_later(cli, pair, edit, ["--as", "dev", "claim", "1"])

    assert told.startswith("note: changed both here and in tasks.json: task-1.")
    assert pair.task("task-1")["assignee"] == "dev"
    pair.assert_in_order()


# Other bytes, not valid: never overwritten.

HEAD = '{\n "tasks": [\n  {"id": "task-1", "title": "one"'
LAST = '{"id": "task-2", "title": "two"'

INVALID = {  # what is saved, with a § at the place that the error must name; and what it must say
    "a comma too many": (HEAD + "},\n §]\n}", "Expecting value"),
    "no end": (HEAD + "§", "Expecting ',' delimiter"),
    "not JSON at all": ("§Dear diary", "Expecting value"),
    "a duplicate key": (HEAD + ', §"title": "two"}]}', "the key 'title' stands twice in one object"),
    "NaN": (HEAD + ', "metadata": {"x": §NaN}}]}', "NaN is not JSON"),
    "a number without end": (HEAD + ', "metadata": {"x": §1e999}}]}', "1e999 is too large a number"),
    "half a character": (HEAD + ', "description": §"\\ud800"}]}', "a lone surrogate is not text"),
    "a task without a title": ('{"tasks":\n[§{"id": "task-8"}]}', "task-8: it: 'title' is a required property"),
    "a status that is none": (HEAD + ', "status": §"done"}]}', "task-1: status: 'done' is not one of"),
    "an unknown dependency": (HEAD + ', "dependencies": §["task-7"]}]}', "task-1 depends on task-7, which does not exist"),
    "a dependency that was removed": (
        HEAD + ', "dependencies": §["task-2"]}]}',
        "task-1 depends on task-2, which does not exist",
    ),
    "a cycle": (
        HEAD + ', "dependencies": §["task-2"]}, ' + LAST + ', "dependencies": ["task-1"]}]}',
        "task-1 stands in a cycle: task-1 → task-2 → task-1",
    ),
    "a task that stands twice": (HEAD + '},\n  {"id": §"task-1", "title": "two"}]}', "task-1 stands twice"),
    "an impossible assignee": (HEAD + ', "assignee": §"Back End"}]}', "task-1: assignee: 'Back End' does not match"),
    "an impossible agent": ('{"tasks": [], "agents": {\n "all": §{}}}', "'all' cannot name an agent"),
    "work in nobody's hands": (HEAD + ', "status": §"in_progress"}]}', "task-1 is in progress, but nobody is its assignee"),
    "a list": ("§[]", "a tasks.json is an object"),
    "tasks that are no list": ('{"tasks": §{}}', "must be a list"),
}


@pytest.mark.parametrize("broken", INVALID)
def test_a_broken_edit_is_refused_with_its_place_and_never_overwritten(cli, pair, broken):
    marked, why = INVALID[broken]
    before, _mark, after = marked.partition("§")
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    good, journal_before = pair.tasks.read_bytes(), pair.journal.read_bytes()
    saved = pair.save(before + after, age=LONG_AGO)

    refused = cli("create", "three", code=8)
    assert refused.err.startswith(f"error[invalid_data]: {pair.tasks}, line {line}, column {column}: ")
    assert why in refused.err
    assert "teamtasks doctor --fix" in refused.err

    shown = cli("list", "-q")
    assert shown.out == "task-1\ntask-2\n"
    assert shown.err.startswith(f"note: showing revision 3, the last good one: {pair.tasks}, line {line}, column {column}: ")
    assert (pair.tasks.read_bytes(), pair.journal.read_bytes()) == (saved, journal_before)

    assert "revision 3 was restored; what was there is in " in cli("doctor", "--fix").out
    assert pair.tasks.read_bytes() == good
    assert pair.quarantined() == [saved]
    pair.assert_in_order()


def test_doctor_touches_a_broken_edit_only_when_it_is_told_to(cli, pair):
    saved = pair.save('{"tasks": [', age=LONG_AGO)

    report = cli("doctor", code=1).out

    assert report.startswith(f"problem: {pair.tasks}, line 1, column 12: Expecting value")
    assert "teamtasks doctor --fix" in report
    assert (pair.tasks.read_bytes(), pair.quarantined()) == (saved, [])
    cli("doctor", "--fix")
    assert cli("create", "three").err == ""
    assert pair.titles() == {"task-1": "one", "task-2": "two", "task-3": "three"}
    pair.assert_in_order()


@pytest.mark.parametrize("data", [b"\xff\xfe{\x00}\x00", '{"tasks": "größer"'.encode("latin-1")], ids=["UTF-16", "Latin-1"])
def test_what_is_not_utf8_is_refused(cli, pair, data):
    pair.save(data, age=LONG_AGO)

    refused = cli("create", "three", code=8).err

    assert refused.startswith(f"error[invalid_data]: {pair.tasks}, line 1, column ")
    assert "not UTF-8" in refused
    assert pair.tasks.read_bytes() == data


def test_a_broken_edit_that_is_mended_is_taken_over(cli, pair):
    document = pair.document()
    document["tasks"][0]["title"] = "first"
    text = json.dumps(document)
    pair.save(text[:-1], age=LONG_AGO)
    cli("create", "three", code=8)

    pair.save(text)

    assert cli("create", "three").err == EDITED
    assert pair.titles() == {"task-1": "first", "task-2": "two", "task-3": "three"}
    assert pair.quarantined() == []
    pair.assert_in_order()


# A save under way is waited for.


@pytest.mark.parametrize("command", [["create", "three"], ["list"]], ids=["writer", "reader"])
@pytest.mark.parametrize("first", [0, 300], ids=["truncated first", "in two halves"])
def test_a_save_under_way_is_waited_for(cli, home, pair, first, command):
    document = pair.document()
    document["tasks"][0]["title"] = "first"
    text = json.dumps(document)
    program = """
text, first = sys.argv[2], int(sys.argv[3])
file = ledger.tasks.open("w")
file.write(text[:first])
file.flush()
say("begun")
time.sleep(0.3)
file.write(text[first:])
"""
    editor = python(home, program, text, str(first))
    assert editor.stdout.readline() == "begun\n"

    assert cli(*command).err == EDITED

    editor.communicate()
    assert pair.task("task-1")["title"] == "first"
    pair.assert_in_order()


def test_a_save_that_takes_longer_is_refused_until_it_is_whole(cli, pair):
    document = pair.document()
    document["tasks"][0]["title"] = "first"
    text = json.dumps(document)
    with pair.tasks.open("w") as editor:
        editor.write(text[:200])
        editor.flush()
        assert "line 1, column" in cli("create", "three", code=8).err
        assert pair.tasks.read_text() == text[:200]
        editor.write(text[200:])

    assert cli("create", "three").err == EDITED
    assert pair.titles() == {"task-1": "first", "task-2": "two", "task-3": "three"}
    pair.assert_in_order()


# No journal: the ledger starts again from the file.


def test_a_lost_private_directory_costs_the_history_only(cli, pair):
    cli("--as", "dev", "claim", "1")
    before = pair.document()
    shutil.rmtree(pair.private)

    told = cli("create", "three")

    assert told.err == f"note: {pair.tasks} was adopted: its history begins with revision 5\n"
    after = pair.document()
    assert after["tasks"][:2] == before["tasks"]
    assert (after["ledger"], after["agents"], after["revision"]) == (before["ledger"], before["agents"], 6)
    assert pair.lines()[0]["events"] == [{"event": "adopted"}]
    pair.assert_in_order()
    cli("--as", "dev", "complete", "1", "--attempt", "1")


def test_ids_are_not_reused_after_the_history_was_lost(cli, pair):
    document = pair.document()
    del document["tasks"][1]
    pair.save(document)
    cli("list")
    shutil.rmtree(pair.private)

    assert cli("create", "three", "-q").out == "task-3\n"


def test_a_reader_adopts_too(cli, pair):
    pair.journal.unlink()

    assert cli("list", "-q").out == "task-1\ntask-2\n"

    pair.assert_in_order()
    assert cli("list").err == ""


def test_messages_outlive_the_journal(cli, pair):
    pair.send("first", "second")
    pair.journal.unlink()

    cli("list")
    pair.send("third")

    kept = b"".join(path.read_bytes() for path in pair.private.rglob("*") if path.is_file())
    assert [text for text in (b'"text":"first"', b'"text":"second"', b'"text":"third"') if text not in kept] == []


HAND_WRITTEN = {
    "tasks": [
        {"id": "task-2", "title": "Write the schema", "status": "completed", "assignee": "db-agent"},
        {
            "id": "task-1",
            "title": "Take payments",
            "description": "An endpoint for the provider's events",
            "status": "in-progress",
            "assignee": "backend-agent",
            "created_at": "2026-03-29T10:00:00Z",
            "completed_at": None,
            "dependencies": ["task-2"],
            "acceptance_criteria": ["A wrong signature is refused", "An event that comes twice counts once"],
        },
    ]
}  # fmt: skip


def test_a_file_that_a_person_wrote_becomes_a_team(cli, ledger):
    ledger.public.mkdir(parents=True)
    ledger.save(json.dumps(HAND_WRITTEN, indent=2))

    told = cli("list")

    assert told.err == f"note: {ledger.tasks} was adopted: its history begins with revision 1\n"
    document = ledger.document()
    assert [(task["id"], task["status"], task["assignee"]) for task in document["tasks"]] == [
        ("task-2", "completed", "db-agent"),
        ("task-1", "in_progress", "backend-agent"),
    ]
    assert document["tasks"][1]["acceptance_criteria"] == HAND_WRITTEN["tasks"][1]["acceptance_criteria"]
    assert document["agents"]["backend-agent"]["holds"] == ["task-1"]
    assert cli("teams", "-q").out == "payments\n"
    assert cli("create", "Next", "-q").out == "task-3\n"
    assert cli("--as", "backend-agent", "complete", "1").err == ""
    ledger.assert_in_order()
    assert cli("doctor").out.endswith("healthy\n")


def test_a_file_that_a_person_wrote_badly_does_not_become_a_team(cli, ledger):
    ledger.public.mkdir(parents=True)
    saved = ledger.save('{"tasks": [\n {"id": "task-1"}]}', age=LONG_AGO)

    for command in (["list"], ["create", "x"]):
        assert f"{ledger.tasks}, line 2, column 2: task-1: it: 'title'" in cli(*command, code=8).err
    assert ledger.tasks.read_bytes() == saved
    assert not ledger.journal.exists()


# Another ledger id: two teams of one name.


@pytest.mark.parametrize("command", [["create", "three"], ["doctor"]])
def test_the_tasks_of_another_ledger_are_refused_with_both_places(cli, pair, tmp_path, command):
    other = type(cli)(tmp_path / "elsewhere")
    other("init", "payments")
    foreign = pair.save((tmp_path / "elsewhere" / "tasks" / "payments" / "tasks.json").read_bytes())
    journal_before = pair.journal.read_bytes()

    refused = cli(*command, code=None)

    assert refused.code == (8 if command[0] == "create" else 1)
    for fact in (pair.tasks, pair.private, json.loads(foreign)["ledger"], pair.lines()[0]["ledger"]):
        assert str(fact) in refused.out + refused.err
    assert (pair.tasks.read_bytes(), pair.journal.read_bytes()) == (foreign, journal_before)
    assert cli("list", "-q").out == "task-1\ntask-2\n"


# A newer format: read, never written.


def _in_format_2(ledger: Ledger) -> None:
    """Both files as a later version of teamtasks might have left them."""
    raw = ledger.tasks.read_bytes().replace(b'"format":1', b'"format":2', 1)
    ledger.tasks.write_bytes(raw)
    first, *rest = ledger.lines()
    lines = [{**first, "format": 2}, *rest]
    lines[-1]["tasks"] = {**lines[-1]["tasks"], "crc": journal.fingerprint(raw)}
    ledger.journal.write_bytes(b"".join(journal.encode({k: v for k, v in line.items() if k != "crc"}) for line in lines))


def test_a_newer_format_is_shown_and_never_written(cli, pair):
    _in_format_2(pair)
    before = pair.tasks.read_bytes(), pair.journal.read_bytes()

    assert cli("list", "-q").out == "task-1\ntask-2\n"
    assert '"one"' in cli("show", "1").out
    for command in (["create", "three"], ["--as", "dev", "claim", "1"]):
        refused = cli(*command, code=8).err
        assert "has format 2" in refused
        assert "pip install --upgrade teamtasks" in refused.lower()
    cli("doctor", "--fix", code=None)

    assert (pair.tasks.read_bytes(), pair.journal.read_bytes()) == before
    assert not pair.new.exists()


def test_a_file_that_claims_a_newer_format_is_not_overwritten(cli, pair):
    document = {**pair.document(), "format": 2}
    saved = pair.save(document)

    refused = cli("create", "three", code=8).err

    assert refused.startswith("error[newer_format]")
    assert "pip install --upgrade teamtasks" in refused.lower()
    shown = cli("list", "-q")
    assert (shown.out, shown.err.startswith("note: showing revision 3, the last good one: ")) == ("task-1\ntask-2\n", True)
    assert pair.tasks.read_bytes() == saved


# The journal's tail.


@pytest.mark.parametrize(
    "tail", [b'{"rev":4,"at":"2026', b"\0" * 500, b'{"rev":4,"at":"2026"}\n'], ids=["half", "zeros", "no crc"]
)
def test_a_torn_tail_is_cut_off_by_the_next_writer(cli, pair, tail):
    whole = pair.journal.read_bytes()
    pair.journal.write_bytes(whole + tail)
    pair.lock.write_text("pid 1, teamtasks create three, since 2026-01-01T00:00:00Z\n")

    assert cli("list", "-q").out == "task-1\ntask-2\n"
    assert cli("create", "three", "-q").out == "task-3\n"

    assert pair.journal.read_bytes().startswith(whole)
    assert pair.revision() == 4
    pair.assert_in_order()


def test_a_reader_does_not_cut_off_a_tail_that_may_be_a_commit_under_way(cli, pair):
    torn = pair.journal.read_bytes() + b'{"rev":4'
    pair.journal.write_bytes(torn)

    assert cli("list").err == ""

    assert pair.journal.read_bytes() == torn


@pytest.mark.parametrize("command", [["list"], ["create", "after"]])
def test_a_flipped_byte_in_the_last_line_loses_nothing_that_was_acknowledged(cli, pair, command):
    cli("--as", "dev", "claim", "1")
    cli("--as", "dev", "fail", "1", "--reason", "401 on every request", "--tried", "a bearer token")
    acknowledged = pair.task("task-1")
    pair.flip(pair.journal.stat().st_size - 60)

    cli(*command)

    assert pair.task("task-1") == acknowledged
    pair.assert_in_order()


def test_a_flipped_byte_in_the_last_line_costs_no_message(cli, pair):
    pair.send("first", "second")
    cli("create", "three")
    pair.flip(pair.journal.stat().st_size - 60)

    cli("list")
    pair.send("third")

    assert pair.texts() == ["first", "second", "third"]
    assert list(pair.titles()) == ["task-1", "task-2", "task-3"]
    pair.assert_in_order()


def test_a_flipped_byte_in_the_last_line_with_the_tasks_lost_is_not_passed_over_in_silence(cli, pair):
    damaged = pair.flip(pair.journal.stat().st_size - 60)
    pair.tasks.unlink()

    told = cli("list", code=None)

    kept = [path.read_bytes() for path in pair.private.rglob("*") if path.is_file()]
    lost_line = damaged.splitlines()[-1]
    assert told.code == 8 or any(lost_line in data for data in kept)


def test_a_journal_of_one_damaged_line_is_kept_with_its_bytes(cli, team, ledger):
    damaged = ledger.flip(60)

    cli("create", "one")

    assert ledger.titles() == {"task-1": "one"}
    assert damaged in [path.read_bytes() for path in ledger.private.iterdir() if path.is_file()]
    ledger.assert_in_order()


# A bad line in the middle of the journal is never cut off.


def _in_the_middle(ledger: Ledger) -> int:
    return ledger.journal.read_bytes().index(b'"title":"one"') + 9


def test_damage_in_the_middle_starts_a_new_segment_and_keeps_the_old(cli, pair):
    whole = pair.tasks.read_bytes()
    damaged = pair.flip(_in_the_middle(pair))
    pair.lock.write_text("pid 1, teamtasks create, since then\n")

    told = cli("--as", "dev", "claim", "1", code=0)

    offset = damaged.index(b"\n") + 1
    assert told.err == f"note: the journal is damaged at byte {offset}: kept as it is, a new one begins here\n"
    assert pair.segments() == ["journal-000000001.jsonl"]
    assert (pair.private / "journal-000000001.jsonl").read_bytes() == damaged
    first, second = pair.lines()
    assert (first["rev"], first["snapshot"], second["rev"]) == (3, True, 4)
    assert {document["id"] for kind, _id, document in first["docs"] if kind == "task"} == {"task-1", "task-2"}
    assert pair.task("task-2") == json.loads(whole)["tasks"][1]
    pair.assert_in_order()


def test_damage_with_the_tasks_lost_is_refused_until_doctor_salvages_it(cli, pair):
    cli("create", "three")
    damaged = pair.flip(_in_the_middle(pair))
    offset = damaged.index(b"\n") + 1
    pair.tasks.unlink()

    for command in (["create", "four"], ["list"]):
        refused = cli(*command, code=8).err
        assert f"{pair.journal} is damaged at byte {offset}; nothing was changed" in refused
        assert "teamtasks doctor --fix" in refused
    assert pair.journal.read_bytes() == damaged
    assert not pair.tasks.exists()

    assert "revision 4 was restored" in cli("doctor", "--fix", code=None).out
    assert pair.titles() == {"task-2": "two", "task-3": "three"}
    assert damaged in [(pair.private / name).read_bytes() for name in pair.segments()]
    assert cli("create", "four", "-q").out == "task-4\n"
    pair.assert_in_order()


def test_an_old_copy_put_back_after_damage_was_healed_is_no_bug(cli, pair):
    old = pair.tasks.read_bytes()
    cli("create", "three")
    pair.flip(_in_the_middle(pair))
    cli("doctor", code=None)
    pair.save(old)

    assert cli("create", "four", "-q").out == "task-4\n"

    assert pair.titles() == {"task-1": "one", "task-2": "two", "task-3": "three", "task-4": "four"}
    pair.assert_in_order()


def test_messages_lost_after_damage_was_healed_are_rebuilt_as_far_as_they_are_whole(cli, pair):
    pair.send("before")
    cli("create", "three")
    pair.send("after")
    pair.flip(pair.journal.read_bytes().index(b'"title":"three"') + 9)
    cli("doctor", code=None)
    pair.messages.unlink()

    cli("create", "four")

    assert pair.texts() == ["before", "after"]


@pytest.mark.parametrize("line", range(4))
def test_a_byte_flipped_anywhere_in_the_journal_loses_no_task(cli, pair, line):
    """As long as tasks.json is current; at the line's beginning, in its middle, in its crc and at its end."""
    cli("--as", "dev", "claim", "1")
    whole, tasks = pair.journal.read_bytes(), pair.tasks.read_bytes()
    lines = whole.splitlines(keepends=True)
    start = len(b"".join(lines[:line]))
    for place in (0, 7, 8, 30, len(lines[line]) // 2, len(lines[line]) - 8, len(lines[line]) - 1):
        _as_it_was(pair, whole, tasks)
        pair.flip(start + place)
        assert cli("list", "-q").out == "task-1\ntask-2\n", place
        pair.lock.write_text("pid 1, teamtasks create, since then\n")
        assert cli("create", "three", "-q").out == "task-3\n", place
        assert pair.titles() == {"task-1": "one", "task-2": "two", "task-3": "three"}, place
        assert pair.task("task-1")["assignee"] == "dev", place


def _as_it_was(ledger: Ledger, whole: bytes, tasks: bytes) -> None:
    for path in (*ledger.private.glob("journal-*"), ledger.previous, ledger.lock):
        path.unlink(missing_ok=True)
    ledger.journal.write_bytes(whole)
    ledger.tasks.write_bytes(tasks)


# Another boot, or a writer that died: everything is verified.


def _leave_a_mess(ledger: Ledger) -> bytes:
    """What a dead writer, or a power loss, may leave behind. Returns the messages as they should be."""
    ledger.send("hello", "world")
    right = ledger.messages.read_bytes()
    ledger.messages.write_bytes(right.replace(b"hello", b"\0" * 5))
    ledger.new.write_bytes(b"half a ta")
    ledger.journal_new.write_bytes(b'{"rev":')
    return right


def test_after_another_boot_everything_is_verified(cli, pair):
    right = _leave_a_mess(pair)
    pair.rewrite_last_line(boot="00000000-0000-0000-0000-000000000000")

    cli("create", "three")

    assert pair.messages.read_bytes() == right
    pair.assert_in_order()


def test_the_text_of_a_dead_writer_in_the_lock_has_everything_verified(cli, pair):
    right = _leave_a_mess(pair)
    pair.lock.write_text("pid 1, teamtasks create, since 2026-01-01T00:00:00Z\n")

    cli("create", "three")

    assert pair.messages.read_bytes() == right
    pair.assert_in_order()


def test_in_the_same_boot_with_a_clean_lock_nothing_is_verified_that_need_not_be(cli, pair):
    """Otherwise the two tests above would prove nothing."""
    right = _leave_a_mess(pair)

    cli("create", "three")

    assert pair.messages.read_bytes() != right


# The messages.


@pytest.mark.parametrize("damage", ["truncated", "longer", "missing", "appended again"])
@pytest.mark.parametrize("healer", ["writer", "reader of messages"])
def test_the_messages_are_rebuilt_exactly(cli, pair, damage, healer):
    pair.send("first", "second", "third")
    right = pair.messages.read_bytes()
    {
        "truncated": lambda: pair.messages.write_bytes(right[:-20]),
        "longer": lambda: pair.messages.write_bytes(right + b'{"id":"msg-9-1","text":"never sent"}\n'),
        "missing": pair.messages.unlink,
        "appended again": lambda: pair.messages.write_bytes(right + right.splitlines(keepends=True)[-1]),
    }[damage]()

    if healer == "writer":
        cli("create", "three")
        assert pair.messages.read_bytes() == right
    assert pair.texts() == ["first", "second", "third"]
    pair.send("fourth")
    assert pair.texts() == ["first", "second", "third", "fourth"]
    assert pair.messages.read_bytes().startswith(right)
    pair.assert_in_order()


def test_messages_that_were_committed_but_not_published_are_published_once(cli, pair):
    pair.send("first")
    before = pair.messages.read_bytes()
    pair.send("second")
    right = pair.messages.read_bytes()
    pair.messages.write_bytes(before)
    pair.lock.write_text("pid 1, teamtasks send, since then\n")

    for _again in range(3):
        cli("create", "more")
        assert pair.messages.read_bytes() == right
        pair.lock.write_text("pid 1, teamtasks send, since then\n")


# What we do not know is kept.


def test_fields_that_nobody_knows_are_kept_and_reported_with_what_may_be_meant(cli, pair):
    document = pair.document()
    document["tasks"][0].update({"asignee": "dev", "x-colour": "red"})
    document["houserule"] = {"deep": [1, 2.5, None]}
    pair.save(document)
    cli("list")
    cli("--as", "dev", "claim", "1")
    cli("--as", "dev", "complete", "1")
    shutil.rmtree(pair.public)
    cli("list")

    assert (pair.task("task-1")["asignee"], pair.task("task-1")["x-colour"]) == ("dev", "red")
    assert pair.document()["houserule"] == {"deep": [1, 2.5, None]}
    report = cli("doctor").out
    assert "info: task task-1 has a field 'asignee' that teamtasks does not know; did you mean assignee?\n" in report
    assert "info: task task-1 has a field 'x-colour' that teamtasks does not know\n" in report
    assert "has a field 'houserule' that teamtasks does not know" in report


# An edit that raced with a commit is found in the predecessor.


def _raced(ledger: Ledger, text: str | bytes) -> None:
    """As if an editor had written in place into the version that the last commit was just replacing."""
    with ledger.previous.open("r+b") as file:
        file.truncate(0)
        file.write(text.encode() if isinstance(text, str) else text)


def test_an_edit_that_raced_with_a_commit_is_merged_by_the_next_command(cli, pair):
    document = pair.document()
    cli("create", "three")
    document["tasks"][0]["title"] = "first"
    _raced(pair, json.dumps(document))

    told = cli("create", "four").err

    assert told == "note: tasks.json was edited: 1 task(s) taken over as revision 5\n"
    assert pair.titles() == {"task-1": "first", "task-2": "two", "task-3": "three", "task-4": "four"}
    pair.assert_in_order()
    assert cli("create", "five").err == ""


def test_an_edit_that_raced_and_is_broken_goes_to_quarantine(cli, pair):
    cli("create", "three")
    _raced(pair, '{"tasks": [')
    then = time.time() - LONG_AGO
    os.utime(pair.previous, (then, then))

    told = cli("create", "four").err

    assert told.startswith("note: an edit of tasks.json raced with another command and cannot be used (")
    assert pair.quarantined() == [b'{"tasks": [']
    assert str(pair.quarantine) in told
    assert list(pair.titles().values()) == ["one", "two", "three", "four"]
    pair.assert_in_order()
    assert cli("create", "five").err == ""


@pytest.mark.parametrize("first", [0, 300], ids=["truncated first", "in two halves"])
def test_an_edit_that_raced_and_is_still_being_saved_is_waited_for(cli, home, pair, first):
    document = pair.document()
    cli("create", "three")
    document["tasks"][0]["title"] = "first"
    program = """
text, first = sys.argv[2], int(sys.argv[3])
file = ledger.previous.open("w")
file.write(text[:first])
file.flush()
say("begun")
time.sleep(0.3)
file.write(text[first:])
"""
    editor = python(home, program, json.dumps(document), str(first))
    assert editor.stdout.readline() == "begun\n"

    cli("create", "four")
    editor.communicate()
    cli("list")

    assert pair.task("task-1")["title"] == "first"


def test_a_raced_edit_and_a_lost_file_lose_nothing_together(cli, pair):
    document = pair.document()
    cli("create", "three")
    document["tasks"][0]["title"] = "first"
    _raced(pair, json.dumps(document))
    pair.tasks.unlink()

    cli("create", "four")

    assert pair.titles() == {"task-1": "first", "task-2": "two", "task-3": "three", "task-4": "four"}
    pair.assert_in_order()


def test_an_edit_as_long_and_as_old_as_what_it_replaced_is_found_too(cli, pair):
    """Where file times are coarse, an edit in the same clock tick has the same size and time as what we looked at."""
    team = teamtasks.open("payments", home=str(pair.home))
    apart = TICK
    while apart >= TICK:
        team.create("more")
        raw, seen = pair.tasks.read_bytes(), pair.tasks.stat()
        team.create("more")
        apart = pair.tasks.stat().st_mtime_ns - seen.st_mtime_ns
    assert pair.previous.stat().st_ino == seen.st_ino
    _raced(pair, raw.replace(b'"one"', b'"ONE"'))
    os.utime(pair.previous, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    cli("create", "last")

    assert pair.task("task-1")["title"] == "ONE"


# Where nothing can be written, readers heal in memory.


@pytest.fixture
def read_only(cli) -> Any:
    """A home that whoever runs the command can read and not write."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        home = Path(place) / "home"
        reader = type(cli)(home)
        reader("init", "payments")
        reader("create", "one")
        yield reader, Ledger(home)
        subprocess.run(["chmod", "-R", "u+rwX", place], check=True)


def _read_as_a_guest(reader: Any, home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    prefix = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root can write anywhere, and there is no setpriv to become somebody else")
        subprocess.run(["chown", "-R", "65534:65534", str(home)], check=True)
        prefix = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    subprocess.run(["chmod", "-R", "a-w", str(home)], check=True)
    run = subprocess.run([*prefix, TEAMTASKS, *args], capture_output=True, text=True, env=reader.environ(), check=False)
    if run.returncode in (126, 127):
        pytest.skip("somebody else cannot run this environment")
    return run


def test_a_reader_on_a_read_only_directory_heals_in_memory(read_only):
    reader, ledger = read_only
    ledger.tasks.unlink()

    shown = _read_as_a_guest(reader, ledger.home, "list")

    assert (shown.returncode, shown.stdout) == (0, 'task-1 pending "one" ready\n')
    assert shown.stderr.startswith("note: showing revision 2, the last good one: ")
    assert not ledger.tasks.exists()


def test_a_reader_on_a_read_only_directory_in_order_says_nothing(read_only):
    reader, ledger = read_only

    shown = _read_as_a_guest(reader, ledger.home, "list")

    assert (shown.returncode, shown.stdout, shown.stderr) == (0, 'task-1 pending "one" ready\n', "")


def test_a_writer_on_a_read_only_directory_is_refused(read_only):
    reader, ledger = read_only

    refused = _read_as_a_guest(reader, ledger.home, "create", "two")

    assert refused.returncode == 9
    assert refused.stderr.startswith("error[store_unavailable]: ")
    assert list(ledger.titles()) == ["task-1"]


# A deleted team stays deleted.


def test_a_deletion_that_was_killed_is_finished_and_nothing_is_healed(cli, pair, monkeypatch):
    monkeypatch.setattr(heal, "remove", lambda at: None)
    pair.store().delete(by="human")
    monkeypatch.undo()
    assert pair.tasks.exists()

    assert "it was deleted" in cli("list", code=3).err

    assert not pair.public.exists()
    assert not pair.private.exists()
    cli("init", "payments")
    assert cli("list", "-q").out == ""
