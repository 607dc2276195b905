"""Define the base of all answers: a model, from which the documentation is generated."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from core.text.render import redact

Json = dict[str, object]
Milliseconds = Annotated[int, Field(description="epoch ms")]


class Answer(BaseModel):
    """Base of all answers; a key is sent only if it is declared and set."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    def as_json(self) -> Json:
        """Return the keys that are set, as they are sent."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class ChangeAnswer(Answer):
    """Whether the change was made, and a sentence for the caller."""

    done: bool
    sentence: str

    @classmethod
    def of(cls, sentence: str, *, done: bool = True) -> Self:
        """Return the answer for a change that was made, or the reason why it was not."""
        return cls(done=done, sentence=safe(sentence))


def safe(words: str) -> str:
    """Return text as it may be shown: secrets masked, odd characters escaped."""
    return redact(words).text


def safe_or_none(words: str | None) -> str | None:
    """Return text as it may be shown, ``None`` if there is none."""
    return None if words is None else safe(words)
