"""Keep one small JSON file of state that may be lost: what cannot be read starts afresh."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from core.errors import StateError
from core.files.private import read_private, replace_private

_log = logging.getLogger(__name__)
_VERSION = 1

Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class StateFile(Generic[Shape]):
    """One file, mode 0600; ``durable``: a power cut does not bring back what it held before."""

    path: Path
    shape: type[Shape]
    durable: bool = False

    def read(self) -> Shape | None:
        """Return what it holds; ``None`` where there is none, or none that can be read."""
        try:
            return self.shape.model_validate_json(read_private(self.path))
        except FileNotFoundError:
            return None
        except (StateError, ValidationError) as error:
            _log.warning("cannot read %s, starting afresh: %s", self.path, type(error).__name__)
            return None

    def write(self, content: Mapping[str, object]) -> bool:
        """Replace what it holds; return whether it could be written."""
        text = json.dumps({"version": _VERSION, **content}, indent=2) + "\n"
        try:
            replace_private(self.path, text.encode(), durable=self.durable)
        except StateError as error:
            _log.warning("cannot write %s: %s", self.path, error)
            return False
        return True
