"""What the end-to-end tests share: the bytes of a ledger, a real terminal, and times that stand still."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import struct
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest
    from conftest import Cli, Result

TEAMTASKS = str(Path(sys.executable).parent / "teamtasks")

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SECONDS = re.compile(r"\b\d{1,2}s\b")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def cli_at(home: Path, request: pytest.FixtureRequest) -> Cli:
    """The real command with a home that outlives a test; ``tests/conftest.py`` has the one for each test."""
    shared = request.config.pluginmanager.get_plugin(str(Path(__file__).parents[1] / "conftest.py"))
    return shared.Cli(home)


def age(path: Path) -> None:
    """As if it had been saved a minute ago: what is younger might still be being written."""
    os.utime(path, (time.time() - 60,) * 2)


NO_CONTENT = ("lock", ".tasks.json.prev")  # the second is the last version, kept for edits that race a commit


def files(home: Path) -> dict[str, bytes]:
    """Every file of every team, by its place under the home."""
    found = [path for part in ("tasks", "teamtasks") for path in sorted((home / part).rglob("*"))]
    return {
        str(path.relative_to(home)): path.read_bytes() for path in found if path.is_file() and path.name not in NO_CONTENT
    }


def ledger(home: Path) -> dict[str, bytes]:
    """What is on record: tasks.json and the journal, without the agents' signs of life."""
    return {place: data for place, data in files(home).items() if not place.rpartition("/")[2].startswith("agent_")}


def steady(text: str, home: Path) -> str:
    """The same text on every run: times and ages of seconds stand still, as wide as they were; the home is /home."""
    text = _TIME.sub("2026-01-01T00:00:00Z", text.replace(str(home), "/home"))
    return _SECONDS.sub("0s", text)


def without_styles(text: str) -> str:
    """A terminal's text without bold, dim and colours, the only escape sequences that may be there; and as one sees it."""
    return "\n".join(line.rstrip(" ") for line in _STYLE.sub("", text).split("\n"))


def on_terminal(command: list[str], environ: dict[str, str], *, columns: int = 80, typed: bytes = b"") -> tuple[int, str]:
    """Runs a command on a terminal of that width. Gives its exit code and everything that it drew."""
    environ = {"TERM": "xterm-256color", **{k: v for k, v in environ.items() if k not in ("COLUMNS", "LINES", "TERM")}}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        os.login_tty(theirs)
        os.execve(command[0], command, environ)
    os.close(theirs)
    if typed:
        os.write(ours, typed)
    drawn = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the last one on the other side has gone
            break
        if not part:
            break
        drawn += part
    os.close(ours)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), drawn.decode().replace("\r\n", "\n")


def transcript(cli: Cli, commands: list[str], **env: str) -> str:
    """What a shell would show: each command, what it says on stdout and stderr, and its exit code unless it is 0."""
    lines = []
    for command in commands:
        told: Result = cli(*shlex.split(command)[1:], code=None, **env)
        lines.append(f"$ {command}\n{told.out}{told.err}" + (f"[exit {told.code}]\n" if told.code else ""))
    return steady("".join(lines), cli.home)
