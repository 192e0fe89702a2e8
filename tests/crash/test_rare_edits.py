"""Edits by hand that few people make."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import teamtasks
from proofs.ledgers import LONG_AGO, Ledger
from teamtasks.domain.errors import InvalidData

if TYPE_CHECKING:
    from collections.abc import Callable

ONE = {"id": "task-1", "title": "one"}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a task without an id": ({"tasks": [ONE, {"title": "two"}]}, "a task is an object with an id"),
    "a task that is a text": ({"tasks": ["two"]}, "a task is an object with an id"),
    "an agent that is a number": ({"agents": {"dev": 7}}, "must be an object"),
    "format 0": ({"format": 0}, "must be 1"),
    "format true": ({"format": True}, "must be 1"),
    "a format in words": ({"format": "one"}, "must be 1"),
    "the highest number there is": ({"tasks": [ONE, {"id": "task-999999999", "title": "x"}]}, "leaves no room"),
    "a cycle in later tasks": (
        {"tasks": [ONE, *({"id": f"task-{a}", "title": "x", "dependencies": [f"task-{b}"]} for a, b in ((2, 3), (3, 2)))]},
        "stands in a cycle",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_edit_that_makes_no_sense_is_refused_with_its_place(pair, what):
    edit, why = REFUSED[what]
    saved = pair.save(json.dumps({**pair.document(), **edit}, indent=1), age=LONG_AGO)
    with pytest.raises(InvalidData, match=why) as refused:
        teamtasks.open("payments", home=str(pair.home)).create("three")
    assert refused.value.facts["line"] > 1
    assert pair.tasks.read_bytes() == saved


def depends(ledger: Ledger, id: str, on: str) -> bytes:
    """tasks.json as it would be with one more dependency."""
    document = ledger.document()
    for task in document["tasks"]:
        if task["id"] == id:
            task["dependencies"] = [on]
    return json.dumps(document).encode()


def removed(ledger: Ledger, id: str) -> bytes:
    document = ledger.document()
    return json.dumps({**document, "tasks": [task for task in document["tasks"] if task["id"] != id]}).encode()


MEANWHILE: dict[str, tuple[Callable[[Ledger], bytes], Callable[[teamtasks.Team], Any]]] = {
    "a cycle": (lambda ledger: depends(ledger, "task-1", "task-2"), lambda team: team.depend("task-2", on=["task-1"])),
    "a dependency on what was removed": (
        lambda ledger: removed(ledger, "task-1"),
        lambda team: team.depend("task-2", on=["task-1"]),
    ),
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_an_edit_that_is_right_by_itself_but_not_with_what_came_meanwhile_is_kept_aside(pair, what):
    edit, command = MEANWHILE[what]
    saved = edit(pair)
    command(teamtasks.open("payments", home=str(pair.home)))
    pair.save(saved, age=LONG_AGO)
    notices: list[str] = []

    pair.store(notice=notices.append).transact(lambda tx: None, by="human")

    assert pair.task("task-2")["dependencies"] == ["task-1"]
    assert pair.task("task-1")["dependencies"] == []
    assert pair.quarantined() == [saved]
    assert "task-1" in notices[0]
    pair.assert_in_order()
