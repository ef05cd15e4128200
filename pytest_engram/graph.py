"""The graph of mutual nearest neighbours and the support in it, for scripts; defined in `pytest_engram.retrieval`."""

from pytest_engram.retrieval.graph import mutual_knn, support

__all__ = ["mutual_knn", "support"]
