"""What must hold when the power is back: the next commands find the old ledger or the new one, and go on from there."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from proofs.promises import EDITED, SOON, Broken, Essence, difference, essence, history, seen
from proofs.scenes import BY_HAND, Scene
from teamtasks.app.teams import new_team
from teamtasks.store.base import KINDS
from teamtasks.store.files import disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proofs.ledgers import Ledger
    from teamtasks.store.base import Tx

HOUR = 3600.0


_slept = [0.0]  # seconds that were spent asleep


@contextmanager
def next_boot() -> Iterator[None]:
    """The machine was started again, an hour later. Nobody really sleeps."""
    now, sleep, boot_id = time.time, time.sleep, disk.boot_id
    time.time = lambda: now() + HOUR
    time.sleep = _sleep
    disk.boot_id = lambda: "after the power came back"
    try:
        yield
    finally:
        time.time, time.sleep, disk.boot_id = now, sleep, boot_id


def _sleep(seconds: float) -> None:
    _slept[0] += seconds


def _spent() -> float:
    """Seconds of work and sleep: what a command takes on a machine that has nothing else to do."""
    return time.process_time() + _slept[0]


def judge(scene: Scene, ledger: Ledger, old: Essence, allowed: Sequence[Essence]) -> tuple[Essence, Essence]:
    """Raises ``Broken`` unless the next commands find one of ``allowed`` and can go on from there.

    Returns what they found, and what a reader saw before them (who may not know yet of an edit that is not merged).
    """
    _whole(ledger)
    began = _spent()
    view = seen(ledger)
    took = _spent() - began
    found = essence(ledger)
    _whole(ledger)
    if found not in allowed:
        raise Broken(f"not what may be there: {difference(found, allowed[-1])}")
    was = found
    if found is None:
        ledger.store().create(new_team(now="2026-01-01T00:00:00Z"), by="human")
        found = essence(ledger)
    ledger.store().transact(_after, by="human")
    expected = json.loads(json.dumps(found))
    expected["team"]["payments"]["after"] = True
    expected["messages"].append({"id": "msg-1", "text": "after"})
    if (now := essence(ledger)) != expected:
        raise Broken(f"one more commit, and {difference(now, expected)}")
    ledger.assert_in_order()
    _whole(ledger)
    _on_record(scene, ledger, was, adopts=scene.state == "first use" and old is not None)
    if took > SOON:
        raise Broken(f"the next command took {took:.1f} s")
    return was, view


def documents(found: Essence) -> Essence:
    return None if found is None else {kind: found[kind] for kind in KINDS}


def healthy(ledger: Ledger) -> None:
    findings = [each for each in ledger.store().check(fix=False) if each["severity"] != "info"]
    if findings:
        raise Broken(f"doctor finds {findings}")


def _after(tx: Tx) -> None:
    tx.put("team", "payments", {**tx.get("team", "payments"), "after": True})
    tx.append("messages", {"id": tx.next_id("message"), "text": "after"})


def _on_record(scene: Scene, ledger: Ledger, found: Essence, *, adopts: bool) -> None:
    """Revisions without gaps, nothing that nobody did, and what was edited by hand is somewhere."""
    lines = history(ledger)
    if lines[0]["rev"] != 1 and not adopts:
        raise Broken(f"the history begins with revision {lines[0]['rev']}: what came before is lost")
    events = [event["event"] for line in lines for event in line["events"]]
    if events.count("edited_outside") > (scene.state in EDITED) or events.count("adopted") > adopts:
        raise Broken(f"the history tells of what nobody did: {events}")
    titles = ledger.titles().values()
    kept = BY_HAND in titles or any(BY_HAND.encode() in data for data in ledger.quarantined())
    if found is not None and scene.state in EDITED and not kept:
        raise Broken("the edit by hand is not there")


def _whole(ledger: Ledger) -> None:
    if ledger.tasks.exists() and not is_json(ledger.tasks.read_bytes()):
        raise Broken("tasks.json is not whole")


def is_json(data: bytes) -> bool:
    try:
        found: Any = json.loads(data)
    except ValueError:
        return False
    return isinstance(found, dict)
