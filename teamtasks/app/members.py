"""Joining, being somebody, and giving signs of life."""

from __future__ import annotations

from teamtasks.domain import agents
from teamtasks.domain.errors import InvalidInput, TeamtasksError
from teamtasks.domain.names import check_agent_name
from teamtasks.domain.tasks import checked_text, required_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from teamtasks.domain.agents import Actor
    from teamtasks.domain.documents import Agent, Process
    from teamtasks.store.base import Reader, Store, Tx

    Answer = dict[str, Any]


def acting(reader: Reader, who: Actor) -> Agent | None:
    """The member who gives this command; None for the human. An unknown name is refused."""
    if who.is_human:
        return None
    agent: Agent | None = reader.get("agent", who.name)
    return agents.known(who, agent, () if agent else reader.all("agent"))


def join(
    store: Store,
    who: Actor,
    name: str,
    *,
    role: str | None = None,
    capabilities: Sequence[str] = (),
    model: str | None = None,
    process: Process | None = None,
) -> Answer:
    """The next incarnation of an agent. A lead who joins becomes the team's lead, if it has none."""
    check_agent_name(name)
    if model is not None:
        required_text("the model", model, 200)

    def body(tx: Tx) -> Agent:
        if who.name != name:
            acting(tx, who)
        current: Agent | None = tx.get("agent", name)
        agent = agents.join(current, now=tx.now, role=role, capabilities=capabilities, model=model)
        team = tx.get("team", store.team)
        if agent["role"] == "lead" and team["lead"] not in (None, name):
            raise InvalidInput(
                f"{team['lead']} leads this team",
                hint=f"teamtasks join {name}, then: teamtasks settings lead={name}",
                lead=team["lead"],
            )
        lead = name if agent["role"] == "lead" else None if team["lead"] == name else team["lead"]
        if lead is None and team["topology"] == "hub":
            raise InvalidInput("a hub needs a lead", hint="teamtasks settings lead=NAME, or topology=mesh")
        tx.put("team", store.team, {**team, "lead": lead})
        tx.put("agent", name, agent)
        tx.record("agent_joined", agent=name, incarnation=agent["incarnation"])
        return agent

    agent, revision = store.transact(body, by=name if who.is_human else str(who))
    fresh = {"process": process} if process else {}
    _beat(store, name, agent["incarnation"], fresh, acted=True)
    return {"revision": revision, "agent": {"name": name, **agent}}


def whoami(store: Store, who: Actor) -> Answer:
    view = store.read()
    agent = acting(view, who)
    answer: Answer = {"revision": view.revision, "team": store.team, "place": store.place, "agent": None, "tasks": []}
    if agent is not None:
        agents.current_life(who, agent)
        answer["agent"] = {"name": who.name, **agent}
        answer["tasks"] = [view.get("task", id) for id in agent["holds"]]
        seen(store, who, agent)
    return answer


def heartbeat(store: Store, who: Actor, *, context: int | None = None, doing: str | None = None) -> Answer:
    """A sign of life without touching the ledger: the agent's own file says that it is known."""
    if who.is_human:
        raise InvalidInput("a heartbeat needs an agent", hint="teamtasks --as NAME heartbeat, or set TEAMTASKS_AGENT")
    if context is not None and not 0 <= context <= 100:
        raise InvalidInput(f"--context is a percentage from 0 to 100, not {context}", value=context)
    incarnation = who.incarnation if who.incarnation is not None else store.life(who.name)
    if incarnation is None or store.life(who.name) is None or incarnation > (store.life(who.name) or 0):
        agent = acting(store.read(), who)
        assert agent is not None
        incarnation = who.incarnation or agent["incarnation"]
    fresh: dict[str, Any] = {}
    if context is not None:
        fresh["context_percent"] = context
    if doing is not None:
        fresh["doing"] = checked_text("--doing", doing, 500)
    store.beat(who.name, incarnation, fresh, acted=doing is not None)
    return {"agent": {"name": who.name, "incarnation": incarnation, **fresh}}


def seen(store: Store, who: Actor, agent: Agent | None, **fresh: Any) -> None:
    """Every command of an agent is a sign of life."""
    if agent is not None:
        _beat(store, who.name, who.incarnation or agent["incarnation"], fresh, acted=True)


def _beat(store: Store, name: str, incarnation: int, fresh: dict[str, Any], *, acted: bool) -> None:
    try:
        store.beat(name, incarnation, fresh, acted=acted)
    except (OSError, TeamtasksError):  # soft state: it must never fail a command that has already done its work
        pass
