"""Run the executor from the source tree: ``python -m bot.executor --socket PATH``."""

from bot.executor.main import main

main()
