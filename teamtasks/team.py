"""The Python API: ``teamtasks.open(…)`` gives a ``Team`` with the same verbs as the command line, typed.

    team = teamtasks.open("payments", agent="backend")
    work = team.claim()
    team.complete(work["task"]["id"], result="done", attempt=work["attempt"])

Every method returns the answer that ``--json`` prints for the same command, as a dict, and raises the errors of
``teamtasks.domain.errors``, all of which are ``teamtasks.TeamtasksError``.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING, Any

from teamtasks import bootstrap
from teamtasks.app import members, tasks, teams, views, work
from teamtasks.config import Config
from teamtasks.domain.agents import Actor
from teamtasks.domain.creation import DEFAULT_PRIORITY, Wish
from teamtasks.domain.names import HUMAN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from teamtasks.domain.documents import Evidence
    from teamtasks.store.base import Store

Answer = dict[str, Any]
_log = logging.getLogger("teamtasks")


def open(team: str | None = None, *, agent: str | None = None, create: bool = False, home: str | None = None) -> Team:
    """A team. ``agent`` is who acts (else TEAMTASKS_AGENT, else the human); ``create`` makes the team if it is missing."""
    config = Config() if home is None else Config({"TEAMTASKS_HOME": home})
    if create and team is not None and team not in bootstrap.teams(config):
        bootstrap.create(config, team, lead=None, topology="mesh", notice=_log.info)
    store = bootstrap.store(config, team, _log.info)
    return Team(store, Actor(agent or config.agent or HUMAN))


class Team:
    """A team as one agent, or the human, sees it. Safe to use from several threads."""

    def __init__(self, store: Store, who: Actor) -> None:
        self.store = store
        self.who = who

    def __repr__(self) -> str:
        return f"<Team {self.store.team} as {self.who}>"

    def as_(self, agent: str) -> Team:
        """The same team in somebody else's name."""
        return Team(self.store, Actor(agent))

    def create(
        self,
        title: str,
        *,
        description: str = "",
        acceptance_criteria: Sequence[str] = (),
        dependencies: Sequence[str] = (),
        priority: int = DEFAULT_PRIORITY,
        size: str | None = None,
        estimate: int | None = None,
        group: str | None = None,
        needs: Sequence[str] = (),
        assignee: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Answer:
        """A new task. ``estimate`` is in minutes."""
        wish = Wish(
            title,
            description=description,
            acceptance_criteria=acceptance_criteria,
            dependencies=dependencies,
            priority=priority,
            size=size,
            estimate=estimate,
            group=group,
            needs=needs,
            assignee=assignee,
            metadata=metadata,
            key=key,
        )
        return tasks.create(self.store, self.who, wish)

    def assign(self, id: str, to: str | None, *, note: str | None = None, force: bool = False) -> Answer:
        return tasks.assign(self.store, self.who, id, to, note=note, force=force)

    def depend(self, id: str, *, on: Sequence[str] = (), off: Sequence[str] = ()) -> Answer:
        return tasks.depend(self.store, self.who, id, on=on, off=off)

    def settings(self, **changes: str | int | None) -> Answer:
        texts = {key: "none" if value is None else str(value) for key, value in changes.items()}
        return teams.settings(self.store, self.who, texts)

    def join(
        self,
        name: str,
        *,
        role: str | None = None,
        can: Sequence[str] = (),
        pid: int | None = None,
        model: str | None = None,
    ) -> Answer:
        from teamtasks.process import describe

        process = describe(pid) if pid is not None else None
        return members.join(self.store, self.who, name, role=role, capabilities=can, model=model, process=process)

    def whoami(self) -> Answer:
        return members.whoami(self.store, self.who)

    def heartbeat(self, *, context: int | None = None, doing: str | None = None) -> Answer:
        return members.heartbeat(self.store, self.who, context=context, doing=doing)

    def claim(self, id: str | None = None, *, another: bool = False, wait: float = 0) -> Answer:
        """The best ready task, or the one that is named. ``wait``: for so many seconds, until something is ready."""
        end = monotonic() + wait
        return work.wait_and_claim(self.store, self.who, id, another=another, until=lambda: end - monotonic())

    def brief(self, id: str) -> Answer:
        return work.brief(self.store, self.who, id)

    def note(self, id: str, text: str, *, attempt: int | None = None) -> Answer:
        return work.note(self.store, self.who, id, text, attempt=attempt)

    def complete(
        self,
        id: str,
        *,
        result: str = "",
        evidence: Mapping[int, str] | None = None,
        attempt: int | None = None,
        force: bool = False,
    ) -> Answer:
        """Done. ``evidence`` says by the number of an acceptance criterion how it is met."""
        proofs: list[Evidence] = [{"criterion": number, "text": text} for number, text in (evidence or {}).items()]
        return work.complete(self.store, self.who, id, result=result, evidence=proofs, attempt=attempt, force=force)

    def fail(
        self,
        id: str,
        *,
        reason: str,
        tried: Sequence[str] = (),
        output: str = "",
        attempt: int | None = None,
        force: bool = False,
    ) -> Answer:
        return work.fail(self.store, self.who, id, reason=reason, tried=tried, output=output, attempt=attempt, force=force)

    def release(self, id: str, *, reason: str, attempt: int | None = None, force: bool = False) -> Answer:
        return work.release(self.store, self.who, id, reason=reason, attempt=attempt, force=force)

    def list(
        self,
        *,
        status: str | None = None,
        assignee: str | None = None,
        group: str | None = None,
        ready: bool = False,
        blocked: bool = False,
    ) -> Answer:
        return views.list_tasks(
            self.store, self.who, status=status, assignee=assignee, group=group, ready=ready, blocked=blocked
        )

    def show(self, id: str) -> Answer:
        return views.show(self.store, self.who, id)

    def ready(self) -> Answer:
        return views.ready(self.store, self.who)

    def blocked(self) -> Answer:
        return views.blocked(self.store, self.who)

    def why(self, id: str) -> Answer:
        return views.why(self.store, self.who, id)

    def doctor(self, *, fix: bool = False) -> Answer:
        findings = self.store.check(fix=fix)
        return {"team": self.store.team, "findings": findings, "problems": sum(f["severity"] == "problem" for f in findings)}

    def delete(self) -> None:
        """The team and its history, for good."""
        self.store.delete(by=str(self.who))
