"""The best few are those of a full, stable sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pytest_engram.retrieval.ranking import best

# Few different values, so that the last place is often shared.
SCORES = hnp.arrays(
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 300),
    elements=st.sampled_from([-1.0, -0.0, 0.0, 0.25, 3.0, np.inf, -np.inf, np.nan]) | st.integers(0, 99).map(float),
)


@given(SCORES, st.none() | st.integers(0, 9) | st.integers(0, 300))
def test_the_first_k_of_all(scores: np.ndarray, k: int | None) -> None:
    assert best(scores, k).tolist() == np.argsort(-scores, kind="stable")[:k].tolist()
