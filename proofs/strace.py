"""A real command under strace: recorded, killed at a system call, or told by the system that a call failed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from proofs.ledgers import TEAMTASKS
from proofs.scenes import environ

if TYPE_CHECKING:
    from pathlib import Path

MISSING = "strace is missing, or may not trace here: apt-get install strace"
_LINE = re.compile(r"^\d+ +(\w+)\((.*)")


class Call(NamedTuple):
    """A system call: its name, which of that name it is in the process, and its arguments as strace shows them."""

    name: str
    which: int
    arguments: str


class Run:
    """A command under strace. ``trace`` is what strace saw of it; each injection is as in ``strace --inject``."""

    def __init__(self, home: Path, command: list[str], *injections: str, stdin: str = "") -> None:
        log = home.with_suffix(".trace")
        options = [f"--inject={injection}" for injection in injections]
        done = subprocess.run(
            ["strace", "-f", "-y", "-s", "64", "-o", str(log), *options, *command],
            env=environ(home), input=stdin, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.trace = log.read_text(errors="replace").splitlines()
        log.unlink()

    @property
    def was_killed(self) -> bool:
        return any(line.endswith("+++ killed by SIGKILL +++") for line in self.trace)

    @property
    def was_failed(self) -> bool:
        return any(line.endswith("(INJECTED)") for line in self.trace)

    def calls(self, home: Path) -> list[Call]:
        """Each call from the first touch of the team's directories on."""
        counts: dict[str, int] = {}
        found, touched = [], False
        for name, arguments in (match.groups() for match in map(_LINE.match, self.trace) if match):
            counts[name] = counts.get(name, 0) + 1
            touched = touched or f"{home}/t" in arguments
            if touched:
                found.append(Call(name, counts[name], arguments))
        return found

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- out\n{self.out}\n--- err\n{self.err}\n--- trace\n" + "\n".join(self.trace[-40:])


def teamtasks(*words: str) -> list[str]:
    return [TEAMTASKS, *words]


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def is_usable() -> bool:
    usable = shutil.which("strace") and subprocess.run(
        ["strace", "-o", os.devnull, "true"], check=False, capture_output=True
    )
    return bool(usable and usable.returncode == 0)


def need_strace() -> None:
    """A laptop may lack strace; where the promises are checked it may not."""
    if not is_usable():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(MISSING)
