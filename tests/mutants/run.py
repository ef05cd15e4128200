"""Change what judges, one operator at a time, and see whether a test notices: `make mutants`, by mutmut.

    python tests/mutants/run.py [MODULE ...]

A module is named as `judging/metrics`, or by how its name begins: `judging`, `statistics`. Each has a folder of its own
under `build/mutants`, with what was found so far: a run that was stopped goes on, and what survived is tried again
where its tests have changed. The tests of a module are its quick ones, named here, so that a mutant costs no more than
seconds. Survivors that no test could kill stand in `equivalent.md`, each with the reason.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORK = ROOT / "build" / "mutants"

_JUDGE = "tests/judging/test_judge.py"
_METRICS = "tests/judging/test_metrics.py"
_NAMED = "tests/judging/test_named.py"
_STATISTICS = ("tests/statistics/test_statistics.py", "tests/statistics/test_statistics_edges.py")
_CLUSTERS = ("tests/statistics/test_clusters.py", *_STATISTICS)

TESTS: dict[str, tuple[str, ...]] = {
    "judging/metrics": (_METRICS, _NAMED),
    "judging/named": (_NAMED,),
    "judging/scoring": ("tests/judging/test_scoring.py",),
    "judging/judge": (_JUDGE, "tests/judging/test_limits.py"),
    "judging/chance": ("tests/judging/test_chance.py",),
    "judging/known": ("tests/judging/test_known_answers.py",),
    "judging/limits": ("tests/judging/test_limits.py",),
    "judging/locomo": ("tests/judging/test_locomo_f1.py",),
    "judging/longmemeval": ("tests/judging/test_longmemeval_ended.py",),
    "judging/luck": ("tests/judging/test_luck.py",),
    "judging/recorded": ("tests/judging/test_recorded_judge.py",),
    "judging/strategies": ("tests/judging/test_strategies.py",),
    "judging/versions": ("tests/judging/test_versions.py",),
    "statistics/accuracy": ("tests/statistics/test_accuracy.py",),
    "statistics/clusters": _CLUSTERS,
    "statistics/comparisons": _STATISTICS,
    "statistics/intervals": _STATISTICS,
    "statistics/power": ("tests/report/test_power.py", *_STATISTICS),
    "statistics/rank": _CLUSTERS,
    "statistics/resampling": _STATISTICS,
    "suites/longmemeval/protocol": ("tests/suites/test_longmemeval_protocol.py",),
    "suites/microtests/winners": ("tests/suites/test_microtests_winners.py", "tests/judging/test_scoring.py"),
    "report/gated": ("tests/report/test_gated.py",),
    "report/verdicts": ("tests/report/test_verdicts.py", "tests/report/test_verdicts_summary.py"),
    "asking/rules": ("tests/asking/test_rules.py", "tests/asking/test_training.py"),
    "asking/training": ("tests/asking/test_training.py",),
    "plugin/gates": ("tests/plugin/test_gates.py", "tests/plugin/test_gates_errors.py"),
    "review/compare": ("tests/review/test_compare.py", "tests/review/test_compare_costs.py"),
}

# Of these files: tests that run pytest or draw much, and would cost each survivor seconds; and one of a class, which
# hypothesis runs in a process only once.
SLOW = (
    "test_no_pair_stands_twice_whatever_is_named",
    "test_no_answer_is_against_the_table",
    "test_a_run_fails_where_it_is_worse_even_if_it_writes_over_the_earlier_one",
    "test_a_run_has_them_in_its_folder_and_in_junit_and_writes_them_again",
    "test_an_earlier_run_that_is_not_there_is_a_usage_error",
    "test_holm_equals_statsmodels",
    "test_interval_and_p_of_a_clustered_tau_agree",
    "test_smallest_difference_for_the_pairs_that_were_seen_to_differ_by_enumeration",
    "test_paired_bootstrap_agrees_with_a_permutation_test",
)

_COPIED = ("pytest_engram", "tests", "methods", "cases", "pyproject.toml", "conftest.py")
_CONFIG = """
[tool.mutmut]
source_paths = ["pytest_engram"]
only_mutate = ["pytest_engram/{module}.py"]
also_copy = ["methods", "cases"]
pytest_add_cli_args = ["-p", "no:xdist", "-p", "no:cacheprovider", "-k", "not ({slow})"]
pytest_add_cli_args_test_selection = {tests}
process_isolation = "forkserver"  # some tests can run but once in a process
use_git_change_detection = false
on_dependency_change = "ignore"
timeout_multiplier = 4.0  # of a processor's seconds that the tests take: a change may never end
"""


class Mutant(NamedTuple):
    """One change: where, what it was, and what it became."""

    function: str
    before: str
    after: str


class Found(NamedTuple):
    """What became of a module's mutants. Those in `texts` survived, and change words in quotes or a `strict=` alone."""

    counts: Counter[str]
    survivors: list[Mutant]
    equivalent: list[Mutant]
    texts: list[Mutant]


def prepare(module: str) -> Path:
    """The module's folder, with the project as it is now. A file that did not change keeps its time."""
    folder = WORK / module.replace("/", ".")
    for name in _COPIED:
        for path in sorted((ROOT / name).rglob("*")) if (ROOT / name).is_dir() else [ROOT / name]:
            if path.is_file() and "__pycache__" not in path.parts:
                _place(folder / path.relative_to(ROOT), path.read_bytes())
    source = folder / "pytest_engram" / f"{module}.py"
    plain = undecorated((ROOT / "pytest_engram" / f"{module}.py").read_text("utf-8"))
    _place(source, plain.encode())
    tests = [test for test in TESTS[module] if (ROOT / test).is_file()]
    config = _CONFIG.format(module=module, tests=json.dumps(tests), slow=" or ".join(SLOW))
    _place(folder / "pyproject.toml", (ROOT / "pyproject.toml").read_bytes() + config.encode())
    _try_again(folder, module, tests)
    return folder


def _place(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def undecorated(source: str) -> str:
    """The same module, each decorated function at its top level under a name of its own, and decorated behind it.

    mutmut leaves decorated functions alone, and metrics are such.
    """
    lines = source.splitlines()
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            made = f"plain_{node.name}"
            for decorator in reversed(node.decorator_list):
                made = f"({ast.unparse(decorator)})({made})"
            first, end = node.decorator_list[0].lineno - 1, node.end_lineno or node.lineno
            body = [lines[node.lineno - 1].replace(f"def {node.name}(", f"def plain_{node.name}(", 1)]
            lines[first:end] = [*body, *lines[node.lineno : end], "", "", f"{node.name} = {made}"]
    return "\n".join(lines) + "\n"


def _try_again(folder: Path, module: str, tests: list[str]) -> None:
    """Forget what survived other tests than these."""
    digest = hashlib.sha256(b"\0".join((ROOT / test).read_bytes() for test in tests)).hexdigest()
    known, meta = folder / "tests.sha256", folder / "mutants" / "pytest_engram" / f"{module}.py.meta"
    if meta.is_file() and known.is_file() and known.read_text() != digest:
        told = json.loads(meta.read_text())
        told["exit_code_by_key"] = {key: code or None for key, code in told["exit_code_by_key"].items()}
        told["exit_code_by_key"] = {k: None if code == 33 else code for k, code in told["exit_code_by_key"].items()}
        meta.write_text(json.dumps(told))
        (folder / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
    _place(known, digest.encode())


def mutate(folder: Path) -> None:
    """Let mutmut try all mutants that were not tried before; one at a time."""
    log = folder / "mutmut.log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "mutmut", "run", "--max-children", "1"]
        done = subprocess.run(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise SystemExit(f"mutmut ended with {done.returncode}; the end of {log}:\n{log.read_text()[-3000:]}")


def found(folder: Path, module: str) -> Found:
    """What mutmut has put down, with the reasons of `equivalent.md`."""
    told = json.loads((folder / "mutants" / "pytest_engram" / f"{module}.py.meta").read_text())
    result = Found(Counter(), [], [], [])
    known = equivalents(module)
    changed = _changed(folder, module)
    for name, code in told["exit_code_by_key"].items():
        survived = code in (0, 33)
        if not survived:
            result.counts["not tried" if code is None else "killed"] += 1
            continue
        mutant = changed[name.rpartition(".")[2]]
        kind = result.equivalent if mutant in known else result.texts if _words_alone(mutant) else result.survivors
        kind.append(mutant)
    return result


def _changed(folder: Path, module: str) -> dict[str, Mutant]:
    """Every mutant of the mutated file by its name: the first line that differs from the original's."""
    tree = ast.parse((folder / "mutants" / "pytest_engram" / f"{module}.py").read_text("utf-8"))
    bodies = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    changed: dict[str, Mutant] = {}
    for name, node in bodies.items():
        base, mark, _ = name.rpartition("__mutmut_")
        if mark and (original := bodies.get(f"{base}__mutmut_orig")) and original is not node:
            one, other = _lines(original), _lines(node)
            at = next((n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
            function = re.sub("^x(_|ǁ)", "", base).replace("ǁ", ".").removeprefix("plain_")
            changed[name] = Mutant(function, one[at].strip(), other[at].strip())
    return changed


def _lines(node: ast.FunctionDef) -> list[str]:
    """A function's parameters, then what it does, a line each as Python itself writes them."""
    return [ast.unparse(node.args), *(line for part in node.body for line in ast.unparse(part).splitlines())]


def _words_alone(mutant: Mutant) -> bool:
    """Whether nothing but a text in quotes differs, or a `strict=` that guards against a fault of our own."""

    def rest(line: str) -> list[str]:
        line = re.sub(r"(, )?strict=(True|False|None)", "", line)
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(line).readline))
        except (tokenize.TokenError, SyntaxError):
            tokens = []
        return [token.string for token in tokens if token.type != tokenize.STRING] or [line]

    return rest(mutant.before) == rest(mutant.after) and mutant.before != mutant.after


def equivalents(module: str) -> set[Mutant]:
    """Those that `equivalent.md` names: a table of module, function, before, after, why."""
    known = set()
    for line in (HERE / "equivalent.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if len(cells) == 5 and cells[0] == module:
            known.add(Mutant(*(cell.strip("`").replace("\\|", "|") for cell in cells[1:4])))
    return known


def main(wanted: list[str]) -> None:
    """Print for each module how many there were, and each that survived."""
    modules = [module for module in TESTS if not wanted or any(module.startswith(name) for name in wanted)]
    if not modules:
        raise SystemExit(f"no module {' or '.join(wanted)}; there are {', '.join(TESTS)}")
    whole: Counter[str] = Counter()
    for module in modules:
        folder = prepare(module)
        mutate(folder)
        one = found(folder, module)
        counts = one.counts + Counter(
            {"survived": len(one.survivors), "equivalent": len(one.equivalent), "texts alone": len(one.texts)}
        )
        whole += counts
        print(f"{module}: {_shown(counts)}", flush=True)
        for mutant in one.survivors:
            print(f"  {mutant.function}: `{mutant.before}` -> `{mutant.after}`", flush=True)
    print(f"all: {_shown(whole)}")


def _shown(counts: Counter[str]) -> str:
    kinds = ("killed", "survived", "equivalent", "texts alone", "not tried")
    return f"{counts.total()} mutants, " + ", ".join(f"{counts[kind]} {kind}" for kind in kinds if counts[kind])


if __name__ == "__main__":
    main(sys.argv[1:])
