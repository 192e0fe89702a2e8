"""doctor, schema: from words to the answer."""

from __future__ import annotations

import os

from teamtasks.domain.errors import SchemaNotFound
from teamtasks.domain.names import did_you_mean
from teamtasks.store import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.cli.call import Call


def doctor(call: Call) -> dict[str, Any]:
    findings = call.store.check(fix=call.get("fix", False))
    problems = sum(finding["severity"] == "problem" for finding in findings)
    return {"team": call.store.team, "findings": findings, "problems": problems}


def schema(call: Call) -> dict[str, Any]:
    there = sorted(name[:-5] for name in os.listdir(validate.PLACE) if name.endswith(".json"))
    name = call.get("name")
    if name is None:
        return {"schemas": there}
    if name not in there:
        meant = did_you_mean(name, there)
        asked = f" Did you mean {meant}?" if meant else ""
        raise SchemaNotFound(f"no schema {name!r}.{asked} (schemas: {', '.join(there)})", hint="teamtasks schema", name=name)
    return {"name": name, "schema": validate.load(name)}
