"""A tasks.json that somebody else wrote: read strictly, checked against the schemas, turned into a commit of its own.

What cannot be read is refused with line and column, and is never overwritten.
"""

from __future__ import annotations

import os

from teamtasks.domain import adoption
from teamtasks.domain.errors import ForeignLedger, InvalidData
from teamtasks.domain.names import task_number
from teamtasks.store import strict, validate
from teamtasks.store.base import Changes
from teamtasks.store.files import journal, layout
from teamtasks.store.files.tasksfile import HEADER, SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from teamtasks.store.files.session import Session

    Document = dict[str, Any]
    Puts = dict[tuple[str, str], Document | None]


class Edit:
    """The documents of an edited file, made whole."""

    def __init__(self, path: str, team: str, data: bytes) -> None:
        self.path, self.team, self.data = path, team, data
        self.documents: dict[str, dict[str, Document]] = {"team": {}, **{kind: {} for kind in SECTIONS}}
        try:
            self.content = strict.loads(data)
        except strict.NotStrict as wrong:
            raise self._invalid(wrong.why, wrong.line, wrong.column) from None
        if not isinstance(self.content, dict):
            raise self._invalid("a tasks.json is an object", 1, 1)
        self._check_format()
        self.ledger: str | None = self.content.get("ledger") if isinstance(self.content.get("ledger"), str) else None
        revision = self.content.get("revision")
        self.revision: int | None = revision if isinstance(revision, int) and not isinstance(revision, bool) else None

    def made_whole(self, base: journal.State | None, now: str) -> None:
        """Fills in what a person may leave out, and checks every document against its schema."""
        known = base.documents if base else {kind: {} for kind in self.documents}
        team = {k: v for k, v in self.content.items() if k not in (*HEADER, *SECTIONS.values())}
        self.documents["team"] = {self.team: adoption.whole_team(team, known["team"].get(self.team), now)}
        for kind, section in SECTIONS.items():
            if section not in self.content:  # left out is not emptied
                self.documents[kind] = dict(known[kind])
        for index, task in enumerate(self._section("tasks", list)):
            id = task.get("id") if isinstance(task, dict) else None
            if not isinstance(id, str):
                raise self._wrong(("tasks", index), "a task is an object with an id, such as task-7")
            if id in self.documents["task"]:
                raise self._wrong(("tasks", index, "id"), f"{id} stands twice")
            self.documents["task"][id] = adoption.whole_task(task, known["task"].get(id), now)
        for name, agent in self._section("agents", dict).items():
            if not isinstance(agent, dict):
                raise self._wrong(("agents", name), "must be an object")
            self.documents["agent"][name] = adoption.whole_agent(agent, known["agent"].get(name), now)
        self.documents["key"].update(self._section("keys", dict))
        self._check_schemas()

    def _section(self, name: str, form: type) -> Any:
        value = self.content.get(name, form())
        if not isinstance(value, form):
            raise self._wrong((name,), f"must be {'a list' if form is list else 'an object'}")
        return value

    def _check_format(self) -> None:
        format = self.content.get("format", layout.FORMAT)
        if isinstance(format, int) and format > layout.FORMAT:
            raise journal.newer_format(self.path, format)
        if format != layout.FORMAT or isinstance(format, bool):
            raise self._wrong(("format",), f"must be {layout.FORMAT}")

    def _check_schemas(self) -> None:
        places = {task["id"]: index for index, task in enumerate(self._section("tasks", list))}
        for kind, documents in self.documents.items():
            for id, document in documents.items():
                for wrong in validate.report(kind, document):
                    path = {"team": (), "task": ("tasks", places.get(id, 0))}.get(kind, (SECTIONS.get(kind, ""), id))
                    where = ".".join(map(str, wrong.path)) or "it"
                    raise self._wrong((*path, *wrong.path), f"{id}: {where}: {wrong.why}")
                if kind == "agent":
                    self._check_name(id)

    def _check_name(self, name: str) -> None:
        from teamtasks.domain.names import is_agent_name

        if not is_agent_name(name):
            raise self._wrong(("agents", name), f"{name!r} cannot name an agent")

    def wrong_task(self, id: str, field: str, why: str) -> InvalidData:
        index = next((at for at, task in enumerate(self._section("tasks", list)) if task["id"] == id), 0)
        return self._wrong(("tasks", index, field), f"{id} {why}")

    def _wrong(self, path: Sequence[str | int], why: str) -> InvalidData:
        return self._invalid(why, *strict.position(self.data, path))

    def _invalid(self, why: str, line: int, column: int) -> InvalidData:
        return InvalidData(
            f"{self.path}, line {line}, column {column}: {why}",
            hint="mend it and repeat the command, or go back to the last good version: teamtasks doctor --fix",
            path=self.path,
            line=line,
            column=column,
        )


def path(at: Session) -> str:
    return os.path.join(layout.public(at.home, at.team), layout.TASKS)


def read(at: Session, data: bytes, state: journal.State | None, now: str) -> tuple[Edit, journal.State]:
    """The edit and the state it started from; refused if it is another ledger, or not a valid one."""
    edit = Edit(path(at), at.team, data)
    if state is None:
        edit.made_whole(None, now)
        return edit, journal.State()
    if edit.ledger is not None and edit.ledger != state.ledger:
        private = layout.private(at.home, at.team)
        raise ForeignLedger(
            f"{edit.path} belongs to ledger {edit.ledger}, the journal in {private} to {state.ledger}",
            hint="two teams have one name: move one of the two directories away",
            path=edit.path,
            ledger=edit.ledger,
            journal=private,
            journal_ledger=state.ledger,
        )
    if edit.revision is None:
        base: journal.State | None = state
    else:
        base = journal.state_at(at.private, edit.revision)
    edit.made_whole(base or state, now)
    # What it started from is not on record: nobody can tell what was changed, so nothing of ours is changed or removed.
    return edit, base or journal.State()


def as_changes(edit: Edit, base: journal.State, ours: journal.State, now: str) -> tuple[Changes, list[str]]:
    """The commit "edited outside", and the ids where the ledger's version stands against the file's."""
    wrong = adoption.contradiction(edit.documents["task"], _changed_tasks(edit, base, ours))
    if wrong is not None:
        raise edit.wrong_task(*wrong)
    puts, conflicts = adoption.merge(base.documents, ours.documents, edit.documents)
    _settle_tasks(puts, ours, now)
    tasks = _after("task", puts, ours)
    edited = [id for kind, id in puts if kind == "task"]
    if adoption.contradiction(tasks, edited) is not None:  # right by itself, but not together with what came meanwhile
        puts = {at: document for at, document in puts.items() if at[0] != "task"}
        conflicts, edited, tasks = [*conflicts, *edited], [], dict(ours.documents["task"])
    team = next(iter(_after("team", puts, ours).values()))
    members = {**ours.documents["agent"], **_after("agent", puts, ours)}
    for name, agent in adoption.resettled_agents(_after("agent", puts, ours), members, tasks, team["lead"], now).items():
        puts["agent", name] = agent
    changes = Changes()
    changes.puts.update({at: d for at, d in puts.items() if d != ours.documents[at[0]].get(at[1])})
    changes.record("edited_outside", {"tasks": edited, "conflicts": conflicts})
    return changes, conflicts


def _changed_tasks(edit: Edit, *known: journal.State) -> list[str]:
    """Those that are neither as they were when the edit began nor as they are now."""
    return [
        id for id, task in edit.documents["task"].items() if all(task != state.documents["task"].get(id) for state in known)
    ]


def _settle_tasks(puts: Puts, ours: journal.State, now: str) -> None:
    agents = _after("agent", puts, ours)
    for (kind, id), wanted in list(puts.items()):
        if kind == "task" and wanted is not None:
            holder = agents.get(wanted["assignee"] or "")
            life = holder["incarnation"] if holder else 1
            puts[kind, id] = adoption.settled_task(wanted, ours.documents["task"].get(id), life, now)


def _after(kind: str, puts: Puts, ours: journal.State) -> dict[str, Document]:
    """The documents of a kind as they would be with these puts."""
    after = {**ours.documents[kind], **{id: document for (of, id), document in puts.items() if of == kind}}
    return {id: document for id, document in after.items() if document is not None}


def counters_above(counters: dict[str, int], changes: Changes) -> dict[str, int]:
    """Ids given by hand are never given again."""
    numbers = [task_number(id) for kind, id in changes.puts if kind == "task"]
    return {**counters, "task": max([counters.get("task", 0), *numbers])}
