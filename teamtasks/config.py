"""The only reader of the environment."""

from __future__ import annotations

import os

from teamtasks.domain.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LOCK_TIMEOUT = 30.0


class Config:
    """Where ledgers are, and who asks.

    TEAMTASKS_HOME, CLAUDE_CONFIG_DIR   where teams live; else ~/.claude
    TEAMTASKS_TEAM, TEAMTASKS_AGENT     the team and the agent, where no option says otherwise
    TEAMTASKS_ATTEMPT                   the attempt that a held task is at
    TEAMTASKS_LOCK_TIMEOUT              seconds to wait for another writer (30)
    NO_COLOR                            no colours
    """

    __slots__ = ("agent", "attempt", "colour", "home", "lock_timeout", "team")

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        home = environ.get("TEAMTASKS_HOME") or environ.get("CLAUDE_CONFIG_DIR")
        self.home = os.path.abspath(home) if home else os.path.join(os.path.expanduser("~"), ".claude")
        self.team = environ.get("TEAMTASKS_TEAM") or None
        self.agent = environ.get("TEAMTASKS_AGENT") or None
        self.attempt = _number("TEAMTASKS_ATTEMPT", environ.get("TEAMTASKS_ATTEMPT"))
        self.lock_timeout = _seconds("TEAMTASKS_LOCK_TIMEOUT", environ.get("TEAMTASKS_LOCK_TIMEOUT"))
        self.colour = not environ.get("NO_COLOR")


def _number(name: str, text: str | None) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:9]) >= 1):
        raise InvalidInput(f"{name} is a number from 1, not {text!r}", value=text)
    return int(text)


def _seconds(name: str, text: str | None) -> float:
    try:
        seconds = float(text) if text else LOCK_TIMEOUT
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86400:
        raise InvalidInput(f"{name} is a number of seconds, not {text!r}", value=text)
    return seconds
