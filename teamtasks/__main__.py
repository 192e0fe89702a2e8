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
    _take_standard_streams()
    from teamtasks.cli.main import main as serve

    code = serve(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            code = code or 1
    os._exit(code)


def _take_standard_streams() -> None:
    """A closed stream's number would go to the next file that we open, perhaps the journal: /dev/null takes it instead.

    Opened for reading, so that writing to it still fails and "committed, but the answer could not be written" is said.
    """
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


if __name__ == "__main__":
    main()
