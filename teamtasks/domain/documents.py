"""The documents, as the type checker sees them. ``schemas/`` says the same to everybody else.

Documents are plain JSON objects from the file to the rule and back: rules return new ones
(``{**task, "status": "pending"}``) and never change one in place. Fields under ``total=False`` are absent when empty.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Document = dict[str, Any]
Status = Literal["pending", "in_progress", "completed"]


class Claim(TypedDict):
    """An agent's hold on a task: which life of the agent, the how-manieth claim on this task, since when."""

    incarnation: int
    attempt: int
    at: str


class Failure(TypedDict):
    """An attempt that did not succeed. ``kind``: failed, released, reassigned, taken_over or edited (by hand)."""

    attempt: int
    agent: str
    incarnation: int
    kind: str
    at: str
    claimed_at: str
    reason: str
    tried: NotRequired[list[str]]
    output: NotRequired[str]


class Evidence(TypedDict):
    criterion: int
    text: str


class LateResult(TypedDict):
    """What an agent brought after it had lost its claim: kept for the holder, never applied by itself."""

    attempt: int
    agent: str
    at: str
    outcome: Literal["completed", "failed"]
    text: str
    evidence: NotRequired[list[Evidence]]
    tried: NotRequired[list[str]]
    output: NotRequired[str]


class Note(TypedDict):
    at: str
    by: str
    text: str


class Head(TypedDict):
    """What every scan gives of a task: enough to find candidates and blockers."""

    id: str
    status: Status
    assignee: str | None
    priority: int
    dependencies: list[str]
    needs: NotRequired[list[str]]
    group: NotRequired[str]


class Summary(Head):
    """What a view's scan gives of a task: a head and what a line of a list shows."""

    title: str
    attempts: int
    claim: NotRequired[Claim]
    size: NotRequired[str]
    estimate: NotRequired[int]


class Task(Summary):
    description: str
    acceptance_criteria: list[str]
    created_at: str
    created_by: str
    completed_at: str | None
    completed_by: NotRequired[str]
    result: NotRequired[str]
    evidence: NotRequired[list[Evidence]]
    failures: NotRequired[list[Failure]]
    late_results: NotRequired[list[LateResult]]
    notes: NotRequired[list[Note]]
    key: NotRequired[str]
    metadata: NotRequired[Document]


class Agent(TypedDict):
    """A member of the team. ``holds`` is what all claims of one agent compete for: it makes the limit exact."""

    role: Literal["lead", "teammate"]
    capabilities: list[str]
    incarnation: int
    joined_at: str
    holds: list[str]
    model: NotRequired[str]


class Process(TypedDict):
    """Where an agent's process lives, told apart from any other process with the same number."""

    machine: str
    boot: str
    namespace: str
    pid: int
    started: str


class Clock(TypedDict):
    boot: str
    monotonic: float


class Pulse(TypedDict):
    """The soft state of one incarnation: its own file, written by its own commands, never part of the ledger."""

    format: int
    agent: str
    incarnation: int
    started_at: str
    last_beat: str
    last_action: str
    clock: Clock
    task: NotRequired[str]
    attempt: NotRequired[int]
    task_since: NotRequired[str]
    context_percent: NotRequired[int]
    doing: NotRequired[str]
    process: NotRequired[Process]


class Settings(TypedDict):
    wip_limit: int


class Team(TypedDict):
    created_at: str
    lead: str | None
    topology: Literal["mesh", "hub"]
    settings: Settings


class Key(TypedDict):
    """An idempotency key: the task it created, and a digest of what was asked for."""

    task: str
    digest: str
