"""Gold and run log to verdicts. No memory is asked here, and no table made."""

from __future__ import annotations

# By name without depth, where each shipped metric is; it is imported when it is first needed.
METRICS = {name: f"{__name__}.named:{name}" for name in ("answer", "recall_any", "recall_all", "ndcg_any", "subem")} | {
    "judged": f"{__name__}.named:judged",
    "session_recall_any": f"{__name__}.named:session",
    "session_recall_all": f"{__name__}.named:session",
    "session_ndcg_any": f"{__name__}.named:session",
}
