"""Names of teams and agents, groups, capabilities and keys: refused by full match, or stored exactly; never a path."""

from __future__ import annotations

import json
import os
import re
from random import Random
from typing import TYPE_CHECKING, Any

from proofs.fuzz.bench import Violation
from proofs.fuzz.calls import Cli, Told

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from proofs.fuzz.bench import Bench, Clock, Input

_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?")
RESERVED = ("all", "lead", "human", "system", "nobody")
KNOWN = (
    "../x", "..", ".", "/", "a/b", "x\n", "\nx", "x\r", "x ", " x", "x\0", "\0", "", "CON", "con", "nul", "Payments",
    "pаyments",
    "ｐayments", "x٣", "x²", "ﬁx", "ı", "x\u200b", "x\u202e", "é", "e\u0301", "-x", "x-", "_x", "x_", "x.y", "~",
    "~root", "$HOME",
    "x" * 64, "x" * 65, "x" * 300, "x\ud800", "\udcff", "dev_2", "dev_", "dev_0", "dev_02", "dev_٣", "a_1b", "--json",
    "-q", "*", "x;y",
    "task-1", "tasks.json", "lock", "x\\y", "%2e%2e", *RESERVED, "lead\n", "all ", "0", "1", "x--y", "dev\t", "dev\x1b[31m",
)  # fmt: skip
PIECES = (
    "a",
    "z",
    "0",
    "9",
    "_",
    "-",
    "A",
    ".",
    "/",
    "..",
    "\n",
    " ",
    "\0",
    "é",
    "٣",
    "\u200d",
    "\U0001d41a",
    "\ud83d",
    "_1",
    "x" * 30,
    "'",
)
USES = ("team", "team_used", "agent", "agent_used", "as", "lead", "group", "need", "can", "key", "assign", "edited")


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def is_agent(text: str) -> bool:
    return is_name(text) and text not in RESERVED and re.fullmatch(r".+_[0-9]+", text) is None


class Names:
    name = "names"

    def __init__(self, bench: Bench) -> None:
        self.bench, self.stored, self.refused = bench, 0, 0
        self.uses: dict[str, Callable[[Cli, str], None]] = {use: getattr(self, f"_{use}") for use in USES}

    def run(self, clock: Clock, seed: int) -> str:
        number = 0
        known = [(use, name) for name in KNOWN for use in USES]
        random = Random(f"{seed}/names")
        random.shuffle(known)
        while clock or not number:
            use, name = known[number] if number < len(known) else (random.choice(USES), _random_name(random))
            self.replay({"use": use, "name": name})
            number += 1
        return f"{number:,} names, {self.stored:,} stored exactly, {self.refused:,} refused"

    def replay(self, data: Input) -> None:
        self.bench.trial(self.name, data, self.judge)

    def judge(self, data: Input) -> None:
        place = self.bench.place("names")
        (place / "canary").write_text("as it was")
        cli = Cli(place / "home")
        try:
            cli("init", "payments", "--lead", "anna").check()
            cli("create", "one").check()
            before = _tree(place)
            self.uses[data["use"]](cli, data["name"])
            self._check_tree(place, before, data["name"])
        finally:
            cli.close()

    def _check_tree(self, place: Path, before: dict[str, int], name: str) -> None:
        """Nothing new, or only what belongs to a team of exactly that name, or to an agent of it."""
        allowed = [r"home/(tasks|teamtasks)/(payments/[^/]+|other(/[^/]+)?)", r"state(/.*)?"]
        if is_name(name):
            allowed += [rf"home/(tasks|teamtasks)/{name}(/[^/]+)?"]
        for path in _tree(place).keys() - before.keys():
            if not any(re.fullmatch(pattern, path) for pattern in allowed):
                raise Violation(f"{path!r} was made")
            if (
                path.startswith("home/")
                and "/agent_" in path
                and not re.fullmatch(r".*/agent_[a-z0-9_-]+_[0-9]+\.json", path)
            ):
                raise Violation(f"{path!r} was made")
        if (place / "canary").read_text() != "as it was":
            raise Violation("a file outside the home was changed")

    def _expect(self, told: Told, good: bool, codes: tuple[int, ...] = (2,)) -> bool:
        """Whether it was accepted; a violation if that is wrong."""
        told.check()
        if good != (told.code == 0) or (not good and told.code not in codes):
            raise Violation(
                f"{told.words}: exit {told.code} for a name that is {'good' if good else 'bad'}: {told.err[:300]}"
            )
        self.stored, self.refused = self.stored + good, self.refused + (not good)
        return good

    def _team(self, cli: Cli, name: str) -> None:
        good = is_name(name) and name not in RESERVED and name != "payments"
        if self._expect(cli("--json", "init", "--", name), good, (1, 2)):
            teams = json.loads(cli("teams", "--json").check().out)["teams"]
            if name not in [team["name"] for team in teams]:
                raise Violation(f"the team {name!r} was made, but is not there")

    def _team_used(self, cli: Cli, name: str) -> None:
        told = cli("-t", name, "create", "x").check()
        if name != "payments" and name and told.code not in (2, 3):
            raise Violation(f"{told.words}: exit {told.code} for a team that is not there")

    def _agent(self, cli: Cli, name: str) -> None:
        good = is_agent(name)
        if self._expect(cli("join", "--", name), good) and name not in self._document(cli)["agents"]:
            raise Violation(f"{name!r} joined, but is not there")

    def _agent_used(self, cli: Cli, name: str) -> None:
        told = cli(f"--as={name}", "heartbeat", "--doing", "x").check()
        if name != "anna" and told.code not in (2, 3):
            raise Violation(f"{told.words}: exit {told.code} for an agent that is not there")

    def _as(self, cli: Cli, name: str) -> None:
        """Claiming joins, so the name becomes an agent's; the first incarnation may be named."""
        first = re.fullmatch(r"(.+)_([0-9]+)", name)
        good = is_agent(name) or bool(first and is_agent(first[1]) and int(first[2]) == 1)
        if name and self._expect(cli(f"--as={name}", "claim"), good, (2, 3)):
            agent = first[1] if first and not is_agent(name) else name
            if self._document(cli)["tasks"][0]["assignee"] != agent:
                raise Violation(f"{name!r} claimed, but does not hold it")

    def _lead(self, cli: Cli, name: str) -> None:
        self._expect(cli("init", "other", f"--lead={name}"), is_agent(name))

    def _group(self, cli: Cli, name: str) -> None:
        if self._expect(cli("create", "two", f"--group={name}"), is_name(name)):
            self._check_stored(cli, "group", name)

    def _need(self, cli: Cli, name: str) -> None:
        if self._expect(cli("create", "two", f"--needs={name}"), is_name(name)):
            self._check_stored(cli, "needs", [name])

    def _can(self, cli: Cli, name: str) -> None:
        good = self._expect(cli("join", "dev", f"--can={name}"), is_name(name))
        if good and self._document(cli)["agents"]["dev"]["capabilities"] != [name]:
            raise Violation(f"the capability {name!r} was not stored as it is")

    def _key(self, cli: Cli, name: str) -> None:
        """A key is any text."""
        told = cli("create", "two", f"--key={name}").check()
        if told.code not in (0, 2):
            raise Violation(f"{told.words}: exit {told.code}")
        if told.code == 0:
            self._check_stored(cli, "key", name)
            again = json.loads(cli("--json", "create", "two", f"--key={name}").check().out)
            if again["created"]:
                raise Violation(f"the key {name!r} made a second task")

    def _assign(self, cli: Cli, name: str) -> None:
        told = cli("assign", "1", "--", name).check()
        if told.code not in (2, 3) and name != "anna":
            raise Violation(f"{told.words}: exit {told.code} for an agent that is not there")

    def _edited(self, cli: Cli, name: str) -> None:
        """The same names, written into tasks.json by hand."""
        path = cli.home / "tasks" / "payments" / "tasks.json"
        document = self._document(cli)
        document["agents"][name] = {}
        document["tasks"][0]["assignee"] = name
        path.write_text(json.dumps(document))
        os.utime(path, (1, 1))
        good = is_agent(name)
        if self._expect(cli("create", "two"), good, (8,)) and name not in self._document(cli)["agents"]:
            raise Violation(f"{name!r} was taken over, but is not there")

    def _check_stored(self, cli: Cli, field: str, value: Any) -> None:
        if self._document(cli)["tasks"][-1].get(field) != value:
            raise Violation(f"{field} {value!r} was not stored as it is")

    def _document(self, cli: Cli) -> dict[str, Any]:
        return json.loads((cli.home / "tasks" / "payments" / "tasks.json").read_bytes())


def _random_name(random: Random) -> str:
    if random.random() < 0.3:
        return "".join(chr(random.randrange(0x110000)) for _ in range(random.randint(1, 5)))
    return "".join(random.choice(PIECES) for _ in range(random.randint(1, 6)))


def _tree(place: Path) -> dict[str, int]:
    found = {}
    for directory, names, files in os.walk(place):
        for name in (*names, *files):
            path = os.path.join(directory, name)
            found[os.path.relpath(path, place)] = os.lstat(path).st_mode
    return found
