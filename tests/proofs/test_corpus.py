"""Every input that once broke something, and those that are known to be bad, tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from proofs.fuzz import corpus
from proofs.fuzz.bench import Bench

if TYPE_CHECKING:
    from pathlib import Path


def test_there_is_a_corpus_for_every_part():
    assert {path.parent.name for path in corpus.entries()} == {"files", "edits", "names", "texts", "argv"}


@pytest.mark.parametrize("path", corpus.entries(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_input_that_once_broke_something_is_harmless(path: Path):
    bench = Bench(seed=0)
    try:
        corpus.replay(bench, [], str(path))
        assert bench.violations == 0
    finally:
        bench.violations = 0  # what is kept by name need not be kept again
        bench.close()
