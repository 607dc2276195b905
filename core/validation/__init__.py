"""Turn validation errors of pydantic into sentences."""
