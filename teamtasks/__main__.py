"""The entry point: ``teamtasks …`` and ``python -m teamtasks …``."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Runs one command and ends the process with its exit code.

    The answer is written and the lock released by then, so the process ends at once: taking the interpreter down
    module by module costs a sixth of its start and does nothing for anybody.
    """
    gc.disable()  # one short command: collecting garbage costs more than the garbage
    from teamtasks.cli.main import main as serve

    code = serve(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 1
    os._exit(code)


if __name__ == "__main__":
    main()
