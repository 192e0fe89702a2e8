"""A team in the middle of its story: something done, failed, late, held, reserved, blocked and out of reach."""

# ruff: noqa: E501  (a line a command)

from __future__ import annotations

import json
import shlex
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

from e2e.world import cli_at
from teamtasks.domain.times import iso

if TYPE_CHECKING:
    from pathlib import Path

STORY = """
init payments --lead anna
create 'Database schema' --accept 'migrates up and down' --estimate 10m
create 'Payment API' --after 1 --accept 'POST /pay answers 201' --accept 'never charges twice' --priority 1 --group api --size large -d -
create 'Billing page' --estimate 20m --needs react
create 'Integration tests' --after 2 --after 3
create 'Release notes' --after 4 --size small --meta url=https://example.org --meta words=300
create 'A title that goes on and on, because somebody put everything there is to know about this task into one line' --after 2 --priority 4
join db --can sql --model small-1
join backend --can python
create 'Documentation' --assign backend --needs python
create 'Fuzzing' --needs rust --key fuzz
--as db claim 1
--as db complete 1 --result 'payments(id, amount, state) in migrations/001.sql' --evidence 1='both directions in CI'
--as backend claim 2
--as backend fail 2 --reason '401 to every request' --tried 'key in the header' --tried 'bearer token' --output -
--as anna assign 2 db --note 'the sandbox wants the key as a query parameter'
--as db claim
"""
LATE = "--as backend complete 2 --attempt 1 --result 'found it: the key had expired'"
INPUT = {"create": "Talk to ChargeB.\n\nIts docs:\n  example.org/pay", "--as": "POST /pay\nHTTP 401 Unauthorized\n"}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: builds and installs; takes seconds")


@pytest.fixture(scope="session")
def told_once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("story") / "home"
    cli = cli_at(home, request)
    for line in STORY.strip().splitlines():
        words = shlex.split(line)
        cli(*words, stdin=INPUT.get(words[0]) if words[-1] == "-" else None)
    cli(*shlex.split(LATE), code=4)
    return home


@pytest.fixture
def story(told_once: Path, cli: Any) -> Any:
    """A copy of the story for each test."""
    shutil.copytree(told_once, cli.home)
    return cli


@pytest.fixture
def later(story: Any, public: Path, private: Path) -> Any:
    """The story some minutes later: the ledger begins again from a tasks.json and agents' files whose times lie in the past."""

    def ago(minutes: float) -> str:
        return iso(time.time() - 60 * minutes)

    document = json.loads((public / "tasks.json").read_text())
    for task in document["tasks"]:
        task["created_at"] = ago(30.5)
        for ended in (*task.get("failures", ()), *task.get("notes", ()), *task.get("late_results", ())):
            ended["at"] = ago(9.5)
        if task["status"] == "completed":
            task["completed_at"] = ago(20.5)
        if task["status"] == "in_progress":
            task["claim"]["at"] = ago(8.5)
            task["estimate"] = 15
    for path in public.glob("agent_*.json"):
        pulse = json.loads(path.read_text())
        pulse.update(last_beat=ago(3.5), last_action=ago(3.5), clock={"boot": "another", "monotonic": 0.0})
        path.write_text(json.dumps(pulse))
    shutil.rmtree(private)
    (public / "tasks.json").write_text(json.dumps(document))
    story("list")
    return story
