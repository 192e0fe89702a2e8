"""Arguments at random and by the grammar of the command table: a documented exit code, a next step, and nothing half done.

That the quick reader and click read the same call alike is the business of tests/e2e/test_argv.py.
"""

from __future__ import annotations

import json
import os
import shutil
from random import Random
from typing import TYPE_CHECKING, Any

from proofs.fuzz.bench import Violation
from proofs.fuzz.calls import Cli, Told
from teamtasks.cli.table import BY_NAME, COMMANDS, COMMON, DRY_RUN, options, words

if TYPE_CHECKING:
    from pathlib import Path

    from proofs.fuzz.bench import Bench, Clock, Input
    from teamtasks.cli.table import Command, Param

USAGE = 2
STEERED = ("demo", "--slow", "--wait")  # would take long by design
TEXTS = (
    "", "-", "--", "---", "-1", "0", "1", "2", "3", "7", "007", "#1", "task-1", "task-2", "Task 3", "task-99", "1e3",
    "٣", "²", "=", "a=b", "1=x",
    "9" * 12, "x", "é", "\n", " ", "\x1b[31m", "\ud800", "x" * 3000, "dev", "db", "anna", "dev_1", "dev_9", "human",
    "payments", "other",
    "pending", "ready", "in-progress", "15m", "1h30m", "0s", "-5m", "1d", "wip_limit=2", "wip_limit=0", "lead=dev",
    "topology=hub", "lead=",
    "schema", "task", "{}", '{"a":1}', "k=[1,", "%s", "../x", "/etc/passwd", "/nonexistent", "/dev/null", "small",
    "SMALL", "mesh", "python",
    "-h", "--help", "--version", "-q", "-t", "--json", "--as", "-qq", "-tpayments", "--js", "--attempt=1", "--attempt",
    "--result", "--force",
)  # fmt: skip


class Argv:
    name = "argv"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.codes: dict[int, int] = {}
        self.template: Path | None = None

    def run(self, clock: Clock, seed: int) -> str:
        number = 0
        while clock or not number:
            random = Random(f"{seed}/argv/{number}")
            argv = _by_grammar(random) if random.random() < 0.8 else _anyhow(random)
            self.replay({"argv": argv, "stdin": random.choice(("", "some\ntext\n", "\udcff"))})
            number += 1
        told = ", ".join(f"{count} × {code}" for code, count in sorted(self.codes.items()))
        return f"{number:,} calls, by exit code {told}"

    def replay(self, data: Input) -> None:
        self.bench.trial(self.name, data, self.judge)

    def judge(self, data: Input) -> None:
        home = self._home()
        cli = Cli(home)
        try:
            before = _on_record(home)
            told = cli(*data["argv"], stdin=data["stdin"]).check()
            self.codes[told.code] = self.codes.get(told.code, 0) + 1
            unchanged = _on_record(home) == before
            if not unchanged and (told.code == USAGE or _is_harmless(data["argv"])):
                raise Violation(f"{told.words}: exit {told.code}, and the ledger was changed")
            if told.code == USAGE:
                _check_next_step(cli, told, data)
            if told.code == 0 and "--json" in data["argv"] and "--help" not in told.out:
                _check_json(told)
        finally:
            cli.close()

    def _home(self) -> Path:
        """A team in the middle of something, the same for each call."""
        if self.template is None:
            self.template = self.bench.place("argv-template") / "home"
            cli = Cli(self.template)
            calls = (
                "init payments --lead anna", "join dev --can python", "create one --accept a", "create two --after 1",
                "create three",
                "--as dev claim 1", "--as db claim 3", "--as db fail 3 --reason no", "create four --key k",
            )  # fmt: skip
            for call in calls:
                if cli(*call.split()).check().code:
                    raise RuntimeError(call)
            cli.close()
        home = self.bench.work / "argv" / "home"
        shutil.rmtree(home.parent, ignore_errors=True)
        shutil.copytree(self.template, home)
        return home


def _check_next_step(cli: Cli, told: Told, data: Input) -> None:
    """A usage error says what to do: seen best in its JSON. The call changes nothing, so it can be repeated."""
    if told.err.startswith("Usage:") or "error" not in told.err + told.out:
        return
    again = cli("--json", *data["argv"], stdin=data["stdin"]).check()
    if again.code != USAGE or not again.out.startswith("{"):
        return
    error = json.loads(again.out)["error"]
    if not error["hint"] or not error["message"]:
        raise Violation(f"{told.words}: a usage error without a next step: {error}")


def _check_json(told: Told) -> None:
    try:
        json.loads(told.out)
    except ValueError:
        if not told.out.startswith(("Usage", "teamtasks ", "\nUsage")):
            raise Violation(f"{told.words}: not JSON: {told.out[:200]!r}") from None


def _is_harmless(argv: list[str]) -> bool:
    """Whether this call may not change anything: a dry run, or a command that only looks."""
    named = next((word for word in argv if word in BY_NAME), None)
    flags = argv[: argv.index("--")] if "--" in argv else argv
    return named is not None and not BY_NAME[named].changes and named not in ("doctor", "heartbeat") and flags[:1] == [named]


def _on_record(home: Path) -> dict[str, bytes]:
    """tasks.json and journal of every team, without what healing and signs of life may touch."""
    found = {}
    for directory, _names, files in os.walk(home):
        for name in files:
            if name == "tasks.json" or name.startswith("journal"):
                path = os.path.join(directory, name)
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


def _by_grammar(random: Random) -> list[str]:
    command: Command = random.choice([c for c in COMMANDS if c.name != "demo"])
    argv = [part for param in random.sample(COMMON, random.choice((0, 0, 1, 2))) for part in _given(param, random)]
    tail: list[list[str]] = [[_value(param, random)] for param in words(command) if random.random() < 0.85]
    own = [p for p in options(command) if p.name not in ("wait", "timeout")]
    tail += [_given(param, random) for param in random.sample(own, min(len(own), random.choice((0, 1, 1, 2, 3))))]
    tail += [_given(p, random) for p in own if p.required and random.random() < 0.8]
    if command.name == "claim" and random.random() < 0.3:
        tail.append(["--wait", "--timeout", "0s"])
    random.shuffle(tail)
    argv += [command.name, *[part for each in tail for part in each]]
    if random.random() < 0.15:
        argv.insert(random.randrange(len(argv) + 1), random.choice(TEXTS))
    return argv


def _given(param: Param, random: Random) -> list[str]:
    flag = random.choice(param.flags)
    if param.kind == "flag":
        return [flag]
    value = _value(param, random)
    return [f"{flag}={value}"] if random.random() < 0.3 and flag.startswith("--") else [flag, value]


def _value(param: Param, random: Random) -> str:
    if random.random() < 0.3:
        return random.choice(TEXTS)
    fitting: dict[str, Any] = {
        "ID": ("1", "2", "3", "task-4", "5"), "AGENT": ("dev", "db", "anna", "zoe"), "TEAM": ("payments", "other"),
        "N": ("1", "2", "0"),
        "NAME": ("dev", "zoe", "api"), "0-4": ("0", "4", "5"), "TIME": ("15m", "2h", "x"), "K=V": ("a=1", "a",
        'a={"b":[1]}'),
        "N=TEXT": ("1=yes", "2=no", "x"), "FILE": ("-", "/dev/null", "/etc/hostname"), "STATE": ("ready", "blocked",
        "completed"),
        "KEY=VALUE": ("wip_limit=2", "lead=dev", "topology=hub"), "PERCENT": ("50", "101"), "PID": (str(os.getpid()),
        "1", "999999999"),
    }  # fmt: skip
    return random.choice(param.choices or fitting.get(param.metavar, ("x", "some text", "-", "y\nz")))


def _anyhow(random: Random) -> list[str]:
    pool = (
        *TEXTS,
        *[name for name in BY_NAME if name not in STEERED],
        *DRY_RUN.flags,
        *[f for p in COMMON for f in p.flags],
    )
    return [random.choice(pool) for _ in range(random.randint(0, 6))]
