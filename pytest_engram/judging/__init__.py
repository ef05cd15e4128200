"""Gold and run log to verdicts. No memory is asked here, and no table made."""

from __future__ import annotations

# By name without depth, where each shipped metric is; it is imported when it is first needed.
_NAMED = ("answer", "recall", "recall_any", "recall_all", "ndcg", "ndcg_any", "subem", "f1", "judged")
METRICS = {name: f"{__name__}.named:{name}" for name in _NAMED} | {
    "resolved": f"{__name__}.versions:resolved",
    "correct": f"{__name__}.named:backed",
    "followed": f"{__name__}.named:backed",
    "resisted": f"{__name__}.named:backed",
    "session_recall_any": f"{__name__}.named:session",
    "session_recall_all": f"{__name__}.named:session",
    "session_ndcg_any": f"{__name__}.named:session",
}
