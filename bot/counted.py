"""Count things in words: 1 record, 2 records."""


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun; ``several`` where an s does not make the plural."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"
