"""Members of a team: who acts, joining, what they hold, and their signs of life."""

from __future__ import annotations

from teamtasks.domain.errors import AgentNotFound, InvalidInput, LimitReached, NotAllowed, TooLate
from teamtasks.domain.names import HUMAN, check_agent_name, check_label, did_you_mean, split_incarnation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from teamtasks.domain.documents import Agent, Pulse


class Actor:
    """Who gives a command: a name, the incarnation where it is known, or the human at the keyboard."""

    __slots__ = ("incarnation", "name")

    def __init__(self, text: str) -> None:
        name, incarnation = split_incarnation(text)
        self.name = name if text == HUMAN else check_agent_name(name)
        if incarnation == 0:
            raise InvalidInput(f"lives are counted from 1: there is no {text}", hint=f"teamtasks --as {name} whoami")
        self.incarnation = incarnation

    def __str__(self) -> str:
        return self.name if self.incarnation is None else f"{self.name}_{self.incarnation}"

    @property
    def is_human(self) -> bool:
        return self.name == HUMAN


def join(
    current: Agent | None,
    *,
    now: str,
    role: str | None = None,
    capabilities: Iterable[str] = (),
    model: str | None = None,
) -> Agent:
    """The next incarnation. What is not said again is kept; what the last life held stays held until it is claimed."""
    able = [check_label("capability", c) for c in dict.fromkeys(capabilities)]
    kept_role = current["role"] if current else "teammate"
    agent: Agent = {
        "role": "lead" if (role or kept_role) == "lead" else "teammate",
        "capabilities": able or (current["capabilities"] if current else []),
        "incarnation": current["incarnation"] + 1 if current else 1,
        "joined_at": now,
        "holds": current["holds"] if current else [],
    }
    kept_model = model or (current.get("model") if current else None)
    if kept_model:
        agent["model"] = kept_model
    return agent


def known(actor: Actor, agent: Agent | None, names: Iterable[str]) -> Agent:
    """The member who acts, or a refusal that names who was probably meant."""
    if agent is None:
        raise unknown(actor.name, names)
    if actor.incarnation is not None and actor.incarnation > agent["incarnation"]:
        raise AgentNotFound(
            f"{actor.name} has lived {agent['incarnation']} time(s), there is no {actor} yet",
            hint=f"teamtasks join {actor.name}",
            agent=actor.name,
            incarnation=agent["incarnation"],
        )
    return agent


def unknown(name: str, names: Iterable[str]) -> AgentNotFound:
    members = sorted(names)
    meant = did_you_mean(name, members)
    there = f"agents: {', '.join(members)}" if members else "no agent has joined yet"
    asked = f" Did you mean {meant}?" if meant else ""
    return AgentNotFound(
        f"no agent {name!r} in this team.{asked} ({there})",
        hint=f"say {meant}; if it is somebody new: teamtasks join {name}" if meant else f"teamtasks join {name}",
        agent=name,
        agents=members,
        meant=meant,
    )


def current_life(actor: Actor, agent: Agent) -> int:
    """The incarnation that acts; an earlier life of the same agent is too late for everything."""
    if actor.incarnation is not None and actor.incarnation < agent["incarnation"]:
        raise TooLate(
            f"{actor} was replaced by {actor.name}_{agent['incarnation']}",
            hint=f"teamtasks --as {actor.name}_{agent['incarnation']} whoami",
            agent=actor.name,
            incarnation=actor.incarnation,
            current=agent["incarnation"],
        )
    return agent["incarnation"]


def may_override(actor: Actor, agent: Agent | None) -> bool:
    return actor.is_human or (agent is not None and agent["role"] == "lead")


def check_override(actor: Actor, agent: Agent | None) -> None:
    if not may_override(actor, agent):
        raise NotAllowed(f"{actor.name} is a teammate: only the lead or a person may use --force", agent=actor.name)


def take(agent: Agent, task_id: str) -> Agent:
    return agent if task_id in agent["holds"] else {**agent, "holds": [*agent["holds"], task_id]}


def let_go(agent: Agent, task_id: str) -> Agent:
    return {**agent, "holds": [h for h in agent["holds"] if h != task_id]}


def check_limit(name: str, agent: Agent, limit: int) -> None:
    if len(agent["holds"]) >= limit:
        held = ", ".join(agent["holds"])
        raise LimitReached(
            f"{name} holds {held}; this team's limit is {limit} at once",
            hint=f"teamtasks whoami, or raise the limit: teamtasks settings wip_limit={limit + 1}",
            agent=name,
            holds=agent["holds"],
            limit=limit,
        )


def beat(last: Pulse | None, fresh: Pulse, *, acted: bool) -> Pulse:
    """The next sign of life: what is not said again stays; ``last_action`` moves only when the agent did something."""
    if last is None or (last["agent"], last["incarnation"]) != (fresh["agent"], fresh["incarnation"]):
        return fresh
    merged: Pulse = {**last, **fresh, "started_at": last["started_at"]}
    if not acted:
        merged["last_action"] = last["last_action"]
    return merged
