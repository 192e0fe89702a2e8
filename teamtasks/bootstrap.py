"""The only place that picks a store, and knows which teams there are."""

from __future__ import annotations

import os
import time

from teamtasks.domain.errors import TeamNotFound, WhichTeam
from teamtasks.domain.names import check_agent_name, check_team_name, did_you_mean
from teamtasks.domain.times import iso
from teamtasks.store.base import Rehearsal
from teamtasks.store.files import disk, layout
from teamtasks.store.files.store import FileStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.config import Config
    from teamtasks.store.base import Notice, Store


def teams(config: Config) -> list[str]:
    with disk.Reported(config.home):
        return layout.teams(config.home)


def store(config: Config, team: str | None, notice: Notice, *, rehearse: bool = False) -> Store:
    """The store of the team that is meant: named, from the environment, or the only one there is."""
    name = team or config.team or _only_team(config)
    check_team_name(name)
    if not layout.is_team(config.home, name):
        raise no_team(config, name)
    found: Any = FileStore(config.home, name, lock_timeout=config.lock_timeout, notice=notice)
    return Rehearsal(found) if rehearse else found


def create(config: Config, team: str, *, lead: str | None, topology: str, notice: Notice, rehearse: bool = False) -> Store:
    """A new team, with its lead if it has one."""
    from teamtasks.app.teams import new_team
    from teamtasks.domain.agents import join

    check_team_name(team)
    now = iso(time.time())
    members: list[tuple[str, str, Any]] = []
    if lead is not None:
        members.append(("agent", check_agent_name(lead), join(None, now=now, role="lead")))
    document: Any = new_team(now=now, lead=lead, topology=topology)
    made = FileStore(config.home, team, lock_timeout=config.lock_timeout, notice=notice)
    if not rehearse or layout.is_team(config.home, team):
        made.create(document, by=lead or "human", more=members)
    return made


def no_team(config: Config, name: str) -> TeamNotFound:
    there = teams(config)
    meant = did_you_mean(name, there)
    asked = f" Did you mean {meant}?" if meant else ""
    listed = f"teams: {', '.join(there)}" if there else "there are none yet"
    return TeamNotFound(
        f"no team {name!r} in {os.path.join(config.home, 'tasks')}.{asked} ({listed})",
        hint=f"teamtasks -t {meant} list" if meant else f"teamtasks init {name}",
        team=name,
        teams=there,
        place=config.home,
    )


def _only_team(config: Config) -> str:
    there = teams(config)
    if len(there) == 1:
        return there[0]
    if there:
        raise WhichTeam(
            f"which team? There are {len(there)}: {', '.join(there)}",
            hint=f"teamtasks -t {there[0]} list, or set TEAMTASKS_TEAM",
            teams=there,
        )
    raise TeamNotFound(
        f"there is no team yet in {os.path.join(config.home, 'tasks')}",
        hint="teamtasks init TEAM",
        teams=[],
        place=config.home,
    )
