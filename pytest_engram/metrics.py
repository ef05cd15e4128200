"""The benchmarks' own metrics, for scripts; defined in `pytest_engram.judging.metrics`."""

from pytest_engram.judging.metrics import answer_at, ndcg_any, recall_all, recall_any, sub_em

__all__ = ["answer_at", "ndcg_any", "recall_all", "recall_any", "sub_em"]
