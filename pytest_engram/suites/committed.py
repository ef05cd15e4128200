"""Questions as a pilot set commits them: by id, and by the fingerprint of their text where it could be had."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from pytest_engram.suites.fingerprints import fingerprint


class PilotQuestion(BaseModel):
    """A committed question: the benchmark's id, and, where its text could be had, the text's `rules.fingerprint`."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1)
    text: str | None = Field(default=None, pattern=r"^[0-9a-f]{16}$")

    def problem(self, text: str | None) -> str | None:
        """What is wrong with a copy of the data that has this text for the question, or, None, does not have it."""
        if text is None:
            return "does not have this question"
        if self.text is not None and fingerprint(text) != self.text:
            return "has another text for this question than the pilot set, which names it by fingerprint"
        return None


def once(questions: Sequence[PilotQuestion]) -> None:
    """Check that no id stands twice.

    Raises:
        ValueError: one does.
    """
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise ValueError(f"{question.id!r} stands twice; delete one")
        seen.add(question.id)
