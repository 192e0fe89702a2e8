"""What the type checker is told is what the schemas say."""

from __future__ import annotations

from typing import Any, NotRequired, get_origin, get_type_hints

import pytest

from teamtasks.domain import documents as types
from teamtasks.domain.holds import LATE_RESULTS_KEPT
from teamtasks.domain.tasks import TEXT_MOST
from teamtasks.store import validate
from teamtasks.store.files.tasksfile import TASK_ORDER

TASK, PULSE = validate.load("task"), validate.load("pulse")
PLACES = [
    (types.Team, validate.load("team")),
    (types.Settings, validate.load("team")["properties"]["settings"]),
    (types.Agent, validate.load("agent")),
    (types.Key, validate.load("key")),
    (types.Task, TASK),
    (types.Claim, TASK["definitions"]["claim"]),
    (types.Failure, TASK["definitions"]["failure"]),
    (types.LateResult, TASK["definitions"]["late_result"]),
    (types.Evidence, TASK["definitions"]["evidence"]),
    (types.Note, TASK["definitions"]["note"]),
    (types.Pulse, PULSE),
    (types.Clock, PULSE["properties"]["clock"]),
    (types.Process, PULSE["properties"]["process"]),
]


def fields(kind: Any) -> dict[str, bool]:
    """Each field, and whether it is required."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: get_origin(hint) is not NotRequired for name, hint in hints.items()}


@pytest.mark.parametrize(("kind", "schema"), PLACES, ids=[kind.__name__ for kind, _ in PLACES])
def test_a_type_has_the_fields_of_its_schema_and_requires_the_same(kind: Any, schema: Any) -> None:
    assert fields(kind) == {name: name in schema["required"] for name in schema["properties"]}


def test_a_head_is_what_stands_before_the_title_on_disk_and_a_summary_what_stands_before_the_description() -> None:
    assert list(TASK_ORDER[: TASK_ORDER.index("title")]) == sorted(fields(types.Head), key=TASK_ORDER.index)
    assert list(TASK_ORDER[: TASK_ORDER.index("description")]) == sorted(fields(types.Summary), key=TASK_ORDER.index)


def test_the_rules_keep_as_much_as_the_schemas_allow() -> None:
    assert TASK["properties"]["late_results"]["maxItems"] == LATE_RESULTS_KEPT
    assert TASK["properties"]["result"]["maxLength"] == TEXT_MOST
