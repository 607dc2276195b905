"""Define what every method answers with: a model, which its documentation is made from."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from core.text.render import redact

Json = dict[str, object]
Milliseconds = Annotated[int, Field(description="epoch ms")]


class Answer(BaseModel):
    """Base of all answers; a key that is not declared is never sent, nor one that is not set."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    def as_json(self) -> Json:
        """Return the keys that are set, as they are sent."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class ChangeAnswer(Answer):
    """Whether the change was made, in a sentence for whoever wanted it."""

    done: bool
    sentence: str

    @classmethod
    def of(cls, sentence: str, *, done: bool = True) -> Self:
        """Return the answer of a change that was made, or why it was not."""
        return cls(done=done, sentence=safe(sentence))


def safe(words: str) -> str:
    """Return words as they may be shown: secrets masked, odd characters escaped."""
    return redact(words).text


def safe_or_none(words: str | None) -> str | None:
    """Return words as they may be shown, ``None`` where there are none."""
    return None if words is None else safe(words)
