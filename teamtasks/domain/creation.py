"""A new task: what is asked for, checked and put in order; and what makes two requests the same one."""

from __future__ import annotations

from teamtasks.domain.errors import InvalidInput, KeyReused
from teamtasks.domain.names import check_label
from teamtasks.domain.tasks import checked_text, required_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeVar

    from teamtasks.domain.documents import Key, Task

    Value = TypeVar("Value")

TITLE_MOST = 200
CRITERIA_MOST = 50
METADATA_MOST = 16_000
METADATA_DEEPEST = 32
ESTIMATE_MOST = 100_000
PRIORITIES = (0, 1, 2, 3, 4)
DEFAULT_PRIORITY = 2
SIZES = ("small", "medium", "large")


class Wish:
    """What somebody asks for when creating a task, checked. Ids and time are given to ``granted``."""

    __slots__ = (
        "acceptance_criteria",
        "assignee",
        "dependencies",
        "description",
        "estimate",
        "group",
        "key",
        "metadata",
        "needs",
        "priority",
        "size",
        "title",
    )

    def __init__(
        self,
        title: str,
        *,
        description: str = "",
        acceptance_criteria: Sequence[str] = (),
        dependencies: Sequence[str] = (),
        priority: int = DEFAULT_PRIORITY,
        size: str | None = None,
        estimate: int | None = None,
        group: str | None = None,
        needs: Sequence[str] = (),
        assignee: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> None:
        self.title = required_text("the title", title.strip(), TITLE_MOST)
        self.description = checked_text("the description", description)
        self.acceptance_criteria = [required_text("an acceptance criterion", c, 2_000) for c in acceptance_criteria]
        if len(self.acceptance_criteria) > CRITERIA_MOST:
            raise InvalidInput(f"at most {CRITERIA_MOST} acceptance criteria; split the task")
        self.dependencies = list(dict.fromkeys(dependencies))
        self.priority = _one_of("priority", priority, PRIORITIES)
        self.size = None if size is None else _one_of("size", size, SIZES)
        if estimate is not None and not 1 <= estimate <= ESTIMATE_MOST:
            raise InvalidInput(f"an estimate is 1 to {ESTIMATE_MOST:,} minutes, not {estimate}", value=estimate)
        self.estimate = estimate
        self.group = None if group is None else check_label("group", group)
        self.needs = [check_label("capability", n) for n in dict.fromkeys(needs)]
        self.assignee = assignee
        self.metadata = _checked_metadata(metadata or {})
        self.key = None if key is None else required_text("the key", key, 200)

    def granted(self, *, id: str, now: str, by: str) -> Task:
        """The task. The order of its fields is the order on disk: what scans need first, then what lists show."""
        task: dict[str, Any] = {
            "id": id,
            "status": "pending",
            "assignee": self.assignee,
            "priority": self.priority,
            "dependencies": self.dependencies,
            "needs": self.needs,
            "group": self.group,
            "title": self.title,
            "attempts": 0,
            "size": self.size,
            "estimate": self.estimate,
            "description": self.description,
            "acceptance_criteria": self.acceptance_criteria,
            "created_at": now,
            "created_by": by,
            "completed_at": None,
            "key": self.key,
            "metadata": self.metadata,
        }
        for optional in ("needs", "group", "size", "estimate", "key", "metadata"):
            if not task[optional]:
                del task[optional]
        return task  # type: ignore[return-value]  # built field by field, checked against the schema on commit

    def digest(self) -> str:
        """The same request has the same digest; the key itself is not part of it."""
        import json
        from hashlib import sha256

        content = [getattr(self, name) for name in self.__slots__ if name != "key"]
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def same_request(key: str, stored: Key, wish: Wish) -> str:
    """The id of the task that this key created before; refused if something else is asked for now."""
    if stored["digest"] != wish.digest():
        raise KeyReused(
            f"the key {key!r} created {stored['task']} with other content",
            hint=f"teamtasks show {stored['task']}, or take another key",
            key=key,
            task=stored["task"],
        )
    return stored["task"]


def _checked_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    from teamtasks.jsontext import dumps

    if not metadata:
        return {}
    if not _has_text_names(metadata):
        raise InvalidInput("the names in metadata are texts")
    try:
        checked_text("the metadata", dumps(dict(metadata)), METADATA_MOST)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the metadata is not JSON: {error}") from None
    if _depth(metadata) > METADATA_DEEPEST:
        raise InvalidInput(f"the metadata is nested more than {METADATA_DEEPEST} deep")
    return dict(metadata)


def _has_text_names(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and all(map(_has_text_names, value.values()))
    return all(map(_has_text_names, value)) if isinstance(value, list | tuple) else True


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, dict | list | tuple) else 0


def _one_of(what: str, value: Value, allowed: Sequence[Value]) -> Value:
    if value not in allowed:
        raise InvalidInput(f"{what} is one of {', '.join(map(str, allowed))}, not {value!r}", value=value)
    return value
