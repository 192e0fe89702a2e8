"""One writer at a time: flock on the team's lock file, which is never deleted and never stolen.

In the main thread a blocked writer sleeps inside the kernel, which wakes it at once and in turn; a timer ends the wait.
Other threads cannot use a timer, so they ask again and again, through filelock, whose lock is the same flock.

The holder writes who it is into the file and clears it when it is done. A text that is still there when the lock is free
says that its writer died with work under way: the ledger must be looked over before it is trusted ("dirty").
"""

from __future__ import annotations

import os
import sys
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from time import monotonic, sleep

from teamtasks.domain.errors import LockTimeout
from teamtasks.domain.untrusted import one_line
from teamtasks.store.files import disk, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _thread
    from collections.abc import Callable

SAY_AFTER = 1.0


class Patience:
    """How long to wait for others, from now on, and whom to tell about it after a second."""

    __slots__ = ("deadline", "timeout", "waiting")

    def __init__(self, timeout: float, waiting: Callable[[str], None]) -> None:
        self.timeout, self.waiting = timeout, waiting
        self.deadline = monotonic() + timeout


def acquire(private: int, patience: Patience) -> int:
    """A descriptor of the locked lock file."""
    while True:
        fd = disk.open_regular(private, layout.LOCK, os.O_RDWR | os.O_CREAT)
        if fd is None:
            raise FileNotFoundError(layout.LOCK)  # the directory itself was removed
        try:
            take(fd, patience)
            # Deleted or replaced while we waited: whoever comes now would lock another file beside us.
            if disk.names_same(fd, layout.LOCK, private):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def holder(fd: int) -> str:
    return one_line(os.pread(fd, 400, 0).decode(errors="replace").strip())


def sign(fd: int, text: str) -> None:
    """Over what is there, then cut to length: at no moment is the text of a dead holder gone and ours not there."""
    os.ftruncate(fd, os.pwrite(fd, text.encode("utf-8", "backslashreplace"), 0))


def clear(fd: int) -> None:
    os.ftruncate(fd, 0)


def release(fd: int) -> None:
    """Unlocks and closes. Only closing would leave the lock to a child that was forked meanwhile and has a copy of it."""
    try:
        flock(fd, LOCK_UN)
    except OSError:  # closing it does the same, for this process
        pass
    disk.close(fd)


def take(fd: int, patience: Patience) -> None:
    """Locks an open file, waiting as long as there is patience left."""
    try:
        return flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        pass
    if _in_main_thread():
        _sleep_until_locked(fd, patience)
    else:
        _ask_until_locked(fd, patience)
    return None


def _in_main_thread() -> bool:
    threading = sys.modules.get("threading")
    return threading is None or threading.current_thread() is threading.main_thread()


class _Alarm(BaseException):
    pass


def _sleep_until_locked(fd: int, patience: Patience) -> None:
    import signal

    armed = True

    def ring(_signum: int, _frame: object) -> None:
        if armed:
            raise _Alarm

    began, (due, interval) = monotonic(), signal.getitimer(signal.ITIMER_REAL)
    before = signal.signal(signal.SIGALRM, ring)
    got = _say_soon(fd, patience)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(patience.deadline - monotonic(), 0.000_001))
        flock(fd, LOCK_EX)
        armed = False
    except _Alarm:  # it may have rung just after the lock was got
        try:
            flock(fd, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise _timed_out(fd, patience) from None
    finally:
        armed = False
        got.release()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if due:  # the host program's own alarm, which may have become due while we waited
            signal.setitimer(signal.ITIMER_REAL, max(due - (monotonic() - began), 0.000_001), interval)


def _say_soon(fd: int, patience: Patience) -> _thread.LockType:
    """Says after a second for whom we wait, unless what it returns is released before.

    From a thread: a timer would end the wait in the kernel, and whoever asks again is put at the end of the queue.
    """
    import _thread
    import signal

    got = _thread.allocate_lock()
    got.acquire()

    def say() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # it is meant for the main thread
        try:
            if not got.acquire(timeout=SAY_AFTER) and monotonic() < patience.deadline:
                patience.waiting(_who(fd))
        except OSError:  # the wait ended in this very moment, and the file was closed
            pass

    try:
        _thread.start_new_thread(say, ())
    except RuntimeError:  # no more threads for this user: nobody is told, but the wait goes on
        pass
    return got


def _ask_until_locked(fd: int, patience: Patience) -> None:
    from filelock import lock_descriptor

    say_at, said = monotonic() + SAY_AFTER, False
    while not lock_descriptor(fd, blocking=False):
        if monotonic() >= patience.deadline:
            raise _timed_out(fd, patience)
        if monotonic() >= say_at and not said:
            patience.waiting(_who(fd))
            said = True
        sleep(0.002)


def _who(fd: int) -> str:
    text = holder(fd)
    return text if text.startswith("pid ") else "a process that left no name"


def _timed_out(fd: int, patience: Patience) -> LockTimeout:
    return LockTimeout(
        f"another process holds the ledger, waited {patience.timeout:g} s: {_who(fd)}",
        hint="look at that process; raise the limit with TEAMTASKS_LOCK_TIMEOUT=60",
        holder=_who(fd),
        waited=patience.timeout,
    )
