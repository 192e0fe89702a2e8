"""Processes that are started, killed, stopped and woken by chance, and of which none is left behind.

Every process is addressed through a descriptor of its own (pidfd), so that a signal never reaches a stranger who was given
the same number. Whatever a killed writer leaves running becomes our child (subreaper) and is ended with the others.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LONG_STOP = (0.5, 2.5)  # seconds: longer than others would like
SHORT_STOP = (0.001, 0.1)


class Herd:
    """Processes by slot. ``strike`` hits one of them, or the command that it runs, or whoever holds the lock."""

    def __init__(self, lock: Path, chance: random.Random) -> None:
        self.lock, self.chance = lock, chance
        self.kills = self.stops = self.kills_in_lock = self.stops_in_lock = 0
        self.longest = 0.0
        self._pids: dict[int, int] = {}  # by slot
        self._stopped: dict[int, tuple[int, float]] = {}  # pid: its descriptor, when to wake it

    def __enter__(self) -> Herd:
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
        return self

    def __exit__(self, *_error: object) -> None:
        """Nobody is left behind, whatever happened."""
        self.wake_all()
        while pids := _children(os.getpid()):
            for pid in pids:
                os.kill(pid, signal.SIGKILL)  # a child that was not waited for keeps its number
                os.waitpid(pid, 0)
        _prctl(PR_SET_CHILD_SUBREAPER, 0)

    def start(self, slot: int, work: Callable[[], None]) -> None:
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            self._pids[slot] = pid
            return
        code = 1
        try:
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            work()
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)

    def strike(self) -> None:
        """Kills or stops somebody, and wakes those who have been stopped long enough."""
        self._wake(monotonic())
        pid = self._some_holder() if self.chance.random() < 0.5 else self._anybody()
        if pid is None or pid in self._stopped:
            return
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        if pid not in self._ours():
            os.close(fd)
        elif len(self._stopped) < len(self._pids) // 3 and self.chance.random() < 0.4:
            self._stop(pid, fd)
        else:
            self._kill(pid, fd)

    def _kill(self, pid: int, fd: int) -> None:
        holds = self._holder() == pid
        try:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
            self.kills += 1
            self.kills_in_lock += holds
        except ProcessLookupError:
            pass
        os.close(fd)

    def _stop(self, pid: int, fd: int) -> None:
        try:
            signal.pidfd_send_signal(fd, signal.SIGSTOP)
        except ProcessLookupError:
            os.close(fd)
            return
        seconds = self.chance.uniform(*(LONG_STOP if self.chance.random() < 0.06 else SHORT_STOP))
        self._stopped[pid] = fd, monotonic() + seconds
        self.stops += 1
        sleep(0.001)
        if self._holder() == pid:
            self.stops_in_lock += 1
            self.longest = max(self.longest, seconds)

    def _wake(self, now: float) -> None:
        for pid, (fd, until) in list(self._stopped.items()):
            if until <= now:
                try:
                    signal.pidfd_send_signal(fd, signal.SIGCONT)
                except ProcessLookupError:
                    pass
                os.close(fd)
                del self._stopped[pid]

    def wake_all(self) -> None:
        self._wake(float("inf"))

    def fallen(self) -> list[int]:
        """The slots whose process has ended since we last looked."""
        slots = [slot for slot, pid in self._pids.items() if os.waitpid(pid, os.WNOHANG)[0]]
        for slot in slots:
            del self._pids[slot]
        return slots

    def wait(self, seconds: float) -> list[int]:
        """Until everybody has ended. Returns the slots of those who have not."""
        end = monotonic() + seconds
        while (self.fallen() or self._pids) and monotonic() < end:
            sleep(0.02)
        return list(self._pids)

    def _anybody(self) -> int | None:
        pids = sorted(self._pids.values())
        if not pids:
            return None
        pid = self.chance.choice(pids)
        commands = _children(pid)
        return self.chance.choice(commands) if commands and self.chance.random() < 0.7 else pid

    def _ours(self) -> list[int]:
        own = _children(os.getpid())
        return [*own, *(grandchild for pid in own for grandchild in _children(pid))]

    def _some_holder(self) -> int | None:
        """Whoever takes the lock next, if somebody does soon."""
        for _look in range(50):
            pid = self._holder()
            if pid is not None and pid not in self._stopped:
                sleep(self.chance.uniform(0, 0.005))  # at any moment of its turn, or just after it
                return pid
            sleep(0.0002)
        return None

    def _holder(self) -> int | None:
        """The process that has signed the lock. It may have died over it: who is not ours is not struck."""
        try:
            words = self.lock.read_text().replace(",", " ").split()
        except OSError:
            return None
        return int(words[1]) if len(words) > 1 and words[0] == "pid" and words[1].isdigit() else None


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
