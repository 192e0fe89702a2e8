"""Who a process is: enough to tell later whether it still lives, and not to mistake another one for it."""

from __future__ import annotations

import os

from teamtasks.domain.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from teamtasks.domain.documents import Process


def describe(pid: int) -> Process:
    """Machine, boot and pid namespace say where the number counts; the start time tells a reused number apart."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            started = file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        raise InvalidInput(f"there is no process {pid} here", hint="--pid $$ names the calling shell", pid=pid) from None
    return {
        "machine": _line("/etc/machine-id") or os.uname().nodename,
        "boot": _line("/proc/sys/kernel/random/boot_id"),
        "namespace": _link(f"/proc/{pid}/ns/pid"),
        "pid": pid,
        "started": started,
    }


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
