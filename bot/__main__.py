"""Run `python -m bot` as `sayso`."""

import sys

from bot.cli import main

sys.exit(main())
