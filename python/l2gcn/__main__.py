"""`python -m l2gcn`: the program. It replaces this process, so signals, pipes and ranks reach it directly."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "l2gcn")
    if not os.path.isfile(program):
        sys.exit(f"l2gcn: {program}: no such program; this build of the package was made without it (L2GCN_PROGRAM=OFF)")
    sys.stdout.flush()
    os.execv(program, ["l2gcn", *sys.argv[1:]])
