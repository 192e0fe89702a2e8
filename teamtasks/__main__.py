"""The entry point: ``teamtasks …`` and ``python -m teamtasks …``."""

from __future__ import annotations

import gc
import sys


def main(argv: list[str] | None = None) -> int:
    gc.disable()  # one short command: collecting garbage costs more than the garbage
    from teamtasks.cli.main import main as serve

    return serve(sys.argv[1:] if argv is None else argv)


if __name__ == "__main__":
    sys.exit(main())
