"""``python -m flowsim.cli``."""

from __future__ import annotations

from flowsim.cli.main import main

main()
