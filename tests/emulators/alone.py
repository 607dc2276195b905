"""Run an emulator as a process of its own."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine


def run_alone(serve: Callable[[int], Coroutine[object, object, None]]) -> None:
    """Serve on ``--port`` until the process is interrupted."""
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, default=0)
    try:
        asyncio.run(serve(options.parse_args().port))
    except KeyboardInterrupt:
        sys.exit(0)
