"""A team's settings."""

from __future__ import annotations

from teamtasks.app.lookup import member
from teamtasks.app.members import acting, seen
from teamtasks.domain.agents import may_override
from teamtasks.domain.errors import InvalidInput, NotAllowed
from teamtasks.domain.names import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from teamtasks.domain.agents import Actor
    from teamtasks.domain.documents import Agent, Team
    from teamtasks.store.base import Store, Tx

    Answer = dict[str, Any]

KEYS = ("lead", "topology", "wip_limit")


def new_team(*, now: str, lead: str | None = None, topology: str = "mesh") -> Team:
    if topology not in ("mesh", "hub"):
        raise InvalidInput(f"the topology is mesh or hub, not {topology!r}", value=topology)
    if topology == "hub" and lead is None:
        raise InvalidInput("a hub needs a lead, through whom everything goes", hint="add --lead NAME")
    return {
        "created_at": now,
        "lead": lead,
        "topology": "hub" if topology == "hub" else "mesh",
        "settings": {"wip_limit": 1},
    }


def settings(store: Store, who: Actor, changes: Mapping[str, str]) -> Answer:
    """The settings as they are; or, with changes, as they have become."""
    for key in changes:
        if key not in KEYS:
            meant = did_you_mean(key, list(KEYS))
            asked = f" Did you mean {meant}?" if meant else ""
            raise InvalidInput(f"no setting {key!r}.{asked} (settings: {', '.join(KEYS)})", key=key)
    if not changes:
        view = store.read()
        agent = acting(view, who)
        seen(store, who, agent)
        return {"revision": view.revision, "settings": _shown(view.get("team", store.team))}

    def body(tx: Tx) -> tuple[Team, Agent | None]:
        agent = acting(tx, who)
        team: Team = tx.get("team", store.team)
        for key, value in changes.items():
            team = _changed(tx, team, key, value)
        tx.put("team", store.team, team)
        tx.record("settings_changed", **changes)
        return team, agent

    (team, agent), revision = store.transact(body, by=str(who))
    seen(store, who, agent)
    return {"revision": revision, "settings": _shown(team)}


def delete(store: Store, who: Actor) -> None:
    """The team and its history, for good. Not for teammates."""
    agent = acting(store.read(), who)
    if not may_override(who, agent):
        raise NotAllowed(f"{who.name} is a teammate: only the lead or a person deletes a team", agent=who.name)
    store.delete(by=str(who))


def _shown(team: Team) -> Answer:
    return {"lead": team["lead"], "topology": team["topology"], "wip_limit": team["settings"]["wip_limit"]}


def _changed(tx: Tx, team: Team, key: str, value: str) -> Team:
    if key == "wip_limit":
        if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= 1000):
            raise InvalidInput(f"wip_limit is a number from 1 to 1000, not {value!r}", value=value)
        return {**team, "settings": {**team["settings"], "wip_limit": int(value)}}
    if key == "lead":
        return _led_by(tx, team, None if value in ("", "none", "nobody") else value)
    changed = new_team(now=team["created_at"], lead=team["lead"], topology=value)
    return {**team, "topology": changed["topology"]}


def _led_by(tx: Tx, team: Team, lead: str | None) -> Team:
    """Roles follow: there is one lead at most."""
    if lead is None and team["topology"] == "hub":
        raise InvalidInput("a hub needs a lead", hint="teamtasks settings topology=mesh lead=none")
    if lead is not None:
        member(tx, lead)
    for name, role in ((team["lead"], "teammate"), (lead, "lead")):
        agent = tx.get("agent", name) if name is not None else None
        if name is not None and agent is not None:
            tx.put("agent", name, {**agent, "role": role})
    return {**team, "lead": lead}
