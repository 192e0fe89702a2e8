"""Documents for tests: small builders with sensible defaults, and strategies that draw whatever the schemas allow."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from teamtasks.store import validate
from teamtasks.store.files.tasksfile import in_order

Document = dict[str, Any]

NOW = "2026-03-29T10:00:00Z"
BEFORE = "2026-03-29T09:52:00Z"  # 8 minutes earlier

_PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)  # explaining a failure takes minutes
_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)  # a busy machine is no failure
PROPERTY = settings(max_examples=100, deadline=None, phases=_PHASES, suppress_health_check=_SLOW)
HEAVY = settings(PROPERTY, max_examples=50)  # for what draws whole documents
KINDS = ("team", "agent", "key", "task", "pulse")

TRAPS = (
    ',"title":',
    '","title":"',
    '","description":',
    ',"description":"x"',
    '\n{"id":"task-1",',
    ',\n"tasks":[\n',
    '"status":"completed"',
    "\n},\n",
    "]}\n",
    "\\",
    '"',
    "é",
    "日本",
    "😀",
    "\u2028",
    "\x00",
)
"""Texts that a careless splice would take for structure."""


def task(number: int = 1, **fields: Any) -> Document:
    """A pending task with everything that is required."""
    plain = {
        "id": f"task-{number}",
        "status": "pending",
        "assignee": None,
        "priority": 2,
        "dependencies": [],
        "title": f"Title {number}",
        "attempts": 0,
        "description": "",
        "acceptance_criteria": [],
        "created_at": BEFORE,
        "created_by": "boss",
        "completed_at": None,
    }
    return in_order({**plain, **fields})


def held(number: int = 1, by: str = "backend", attempt: int = 1, incarnation: int = 1, **fields: Any) -> Document:
    """A task in somebody's hands since eight minutes ago."""
    claim = {"incarnation": incarnation, "attempt": attempt, "at": BEFORE}
    return task(number, **{"status": "in_progress", "assignee": by, "attempts": attempt, "claim": claim, **fields})


def done(number: int = 1, by: str = "backend", attempt: int = 1, **fields: Any) -> Document:
    ended = {"status": "completed", "assignee": by, "attempts": attempt, "completed_at": BEFORE, "completed_by": by}
    return task(number, **{**ended, **fields})


def failure(attempt: int = 1, agent: str = "backend", kind: str = "failed", **fields: Any) -> Document:
    plain = {"attempt": attempt, "agent": agent, "incarnation": 1, "kind": kind, "at": BEFORE, "claimed_at": BEFORE}
    return {**plain, "reason": "it broke", **fields}


def late_result(attempt: int = 1, agent: str = "backend", **fields: Any) -> Document:
    return {"attempt": attempt, "agent": agent, "at": BEFORE, "outcome": "completed", "text": "it works", **fields}


def agent(**fields: Any) -> Document:
    return {"role": "teammate", "capabilities": [], "incarnation": 1, "joined_at": BEFORE, "holds": [], **fields}


def pulse(**fields: Any) -> Document:
    clock = {"boot": "b", "monotonic": 1.5}
    plain = {"format": 1, "agent": "backend", "incarnation": 1, "started_at": BEFORE, "last_beat": BEFORE}
    return {**plain, "last_action": BEFORE, "clock": clock, **fields}


def by_id(*tasks: Document) -> dict[str, Document]:
    return {each["id"]: each for each in tasks}


NAMES = st.from_regex(r"[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?", fullmatch=True)
AGENT_NAMES = st.sampled_from(["backend", "db", "docs", "a", "x9", "q-a", "a_b"])
TASK_IDS = st.integers(1, 12).map("task-{}".format)
TIMES = st.datetimes().map(lambda t: t.replace(microsecond=0).isoformat() + "Z")
TEXTS = st.lists(st.sampled_from(TRAPS) | st.text(max_size=6), max_size=4).map("".join)

_BY_MATCHER = {"is_name": NAMES, "is_agent_name": AGENT_NAMES, "is_task_id": TASK_IDS, "is_iso": TIMES}


def valid(kind: str) -> st.SearchStrategy[Any]:
    """Any document that the schema of this kind allows, fields that it does not list among them."""
    return _valid(validate.load(kind), validate.load(kind))


def _valid(schema: Document, root: Document) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _valid(root["definitions"][schema["$ref"].rpartition("/")[2]], root)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if isinstance(schema["type"], list):
        return st.one_of([_valid({**schema, "type": each}, root) for each in schema["type"]])
    return {
        "object": _valid_object,
        "array": _valid_list,
        "string": _valid_text,
        "integer": lambda s, _: st.integers(s.get("minimum", 0), s.get("maximum", 1_000_000)),
        "number": lambda s, _: st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        "null": lambda s, _: st.none(),
    }[schema["type"]](schema, root)


def _valid_object(schema: Document, root: Document) -> st.SearchStrategy[Any]:
    fields = {name: _valid(inner, root) for name, inner in schema.get("properties", {}).items()}
    required = {name: fields[name] for name in schema.get("required", ())}
    optional = {name: inner for name, inner in fields.items() if name not in required}
    unknown = st.just({}) | st.dictionaries(
        st.sampled_from(["x-url", "Titel"]), st.none() | st.integers() | TEXTS, max_size=1
    )
    known = st.fixed_dictionaries(required, optional=optional)
    return st.builds(lambda more, listed: {**more, **listed}, unknown, known)


def _valid_list(schema: Document, root: Document) -> st.SearchStrategy[Any]:
    unique = json.dumps if schema.get("uniqueItems") else None
    return st.lists(_valid(schema["items"], root), max_size=3, unique_by=unique)


def _valid_text(schema: Document, _root: Document) -> st.SearchStrategy[Any]:
    if "pattern" in schema:
        return _BY_MATCHER[validate.PATTERNS[schema["pattern"]].__name__]
    least, most = schema.get("minLength", 0), schema.get("maxLength", 40)
    if least > 1:
        return st.text(min_size=least, max_size=most)
    return TEXTS.map(lambda text: text[:most] or "x" * least)


@st.composite
def tasks(draw: st.DrawFn, ids: st.SearchStrategy[str] = TASK_IDS) -> Document:
    """Any valid task that also keeps the rules between its fields: a claim goes with a holder, and with the attempts."""
    drawn = in_order({**draw(valid("task")), "id": draw(ids)})
    drawn["dependencies"] = [d for d in drawn["dependencies"] if d != drawn["id"]]
    drawn.pop("claim", None)
    drawn["attempts"] = draw(st.integers(0, 5))
    if drawn["status"] == "in_progress":
        drawn["attempts"] += 1
        drawn["assignee"] = draw(AGENT_NAMES)
        drawn["claim"] = {"incarnation": draw(st.integers(1, 3)), "attempt": drawn["attempts"], "at": draw(TIMES)}
    drawn["completed_at"] = draw(TIMES) if drawn["status"] == "completed" else None
    return in_order(drawn)


@st.composite
def small_tasks(draw: st.DrawFn) -> Document:
    """A task of which only what others see of it varies: cheap to draw, for plans of several."""
    make = draw(st.sampled_from([task, held, done]))
    fields = {"by": draw(AGENT_NAMES)} if make is not task else {"assignee": draw(AGENT_NAMES | st.none())}
    return make(draw(st.integers(1, 12)), **fields)
