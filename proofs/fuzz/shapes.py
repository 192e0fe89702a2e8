"""Ledgers to break: each shape is built once with the real use cases and copied for every input.

What a ledger must still know afterwards is taken from its journal by a replay of our own, not by the code under test.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import teamtasks
from proofs.ledgers import Ledger
from teamtasks.domain.errors import TooLate
from teamtasks.store.files import session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from teamtasks.team import Team

    Documents = dict[tuple[str, str], Any]

NAMES = ("tasks.json", ".tasks.json.prev", ".tasks.json.new", "journal.jsonl", "messages.jsonl", "lock")


class Truth:
    """What was acknowledged: the documents after each revision, the messages, and every published tasks.json."""

    def __init__(self, ledger: Ledger) -> None:
        self.states: dict[int, Documents] = {}
        self.writers: dict[tuple[str, str], int] = {}  # the revision that wrote each document last
        self.counters: dict[str, int] = {}
        self.published: set[tuple[int, str]] = set()
        self.messages: list[str] = []
        documents: Documents = {}
        for name in (*ledger.segments(), "journal.jsonl"):
            for text in (ledger.private / name).read_bytes().splitlines():
                documents = self._after(documents, json.loads(text))
        self.revision = max(self.states)
        self.final = self.states[self.revision]
        self.newest = (self._tasks["size"], self._tasks["crc"])

    def _after(self, documents: Documents, line: dict[str, Any]) -> Documents:
        documents = {} if line.get("snapshot") else dict(documents)
        for kind, id, document in line["docs"]:
            documents.pop((kind, id), None)
            if document is not None:
                documents[kind, id] = document
            self.writers[kind, id] = line["rev"]
        self.counters = line["counters"]
        self.messages += [document["text"] for _log, document in line["logs"]]
        self._tasks = line["tasks"]
        self.published.add((self._tasks["size"], self._tasks["crc"]))
        self.states[line["rev"]] = documents
        return documents


def _open(ledger: Ledger) -> Team:
    return teamtasks.open(ledger.team, home=str(ledger.home), create=True)


def fresh(ledger: Ledger) -> None:
    _open(ledger)


def agents(ledger: Ledger) -> None:
    team = _open(ledger)
    team.join("anna", role="lead")
    team.join("dev", can=["python"], model="small-1")
    team.join("dev", can=["python", "sql"])
    team.as_("dev").heartbeat(context=12, doing="reading")
    team.create("one", needs=["sql"])


def claims(ledger: Ledger) -> None:
    team = _open(ledger)
    team.create("Schema", acceptance_criteria=["up", "down"], group="db", key="k-1", metadata={"url": "https://x"})
    team.create("API", dependencies=["task-1"], priority=1, estimate=30, size="large")
    team.create("Page", description='many\nlines\twith ünïcode 日本 and "quotes" \\ and \x1b[31m')
    team.create("Later", dependencies=["task-2", "task-3"])
    team.as_("db").claim("task-1")
    team.as_("db").complete("task-1", result="tables", evidence={1: "yes"})
    team.as_("dev").claim("task-2")
    team.note("task-3", "worth knowing")


def failures(ledger: Ledger) -> None:
    claims(ledger)
    team = _open(ledger)
    team.as_("dev").fail("task-2", reason="401", tried=["a", "b"], output="HTTP 401\n" * 20)
    team.as_("db").claim("task-2")
    try:
        team.as_("dev").complete("task-2", attempt=1, result="found it")
    except TooLate:
        pass
    team.as_("db").release("task-2", reason="the review first", attempt=2)
    team.join("dev", can=["python"])
    team.as_("dev").claim("task-3")


def messages(ledger: Ledger) -> None:
    agents(ledger)
    ledger.send("hello", "two\nlines", "ünï")
    _open(ledger).create("between")
    ledger.send("last")


def segments(ledger: Ledger) -> None:
    limit, session.ROTATE_AT = session.ROTATE_AT, 0
    try:
        failures(ledger)
        ledger.send("one", "two")
        for number in range(12):
            _open(ledger).note("task-4", f"note {number}")
        ledger.send("three")
        _open(ledger).create("last")
    finally:
        session.ROTATE_AT = limit


def edited(ledger: Ledger) -> None:
    claims(ledger)
    document = ledger.document()
    document["tasks"][2].update(title="Page, by hand", colour="green")
    document["tasks"].append({"id": "task-9", "title": "written by hand"})
    ledger.save(json.dumps(document, indent=1))
    _open(ledger).create("after the edit")


def dead(ledger: Ledger) -> None:
    """A writer died between its commit and the publication of messages and tasks.json."""
    messages(ledger)
    old, said = ledger.tasks.read_bytes(), ledger.messages.read_bytes()
    _open(ledger).create("committed, not published")
    ledger.send("committed, not published")
    ledger.new.write_bytes(ledger.tasks.read_bytes()[:100])
    ledger.tasks.write_bytes(old)
    ledger.messages.write_bytes(said)
    ledger.lock.write_text("pid 1, teamtasks create, since 2026-01-01T00:00:00Z\n")


SHAPES: dict[str, Callable[[Ledger], None]] = {
    each.__name__: each for each in (fresh, agents, claims, failures, messages, segments, edited, dead)
}  # fmt: skip


class Shapes:
    """Every shape, built when it is first asked for."""

    def __init__(self, place: Path) -> None:
        self._place, self._truths = place, {}  # type: ignore[var-annotated]

    def copy(self, shape: str, home: Path) -> tuple[Ledger, Truth]:
        made = Ledger(self._place / shape)
        if shape not in self._truths:
            SHAPES[shape](made)
            self._truths[shape] = Truth(made)
        shutil.copytree(made.home, home)
        ledger = Ledger(home)
        _fit(ledger)
        return ledger, self._truths[shape]


def _fit(ledger: Ledger) -> None:
    """A copy has other inodes: the last line is told of the new one, or every input would begin with a healing."""
    line = ledger.lines()[-1]
    if line.get("before") and ledger.previous.exists():
        ledger.rewrite_last_line(before=[os.stat(ledger.previous).st_ino, *line["before"][1:]])


def path_of(ledger: Ledger, name: str) -> Path:
    """Where a file is, by its name; ``segment`` is the oldest full one, ``agent`` the first agent's."""
    if name == "segment":
        return ledger.private / next(iter(ledger.segments()), "journal-000000001.jsonl")
    if name == "agent":
        return next(iter(sorted(ledger.public.glob("agent_*.json"))), ledger.public / "agent_dev_1.json")
    return (ledger.public if "tasks.json" in name else ledger.private) / name
