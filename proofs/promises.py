"""What must hold after anything that can happen to a command: the old ledger or the new one, whole, ready for the next."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofs.ledgers import TEAMTASKS, Ledger
from proofs.scenes import BY_HAND, environ
from teamtasks.app.teams import new_team
from teamtasks.domain.errors import TeamNotFound
from teamtasks.store.base import KINDS
from teamtasks.store.files import journal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.scenes import Scene

Essence = dict[str, Any] | None

SOON = 1.0  # seconds within which the next command has done its work
EDITED = ("edited", "raced")
AFTER = "after everything"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_OURS = re.compile(r"tasks\.json|\.tasks\.json\.prev|agent_[a-z]+_\d+\.json|lock|journal(-\d+)?\.jsonl|messages\.jsonl")


class Broken(Exception):
    """A promise was not kept."""


def essence(ledger: Ledger) -> Essence:
    """All that the ledger says, with times that stand still; None if there is none. A turn with the lock heals it first."""

    def read(tx: Any) -> dict[str, Any]:
        found = {kind: dict(tx.all(kind)) for kind in KINDS}
        found["team"]["payments"].pop("ballast", None)
        return found

    try:
        store = ledger.store()
        documents, _revision = store.transact(read, by="human")
        return _still({**documents, "messages": store.tail("messages", 0)[0]})
    except TeamNotFound:
        return None


def seen(ledger: Ledger) -> Essence:
    """The same as a reader sees it, who takes no lock where that is possible."""
    try:
        view = ledger.store().read()
        found = {kind: dict(view.all(kind)) for kind in KINDS}
        found["team"]["payments"].pop("ballast", None)
        return _still(found)
    except TeamNotFound:
        return None


def _still(found: dict[str, Any]) -> dict[str, Any]:
    """Documents whose times, and ids of messages, are the same in every run."""
    text = _TIME.sub("then", json.dumps(found, sort_keys=True))
    return json.loads(re.sub(r'"msg-\d+-', '"msg-', text))  # type: ignore[no-any-return]


def keep(scene: Scene, ledger: Ledger, before: Essence, old: Essence, new: Essence, allowed: tuple[Essence, ...]) -> None:
    """Raises ``Broken`` unless the ledger is one of ``allowed``, and the next command finds nothing strange.

    ``before`` is what a reader saw before the command: an edit that raced with a commit is not yet in it.
    """
    _whole(ledger)
    view = seen(ledger)
    if view not in [before, _without_messages(old), _without_messages(new)]:
        raise Broken(f"a reader sees what never was: {difference(view, _without_messages(new))}")
    began = time.monotonic()
    _follow_up(ledger, gone=view is None)
    took = time.monotonic() - began
    now = essence(ledger)
    found = _without_the_follow_up(now)
    if found not in [_as_after(each) for each in allowed]:
        which = "old" if found in [_as_after(old)] else "new" if found in [_as_after(new)] else "neither"
        raise Broken(f"the ledger is {which}: {difference(found, _as_after(allowed[-1]))}")
    _in_order(scene, ledger)
    if took > SOON:
        raise Slow(f"the next command took {took:.1f} s")


def _whole(ledger: Ledger) -> None:
    """Any program that reads tasks.json, at any moment, finds a whole one, or none."""
    if ledger.tasks.exists():
        try:
            json.loads(ledger.tasks.read_bytes())
        except ValueError as error:
            raise Broken(f"tasks.json is not whole: {error}") from error


class Slow(Broken):
    """Perhaps only because the machine is busy: look again."""


def _follow_up(ledger: Ledger, *, gone: bool) -> None:
    """The next real command, as the next user gives it."""
    for words in [["init", "payments"]] * gone + [["create", AFTER]]:
        done = subprocess.run(
            [TEAMTASKS, *words], env=environ(ledger.home), capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode != 0:
            raise Broken(f"the next command ({words[0]}) exits with {done.returncode}: {done.stderr.strip()}")


def _without_the_follow_up(found: Essence) -> Essence:
    assert found is not None
    tasks = {id: task for id, task in found["task"].items() if task["title"] != AFTER}
    if len(tasks) != len(found["task"]) - 1:
        raise Broken("the task that the next command created is not there, or more than once")
    return {**found, "task": tasks}


def _as_after(found: Essence) -> Essence:
    """What is left to compare with once the next command was there: an empty team, where there was none."""
    if found is not None:
        return found
    return {"team": {"payments": new_team(now="then")}, "agent": {}, "key": {}, "task": {}, "messages": []}


def _without_messages(found: Essence) -> Essence:
    return None if found is None else {kind: found[kind] for kind in KINDS}


def difference(found: Any, expected: Any, path: str = "") -> str:
    """Where two documents part, in one line."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in sorted({*found, *expected}):
            if found.get(key) != expected.get(key):
                return difference(found.get(key), expected.get(key), f"{path}/{key}")
    return f"{path or '/'} is {str(found)[:200]}, not {str(expected)[:200]}"


def _in_order(scene: Scene, ledger: Ledger) -> None:
    try:
        ledger.assert_in_order()
    except AssertionError as error:
        raise Broken(f"not in order: {error}") from error
    _tidy_agents(ledger)
    findings = [each for each in ledger.store().check(fix=False) if each["severity"] != "info"]
    if findings:
        raise Broken(f"doctor finds {findings}")
    for path in (*_below(ledger.public), *_below(ledger.private)):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode != (0o700 if path.is_dir() else 0o600):
            raise Broken(f"{path.name} has mode {mode:o}")
        if path.name == "quarantine" and scene.state in (*EDITED, "first use"):  # a person's file, kept until it was safe
            continue
        if path.parent in (ledger.public, ledger.private) and not _OURS.fullmatch(path.name):
            raise Broken(f"{path.name} is left over")
        if path.name.startswith("agent_"):
            json.loads(path.read_bytes())
    _on_record(scene, ledger)


def _tidy_agents(ledger: Ledger) -> None:
    """A sign of life that was cut short stays beside its agent's file until that agent's next one, which takes its place."""
    for path in ledger.public.glob(".agent_*.json.new"):
        agent = path.name.removeprefix(".agent_").removesuffix(".json.new")
        subprocess.run([TEAMTASKS, "--as", agent, "heartbeat"], env=environ(ledger.home), capture_output=True, check=False)


def _below(place: Path) -> Iterator[Path]:
    yield place
    yield from (Path(root) / name for root, dirs, files in os.walk(place) for name in (*dirs, *files))


def history(ledger: Ledger) -> list[dict[str, Any]]:
    """Every line of every segment, oldest first. Raises ``Broken`` unless each revision follows the one before."""
    private = os.open(ledger.private, os.O_RDONLY)
    try:
        lines = [line for segment in reversed(list(journal.history(private))) for line in segment]
    finally:
        os.close(private)
    revisions = [line["rev"] for line in lines if not line.get("snapshot") or line is lines[0]]
    if revisions != list(range(revisions[0], revisions[0] + len(revisions))):
        raise Broken(f"revisions are not contiguous: {revisions}")
    return lines


def _on_record(scene: Scene, ledger: Ledger) -> None:
    """What was committed is on record as itself: not as somebody's edit, unless somebody edited."""
    lines = history(ledger)
    events = [event["event"] for line in lines for event in line["events"]]
    edits = events.count("edited_outside")
    if edits > (scene.state in EDITED) or "republished" in events or events.count("adopted") > (scene.state == "first use"):
        raise Broken(f"the history tells of what nobody did: {events}")
    titles = [task["title"] for task in ledger.document()["tasks"]]
    if titles and len(titles) > 2 and (BY_HAND in titles) != (scene.state in EDITED):
        raise Broken("the edit by hand is not there")
