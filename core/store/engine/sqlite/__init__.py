"""Run the store on SQLite."""
