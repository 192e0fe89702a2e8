"""The stores that the suites run over: a new ledger of a team called payments, in each of them."""

from __future__ import annotations

import importlib.util
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostile_store import HostileStore

from teamtasks.app.teams import new_team
from teamtasks.domain.agents import Actor
from teamtasks.store.files.store import FileStore
from teamtasks.store.memory import MemoryStore
from teamtasks.team import Team

if TYPE_CHECKING:
    from collections.abc import Iterator

TEAM = "payments"
STORES = ("memory", "files", "hostile")


def team_document(**changes: Any) -> Any:
    return {**new_team(now="2026-03-29T10:00:00Z"), **changes}


def new_store(kind: str, place: Path) -> Any:
    if kind == "memory":
        return MemoryStore(TEAM, team_document())
    if kind == "hostile":
        return HostileStore(MemoryStore(TEAM, team_document()))
    store = FileStore(str(place / "home"), TEAM)
    store.create(team_document(), by="human")
    return store


def validator(reference: str) -> Any:
    """As in ``tests/conftest.py``, found by its place: other directories have a conftest too, and one takes the name."""
    spec = importlib.util.spec_from_file_location("shared_conftest", Path(__file__).parent.parent / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    shared = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shared)
    return shared.validator(reference)


@contextmanager
def quick_place() -> Iterator[Path]:
    """Where syncing costs nothing, if there is such a place: what survives a crash is tested elsewhere."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        yield Path(place)


class Ledger:
    """A store with the people around it: ``ledger.human.create("x")``, ``ledger.agent("backend").claim()``."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.human = Team(store, Actor("human"))

    def agent(self, name: str) -> Team:
        return self.human.as_(name)

    def task(self, title: str = "Some work", **more: Any) -> str:
        """A new task; its id."""
        return self.human.create(title, **more)["task"]["id"]

    def get(self, id: str) -> Any:
        return self.store.read().get("task", id)

    def holds(self, name: str) -> list[str]:
        return self.store.read().get("agent", name)["holds"]

    def settle(self) -> None:
        """From here on scans see everything that has been committed until now. (They may be old: one store's always are.)"""
        if isinstance(self.store, HostileStore):
            self.store.catch_up()

    def everything(self) -> tuple[int, dict[str, Any]]:
        """The revision and every document: what must be the same before and after a refusal."""
        view = self.store.read()
        return view.revision, {kind: view.all(kind) for kind in ("team", "agent", "key", "task")}
