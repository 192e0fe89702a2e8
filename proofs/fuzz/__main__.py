"""``python -m proofs.fuzz``; ``scripts/fuzz`` starts it."""

import sys

from proofs.fuzz import main

sys.exit(main(sys.argv[1:]))
