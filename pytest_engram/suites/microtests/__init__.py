"""Micro-tests: hand-built cases of a belief, an update that contradicts it, and the facts that back each of them.

A suite file holds cases; a `sweep` makes levels of them, and every level is an item. Which side should win is said by
a rule (`winners`), never by the case, unless the rule is named `stated`.

What an item leaves in the run log, beside the fields that every item has:

* `family`, `case`: of the suite and of the case (with slots, one case a row: `residence-mara-lindqvist`).
* `web`: how many facts back the belief at this level (on the axis of repeats: the side that is not repeated, which in
  a mirrored case is the update).
* `backers`: how far the sweep on the update's side has come. `fields["axis"]` says what is counted: `"backers"`, facts
  that back the update, or `"repeats"`, remarks that only repeat it in other words (they back nothing by any rule). The
  mirror of a repeated update repeats the belief, and has no part in flip points.
* `winner`: `"belief"`, `"update"`, `"both"` or `"neither"`: which sides were returned. Null where no side was asked for
  (families `density` and `hub`).
* `expected`: what the rule names. `"belief"` or `"update"`: a decision is asked for, and `both` or `neither` is a
  miss. `"both"` (rule `keep-both`): nothing may be dropped. `"either"` (rule `never-neither`): anything but neither.
  Null: the rule names none. Then `metrics` is empty for an equally backed level, which is left out of the score while
  its `winner` still counts for the flip point; families that measure something else (`sites`, `density`, `hub`)
  have `expected` null and a value for `correct`.
* `metrics["correct"]`: 1.0 or 0.0; null with `missing["correct"]` where the method can't be measured (it has no
  `support()`).
* `fields`, by family: `axis` (every case with a belief and an update); `mirrored`, true in the mirror of a case;
  `also_lost`, how many further values were not returned (`keep_both`, where there are any); `one_by_one`, the ids after
  writing one entry a call, where they differ (`sites`); `support_original`, `support_update`, `original`, `update`
  (`density`); `percentile_mutual`, `percentile_plain`, `percentile_incoming`, `percentile_method` (0 to 100, share of
  the other facts with less support), `neighbours`, and `in_lists`, the number of facts that have it among their nearest
  (`hub`).

The flip point of a method on a case at one web size is the smallest `backers` from which the winner is `update`; it
flips back where a later level's winner is another one. Only levels whose `winner` is not null count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_engram.retrieval.words import TOKENIZERS
from pytest_engram.suites.files import validate

if TYPE_CHECKING:
    from pytest_engram.suites.base import Loaded, Suite
    from pytest_engram.suites.files import Lines


def load(path: Path, data: dict[str, Any], lines: Lines, pilot: Callable[[Any], Suite | None]) -> Loaded:
    """A micro-test suite and its key, from the parsed file.

    Args:
        path: the suite file.
        data: what it holds.
        lines: where each part of it stands.
        pilot: gives the pilot set that a family measures on, by the family's `Spec`; None where there is no such file.

    Raises:
        SuiteError: the file is wrong.
    """
    name = data.get("family")
    module: Any = import_module(f"{__name__}.family_{name}" if name in families() else f"{__name__}.suite")
    spec = validate(module.Spec, data, path, lines)
    more = {"pilot": pilot(spec)} if hasattr(spec, "over") else {}
    loaded: Loaded = module.load(spec, path, lines, **more)
    if spec.tokenize == "words":
        return loaded
    suite = replace(loaded.suite, split=spec.tokenize, tokenize=TOKENIZERS[spec.tokenize])
    return loaded._replace(suite=suite)


def families() -> list[str]:
    """The families that need code: each is a module `family_NAME` here, and a new one is one new file."""
    return sorted(p.stem.removeprefix("family_") for p in Path(__file__).parent.glob("family_*.py"))
