"""teamtasks: a durable task ledger for teams of agents.

    import teamtasks
    team = teamtasks.open("payments", agent="backend")
    work = team.claim()

The names below are loaded when they are first used, so that ``import teamtasks`` costs nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from teamtasks.domain.errors import TeamtasksError
    from teamtasks.team import Team, open

__all__ = ["Team", "TeamtasksError", "__version__", "open"]


def __getattr__(name: str) -> object:
    if name in ("open", "Team"):
        from teamtasks import team

        return getattr(team, name)
    if name == "TeamtasksError":
        from teamtasks.domain.errors import TeamtasksError

        return TeamtasksError
    raise AttributeError(f"module 'teamtasks' has no attribute {name!r}")
