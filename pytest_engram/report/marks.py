"""What a reader must know beside one figure of a method: sentences about its hits, from the log alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_engram.runs.outcome import Outcome


def of_metric(group: Sequence[Outcome], metric: str) -> list[str]:
    """The sentences, of the items that a figure is over; none of most."""
    ran = [o for o in group if o.status == "ok" and o.metrics.get(metric) is not None]
    hits = [o for o in ran if o.metrics[metric] == 1.0]
    rests = Counter(o.fields["by_chance"][metric] for o in hits if metric in o.fields.get("by_chance", {}))
    told = ", ".join(f"{count} on {what}" for what, count in sorted(rests.items(), reverse=True))
    by_rule = f"{rests.total()} of {len(hits)} hits are hits by the official rule alone, and rest on no word"
    found = [f"{by_rule}: {told}"] if told else []
    absent = sum(o.ceiling is False for o in hits) if metric.partition("@")[0].endswith("recall_all") else 0
    if absent:
        of = f"{absent} of {len(ran)} question{'s' * (len(ran) > 1)}"
        found.append(f"nothing that answers {of} is in the haystack: officially 1.0, and no hit")
    return found
