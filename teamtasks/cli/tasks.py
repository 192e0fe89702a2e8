"""create, assign, depend: from words to the use case."""

from __future__ import annotations

from teamtasks.app import tasks as app
from teamtasks.domain.creation import DEFAULT_PRIORITY, Wish
from teamtasks.domain.errors import InvalidInput
from teamtasks.domain.times import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.cli.call import Call


def create(call: Call) -> dict[str, Any]:
    estimate = call.get("estimate")
    wish = Wish(
        call.values["title"],
        description=call.text("description"),
        acceptance_criteria=call.get("accept", ()),
        dependencies=call.get("after", ()),
        priority=call.get("priority", DEFAULT_PRIORITY),
        size=call.get("size"),
        estimate=-(-duration(estimate, what="--estimate") // 60) if estimate else None,
        group=call.get("group"),
        needs=call.get("needs", ()),
        assignee=call.get("assign"),
        metadata=dict(_pair("--meta", text) for text in call.get("meta", ())),
        key=call.get("key"),
    )
    return app.create(call.store, call.who, wish)


def assign(call: Call) -> dict[str, Any]:
    to, nobody = call.get("to"), call.get("nobody", False)
    if (to is None) == (not nobody):
        raise InvalidInput("name the agent, or say --nobody", hint="teamtasks assign --help")
    return app.assign(call.store, call.who, call.values["id"], to, note=call.get("note"), force=call.get("force", False))


def depend(call: Call) -> dict[str, Any]:
    return app.depend(call.store, call.who, call.values["id"], on=call.get("on", ()), off=call.get("off", ()))


def _pair(what: str, text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InvalidInput(f"{what} takes KEY=VALUE, not {text!r}", value=text)
    return key, _json_or_text(value)


def _json_or_text(text: str) -> Any:
    if text[:1] in '{["-0123456789' or text in ("true", "false", "null"):
        from teamtasks.store import strict

        try:
            return strict.loads(text.encode())
        except (strict.NotStrict, UnicodeEncodeError):
            return text
    return text
