"""join, whoami, heartbeat: from words to the use case."""

from __future__ import annotations

from teamtasks.app import members as app

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.cli.call import Call


def join(call: Call) -> dict[str, Any]:
    process = None
    if call.get("pid") is not None:
        from teamtasks.process import describe

        process = describe(call.get("pid"))
    return app.join(
        call.store, call.who, call.values["name"],
        role=call.get("role"), capabilities=call.get("can", ()), model=call.get("model"), process=process,
    )  # fmt: skip


def whoami(call: Call) -> dict[str, Any]:
    return app.whoami(call.store, call.who)


def heartbeat(call: Call) -> dict[str, Any]:
    return app.heartbeat(call.store, call.who, context=call.get("context"), doing=call.get("doing"))
