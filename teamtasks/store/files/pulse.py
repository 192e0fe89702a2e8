"""The agents' own files: signs of life and what they are at. Soft: no journal, no lock of the ledger, rebuilt when lost.

Several processes of one agent may write at once. Each takes a lock on the file that is about to take the place of the
old one, and makes sure that it is still that file: so no word of one is mixed with a word of another.
"""

from __future__ import annotations

import os
import time
from fcntl import LOCK_EX, flock

from teamtasks import jsontext
from teamtasks.domain.agents import beat
from teamtasks.domain.errors import InvalidData
from teamtasks.domain.names import is_agent_name, split_incarnation
from teamtasks.domain.times import iso
from teamtasks.store.files import disk, layout, lock
from teamtasks.store.validate import Mismatch, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.domain.documents import Pulse

LARGEST = 64 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def write(public: int, agent: str, incarnation: int, fresh: dict[str, Any], *, acted: bool) -> None:
    """The next sign of life. ``fresh`` has what the agent says of itself; None takes a field away."""
    name = layout.agent_file(agent, incarnation)
    beside = f".{name}.new"
    fd = _locked(public, beside)
    try:
        last = read(public, name)
        now = iso(time.time())
        pulse: Any = {
            "format": layout.FORMAT,
            "agent": agent,
            "incarnation": incarnation,
            "started_at": now,
            "last_beat": now,
            "last_action": now,
            "clock": {"boot": disk.boot_id(), "monotonic": round(time.monotonic(), 3)},
            **fresh,
        }
        merged = {key: value for key, value in beat(last, pulse, acted=acted).items() if value is not None}
        check("pulse", merged)
        disk.make_private(public, fd, os.fstat(fd))
        os.ftruncate(fd, 0)
        disk.write_all(fd, jsontext.dumps(merged).encode() + b"\n")
        disk.rename(public, beside, name)
    except BaseException:
        disk.discard(public, beside)
        raise
    finally:
        lock.release(fd)


def read(public: int, name: str) -> Pulse | None:
    """None if there is none, or if it is not what we would have written."""
    try:
        found = disk.read(public, name, LARGEST)
        pulse: Any = jsontext.loads(found[0].decode()) if found else None
        check("pulse", pulse)
    except (ValueError, Mismatch, RecursionError, InvalidData):
        return None
    return pulse  # type: ignore[no-any-return]


def read_all(public: int) -> dict[tuple[str, int], Pulse]:
    found = {}
    for name in os.listdir(public):
        agent, incarnation = split_incarnation(name[6:-5])
        if name.startswith("agent_") and name.endswith(".json") and incarnation and is_agent_name(agent):
            pulse = read(public, name)
            if pulse is not None:
                found[agent, incarnation] = pulse
    return found


def _locked(public: int, name: str) -> int:
    while True:
        fd = os.open(name, _NEW, disk.FILE_MODE, dir_fd=public)
        flock(fd, LOCK_EX)
        if disk.names_same(fd, name, public):
            return fd
        os.close(fd)
