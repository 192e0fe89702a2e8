"""Every command that changes something, as the examples in the command table say, in several states of a team.

A command that is added to the table joins by its examples. Those that need a past of their own say so in ``BEFORE``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING
from zlib import crc32

import teamtasks
from proofs.ledgers import TEAMTASKS, Ledger
from teamtasks.cli.table import BY_NAME, COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from teamtasks.store.base import Tx

HELD = "teamtasks --as backend claim task-2"
GONE = "teamtasks delete payments --yes"
BEFORE = {
    "teamtasks init payments": GONE,
    "teamtasks init payments --lead anna --topology hub": GONE,
    "teamtasks assign task-2 db --force": HELD,
    "teamtasks depend 4 --off 3": "teamtasks depend 4 --on 3",
    **{text: HELD for name in ("note", "complete", "fail", "release") for text in BY_NAME[name].examples},
}
"""What must have happened before an example makes sense, beyond the team below."""

MESSAGE = "a message through the store"
SEND = """
from teamtasks.store.files.store import FileStore
from teamtasks.domain.errors import TeamtasksError
import os, sys
store = FileStore(os.environ["TEAMTASKS_HOME"], "payments")
try:
    store.transact(lambda tx: tx.append("messages", {"id": tx.next_id("message"), "text": "hello"}), by="human")
    os.write(1, b"sent\\n")
except TeamtasksError as error:
    sys.exit(f"error[{error.code}]: {error.message}")
except OSError as error:
    sys.exit(f"error[unheard]: committed as revision {store.committed}: {error}")
"""
"""Messages are in the store, and no command writes one yet."""

WRITERS = ("heartbeat", "doctor")  # they change files, though they do not commit by themselves
BY_HAND = "written by hand"


def environ(home: Path, **more: str) -> dict[str, str]:
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("TEAMTASKS_", "CLAUDE"))}
    return {**keep, "TEAMTASKS_HOME": str(home), "XDG_STATE_HOME": f"{home}.state", **more}


def run(home: Path, line: str, **more: str) -> subprocess.CompletedProcess[str]:
    """An example, as a shell would run it in a directory that has api.md."""
    words, stdin = parsed(line)
    return subprocess.run(
        [TEAMTASKS, *words], env=environ(home, **more), input=stdin, text=True, capture_output=True, timeout=60, check=False
    )


def parsed(line: str) -> tuple[list[str], str]:
    """The words after ``teamtasks``, and what stands on stdin."""
    words, stdin = shlex.split(line)[1:], ""
    if "<" in words:
        words, stdin = words[: words.index("<")], "What the API must do.\n"
    return [word.replace("$$", str(os.getpid())) for word in words], stdin


def make_team(home: Path) -> None:
    """Seven tasks of which some wait, and two agents: the team that the examples speak of."""
    team = teamtasks.open("payments", home=str(home), create=True)
    for title, wish in (
        ("one", {}), ("two", {"acceptance_criteria": ["works"]}), ("three", {}), ("four", {}),
        ("five", {"dependencies": ["4"]}), ("six", {}), ("seven", {"dependencies": ["5"]}),
    ):  # fmt: skip
        team.create(title, **wish)
    team.join("backend", can=["python"])
    team.join("db")


# States of a team. Each changes what ``make_team`` and the example's past have made.


def _normal(ledger: Ledger) -> None:
    """As it is: a handful of tasks, and messages."""


def _first_use(ledger: Ledger) -> None:
    """No journal, no lock: a tasks.json that a person wrote, or nothing at all for what makes a team."""
    shutil.rmtree(ledger.private, ignore_errors=True)


def _large(ledger: Ledger) -> None:
    """A thousand tasks more, and a journal so long that the next commit begins a new segment."""
    from teamtasks.store.files.session import ROTATE_AT

    if not ledger.journal.exists():
        return
    store = ledger.store()

    def fill(tx: Tx) -> None:
        first = tx.get("task", "task-1")
        for number in range(1001, 2001):
            id = f"task-{number}"
            tx.get("task", id)
            tx.put("task", id, {**first, "id": id, "title": f"one of many, number {number}", "dependencies": ["task-7"]})
        while int(tx.next_id("task").rpartition("-")[2]) < 2001:
            pass

    def grow(tx: Tx, letter: str) -> None:
        team = tx.get("team", "payments")
        tx.put("team", "payments", {**team, "ballast": letter * 400_000})

    store.transact(fill, by="system")
    letter, size = "a", 0
    while size <= ROTATE_AT + 4 * ledger.tasks.stat().st_size:
        letter = "b" if letter == "a" else "a"
        store.transact(lambda tx, letter=letter: grow(tx, letter), by="system")
        size = ledger.journal.stat().st_size


def _edited(ledger: Ledger) -> None:
    """Somebody has saved tasks.json by hand, and no command has seen it yet."""
    if ledger.tasks.exists():
        ledger.save(ledger.tasks.read_bytes().replace(b'"seven"', f'"{BY_HAND}"'.encode()), age=3600)


def _interrupted(ledger: Ledger) -> None:
    """The last writer died after its commit: tasks.json is one version behind, and its name is still in the lock."""
    if not ledger.journal.exists():
        return
    old = ledger.tasks.read_bytes()
    ledger.store().transact(_message, by="human")
    teamtasks.open("payments", home=str(ledger.home)).create("interrupted")
    ledger.tasks.unlink()
    ledger.tasks.write_bytes(old)
    ledger.messages.write_bytes(ledger.messages.read_bytes()[:-3])
    ledger.lock.write_text("pid 4194303, teamtasks create, since 2026-01-01T00:00:00Z\n")


def _raced(ledger: Ledger) -> None:
    """Somebody saved into the version that the last commit replaced: the edit is in the predecessor of tasks.json."""
    if ledger.tasks.exists():
        ledger.previous.write_bytes(ledger.tasks.read_bytes().replace(b'"seven"', f'"{BY_HAND}"'.encode()))


def _swept(ledger: Ledger) -> None:
    """The public directory was deleted, as Claude Code's housekeeping does; the journal is all there is."""
    shutil.rmtree(ledger.public, ignore_errors=True)


def _message(tx: Tx) -> None:
    tx.append("messages", {"id": tx.next_id("message"), "text": "before"})


STATES: dict[str, Callable[[Ledger], None]] = {
    "first use": _first_use,
    "normal": _normal,
    "large": _large,
    "edited": _edited,
    "interrupted": _interrupted,
    "raced": _raced,
    "swept": _swept,
}
ORDINARY = ("first use", "normal", "large")
"""Every example is played in these; in the others only the first one of each command."""


class Scene:
    """One example of one command, in one state of the team."""

    def __init__(self, command: str, example: str, state: str) -> None:
        self.command, self.example, self.state = command, example, state
        if example == MESSAGE:
            self.run, self.stdin = [sys.executable, "-c", SEND], ""
        else:
            words, self.stdin = parsed(example)
            self.run = [TEAMTASKS, *words]

    @property
    def name(self) -> str:
        return f"{self.state}: {self.example}"

    def prepare(self, home: Path, templates: Path) -> Ledger:
        """A home of its own, copied from one that is made once for each past and state."""
        past = BEFORE.get(self.example, "")
        template = templates / f"{self.state.replace(' ', '-')}-{crc32(past.encode()):08x}"
        if not template.exists():
            _make(template, past, self.state)
        shutil.copytree(template, home, symlinks=True)
        ledger = Ledger(home)
        if self.state == "normal" and ledger.journal.exists():
            ledger.store().transact(_settle, by="system")
        return ledger


def _settle(tx: Tx) -> None:
    """A commit in the copy itself, whose tasks.json and predecessor are then the very files that the journal speaks of."""
    team = tx.get("team", "payments")
    tx.put("team", "payments", {**team, "settled": True})


def _make(template: Path, past: str, state: str) -> None:
    """Under another name first, so that several processes can want the same one."""
    made = template.with_name(f"{template.name}.{os.getpid()}")
    make_team(made)
    ledger = Ledger(made)
    ledger.store().transact(_message, by="human")
    if past:
        done = run(made, past)
        assert done.returncode == 0, done.stderr
    ledger.previous.unlink(missing_ok=True)  # its inode would be another in each copy
    STATES[state](ledger)
    try:
        made.rename(template)
    except OSError:
        shutil.rmtree(made)


def scenes(command: str | None = None) -> Iterator[Scene]:
    """Of every command that changes something, or of one."""
    for state in STATES:
        for each in COMMANDS:
            if (each.changes or each.name in WRITERS) and command in (None, each.name):
                for example in each.examples if state in ORDINARY else each.examples[:1]:
                    if BEFORE.get(example) != GONE or state == "first use":
                        yield Scene(each.name, example, state)
        if command in (None, "message"):
            yield Scene("message", MESSAGE, state)
