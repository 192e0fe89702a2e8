"""What some proofs need of the machine: a disk of their own that can be filled, another user, another clock, a reboot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from proofs.ledgers import TEAMTASKS
from proofs.scenes import WRITERS, Scene, environ
from teamtasks.cli.table import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = os.sysconf("SC_PAGE_SIZE")
NOBODY = 65534
BOOT = "/proc/sys/kernel/random/boot_id"
EXAMPLES = [
    Scene(command.name, example, "normal")
    for command in COMMANDS
    if command.changes or command.name in WRITERS
    for example in command.examples
]
"""Everything that writes, on a team in order."""


def lacking(what: str) -> NoReturn:
    """A laptop may lack it; where the promises are checked it may not."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(what)
    raise AssertionError(what)


def need(tool: str, package: str) -> None:
    if shutil.which(tool) is None:
        lacking(f"{tool} is missing: apt-get install {package}")


def need_root() -> None:
    if os.geteuid() != 0:
        lacking("only root can do this: sudo scripts/test …")


@contextmanager
def small_disk(place: Path, **limits: int) -> Iterator[Path]:
    """A file system in memory: ``size`` in bytes, ``nr_inodes``."""
    need_root()
    place.mkdir()
    options = ",".join(f"{name}={value}" for name, value in limits.items())
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        lacking(f"no file system can be mounted here: {made.stderr}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def leave_pages(disk: Path, pages: int) -> None:
    """Fills a small disk until so many pages are left."""
    ballast = disk / "ballast"
    ballast.unlink(missing_ok=True)
    room = os.statvfs(disk).f_bfree - pages
    if room > 0:
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, room * PAGE)


def leave_inodes(disk: Path, inodes: int) -> None:
    """Fills a small disk with empty files until so many more are possible."""
    ballast = disk / "ballast"
    shutil.rmtree(ballast, ignore_errors=True)
    ballast.mkdir()
    for number in range(os.statvfs(disk).f_ffree - inodes):
        (ballast / str(number)).touch()


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)


@cache
def as_user(uid: int) -> list[str]:
    """What a command begins with to run as another user, who has no rights of root's."""
    need_root()
    need("setpriv", "util-linux")
    become = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    for prefix in (become, [*_with_python_for_all(), *become]):
        if subprocess.run([*prefix, "env", TEAMTASKS, "--version"], check=False, capture_output=True).returncode == 0:
            return prefix
    lacking("other users cannot run this teamtasks: install it, and Python, where they can read it")


def _with_python_for_all() -> list[str]:
    """What a command begins with where Python is in a directory that others may not enter, such as root's home.

    In mounts of its own, it finds an empty directory in its place, with nothing but Python in it.
    """
    above = [path for path in reversed(Path(sys.base_prefix).parents) if not path.stat().st_mode & 0o001]
    hidden = str(above[0]) if above else "/nowhere"
    script = 'umask 022; mount --bind "$0" /mnt && mount -t tmpfs -o mode=755 tmpfs "$1" && mkdir -p "$0" && '
    script += 'mount --bind /mnt "$0" && shift && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, sys.base_prefix, hidden]


@contextmanager
def acting_as(uid: int) -> Iterator[None]:
    """This process as another user, for a while."""
    need_root()
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@contextmanager
def open_place() -> Iterator[Path]:
    """A directory that every user can reach and write to, as /tmp is."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o1777)
        yield Path(place)


def give(place: Path, uid: int) -> None:
    subprocess.run(["chown", "-R", f"{uid}:{uid}", place], check=True)


def with_limit(what: str, most: int) -> list[str]:
    """What a command begins with to be limited: ``fsize``, ``nofile``, ``as`` (memory), ``nproc``."""
    need("prlimit", "util-linux")
    return [
        "env",
        "PYTHONDONTWRITEBYTECODE=1",
        "prlimit",
        f"--{what}={most}:{most}",
    ]


def at_time(when: str) -> list[str]:
    """What a command begins with to find another time: ``+1y``, ``@2039-01-01 00:00:00``; without + or @ it stands still.

    The monotonic clock goes with it. Files say when they were really written.
    """
    need("faketime", "faketime")
    return ["env", "NO_FAKE_STAT=1", "faketime", "-f", when]


def run(home: Path, command: list[str], *, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """A real command that finds its teams in ``home``. It never ends with a traceback."""
    done = subprocess.run(command, env=environ(home), input=stdin, text=True, capture_output=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def after_reboot(boot: Path) -> list[str]:
    """What a command begins with to find another boot id: that of the file ``boot``."""
    need_root()
    need("unshare", "util-linux")
    return ["unshare", "--mount", "sh", "-c", f'mount --bind "$0" {BOOT} && exec "$@"', str(boot)]


def without_proc() -> list[str]:
    """What a command begins with to find an empty /proc, as in a strict container."""
    need_root()
    need("unshare", "util-linux")
    return ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /proc && exec "$@"', "sh"]


def with_uptime(seconds: int) -> list[str]:
    """What a command begins with to find a monotonic clock that is ahead, or behind, by so many seconds."""
    need_root()
    need("unshare", "util-linux")
    return ["unshare", "--time", "--monotonic", str(seconds), "--boottime", str(seconds)]
