"""list, show, ready, blocked, why: from words to the use case."""

from __future__ import annotations

from teamtasks.app import views as app

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.cli.call import Call


def list_tasks(call: Call) -> dict[str, Any]:
    return app.list_tasks(
        call.store, call.who,
        status=call.get("status"), assignee=call.get("assignee"), group=call.get("group"),
        ready=call.get("ready", False), blocked=call.get("blocked", False), whole=call.json,
    )  # fmt: skip


def show(call: Call) -> dict[str, Any]:
    return app.show(call.store, call.who, call.values["id"])


def ready(call: Call) -> dict[str, Any]:
    return app.ready(call.store, call.who)


def blocked(call: Call) -> dict[str, Any]:
    return app.blocked(call.store, call.who, command=call.team_prefix)


def why(call: Call) -> dict[str, Any]:
    return app.why(call.store, call.who, call.values["id"], command=call.team_prefix)
