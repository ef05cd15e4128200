"""LoCoMo's protocol: its categories, what answers a question, how ties are broken, and which questions count.

Source: Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", ACL 2024, and the evaluation
published with it, `task_eval` of snap-research/locomo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Granularity = Literal["turn", "session"]

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5
NOT_MENTIONED = "Not mentioned in the conversation"
NO_EVIDENCE = "no evidence"


class Evidence(NamedTuple):
    """The official evidence of a question, as ids of entries.

    Attributes:
        ids: one for each time that the file names evidence: an id twice where it stands twice, and one that no entry
            has where what it says names no turn.
    """

    ids: tuple[str, ...]


def question_id(conversation: int, number: int) -> str:
    """The id under which others know a question; both count from 0 in the file's order."""
    return f"locomo_{conversation}_qa{number}"


def evidence_id(sample_id: str, named: str, granularity: Granularity) -> str:
    """The id of the entry that a piece of evidence names, such as "D8:6"; of none, where it names no turn.

    A session's is told as officially: what stands before the first colon, without its first letter, is its number.
    """
    return f"{sample_id}:{named}" if granularity == "turn" else session_id(sample_id, named.split(":")[0][1:])


def session_id(sample_id: str, number: int | str) -> str:
    """The id of a session's entry."""
    return f"{sample_id}:S{number}"


def said(speaker: str, text: str, caption: str | None) -> str:
    """A turn's text, as the official retrieval has it; `caption` is that of a picture."""
    return f'{speaker} said, "{text}"' + (f" and shared {caption}" if caption is not None else "")


def options(id_: str, answer: str) -> list[str]:
    """What the official prompt of an adversarial question offers as (a) and (b).

    Which one comes first is a throw of dice there; here it hangs on the question's id, so that it is asked alike each
    time.
    """
    import random

    first = random.Random(id_).random() < 0.5
    return [NOT_MENTIONED, answer] if first else [answer, NOT_MENTIONED]


def rank(scores: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of `scores` (n,), best first, with ties where the official code leaves them."""
    import numpy as np

    return np.argsort(scores)[::-1]
