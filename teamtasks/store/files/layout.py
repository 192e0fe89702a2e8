"""Which file is where. See docs/format.md for what is in them.

<home>/tasks/<team>/          public: any program may read it, people may edit tasks.json
<home>/teamtasks/<team>/      private: journal, lock, messages; Claude Code's housekeeping never comes here
"""

from __future__ import annotations

import os
import stat

from teamtasks.domain.names import is_name

FORMAT = 1

TASKS = "tasks.json"
TASKS_NEW = ".tasks.json.new"
TASKS_PREVIOUS = ".tasks.json.prev"

JOURNAL = "journal.jsonl"
JOURNAL_NEW = ".journal.jsonl.new"
LOCK = "lock"
MESSAGES = "messages.jsonl"
QUARANTINE = "quarantine"


def public(home: str, team: str) -> str:
    return os.path.join(home, "tasks", team)


def private(home: str, team: str) -> str:
    return os.path.join(home, "teamtasks", team)


def segment(first_revision: int, nth: int = 0) -> str:
    """The name of a full journal, by the revision that it begins with; the nth of them, should there be several."""
    return f"journal-{first_revision:09d}{f'.{nth}' if nth else ''}.jsonl"


def is_segment(name: str) -> bool:
    return name.startswith("journal-") and name.endswith(".jsonl") and name[8:-6].replace(".", "").isdigit()


def agent_file(agent: str, incarnation: int) -> str:
    return f"agent_{agent}_{incarnation}.json"


def is_agent_file(name: str) -> bool:
    """An agent's file, or one that is about to take its place."""
    return name.lstrip(".").startswith("agent_") and name.endswith((".json", ".json.new"))


def teams(home: str) -> list[str]:
    """Names that have a journal, or a tasks.json that a person wrote. Claude Code's own lists are not teams."""
    names: set[str] = set()
    for parent in ("teamtasks", "tasks"):
        try:
            names.update(os.listdir(os.path.join(home, parent)))
        except (FileNotFoundError, NotADirectoryError):
            continue
    return sorted(name for name in names if is_name(name) and is_team(home, name))


def is_team(home: str, name: str) -> bool:
    """What we may not look at is one, too: whoever asks for it is told that, and not that it does not exist."""
    for path in (os.path.join(private(home, name), JOURNAL), os.path.join(public(home, name), TASKS)):
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                return True
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return True
    return False
