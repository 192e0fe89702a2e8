"""Inputs that once broke something, or that are known to be bad: proofs/corpus/PART/NAME.json, tried again and again."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proofs.fuzz.bench import Bench

CORPUS = Path(__file__).parents[1] / "corpus"


def part(name: str, bench: Bench) -> Any:
    """The class of that name, capitalised, in the module of that name."""
    return getattr(import_module(f"proofs.fuzz.{name}"), name.capitalize())(bench)


def entries(parts: list[str] | None = None) -> list[Path]:
    return [path for path in sorted(CORPUS.glob("*/*.json")) if not parts or path.parent.name in parts]


def replay(bench: Bench, parts: list[str], only: str | None = None) -> None:
    """Every input of the corpus, or one that was kept elsewhere."""
    made: dict[str, Any] = {}
    for path in [Path(only)] if only else entries(parts):
        kept = json.loads(path.read_text())
        name = kept.get("part") or path.parent.name
        if name not in made:
            made[name] = part(name, bench)
        bench.origin = str(path)
        made[name].replay(kept["input"])
