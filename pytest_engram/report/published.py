"""Rows copied from papers, each with its source. Nothing here was measured by this package."""

from __future__ import annotations

from typing import Any

_SOURCE = (
    'MemoryAgentBench: Hu, Wang, McAuley, "Evaluating Memory in LLM Agents via Incremental Multi-Turn Interactions" '
    "(arXiv:2507.05257), Table 3"
)
_TABLE_3 = (  # system, setting, FactConsolidation single-hop and multi-hop, as printed, in per cent
    ("BM25", "GPT-4o-mini", "48.0", "3.0"),
    ("Text-Embed-3-Small", "GPT-4o-mini", "28.0", "3.0"),
    ("HippoRAG-v2", "GPT-4o-mini", "54.0", "5.0"),
    ("GPT-5-mini, 400K, full context", "GPT-5-mini", "78.0", "28.0"),
)


def published() -> list[dict[str, Any]]:
    """One row a figure: {system, suite, metric, value (a fraction), printed, setting, source}."""
    return [
        {
            "system": system,
            "suite": suite,
            "metric": "subem",
            "value": float(printed) / 100,
            "printed": printed,
            "setting": setting,
            "source": _SOURCE,
        }
        for system, setting, *figures in _TABLE_3
        for suite, printed in zip(("fc_sh_262k", "fc_mh_262k"), figures, strict=True)
    ]
