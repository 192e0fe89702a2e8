"""Real commands under strace: killed at a system call, or told by the system that it failed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from proofs.ledgers import TEAMTASKS

if TYPE_CHECKING:
    from pathlib import Path

CALLS = (
    "openat", "write", "pwrite64", "fsync", "fdatasync", "rename", "renameat", "renameat2", "link", "linkat", "unlink",
    "unlinkat", "rmdir", "ftruncate", "mkdir", "mkdirat",
)  # fmt: skip
FALLIBLE = tuple(name for name in CALLS if name != "openat")

_LINE = re.compile(r"^\d+ +(\w+)\((.*)")


class Run:
    """A command under strace. ``trace`` is what strace saw of it."""

    def __init__(self, home: Path, command: list[str], *injections: str) -> None:
        log = home.with_suffix(".trace")
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("TEAMTASKS_", "CLAUDE"))}
        names = ",".join(f"?{name}" for name in CALLS)
        options = [f"--inject={injection}" for injection in injections]
        done = subprocess.run(
            ["strace", "-f", "-o", str(log), f"--trace={names}", *options, *command],
            env={**keep, "TEAMTASKS_HOME": str(home), "XDG_STATE_HOME": str(home.with_suffix(".state"))},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.trace = log.read_text().splitlines()
        log.unlink()
        assert "Traceback" not in self.err, self.err

    @property
    def was_killed(self) -> bool:
        return any(line.endswith("+++ killed by SIGKILL +++") for line in self.trace)

    @property
    def was_failed(self) -> bool:
        return any(line.endswith("(INJECTED)") for line in self.trace)

    def calls(self, home: Path) -> list[tuple[str, int, str]]:
        """Each call from the first touch of the team's directories on: its name, which of that name it is, its arguments."""
        counts: dict[str, int] = {}
        found, touched = [], False
        for name, arguments in (match.groups() for match in map(_LINE.match, self.trace) if match):
            counts[name] = counts.get(name, 0) + 1
            touched = touched or str(home) in arguments
            if touched and "__pycache__" not in arguments:
                found.append((name, counts[name], arguments))
        return found

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- out\n{self.out}\n--- err\n{self.err}\n--- trace\n" + "\n".join(self.trace[-40:])


def teamtasks(*words: str) -> list[str]:
    return [TEAMTASKS, *words]


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def need_strace() -> None:
    """A laptop may lack strace; where the promises are checked it may not."""
    usable = shutil.which("strace") and subprocess.run(
        ["strace", "-o", os.devnull, "true"], check=False, capture_output=True
    )
    if not usable or usable.returncode != 0:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("strace is missing, or may not trace here")
