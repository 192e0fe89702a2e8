"""claim, brief, note, complete, fail, release: from words to the use case."""

from __future__ import annotations

from teamtasks.app import work as app
from teamtasks.domain.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.cli.call import Call
    from teamtasks.domain.documents import Evidence


def claim(call: Call) -> dict[str, Any]:
    id, another = call.get("id"), call.get("another", False)
    if not call.get("wait"):
        if call.get("timeout"):
            raise InvalidInput("--timeout goes with --wait", hint="teamtasks claim --wait --timeout 10m")
        return app.claim(call.store, call.who, id, another=another, command=call.prefix)
    from time import monotonic

    from teamtasks.domain.times import duration

    limit = call.get("timeout")
    end = monotonic() + (duration(limit, what="--timeout") if limit else 366 * 86400)
    return app.wait_and_claim(
        call.store, call.who, id, another=another, until=lambda: end - monotonic(), command=call.prefix
    )


def brief(call: Call) -> dict[str, Any]:
    return app.brief(call.store, call.who, call.values["id"], command=call.prefix)


def note(call: Call) -> dict[str, Any]:
    return app.note(call.store, call.who, call.values["id"], call.text("text"), attempt=call.attempt)


def complete(call: Call) -> dict[str, Any]:
    evidence = [_evidence(text) for text in call.get("evidence", ())]
    return app.complete(
        call.store, call.who, call.values["id"],
        result=call.text("result"), evidence=evidence, attempt=call.attempt, force=call.get("force", False),
    )  # fmt: skip


def fail(call: Call) -> dict[str, Any]:
    return app.fail(
        call.store, call.who, call.values["id"],
        reason=call.text("reason"), tried=call.get("tried", ()),
        output=call.file("output"),
        attempt=call.attempt, force=call.get("force", False),
    )  # fmt: skip


def release(call: Call) -> dict[str, Any]:
    return app.release(
        call.store, call.who, call.values["id"],
        reason=call.text("reason"), attempt=call.attempt, force=call.get("force", False),
    )  # fmt: skip


def _evidence(text: str) -> Evidence:
    number, equals, words = text.partition("=")
    if not equals or not (number.isascii() and number.isdigit()):
        raise InvalidInput(f"--evidence takes N=TEXT, N being the number of a criterion, not {text!r}", value=text)
    return {"criterion": int(number[:9]), "text": words}
