"""Read the metrics page."""


def value(text: str, name: str, **labels: str) -> float:
    """Return one counter of a scrape; 0 where it is not there."""
    for line in text.splitlines():
        if line.startswith((f"{name} ", f"{name}{{")) and all(
            f'{key}="{word}"' in line for key, word in labels.items()
        ):
            return float(line.rpartition(" ")[2])
    return 0.0
