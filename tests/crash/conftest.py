"""For the tests that break things: the team's files, and a team with something in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import teamtasks
from proofs.ledgers import Ledger

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ledger(home: Path) -> Ledger:
    return Ledger(home)


@pytest.fixture
def pair(ledger: Ledger) -> Ledger:
    """Two tasks, "one" and "two", at revision 3."""
    team = teamtasks.open("payments", home=str(ledger.home), create=True)
    team.create("one")
    team.create("two")
    return ledger
