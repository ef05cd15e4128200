"""LongMemEval's retrieval protocol: which documents a haystack has, which of them answer, which metrics there are.

Source: Wu et al., "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory", ICLR 2025, and the
retrieval scripts published with it. Whatever they do with duplicates, ties and renamed ids is done here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Granularity = Literal["session", "turn"]
KS = (1, 3, 5, 10, 30, 50)
MEASURES = ("recall_any", "recall_all", "ndcg_any")

ABSTENTION = "abstention: its id has _abs"
NO_EVIDENCE = "no user turn has the answer"


def metric_names(granularity: Granularity) -> tuple[str, ...]:
    """All official metrics; `session_` marks a ranking of turns that is scored as one of sessions."""
    plain = tuple(f"{measure}@{k}" for k in KS for measure in MEASURES)
    return plain if granularity == "session" else (*plain, *(f"session_{name}" for name in plain))


def tokenize(text: str) -> list[str]:
    """The official BM25's tokens: parted at single spaces, case kept."""
    return text.split(" ")


def rank(scores: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of `scores` (n,), best first, with ties where the official code leaves them."""
    import numpy as np

    return np.argsort(scores)[::-1]


@dataclass(frozen=True, slots=True)
class Session:
    """The user's side of one session.

    Attributes:
        turns: what the user said, turn by turn.
        numbers: each turn's number, counted from 1 over the turns of both roles.
        evidence: whether each turn has the answer.
    """

    turns: tuple[str, ...]
    numbers: tuple[int, ...]
    evidence: tuple[bool, ...]


def document_ids(session_id: str, session: Session, granularity: Granularity) -> list[str]:
    """The official ids of a session's documents: one, or one a user turn.

    An id that contains `answer` says that the document is gold. Where the user's side has no evidence, every `answer`
    in the id becomes `noans`.
    """
    if granularity == "session":
        return [session_id if any(session.evidence) else _renamed(session_id)]
    ids = [f"{session_id}_{number}" for number in session.numbers]
    return [id_ if has else _renamed(id_) for id_, has in zip(ids, session.evidence, strict=True)]


def _renamed(id_: str) -> str:
    return id_.replace("answer", "noans")


def is_gold(document_id: str) -> bool:
    """Whether a document answers the question, as its official id tells."""
    return "answer" in document_id


def excluded(question_id: str, has_user_evidence: bool) -> str | None:
    """The official rule that leaves a question out of the means, if any does."""
    if "_abs" in question_id:
        return ABSTENTION
    return None if has_user_evidence else NO_EVIDENCE
