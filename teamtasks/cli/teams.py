"""init, teams, delete, settings: from words to the use case."""

from __future__ import annotations

import os

from teamtasks import bootstrap
from teamtasks.app import teams as app
from teamtasks.cli.call import notice
from teamtasks.domain.errors import ConfirmationNeeded, InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from teamtasks.cli.call import Call


def init(call: Call) -> dict[str, Any]:
    name, lead, topology = call.values["name"], call.get("lead"), call.get("topology", "mesh")
    call.use(bootstrap.create(call.config, name, lead=lead, topology=topology, notice=notice, rehearse=call.dry_run))
    place = os.path.join(call.config.home, "tasks", name)
    return {"revision": 1, "team": name, "place": place, "lead": lead, "topology": topology}


def teams(call: Call) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for name in bootstrap.teams(call.config):
        try:
            view = bootstrap.store(call.config, name, notice).read()
        except Exception as error:  # one broken team must not hide the others
            found.append({"name": name, "error": str(error)})
            continue
        counts = {"pending": 0, "in_progress": 0, "completed": 0}
        for head in view.scan("task"):
            counts[head["status"]] += 1
        found.append({"name": name, "revision": view.revision, "agents": len(view.all("agent")), **counts})
    return {"teams": found, "place": call.config.home}


def delete(call: Call) -> dict[str, Any]:
    name = call.values["name"]
    if call.get("team") not in (None, name):
        raise InvalidInput(f"delete {name}, or {call.get('team')}? Name one team")
    store = call.store_of(name)
    if not call.get("yes") and not call.dry_run:
        _confirm(name)
    app.delete(store, call.who)
    return {"team": name, "deleted": not call.dry_run}


def settings(call: Call) -> dict[str, Any]:
    changes = {}
    for text in call.get("pairs", ()):
        key, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput(f"settings takes KEY=VALUE, not {text!r}", value=text)
        changes[key] = value
    return app.settings(call.store, call.who, changes)


def _confirm(name: str) -> None:
    if not (os.isatty(0) and os.isatty(2)):
        raise ConfirmationNeeded(
            f"this deletes the team {name} with its tasks and its history", hint=f"teamtasks delete {name} --yes"
        )
    os.write(2, f"Delete the team {name} with its tasks and its history? Type its name: ".encode())
    typed = os.read(0, 200).decode(errors="replace").strip()
    if typed != name:
        raise ConfirmationNeeded("not deleted", typed=typed)
