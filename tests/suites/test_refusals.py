"""Every refusal of a suite file is one line: file, line, field, problem and cure."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from pytest_engram.review import here
from pytest_engram.suites import files, microtests
from pytest_engram.suites.base import SuiteError

MICRO = """\
engram: micro
name: own
rule: newest
background: people
sweep: {web: [0], backers: [0], repeats: [0]}
cases:
  - name: home
    belief: Ann lives in Oslo.
    update: Ann lives in Rome.
    query: Where does Ann live?
    slots: []
"""
HUB = """\
engram: micro
name: own
family: hub
background: people
neighbours: 10
hubs:
  - {name: a, text: Everybody knows everybody.}
"""
FACTS = """\
engram: pilot
name: own
source: demo_fc
seed: 20261008
metrics: [answer@10]
questions:
  - {id: demo_fc_no0, text: "0123456789abcdef"}
"""
SESSIONS = """\
engram: pilot
name: own
source: longmemeval
granularity: session
metrics: [recall_any@5]
questions:
  - {id: first}
"""


def refusal(folder: Path, content: str | bytes) -> str:
    """What is said of a file, behind its path."""
    path = folder / "own.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(SuiteError) as told:
        here.load(path, None, look=False)
    text = str(told.value)
    assert "\n" not in text
    assert text.startswith(str(path))
    return text.removeprefix(str(path))


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


LIST = "must be a list; got {}; write a line with `- ` for each of its parts"
EMPTY = "list should have at least 1 item and has 0; add one"


@pytest.mark.parametrize(
    ("text", "old", "new", "told"),
    [
        (MICRO, "web: [0]", "web: []", f":5: sweep.web: {EMPTY}, or delete this line"),
        (MICRO, "backers: [0]", "backers: []", f":5: sweep.backers: {EMPTY}, or delete this line"),
        (MICRO, "repeats: [0]", "repeats: []", f":5: sweep.repeats: {EMPTY}, or delete this line"),
        (MICRO, "slots: []", "sweep: {web: []}", f":11: cases[0].sweep.web: {EMPTY}, or delete this line"),
        (MICRO, MICRO[MICRO.index("cases:") :], "cases: []\n", f":6: cases: {EMPTY}"),
        (HUB, HUB[HUB.index("hubs:") :], "hubs: []\n", f":6: hubs: {EMPTY}"),
        (FACTS, "[answer@10]", "[]", f":5: metrics: {EMPTY}"),
        (SESSIONS, "[recall_any@5]", "[]", f":5: metrics: {EMPTY}"),
        (SESSIONS, SESSIONS[SESSIONS.index("questions:") :], "questions: []\n", f":6: questions: {EMPTY}"),
        (FACTS, "demo_fc_no0", "''", ":7: questions[0].id: this text is too short; got ''; write more"),
    ],
)
def test_what_is_empty_is_told_with_a_cure(tmp_path: Path, text: str, old: str, new: str, told: str) -> None:
    assert refusal(tmp_path, changed(text, old, new)) == told


@pytest.mark.parametrize("new", ["slots: []", "web: []", "backers: []", "sweep: {}"])
def test_what_may_be_left_out_may_be_empty(tmp_path: Path, new: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(changed(MICRO, "slots: []", new))
    assert [question.name for question in here.load(path, None).suite.questions] == ["home-web0-backers0"]


@pytest.mark.parametrize(
    ("text", "old", "new", "told"),
    [
        (MICRO, "    slots: []", "    slots: 3", ":11: cases[0].slots: " + LIST.format(3) + ", or delete this line"),
        (
            MICRO,
            "    slots: []",
            "    slots: [3]",
            ":11: cases[0].slots[0]: must be a mapping; got 3; write a line `name: value` for each of its parts",
        ),
        (MICRO, MICRO[MICRO.index("cases:") :], "cases:\n", ":6: cases: " + LIST.format("nothing")),
        (
            MICRO,
            "  - name: home",
            "  - home\n  - name: home",
            ":7: cases[0]: must be a mapping; got 'home'; write a line `field: value` for each of its fields",
        ),
        (
            MICRO,
            "web: [0]",
            "web: [-1]",
            ":5: sweep.web[0]: input should be greater than or equal to 0; got -1; write a larger number",
        ),
        (
            MICRO,
            "web: [0]",
            "web: [some]",
            ":5: sweep.web[0]: must be a whole number; got 'some'; write one, without quotes",
        ),
        (
            MICRO,
            "slots: []",
            "winner: both",
            ":11: cases[0].winner: input should be 'belief' or 'update'; got 'both'; "
            "write 'belief' or 'update', or delete this line",
        ),
        (
            MICRO,
            "name: own",
            "name: my own",
            ":2: name: string should match pattern '^\\w[\\w.-]*$'; got 'my own'; "
            "write letters, digits, `_`, `.` and `-` alone, with no `.` or `-` in front",
        ),
        (
            HUB,
            "neighbours: 10",
            "neighbours: 0",
            ":5: neighbours: input should be greater than or equal to 1; got 0; "
            "write a larger number, or delete this line",
        ),
        (FACTS, "20261008", "now", ":4: seed: must be a whole number; got 'now'; write one, without quotes"),
        (FACTS, "name: own", "name: 3", ":2: name: input should be a valid string; got 3; write a text, in quotes"),
        (
            FACTS,
            "0123456789abcdef",
            "Where?",
            ":7: questions[0].text: string should match pattern '^[0-9a-f]{16}$'; got 'Where?'; "
            "write 16 of 0-9 and a-f",
        ),
        (
            SESSIONS,
            "session\n",
            "word\n",
            ":4: granularity: input should be 'session' or 'turn'; got 'word'; "
            "write 'session' or 'turn', or delete this line",
        ),
        # What a validator of the whole file says stands at the field, too.
        (SESSIONS, "  - {id: first}", "  - {id: a}\n  - {id: a}", ":6: questions: 'a' stands twice; delete one"),
        (
            FACTS,
            "  - {id",
            "  - {id: a_no0, text: fedcba9876543210}\n  - {id",
            ":8: questions[1]: two items are named 'q000'; rename one",
        ),
    ],
)
def test_what_does_not_fit_is_told_with_a_cure(tmp_path: Path, text: str, old: str, new: str, told: str) -> None:
    assert refusal(tmp_path, changed(text, old, new)) == told


def test_a_metric_of_another_granularity_is_told_at_its_field(tmp_path: Path) -> None:
    told = refusal(tmp_path, changed(SESSIONS, "recall_any@5", "recall_any@4"))
    assert told.startswith(":5: metrics: 'recall_any@4' is not measured at granularity session; known are recall_any@1")


# --- unions


@pytest.mark.parametrize("text", [MICRO, HUB], ids=["cases", "hub"])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("animals", "must be `people` or a list; got 'animals'; write `people`, or a list of at least 20 facts"),
        ("{a: 1}", "must be `people` or a list; got {'a': 1}; write `people`, or a list of at least 20 facts"),
        ("", "must be `people` or a list; got nothing; write `people`, or a list of at least 20 facts"),
    ],
)
def test_a_background_that_is_none_is_told_by_its_own_name(tmp_path: Path, text: str, given: str, told: str) -> None:
    assert refusal(tmp_path, changed(text, "people", given)) == f":4: background: {told}"


def test_a_fact_of_a_background_has_its_line(tmp_path: Path) -> None:
    facts = "".join(f"\n  - Fact {i}." for i in range(20))
    told = refusal(tmp_path, changed(MICRO, "people", f"{facts}\n  - 9:30"))
    assert told == ":25: background[20]: must be a text, and YAML reads 570 here; write the text, in quotes"


class _Part(BaseModel):
    size: int


class _Whole(BaseModel):
    """A source of somebody else's, with unions of every kind."""

    seed: int | list[int] = 0
    part: _Part | list[_Part] | None = None
    which: int | str = 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "seed: x",
            "seed: must be a whole number, or must be a list; got 'x'; "
            "write one, without quotes, or write a line with `- ` for each of its parts, or delete this line",
        ),
        ("seed: [1, x]", "seed[1]: must be a whole number; got 'x'; write one, without quotes"),
        ("part: {size: x}", "part.size: must be a whole number; got 'x'; write one, without quotes"),
        ("part: {}", "part.size: this field is missing; add it"),
        ("part: [{size: 1}, {}]", "part[1].size: this field is missing; add it"),
    ],
)
def test_no_branch_of_a_union_is_named(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(f"which: 1\n{line}\n")
    data, lines = files.read(path)
    with pytest.raises(SuiteError) as error:
        files.validate(_Whole, data, path, lines)
    assert str(error.value) == f"{path}:2: {told}"


# --- what YAML does not read


@pytest.fixture(params=["C", "Python"])
def _parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """With libyaml's parser, and where it is not installed."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    files._loader_type.cache_clear()
    yield
    files._loader_type.cache_clear()


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["bare", "marked"])
@pytest.mark.parametrize(
    ("byte", "told"),
    [
        (b"\xe9", ":9: not UTF-8 text (invalid continuation byte); save it as UTF-8"),
        (b"\0", ":9: holds the control character U+0000, which YAML refuses; delete it, or save the file as UTF-8"),
        (b"\x1b", ":9: holds the control character U+001B, which YAML refuses; delete it"),
        (b"\x7f", ":9: holds the control character U+007F, which YAML refuses; delete it"),
        (b"\xc2\x80", ":9: holds the control character U+0080, which YAML refuses; delete it"),
        (b"\xef\xbf\xbf", ":9: holds the control character U+FFFF, which YAML refuses; delete it"),
    ],
    ids=["latin-1", "nul", "escape", "delete", "c1", "no character"],
)
def test_a_character_that_yaml_refuses_has_its_line(
    tmp_path: Path, byte: bytes, told: str, ending: str, mark: bytes
) -> None:
    content = changed(MICRO, "Ann lives in Oslo", "Anné lives in Oslo").replace("\n", ending).encode()
    assert refusal(tmp_path, mark + content.replace(b"in Rome", b"in R" + byte + b"me")) == told


@pytest.mark.parametrize("given", ["\\0\\e", "\U0001f600", "\u2028", "\ufeff", "\t"])
def test_what_yaml_may_hold_is_read(tmp_path: Path, given: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(f'engram: "x{given}y"\n', encoding="utf-8")
    assert files.read(path)[0].keys() == {"engram"}


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("engram: micro\nname: a: b\n", ":2: not YAML: mapping values are not allowed"),
        ("engram: micro\nname: a\n---\nengram: micro\n", "; a file holds one suite: delete `---` and what follows"),
        ("engram: micro\nname: 2020-13-45\n", "; is it a text? Write it in quotes"),
        (f"engram: micro\nname: {'[' * 101}\n", ":2: name: nested too deeply: more than 100 levels; write it flatter"),
        (f"engram: micro\nname: {'[' * 100_000}\n", "; write it flatter, a suite has five"),
    ],
)
def test_what_is_no_yaml_has_its_line_and_a_cure(tmp_path: Path, text: str, told: str) -> None:
    found = refusal(tmp_path, text)
    assert told in found
    assert found[:2] in (":2", ":3")
    assert "; " in found


# --- what is too large

CASE = """\
  - name: c{0}
    belief: Ann{0} lives in Oslo.
    update: Ann{0} lives in Rome.
    query: Where does Ann{0} live?
"""
HEAD = "engram: micro\nname: own\nrule: newest\n"
UNREADABLE = "]: this is no YAML: ["  # behind what is too much: it is told only if the whole file is read
LEVELS = "more than 200 levels, each an item for every method; write fewer"


def cases(count: int) -> str:
    return "cases:\n" + "".join(CASE.format(i) for i in range(count))


def test_a_hundred_thousand_cases_are_refused_at_the_20_001st(tmp_path: Path) -> None:
    told = refusal(tmp_path, HEAD + cases(20_001) + UNREADABLE + cases(80_000))
    assert told == ":4: cases: more than 20,000 levels, each an item for every method; write fewer cases"


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEAD + cases(201), f":4: cases: {LEVELS} cases"),
        (
            HEAD + cases(2) + "    slots:\n" + "".join(f"    - {{a: v{i}}}\n" for i in range(200)),
            f":13: cases[1].slots: {LEVELS} slots",
        ),
        (
            "engram: micro\nname: own\nfamily: hub\nhubs:\n"
            + "".join(f"- {{name: h{i}, text: Fact {i}.}}\n" for i in range(201)),
            f":4: hubs: {LEVELS} hubs",
        ),
        (HEAD + "cases: [" + "3, " * 201, f":4: cases: {LEVELS} cases"),
    ],
    ids=["cases", "slots", "hubs", "no cases"],
)
def test_too_many_levels_are_refused_before_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    monkeypatch.setattr(files, "LEVELS", 200)
    assert refusal(tmp_path, text + UNREADABLE) == told


def _fail(*_: Any, **__: Any) -> None:
    raise AssertionError("must not be reached")


@pytest.fixture
def _three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three levels are the most, and nothing is validated."""
    monkeypatch.setattr(files, "LEVELS", 3)
    monkeypatch.setattr(microtests, "validate", _fail)


@pytest.mark.usefixtures("_three")
def test_the_first_line_may_be_the_last(tmp_path: Path) -> None:
    told = refusal(tmp_path, f"name: own\n{cases(4)}engram: micro\n")
    assert told == ":2: cases: more than 3 levels, each an item for every method; write fewer cases"


@pytest.mark.usefixtures("_three")
@pytest.mark.parametrize(
    "text",
    [
        HEAD + cases(3),
        HEAD + cases(1) + "    slots: [{a: 1}, {a: 2}, {a: 3}]\n",
        HEAD + cases(1) + "    web: [a, b, c, d, e]\n",
        HEAD + "background: [a, b, c, d, e]\n" + cases(1),
        "engram: pilot\nname: own\n" + cases(4),
        "name: own\n" + cases(4) + "engram: pilot\n",
    ],
    ids=["cases", "slots", "web", "background", "pilot", "pilot last"],
)
def test_what_makes_no_further_level_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text)
    files.read(path)


def test_too_many_values_are_refused_before_the_rest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LARGEST", 12)
    monkeypatch.setattr(files._Builder, "build", _fail)
    # The values: the whole, engram, name, the list, and four questions of a mapping and a text each.
    text = "engram: pilot\nname: own\nquestions:\n" + "- id: a\n" * 5
    assert refusal(tmp_path, text + UNREADABLE) == ":3: questions: more than 12 values; write fewer"
    assert refusal(tmp_path, f"engram: pilot\nname: [{'x, ' * 12}{UNREADABLE}") == (
        ":2: name: more than 12 values; write fewer"
    )


@pytest.mark.parametrize("collects", [True, False])
def test_cycles_are_not_looked_for_while_a_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collects: bool
) -> None:
    path = tmp_path / "own.yaml"
    seen: list[bool] = []
    build: Callable[..., Any] = files._Builder.build

    def spy(*arguments: Any) -> Any:
        seen.append(gc.isenabled())
        return build(*arguments)

    monkeypatch.setattr(files._Builder, "build", spy)
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        path.write_text(MICRO)
        files.read(path)
        path.write_text("engram: [")
        with pytest.raises(SuiteError):
            files.read(path)
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()
    assert seen
    assert not any(seen)
