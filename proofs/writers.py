"""Processes that work on one team at random and write down what they ask for and what they are told.

A history is one file for each process: a line before each call and a line after it, so that a call whose process was killed
stands there without an answer. A writer that takes the place of a killed one repeats what that one did not hear about.
"""

from __future__ import annotations

import json
import os
import subprocess
from time import monotonic
from typing import TYPE_CHECKING, Any

from proofs.ledgers import TEAMTASKS
from proofs.linear import EVENTS, Op
from proofs.onetask import HUMAN, seen
from teamtasks import TeamtasksError
from teamtasks.domain.agents import Actor
from teamtasks.store.files.store import FileStore
from teamtasks.team import Team

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Call = Callable[[str, str, str, dict[str, Any]], dict[str, Any]]

TEAM = "payments"
LOOKED_AT = 3  # tasks of a list that are compared
SAFE_TO_REPEAT = ("create", "complete", "fail", "release")
WEIGHTS = {
    "show": 28, "list": 2, "create": 3, "claim": 18, "claim one": 12, "complete": 6, "complete late": 6, "fail": 4,
    "release": 4, "note": 9, "assign": 6, "depend": 4, "force": 1,
}  # fmt: skip
IN_A_STORM = {**WEIGHTS, "create": 15}  # what must not happen twice is what is killed most often


class Killed(Exception):
    """The command was killed: whether it happened is not known."""


def through_api(home: Path, lock_timeout: float) -> Call:
    """Calls in this very process."""
    store = FileStore(str(home), TEAM, lock_timeout=lock_timeout)

    def call(by: str, kind: str, task: str, args: dict[str, Any]) -> dict[str, Any]:
        team = Team(store, Actor(by))
        words = dict(args)
        text = words.pop("text", "")
        if kind == "create":
            return team.create(text, dependencies=words.get("on", ()), key=words.get("key"))
        if kind == "claim":
            return team.claim(task or None, **words)
        if kind == "list":
            return team.list()
        if kind == "note":
            return team.note(task, text, **words)
        named = {"complete": "result", "fail": "reason", "release": "reason", "assign": "note"}.get(kind)
        return getattr(team, kind)(task, **words, **({named: text} if named else {}))

    return call


def through_commands(home: Path, lock_timeout: float) -> Call:
    """Each call is the real command, in a process of its own."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TEAMTASKS_", "CLAUDE"))}
    own = {"TEAMTASKS_HOME": str(home), "TEAMTASKS_LOCK_TIMEOUT": str(lock_timeout), "XDG_STATE_HOME": str(home / "state")}

    def call(by: str, kind: str, task: str, args: dict[str, Any]) -> dict[str, Any]:
        words = [TEAMTASKS, kind, *_words(kind, task, args), "--json", *(() if by == HUMAN else ("--as", by))]
        done = subprocess.run(words, env={**clean, **own}, capture_output=True, text=True, check=False)
        if done.returncode < 0:
            raise Killed
        answer = json.loads(done.stdout) if done.stdout else {}
        if "error" in answer:
            error = TeamtasksError(answer["error"]["message"])
            error.code = answer["error"]["code"]
            raise error
        if done.returncode:
            raise RuntimeError(f"exit {done.returncode}: {done.stderr}")
        return answer

    return call


def _words(kind: str, task: str, args: dict[str, Any]) -> Iterator[str]:
    """The arguments as a shell would give them."""
    text = {"create": "", "note": "", "complete": "--result", "assign": "--note"}.get(kind, "--reason")
    if task:
        yield task
    for name, value in args.items():
        if name == "text":
            yield from (text, value) if text else (value,)
        elif name == "to":
            yield value or "--nobody"
        elif name in ("on", "off"):
            for id in value:
                yield from ("--after" if kind == "create" else f"--{name}", id)
        elif value is True:
            yield f"--{name}"
        elif value not in (None, False):
            yield from (f"--{name}", str(value))


class Writer:
    """One agent at random work. ``others`` are the agents to whom a person may give its task."""

    def __init__(
        self, path: Path, agent: str, others: list[str], call: Call, chance: random.Random, weights: dict[str, int] = WEIGHTS
    ) -> None:
        self._plans, self._weights = list(weights), list(weights.values())
        self.path, self.agent, self.others, self.call, self.chance = path, agent, others, call, chance
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._number = 0
        self._newest = 1
        self._held: list[tuple[str, int]] = []
        self._past: list[tuple[str, int]] = []
        self._given_back: list[str] = []

    def work(self) -> None:
        """One operation, whichever comes to mind."""
        self.do(*self._planned(self.chance.choices(self._plans, self._weights)[0]))

    def repeat(self, history: Path) -> None:
        """What a killed writer asked for last and was not told about, as far as it may be asked for again."""
        last = list(load(history))[-1:] if history.exists() else []
        for op in last:
            if op.verdict is None and op.kind in SAFE_TO_REPEAT and ("key" in op.args or op.kind != "create"):
                self.do(op.by, op.kind, op.task, op.args)

    def do(self, by: str, kind: str, task: str, args: dict[str, Any]) -> None:
        self._number += 1
        self._write({"n": self._number, "at": monotonic(), "by": by, "kind": kind, "task": task, "args": args})
        try:
            answer = self.call(by, kind, task, args)
        except Killed:
            if kind in SAFE_TO_REPEAT and ("key" in args or kind != "create"):
                self.do(by, kind, task, args)
            return
        except TeamtasksError as error:
            self._told({"verdict": error.code, "text": str(error)})
            return
        except Exception as error:
            self._told({"verdict": f"{type(error).__name__}: {error}"})
            return
        self._told(self._answered(kind, answer))

    def _answered(self, kind: str, answer: dict[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = {"verdict": "ok", "revision": answer["revision"]}
        if answer.get("again") or answer.get("repeated") or answer.get("created") is False:
            told["verdict"] = "again"
        shown = answer.get("tasks") or [answer["task"]]
        self._newest = max(self._newest, *(int(task["id"][5:]) for task in shown))
        if kind == "claim":
            self._held.append((answer["task"]["id"], answer["attempt"]))
        chosen = self.chance.sample(shown, min(LOOKED_AT, len(shown)))
        told["tasks"] = {task["id"]: [seen(task), task.get("blocked_by")] for task in chosen}
        return told

    def _told(self, answer: dict[str, Any]) -> None:
        self._write({"n": self._number, "told": monotonic(), **answer})

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._fd, json.dumps(line).encode() + b"\n")

    def _planned(self, plan: str) -> tuple[str, str, str, dict[str, Any]]:
        """Who asks for what: agents for their own work, the human for what only a lead may do."""
        text, chance = f"{self.path.stem}-{self._number + 1}", self.chance
        kind = plan.split(maxsplit=1)[0]
        if kind == "create":
            key = {"key": text} if chance.random() < 0.8 else {}
            return self.agent, kind, "", {"text": text, "on": self._older(self._newest + 1), **key}
        if plan == "claim":
            return self.agent, kind, "", {"another": chance.random() < 0.5}
        task = self._some_task()
        if plan == "claim one":
            again = bool(self._given_back) and chance.random() < 0.7  # so that an agent may be late against itself
            return self.agent, "claim", chance.choice(self._given_back[-3:]) if again else task, {"another": again}
        if kind in ("complete", "fail", "release"):
            return self.agent, kind, *self._my_attempt(plan, text)
        if kind == "note":
            return (self.agent if chance.random() < 0.7 else HUMAN), kind, task, {"text": text}
        if kind == "assign":
            to = chance.choice([*self.others, None])
            return HUMAN, kind, task, {"to": to, "text": text, "force": chance.random() < 0.8}
        if kind == "depend":
            on = self._older(int(task[5:]))
            return self.agent, kind, task, {"on": on} if on else {"off": ["task-1"]}
        if kind == "force":
            return HUMAN, "complete", task, {"text": text, "force": True}
        return HUMAN, kind, "" if kind == "list" else task, {}

    def _my_attempt(self, plan: str, text: str) -> tuple[str, dict[str, Any]]:
        """What this agent was given and has not ended, as far as it knows; or, to be late, what it had before."""
        if plan == "complete late" and self._past:
            mine = [id for id, _attempt in self._held]
            again = [past for past in self._past if past[0] in mine]
            task, attempt = self.chance.choice(again or self._past[-20:])
        elif self._held:
            task, attempt = self._held.pop(self.chance.randrange(len(self._held)))
            self._past.append((task, attempt))
            if not plan.startswith("complete"):
                self._given_back.append(task)
        else:
            task, attempt = self._some_task(), 1
        return task, {"text": text, "attempt": attempt}

    def _older(self, than: int) -> list[str]:
        """Something that an earlier task waits for would be a cycle, so only earlier tasks are waited for."""
        if than <= 1 or self.chance.random() < 0.5:
            return []
        return [f"task-{self.chance.randrange(max(1, than - 30), than)}"]

    def _some_task(self) -> str:
        """Mostly one of the newest, where the others are at work too."""
        reach = 12 if self.chance.random() < 0.8 else self._newest
        return f"task-{self.chance.randint(max(1, self._newest - reach + 1), self._newest)}"


def load(path: Path) -> Iterator[Op]:
    """The operations of a history. What shows several tasks comes once for each of them."""
    asked: Op | None = None
    for text in path.read_bytes().splitlines():
        try:
            line = json.loads(text)
        except ValueError:  # killed while it wrote: that call was not made, or its answer not read
            continue
        if "at" in line:
            if asked is not None:
                yield asked
            kind = "show" if line["kind"] == "list" else line["kind"]
            name = f"{path.stem}#{line['n']}"
            asked = Op(line["by"], kind, line["task"], line["at"], args=line["args"], name=name)
        elif asked is not None:
            yield from _with_answer(asked, line)
            asked = None
    if asked is not None:
        yield asked


def _with_answer(op: Op, line: dict[str, Any]) -> Iterator[Op]:
    op.answered, op.verdict, op.revision = line["told"], line["verdict"], line.get("revision")
    if not line.get("tasks"):
        yield op
    for task, (shown, waits) in line.get("tasks", {}).items():
        yield Op(
            op.by, op.kind, task, op.invoked, op.answered, op.verdict, op.revision, shown, waits, op.args, op.name
        )  # fmt: skip


def is_change(op: Op) -> bool:
    return op.kind in EVENTS and op.verdict == "ok"
