"""Settling conflicts, however strength is told: an entry is dropped only for one that stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def settle(
    ranks: int, rivals: Mapping[int, Iterable[int]], strongest: Sequence[int]
) -> tuple[list[int], dict[int, int]]:
    """Settle from the strongest down; who stays takes the best rank of those that were dropped for it.

    Args:
        ranks: how many were looked at.
        rivals: of each rank that is in conflict, those that it is in conflict with.
        strongest: the ranks that are in conflict, strongest first.

    Returns:
        The ranks that stay, best first; and of each that does not, the one that it was dropped for.
    """
    lost: dict[int, int] = {}
    for rank in strongest:
        if rank not in lost:
            lost.update({rival: rank for rival in rivals[rank] if rival not in lost})
    place = {rank: rank for rank in range(ranks) if rank not in lost}
    for loser, winner in lost.items():
        place[winner] = min(place[winner], loser)
    return sorted(place, key=place.__getitem__), lost
