"""The options of the command line and of the ini file, and how they are read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_engram.suites.files import is_suite

SEED = 20261008


def add(parser: pytest.Parser) -> None:
    """Declare them."""
    group = parser.getgroup("engram", "engram: benchmarks for agent memory")
    group.addoption(
        "--engram-method",
        action="append",
        default=[],
        metavar="NAME|FILE.jsonl",
        help="run the suites with this method and its ablations, controls and anchors; repeatable, "
        "comma-separated, or `all`. FILE.jsonl: what a memory that ran elsewhere recalled, a line a question "
        "(docs/recorded.md). Suites come from the given paths, else from `engram_cases` in the ini file, "
        "else the shipped ones",
    )
    group.addoption(
        "--engram-suite",
        action="append",
        default=[],
        metavar="NAME",
        help="run these suites, by name, in place of paths; repeatable, comma-separated. `--co -q` lists what there is",
    )
    group.addoption(
        "--engram-k", type=int, default=10, metavar="K", help="ids that every method may return (default: 10)"
    )
    group.addoption(
        "--engram-seeds", type=int, default=5, metavar="N", help="seeds of a stochastic method (default: 5)"
    )
    group.addoption(
        "--engram-retries",
        type=int,
        default=0,
        metavar="N",
        help="how often a call of a memory that raises is tried again, after 0.5 s, 1 s, 2 s, ... (default: 0)",
    )
    group.addoption(
        "--engram-budget",
        type=int,
        default=None,
        metavar="TOKENS",
        help="cut what every method returned, best first and whole results only, to so many tokens before it is judged "
        "(default: no limit but k)",
    )
    group.addoption("--engram-no-controls", action="store_true", help="run the named methods alone")
    group.addoption(
        "--engram-encoder",
        default=None,
        metavar="auto|NAME|PATH",
        help="encoder of the embeddings (default: auto, bge-small-en-v1.5 where it can be had, else the MiniLM that a "
        "package ships; environment: ENGRAM_ENCODER)",
    )
    group.addoption(
        "--engram-data",
        default=None,
        metavar="DIR",
        help="a local copy of the benchmarks (default: the Hugging Face cache, then its hub; environment: ENGRAM_DATA)",
    )
    group.addoption(
        "--engram-reader",
        default="newest",
        metavar="none|newest|openai:MODEL",
        help="who answers from the returned entries, for SubEM (default: newest, which asks no model)",
    )
    group.addoption(
        "--engram-answer-baselines",
        action="append",
        default=[],
        metavar="all|NAME",
        help="have the reader answer without any memory as well: no-memory (nothing), placebo (other entries, as many "
        "tokens as the evidence), oracle (the evidence alone), full-context (the whole haystack); repeatable, "
        "comma-separated. Each costs as many answers as a method; they are asked after all methods (default: none)",
    )
    group.addoption(
        "--engram-judge",
        default="none",
        metavar="none|openai:MODEL|recorded:FILE.jsonl",
        help="who says whether an answer is right, where a suite has the metric `judged`; it is itself judged, on "
        "answers known to be wrong or right (default: none)",
    )
    group.addoption(
        "--engram-judge-runs",
        type=int,
        default=1,
        metavar="N",
        help="ask a judge that is a model N times about each answer; its share of verdicts counts, and the report has "
        "the range over the single runs (default: 1)",
    )
    for role in ("reader", "judge"):
        group.addoption(
            f"--engram-{role}-set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"send the {role}'s model this setting, such as max_tokens=2000, in place of the benchmark's own; "
            "`none` leaves one out; repeatable",
        )
    group.addoption(
        "--engram-max-cost",
        type=float,
        default=None,
        metavar="USD",
        help="ask no model any more, reader and judge together, once they have cost so many dollars (default: "
        "no limit)",
    )
    group.addoption(
        "--engram-report",
        default=None,
        metavar="DIR",
        help="folder of log, tables, plots and page (default: reports/latest)",
    )
    group.addoption(
        "--engram-resume",
        action="store_true",
        help="go on with the run that was killed or interrupted in the report folder: what its log has stands, and "
        "what is missing or failed is asked; all else must be as it was",
    )
    group.addoption(
        "--engram-withhold-texts",
        action="store_true",
        help="leave questions, answers and excerpts of benchmarks whose licence does not let everybody pass them on "
        "(LoCoMo: CC BY-NC 4.0) out of the report folder; figures and ids stay",
    )
    group.addoption(
        "--engram-fail-under",
        action="append",
        default=[],
        metavar="SUITE:METRIC=X",
        help="exit 1 where the named method is below X, such as 'fc_mh_6k:answer@10=0.35'; repeatable",
    )
    group.addoption(
        "--engram-fail-worse-than",
        default=None,
        metavar="RUN",
        help="exit 1 where the named method is significantly worse, paired, than in the report folder RUN",
    )
    parser.addini(
        "engram_cases",
        "suite files and folders that --engram-method runs by default",
        type="paths",
        default=[],
    )


@dataclass(frozen=True)
class Floor:
    """One `--engram-fail-under`."""

    suite: str
    metric: str
    value: float


_FLOOR = re.compile(r"(?P<suite>[^:=]+):(?P<metric>[^:=]+)=(?P<value>[^:=]+)")


@dataclass(frozen=True)
class Options:
    """All options, checked."""

    methods: tuple[str, ...]
    recorded: Mapping[str, Path]  # those of them that are files
    suites: tuple[str, ...]
    retries: int
    budget: int | None
    k: int
    seeds: int
    controls: bool
    encoder: str
    data: Path | None
    reader: str
    answer_baselines: tuple[str, ...]
    judge: str
    judge_runs: int
    reader_settings: Mapping[str, Any]
    judge_settings: Mapping[str, Any]
    max_cost: float | None
    report: Path
    resume: bool
    withhold: bool
    floors: tuple[Floor, ...]
    worse_than: Path | None

    @classmethod
    def of(cls, config: pytest.Config) -> Options:
        """Read and check them.

        Raises:
            pytest.UsageError: one of them makes no sense; one line, with the cure.
        """
        option = config.option
        names = [name.strip() for value in option.engram_method for name in value.split(",")]
        if "" in names:
            raise pytest.UsageError("--engram-method: an empty name; give the name of a method, or `all`")
        counts = {
            "--engram-k": option.engram_k,
            "--engram-seeds": option.engram_seeds,
            "--engram-judge-runs": option.engram_judge_runs,
        }
        for flag, value in counts.items():
            if value < 1:
                raise pytest.UsageError(f"{flag}: {value} is too small; it must be 1 or more")
        if option.engram_retries < 0:
            raise pytest.UsageError(f"--engram-retries: {option.engram_retries} is too small; it must be 0 or more")
        if option.engram_budget is not None and option.engram_budget < 1:
            raise pytest.UsageError(f"--engram-budget: {option.engram_budget} is too small; it must be 1 or more")
        limit = option.engram_max_cost
        if limit is not None and not (isfinite(limit) and limit >= 0):
            raise pytest.UsageError(f"--engram-max-cost: {limit} is no limit; give a number of dollars, 0 or more")
        return cls(
            methods=tuple(dict.fromkeys(names)),
            recorded={name: _from_invocation(config, name) for name in names if name.endswith(".jsonl")},
            suites=tuple(name.strip() for value in option.engram_suite for name in value.split(",") if name.strip()),
            retries=option.engram_retries,
            budget=option.engram_budget,
            k=option.engram_k,
            seeds=option.engram_seeds,
            controls=not option.engram_no_controls,
            encoder=option.engram_encoder or os.environ.get("ENGRAM_ENCODER") or "auto",
            data=_folder(config, option.engram_data),
            reader=option.engram_reader,
            answer_baselines=_baselines(option.engram_answer_baselines, option.engram_reader),
            judge=option.engram_judge,
            judge_runs=option.engram_judge_runs,
            reader_settings=_settings("--engram-reader-set", option.engram_reader_set),
            judge_settings=_settings("--engram-judge-set", option.engram_judge_set),
            max_cost=limit,
            report=_from_invocation(config, option.engram_report or Path("reports", "latest")),
            resume=option.engram_resume,
            withhold=option.engram_withhold_texts,
            floors=tuple(_floor(text) for text in option.engram_fail_under),
            worse_than=_from_invocation(config, option.engram_fail_worse_than)
            if option.engram_fail_worse_than
            else None,
        )


def _baselines(given: list[str], reader: str) -> tuple[str, ...]:
    """In the order in which they are asked."""
    names = [name.strip() for value in given for name in value.split(",") if name.strip()]
    if not names:
        return ()
    from pytest_engram.judging.baselines import NAMES

    flag = "--engram-answer-baselines"
    if unknown := [name for name in names if name not in (*NAMES, "all")]:
        raise pytest.UsageError(f"{flag}: no baseline {unknown[0]!r}; known are all, {', '.join(NAMES)}")
    if reader == "none":
        raise pytest.UsageError(f"{flag}: there is no reader; choose one with --engram-reader")
    return tuple(name for name in NAMES if name in names or "all" in names)


def _from_invocation(config: pytest.Config, path: str | Path) -> Path:
    return config.invocation_params.dir / Path(path).expanduser()


def _folder(config: pytest.Config, given: str | None) -> Path | None:
    name, value = ("--engram-data", given) if given else ("ENGRAM_DATA", os.environ.get("ENGRAM_DATA"))
    if not value:
        return None
    path = _from_invocation(config, value)
    if not path.is_dir():
        raise pytest.UsageError(f"{name}: {value} is not a folder; give the folder that holds the benchmarks' files")
    return path.resolve()


def _settings(flag: str, given: list[str]) -> dict[str, Any]:
    """By name, the value as JSON, else as a text; None where one is left out."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise pytest.UsageError(f"{flag}: {text!r} is not NAME=VALUE, such as 'max_tokens=2000' or 'seed=none'")
        try:
            found[name] = None if value == "none" else json.loads(value, parse_constant=_no_number)
        except _NoNumber:
            raise pytest.UsageError(f"{flag}: {text!r} holds no number that can be sent; correct it") from None
        except (ValueError, RecursionError):
            found[name] = value
    return found


class _NoNumber(Exception):
    pass


def _no_number(word: str) -> NoReturn:
    raise _NoNumber(word)


def _floor(text: str) -> Floor:
    match = _FLOOR.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError
        floor = Floor(match["suite"].strip(), match["metric"].strip(), float(match["value"]))
    except ValueError:
        raise pytest.UsageError(
            f"--engram-fail-under: {text!r} is not SUITE:METRIC=NUMBER, such as 'fc_mh_6k:answer@10=0.35'"
        ) from None
    if not isfinite(floor.value):  # nothing is below NaN, and everything below infinity
        raise pytest.UsageError(f"--engram-fail-under: {text!r}: {floor.value} is no bound; give a number such as 0.35")
    return floor


def wants_suites(config: pytest.Config) -> bool:
    """Whether this run has anything to do with suites: a method is named, or a suite file is given as an argument."""
    if config.option.help:
        return False
    named = config.option.engram_method or config.option.engram_suite
    return bool(named) or any(is_suite(path) for path in argument_paths(config))


def argument_paths(config: pytest.Config) -> list[Path]:
    """The files and folders given as arguments, without the part behind `::`."""
    return [config.invocation_params.dir / argument.split("::")[0] for argument in config.args]
