"""``python -m flowsim``: the command line."""

from __future__ import annotations

from flowsim.cli.main import main

if __name__ == "__main__":
    main()
