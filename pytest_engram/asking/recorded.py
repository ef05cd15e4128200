"""A memory that ran elsewhere: what it recalled, from a file of JSON lines, checked before any item runs.

The controller reads the file and finds the question of each line; workers get the lines of their suites from the cache.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pytest_engram.basics.cache import kept_file
from pytest_engram.memory import Method, Origin, Recalled
from pytest_engram.reading import RECORDED
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Suite

SUFFIX = ".jsonl"
_LARGEST = 1e9  # seconds, or tokens: more is a mistake
_SHOWN = 20  # problems of a file that are told


class Refused(Exception):
    """A file that can't be used as a recording.

    Attributes:
        problems: one line each, with file, line, field and cure.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


class Line(NamedTuple):
    """What the file tells of one question; None where it tells nothing."""

    number: int
    question_id: str
    suite: str | None = None
    ids: list[str] | None = None
    texts: list[Any] | None = None
    answer: str | None = None
    verdicts: list[bool] | None = None
    seconds: float | None = None
    tokens: int | None = None
    human: bool | None = None

    @property
    def results(self) -> list[str | Recalled] | None:
        """What a `search` would have returned."""
        if self.texts is None:
            return None if self.ids is None else list(self.ids)
        return [
            Recalled(given) if isinstance(given, str) else Recalled(given["text"], given.get("sources", ()))
            for given in self.texts
        ]

    @property
    def to_be_read(self) -> bool:
        """Whether a reader of this run may answer: not where an answer was given, or judged, elsewhere."""
        return self.results is not None and self.answer is None and self.verdicts is None


@dataclass
class Recording:
    """What one file holds.

    Attributes:
        path: as the user named it.
        sha256: of the file.
        label: the name in tables; None: none is given yet.
        encoder: what the memory embedded with, where the file says so.
        packages: versions, by package.
        lines: of the questions, in the order of the file.
        placed: the lines by suite and question id, once `place` has found them.
    """

    path: str
    sha256: str = ""
    label: str | None = None
    encoder: str | None = None
    packages: dict[str, str | None] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    placed: dict[str, dict[str, Line]] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The file's name, without its folder."""
        return Path(self.path).name

    def find(self, suite: str, question_id: str) -> Line | None:
        """The line of a question."""
        return self.placed.get(suite, {}).get(question_id)

    def lacks(self, suite: str) -> str:
        """Why a question of a suite is not run."""
        what = "this question" if suite in self.placed else "any question of this suite"
        return f"{self.file} has no line for {what}"

    def method(self, name: str) -> Method:
        """The method that this is."""
        return Method(
            name=name,
            label=self.label or name,
            role="experiment",
            controls=None,
            stochastic=False,
            trained_on=(),
            embeds=False,
            scope="session",
            function=_nothing,
            encoder=self.encoder,
            recorded=Origin(self.file, self.sha256, self.packages),
        )


def _nothing() -> Any:
    raise RuntimeError("a recorded method has no memory")


# Reading


def read(path: Path, shown: str) -> Recording:
    """A file of what a memory recalled.

    Args:
        path: of the file.
        shown: the same, as the user named it.

    Raises:
        Refused: it can't be read, or a line is none.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise Refused([f"{shown}: there is no such file; correct the path"]) from None
    except OSError as error:
        raise Refused([f"{shown}: can't be read ({error.strerror}); give a file of JSON lines"]) from None
    return parse(content, shown)


def parse(content: bytes, shown: str) -> Recording:
    """The same, of the file's bytes."""
    found = Recording(shown, hashlib.sha256(content).hexdigest())
    problems: list[str] = []
    first = True
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            record = _object(raw)
            if first and "method" in record:
                _take_head(found, record)
            else:
                found.lines.append(_line(number, record))
        except _Wrong as wrong:
            problems.append(_told(shown, number, wrong))
        first = False
    if not found.lines and not problems:
        problems.append(f'{shown}: holds no question; write a line {{"question_id": ..., "ids": [...]}} for each')
    _refuse(problems)
    return found


class _Wrong(ValueError):
    """What is wrong with a line: the field, the problem and the cure."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(where, problem)
        self.where = where
        self.problem = problem


def _told(shown: str, number: int, wrong: _Wrong) -> str:
    return f"{shown}:{number}: {wrong.where}: {wrong.problem}" if wrong.where else f"{shown}:{number}: {wrong.problem}"


def _refuse(problems: Sequence[str]) -> None:
    if len(problems) > _SHOWN:
        problems = [*problems[:_SHOWN], f"and {len(problems) - _SHOWN} more"]
    if problems:
        raise Refused(problems)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        record = json.loads(raw.decode("utf-8"), object_pairs_hook=_once)
    except _Wrong:
        raise
    except UnicodeDecodeError as error:
        raise _Wrong("", f"not UTF-8, from byte {error.start + 1} on; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise _Wrong("", f"not JSON: {error.msg} at column {error.colno}; write one JSON object a line") from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, brackets in brackets in brackets
        raise _Wrong("", "no JSON that can be read; write one plain JSON object a line") from None
    if not isinstance(record, dict):
        raise _Wrong("", f"must be an object; got {_shown(record)}; write one JSON object a line")
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Wrong(_name(twice), "stands twice in one object; delete one")
    return record


def _take_head(found: Recording, record: Mapping[str, Any]) -> None:
    """The first line, where it says what the method is."""
    _check_names(record, {"method": None}, "")
    head = record["method"]
    if not isinstance(head, dict):
        raise _Wrong("method", f"must be an object; got {_shown(head)}; write {{'label': ...}}".replace("'", '"'))
    _check_names(head, dict.fromkeys(("label", "encoder", "packages")), "method.")
    if "label" in head:
        found.label = _word(head["label"], "method.label")
    if "encoder" in head:
        found.encoder = _word(head["encoder"], "method.encoder")
    packages = head.get("packages", {})
    if not isinstance(packages, dict):
        example = '{"package": "version"}'
        raise _Wrong("method.packages", f"must be an object; got {_shown(packages)}; write {example}")
    for name, version in packages.items():
        where = f"method.packages.{_name(name)}"
        found.packages[_word(name, where)] = None if version is None else _word(version, where)


def _line(number: int, record: Mapping[str, Any]) -> Line:
    if "method" in record:
        raise _Wrong("method", "stands in the first line alone; delete it here")
    _check_names(record, _FIELDS, "")
    if "question_id" not in record:
        raise _Wrong("question_id", "this field is missing; add it")
    line = Line(number, **{name: _FIELDS[name](given, name) for name, given in record.items()})
    if line.ids is not None and line.texts is not None:
        raise _Wrong("texts", "`ids` and `texts` both say what was recalled; give one, a text with its `sources`")
    if all(given is None for given in (line.ids, line.texts, line.answer, line.verdicts)):
        raise _Wrong("", "nothing that could be judged; add `ids`, `texts`, `answer` or `verdicts`, or delete the line")
    if line.human is not None and line.answer is None and line.verdicts is None:
        raise _Wrong("human", "is a person's verdict on an answer, and there is none; add `answer`, or leave it out")
    return line


def _check_names(record: Mapping[str, Any], known: Mapping[str, Any], within: str) -> None:
    for name in record:
        if name not in known:
            close = get_close_matches(name, [other for other in known if other not in record], 1)
            cure = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            raise _Wrong(within + _name(name), f"no such field; {cure}")


def _string(given: Any, where: str) -> str:
    if not isinstance(given, str):
        quoted = isinstance(given, int) and not isinstance(given, bool)
        cure = f'write "{_shown(given)}"' if quoted else "write a text, or leave the field out"
        raise _Wrong(where, f"must be a text; got {_shown(given)}; {cure}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise _Wrong(where, f"holds half a character; got {_shown(given)}; write it as UTF-8") from None
    return given


def _word(given: Any, where: str) -> str:
    text = _string(given, where)
    if not text.strip() or not text.isprintable():
        raise _Wrong(where, f"must be words of one line; got {_shown(given)}; write some")
    return text


def _list(given: Any, where: str, of: str) -> list[Any]:
    if not isinstance(given, list):
        raise _Wrong(where, f"must be a list of {of}; got {_shown(given)}; write it in [ and ]")
    return given


def _ids(given: Any, where: str) -> list[str]:
    return [_string(id_, f"{where}[{number}]") for number, id_ in enumerate(_list(given, where, "ids"))]


def _texts(given: Any, where: str) -> list[Any]:
    return [_result(text, f"{where}[{number}]") for number, text in enumerate(_list(given, where, "texts"))]


def _result(given: Any, where: str) -> Any:
    if not isinstance(given, dict):
        return _string(given, where)
    _check_names(given, dict.fromkeys(("text", "sources")), f"{where}.")
    if "text" not in given:
        raise _Wrong(f"{where}.text", "this field is missing; add it")
    sources = {"sources": _ids(given["sources"], f"{where}.sources")} if "sources" in given else {}
    return {"text": _string(given["text"], f"{where}.text"), **sources}


def _verdicts(given: Any, where: str) -> list[bool]:
    verdicts = _list(given, where, "true and false")
    if not verdicts:
        raise _Wrong(where, "must have a verdict; got []; write true or false, or leave the field out")
    for number, verdict in enumerate(verdicts):
        if not isinstance(verdict, bool):
            raise _Wrong(f"{where}[{number}]", f"must be true or false; got {_shown(verdict)}; write one of them")
    return verdicts


def _human(given: Any, where: str) -> bool:
    if not isinstance(given, bool):
        raise _Wrong(where, f"must be true or false; got {_shown(given)}; write one of them, or leave the field out")
    return given


def _seconds(given: Any, where: str) -> float:
    return float(_number(given, where, (int, float), "a number of seconds"))


def _tokens(given: Any, where: str) -> int:
    return int(_number(given, where, (int,), "a whole number"))


def _number(given: Any, where: str, kinds: tuple[type[float], ...], what: str) -> float:
    if isinstance(given, bool) or not isinstance(given, kinds) or (isinstance(given, float) and not isfinite(given)):
        raise _Wrong(where, f"must be {what}; got {_shown(given)}; write one, or leave the field out")
    if not 0 <= given <= _LARGEST:
        raise _Wrong(where, f"must be between 0 and {_LARGEST:.0f}; got {_shown(given)}; correct it")
    return given


_FIELDS: dict[str, Callable[[Any, str], Any]] = {
    "question_id": _string,
    "suite": _string,
    "ids": _ids,
    "texts": _texts,
    "answer": _string,
    "verdicts": _verdicts,
    "seconds": _seconds,
    "tokens": _tokens,
    "human": _human,
}


def _shown(given: Any) -> str:
    """A value as the file has it, on one line and not too long."""
    text = json.dumps(given, ensure_ascii=False)
    text = text if text.isprintable() else json.dumps(given)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _name(given: str) -> str:
    """A field's name in a message."""
    return given if re.fullmatch(r"[\w.-]{1,60}", given) else _shown(given)


# Finding the questions


def place(recording: Recording, suites: Sequence[Suite], *, whole: bool = True) -> None:
    """Find the question of each line among those of the run.

    Args:
        recording: the lines; they are placed.
        suites: of the run.
        whole: whether these are all suites of the run. Where one could not be read, a line may be of that one.

    Raises:
        Refused: a line is of no question, of several, or of one that another line is of.
    """
    holders: dict[str, list[str]] = defaultdict(list)
    for suite in suites:
        for id_ in dict.fromkeys(question.id for question in suite.questions):
            holders[id_].append(suite.name)
    # Where its data can't be had, even the ids of a suite's questions may be unknown.
    unlisted = [suite.name for suite in suites if suite.not_run and [q.id for q in suite.questions] == ["all"]]
    found: dict[str, dict[str, Line]] = defaultdict(dict)
    problems: list[str] = []

    def close(given: str, known: Collection[str]) -> list[str]:
        # Only for what is told: a file of another benchmark has thousands of faults.
        return get_close_matches(given, known, 1) if len(problems) < _SHOWN else []

    for line in recording.lines:
        try:
            name = _suite_of(line, holders, [suite.name for suite in suites], unlisted, whole, close)
            if name is None:
                continue
            if other := found[name].get(line.question_id):
                where = f"{_shown(line.question_id)} of suite {name} has line {other.number} already"
                raise _Wrong("question_id", f"{where}; delete one of the two")
            found[name][line.question_id] = line
        except _Wrong as wrong:
            problems.append(_told(recording.path, line.number, wrong))
    _refuse(problems)
    recording.placed = {name: lines for name, lines in found.items() if lines}


def _suite_of(
    line: Line,
    holders: Mapping[str, Sequence[str]],
    names: Sequence[str],
    unlisted: Collection[str],
    whole: bool,
    close: Callable[[str, Collection[str]], list[str]],
) -> str | None:
    """The suite that a line is of; None where nobody can tell, because that suite is not there to be looked at."""
    id_ = _shown(line.question_id)
    if line.suite is not None and line.suite not in names:
        if not whole:
            return None
        meant = close(line.suite, names)
        hint = f"did you mean {meant[0]}?" if meant else "run it as well, or delete the line."
        raise _Wrong("suite", f"no suite {_shown(line.suite)} in this run; {hint} Its suites are {_listed(names)}")
    holding = holders.get(line.question_id, ())
    if line.suite is None and len(holding) > 1:
        raise _Wrong("suite", f"{id_} is a question of {' and of '.join(holding)}; add the field, with one of them")
    if line.suite is None and holding:
        return holding[0]
    if line.suite in holding:
        return line.suite
    looked = names if line.suite is None else [line.suite]
    if not (whole or line.suite) or any(name in unlisted for name in looked):
        return None
    known = [other for other, of in holders.items() if any(name in looked for name in of)]
    meant = close(line.question_id, known)
    if line.suite is not None and holding:
        hint = f"it is one of {' and of '.join(holding)}."
    elif meant:
        hint = f"did you mean {_shown(meant[0])}?"
    else:
        hint = "run its suite as well, or delete the line."
    raise _Wrong("question_id", f"no question {id_}; {hint} Looked at: {_listed(looked)}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


# Names


def named(
    recordings: Sequence[Recording], known: Mapping[str, Method], taken: Callable[[str], bool] = lambda _: False
) -> dict[str, Recording]:
    """The recordings, each by a name of its own: its file's, without what a name can't have. They get their labels.

    Args:
        recordings: of the files.
        known: the other methods.
        taken: whether a name, and all that begins with it, is something else's.
    """
    found: dict[str, Recording] = {}
    labels = {method.label for method in known.values()}
    for recording in recordings:
        stem = recording.file.removesuffix(SUFFIX)
        plain = re.sub(r"[^\w.-]+", "-", stem).strip("-") or "recorded"
        plain = f"recorded-{plain}" if taken(plain) or plain == "all" else plain
        name = next(name for name in _numbered(plain) if name not in known and name not in found)
        label = recording.label or stem.strip() or plain
        label = label if label not in labels else f"{label} ({recording.file})"
        recording.label = next(one for one in _numbered(label) if one not in labels)
        labels.add(recording.label)
        found[name] = recording
    return found


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


# Handing over


def write(recordings: Mapping[str, Recording], folder: Path) -> str:
    """Put what was recorded into the folder, for workers; its name there. No gold is in it.

    Raises:
        CacheError: the folder can't be written.
    """
    given = {name: asdict(recording) | {"lines": []} for name, recording in recordings.items()}
    content = json.dumps(given).encode()
    name = hashlib.sha256(content).hexdigest()
    kept_file(folder / f"{name}.json", content)
    return name


def load(name: str, folder: Path) -> dict[str, Recording]:
    """What `write` put there.

    Raises:
        Refused: it is gone, or was changed.
    """
    try:
        content = (folder / f"{name}.json").read_bytes()
    except OSError as error:
        problem = f"what was prepared of it can't be read any more ({error.strerror}): was the cache emptied? Run again"
        raise Refused([f"--engram-method: {problem}"]) from None
    if hashlib.sha256(content).hexdigest() != name:
        raise Refused(["--engram-method: what was prepared of it was changed in the cache; run again"])
    found = {name: Recording(**record) for name, record in json.loads(content).items()}
    for recording in found.values():
        recording.placed = {
            suite: {id_: Line(*line) for id_, line in lines.items()} for suite, lines in recording.placed.items()
        }
    return found


# Telling


def put_down(line: Line, recording: Recording, outcome: Outcome) -> None:
    """What the file tells besides what was recalled."""
    outcome.seconds, outcome.tokens = line.seconds, line.tokens
    if line.results is None:
        outcome.fields["unrecalled"] = f"{recording.file} gives neither ids nor texts for this question"
    if line.verdicts is not None:
        outcome.reader, outcome.fields["verdicts"] = RECORDED, list(line.verdicts)
    if line.human is not None:
        outcome.fields["human"] = line.human
    if line.answer is not None:
        outcome.answer, outcome.reader = line.answer, RECORDED
    elif not line.to_be_read:
        outcome.missing["answer"] = f"{recording.file} gives no answer for this question"
