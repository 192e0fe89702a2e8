"""A small team's story, played with the real commands in a directory of its own, which is removed at the end."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.cli.call import Call

# Each scene: what is going on, then the commands that make it happen, as they would be typed.
STORY = (
    ("A lead makes a plan. What depends on what is part of it.", (
        "teamtasks init payments --lead anna",
        "teamtasks create 'Database schema' --accept 'migrates up and down' --estimate 10m --needs sql",
        "teamtasks create 'Payment API' --after 1 --accept 'POST /pay answers 201' --accept 'never charges twice'",
        "teamtasks create 'Billing page' --estimate 20m --needs react",
        "teamtasks create 'Integration tests' --after 2 --after 3",
        "teamtasks create 'Release notes' --after 4 --size small",
        "teamtasks list",
    )),
    ("Three agents join and ask for work. Each gets the best task that it can do, and nobody gets one twice.", (
        "teamtasks join db --can sql -q",
        "teamtasks join backend --can python -q",
        "teamtasks join frontend --can react -q",
        "teamtasks --as db claim -q",
        "teamtasks --as frontend claim -q",
        "teamtasks --as backend claim",
    )),
    ("The schema is done; the API can begin.", (
        "teamtasks --as db complete 1 --result 'payments(id, amount, state) in migrations/001.sql'",
        "teamtasks --as backend claim -q",
    )),
    ("It goes wrong. The task is pending again, with everything that was learned.", (
        "teamtasks --as backend fail 2 --reason '401 to every request' --tried 'key in the header' --tried 'bearer token'",
    )),
    ("A person asks why the release notes do not move, and gets the root of it.", (
        "teamtasks why 5",
        "teamtasks blocked",
    )),
    ("The lead knows more, and hands it to somebody else. The brief has both: the task, and what was already tried.", (
        "teamtasks --as anna assign 2 db --note 'the sandbox wants the key as a query parameter'",
        "teamtasks --as db claim",
    )),
    ("The first agent comes back late. It cannot overwrite its successor; what it brings is kept.", (
        "teamtasks --as backend complete 2 --attempt 1 --result 'found it: the key had expired'",
    )),
    ("The rest is routine.", (
        "teamtasks --as db complete 2 --attempt 2 --result 'POST /pay works' --evidence 1='tests/test_pay.py' -q",
        "teamtasks --as frontend complete 3 --result 'src/Billing.tsx' -q",
        "teamtasks --as backend claim -q",
        "teamtasks --as backend complete 4 --result '14 tests pass'",
        "teamtasks --as frontend claim -q",
        "teamtasks --as frontend complete 5 --result 'CHANGELOG.md' -q",
        "teamtasks --as frontend claim",
        "teamtasks list",
        "teamtasks doctor",
    )),
)  # fmt: skip


def demo(call: Call) -> dict[str, Any]:
    """Plays the story to stdout; the answer is how it ended."""
    with tempfile.TemporaryDirectory(prefix="teamtasks-demo-") as home:
        codes = [_play(scene, home, slow=call.get("slow", False), loud=not call.json) for scene in STORY]
    ended = [code for scene in codes for code in scene]
    return {
        "commands": len(ended),
        "exit_codes": sorted(set(ended)),
        "summary": f"\n{len(ended)} commands, each a process of its own, on a real ledger. Yours: teamtasks init TEAM",
    }


def _play(scene: tuple[str, tuple[str, ...]], home: str, *, slow: bool, loud: bool) -> list[int]:
    text, commands = scene
    if loud:
        _say(f"\n# {text}\n")
    codes = []
    for line in commands:
        if loud:
            _say(f"$ {line}\n")
        time.sleep(0.6 if slow else 0)
        codes.append(_run(line, home, loud))
    return codes


def _run(line: str, home: str, loud: bool) -> int:
    """A process of its own, as it would be for an agent."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("TEAMTASKS_")} | {"TEAMTASKS_HOME": home}
    words = [sys.executable, "-m", "teamtasks", *shlex.split(line)[1:]]
    out = None if loud else subprocess.DEVNULL
    return subprocess.run(words, env=environ, stdout=out, stderr=subprocess.STDOUT if loud else out, check=False).returncode


def _say(text: str) -> None:
    from teamtasks.cli.output import write

    write(1, text)
