"""Suite files: find them, read them with their line numbers, and say what is wrong with them in one line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args

from pytest_engram.basics.collecting import no_collecting
from pytest_engram.suites.base import NAME, SuiteError

if TYPE_CHECKING:
    from pydantic import BaseModel

SUFFIXES = {".yaml", ".yml"}
_MARK = re.compile(rb"^(?:\xef\xbb\xbf)?(?:engram|'engram'|\"engram\")\s*:", re.MULTILINE)

Location = tuple[str | int, ...]


def is_suite(path: Path) -> bool:
    """Whether a file is a suite: YAML with a top-level `engram:` key. Told without a YAML parser, to be cheap."""
    if path.suffix not in SUFFIXES:
        return False
    try:
        # A pipe has no end, and a device more than memory holds.
        content = path.read_bytes() if path.is_file() else b""
    except OSError:
        return False
    if content.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        # UTF-16 or UTF-32: near enough to see what it is meant to be, so that reading it says what is wrong.
        content = content.replace(b"\0", b"").removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff")
    return _MARK.search(content) is not None


# Where pytest does not look either: its default for `norecursedirs`.
IGNORED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")


def walk(folder: Path, ignored: Sequence[str] = IGNORED, inside: tuple[Path, ...] = ()) -> list[Path]:
    """The YAML files under a folder, in the order in which pytest finds them; virtual environments are left out.

    A folder that can't be read is empty, and a link to a folder that it is `inside` of is not followed.
    """
    from fnmatch import fnmatch

    inside = (*inside, folder.resolve())
    try:
        children = sorted(folder.iterdir())
    except OSError:
        return []
    found: list[Path] = []
    for path in children:
        if path.is_dir():
            if path.is_symlink() and path.resolve() in inside:
                continue
            virtual_environment = (path / "pyvenv.cfg").is_file()
            if not virtual_environment and not any(fnmatch(path.name, pattern) for pattern in ignored):
                found += walk(path, ignored, inside)
        elif path.suffix in SUFFIXES and path.is_file():
            found.append(path.resolve())
    return found


class Lines:
    """Line numbers of a parsed file, by location: `lines[("questions", 3, "id")]`."""

    def __init__(self) -> None:
        self.at: dict[Location, int] = {}

    def __getitem__(self, where: Location) -> int | None:
        while where and where not in self.at:
            where = where[:-1]
        return self.at.get(where)


LEVELS = 20_000  # of a micro-test suite: more are a slip, and would fill the memory before the first is asked
QUESTIONS = 50_000  # of a pilot set
_DEEPEST = 100  # levels of nesting; suites have five
_LARGEST = 500_000  # values of a file with its aliases written out: ten lines of aliases can stand for a billion
_MERGE = "tag:yaml.org,2002:merge"
# What no YAML may hold, in quotes or out of them.
_REFUSED = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read(path: Path) -> tuple[dict[str, Any], Lines]:
    """A suite file's mapping, and where each part of it stands.

    Raises:
        SuiteError: it can't be read, is no YAML, holds a key twice, is too large, or is not a mapping.
    """
    import yaml

    text = _text(path)
    with no_collecting():
        watch = _Watch(path)
        loader = _loader_type()(text)
        loader.watch = watch
        try:
            node = loader.get_single_node()
            watch.end(node)
            builder = _Builder(loader, path)
            data = builder.build(node, ()) if node is not None else None
        except yaml.MarkedYAMLError as error:
            raise SuiteError(path, *_unreadable(error)) from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            problem = f"not YAML: {' '.join(str(error).split())}; write it in plainer YAML"
            raise SuiteError(path, watch.line, "", problem) from None
        finally:
            loader.dispose()
    if not isinstance(data, dict):
        raise SuiteError(path, 1, "", "must be a mapping with a top-level `engram:` key")
    return data, builder.lines


def _text(path: Path) -> str:
    """What a file holds, as YAML may hold it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SuiteError(
            path, None, "", f"can't be read: {error.strerror}; make it readable, or leave it out"
        ) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Counted in what stands before it, not in `error.object`: that lacks the mark of the byte order.
        line = _line(error.object[: error.start].decode("utf-8"))
        raise SuiteError(path, line, "", f"not UTF-8 text ({error.reason}); save it as UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if refused := _REFUSED.search(text):
        problem = f"holds the control character U+{ord(refused[0]):04X}, which YAML refuses; delete it"
        cure = ", or save the file as UTF-8" if refused[0] == "\0" else ""
        raise SuiteError(path, _line(text[: refused.start()]), "", problem + cure)
    return text


def _line(before: str) -> int:
    return len(re.findall("\r\n|\r|\n", before)) + 1


def _unreadable(error: Any) -> tuple[int | None, str, str]:
    """Line, field and problem of what a YAML parser did not understand."""
    mark = error.problem_mark or error.context_mark
    problem = " ".join(filter(None, [error.context, error.problem]))
    cure = "mend this line or the one above; a text with `: `, ` #` or brackets stands in quotes"
    if "another document" in problem:
        cure = "a file holds one suite: delete `---` and what follows"
    elif "nesting depth" in problem:
        cure = "write it flatter, a suite has five levels"
    return mark.line + 1 if mark else None, "", f"not YAML: {problem}; {cure}"


@cache
def _loader_type() -> Any:
    """YAML's loader, which tells its `watch` of every node before it composes it."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        watch: _Watch

        def descend_resolver(self, parent: Any, index: Any) -> None:
            super().descend_resolver(parent, index)
            self.watch.enter(parent, index)

        def ascend_resolver(self) -> None:
            super().ascend_resolver()
            self.watch.above.pop()

    return Loader


class _Watch:
    """Counts what is composed, so that the rest of a file that is out of bounds is not read.

    Attributes:
        above: the node that is being composed and all around it: the node it is in, and its place there, which is a
            number, or the node of its key, or None for a key and for the whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.above: list[tuple[Any, Any]] = []
        self._values = 0
        self._levels = 0
        self._questions = 0
        self._refusal: tuple[str, SuiteError] | None = None  # of what kind of suite, and why

    def enter(self, parent: Any, index: Any) -> None:
        """A node begins.

        Raises:
            SuiteError: it is one too many, or too deep.
        """
        self.above.append((parent, index))
        depth = len(self.above)
        if depth > _DEEPEST:
            raise _too_deep(self.path, self.line, self._where()[:1])
        if parent is not None and index is None:
            return
        self._values += 1
        if self._values > _LARGEST:
            raise SuiteError(self.path, self.line, dotted(self._list()), f"more than {_LARGEST:,} values; write fewer")
        if isinstance(index, int) and depth in (3, 5) and self._refusal is None:
            self._count(depth)

    def _count(self, depth: int) -> None:
        listed = getattr(self.above[1][1], "value", None)
        if listed == "questions" and depth == 3:
            self._questions += 1
            if self._questions > QUESTIONS:
                self._refuse("pilot", f"more than {QUESTIONS:,} questions; write fewer, or make several suites of them")
        if listed not in ("cases", "hubs"):
            return
        # A case is a level at least, and so is each row of its slots.
        if depth == 5 and (self._where()[2] != "slots" or self.above[4][1] == 0):
            return
        self._levels += 1
        if self._levels > LEVELS:
            many = f"more than {LEVELS:,} levels, each an item for every method"
            self._refuse("micro", f"{many}; write fewer {self._list()[-1]}")

    def _refuse(self, kind: str, problem: str) -> None:
        self._refusal = kind, SuiteError(self.path, self.line, dotted(self._list()), problem)
        self.end(self.above[1][0])

    def end(self, root: Any) -> None:
        """Refuse what has too many items, where it is known by now of which kind the suite is.

        Raises:
            SuiteError: so it is.
        """
        if self._refusal is None:
            return
        kind, refusal = self._refusal
        if any(key.value == "engram" and value.value == kind for key, value in root.value):
            raise refusal

    @property
    def line(self) -> int:
        """Where the nearest key stands."""
        keys = (index for _, index in reversed(self.above) if index is not None and not isinstance(index, int))
        key = next(keys, None)
        return key.start_mark.line + 1 if key is not None else 1

    def _where(self) -> Location:
        return tuple(
            index if isinstance(index, int) else str(index.value) for _, index in self.above if index is not None
        )

    def _list(self) -> Location:
        """The nearest key: what stands at `line`."""
        where = self._where()
        while where and isinstance(where[-1], int):
            where = where[:-1]
        return where


def _too_deep(path: Path, line: int | None, where: Location) -> SuiteError:
    problem = f"nested too deeply: more than {_DEEPEST} levels; write it flatter, a suite has five"
    return SuiteError(path, line, dotted(where), problem)


class _Builder:
    """From YAML's nodes to plain data, with the line of each part, and within bounds."""

    def __init__(self, loader: Any, path: Path) -> None:
        self.loader = loader
        self.path = path
        self.lines = Lines()
        self.count = 0

    def build(self, node: Any, where: Location, inside: tuple[int, ...] = ()) -> Any:
        """The value of a node.

        Raises:
            SuiteError: it has none, or would be too large or too deep.
        """
        import yaml

        line = node.start_mark.line + 1
        self.lines.at[where] = line
        self.count += 1
        if id(node) in inside:
            raise SuiteError(self.path, line, dotted(where), "an alias refers to itself; write the value out")
        if len(inside) == _DEEPEST:
            raise _too_deep(self.path, self.lines[where[:1]], where[:1])
        if self.count > _LARGEST:
            problem = f"more than {_LARGEST:,} values, with aliases written out; write fewer"
            raise SuiteError(self.path, line, dotted(where), problem)
        inside = (*inside, id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where, inside)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, (*where, i), inside) for i, child in enumerate(node.value)]
        return self._plain(node, where)

    def _mapping(self, node: Any, where: Location, inside: tuple[int, ...]) -> dict[str, Any]:
        own = [pair for pair in node.value if pair[0].tag != _MERGE]
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                result = {**self._merged(value_node, where, inside), **result}
        seen: set[str] = set()
        for key_node, value_node in own:
            key = self._plain(key_node, where)
            at = key_node.start_mark.line + 1
            if not isinstance(key, (str, int, float, bool)) and key is not None:
                raise SuiteError(self.path, at, dotted(where), "a key must be a plain word")
            key = key if isinstance(key, str) else str(key)
            if key in seen:
                raise SuiteError(self.path, at, dotted((*where, key)), "this key stands twice; delete one")
            seen.add(key)
            result[key] = self.build(value_node, (*where, key), inside)
            self.lines.at[(*where, key)] = at
        self.lines.at[where] = node.start_mark.line + 1
        return result

    def _merged(self, node: Any, where: Location, inside: tuple[int, ...]) -> dict[str, Any]:
        """What `<<` brings: of several mappings, the first that has a key gives its value."""
        value = self.build(node, where, inside)
        result: dict[str, Any] = {}
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, dict):
                problem = "`<<` merges mappings; give one, or a list of them"
                raise SuiteError(self.path, node.start_mark.line + 1, dotted(where), problem)
            result = {**part, **result}
        return result

    def _plain(self, node: Any, where: Location) -> Any:
        try:
            return self.loader.construct_object(node, deep=True)
        except (ValueError, RecursionError) as error:
            problem = " ".join(str(error).split())
        except (LookupError, AttributeError, TypeError, ArithmeticError):  # `!!bool maybe`, `!!int ''`, `!!timestamp x`
            problem = f"{node.value!r:.80} is no {node.tag.rpartition(':')[2]}"
        problem = f"not YAML: {problem}; is it a text? Write it in quotes"
        raise SuiteError(self.path, node.start_mark.line + 1, dotted(where), problem)


M = TypeVar("M", bound="BaseModel")


def validate(model: type[M], data: Any, path: Path, lines: Lines, context: Mapping[str, Any] | None = None) -> M:
    """`data` as `model`; `context` is for the model's own validators.

    Raises:
        SuiteError: the first thing that does not fit, with its line, field and what was expected.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(data, context=context)
    except ValidationError as error:
        faults = _faults(error.errors(include_url=False), data)
    # A field that does not exist first: it is often the misspelt name of the one that is missing.
    first = min(faults, key=lambda fault: fault.error["type"] != "extra_forbidden")
    same = [fault for fault in faults if fault.where == first.where]
    lacking = [
        str(fault.where[-1])
        for fault in faults
        if fault.error["type"] == "missing" and fault.where[:-1] == first.where[:-1] and fault is not first
    ]
    others = {fault.where for fault in faults} - {first.where}
    more = f" (and {len(others)} more)" if others else ""
    raise SuiteError(path, lines[first.where], dotted(first.where), _problem(same, model, lacking) + more)


class _Fault(NamedTuple):
    """One of pydantic's errors, the place in the file that it is about, and the union that it is in, if any."""

    where: Location
    union: Location | None
    error: Any


def _faults(errors: Sequence[Any], data: Any) -> list[_Fault]:
    """What is wrong; of the branches of a union only those that got furthest, which are those that were meant."""
    faults = [_located(error, data) for error in errors]
    furthest: dict[Location, int] = {}
    for fault in faults:
        if fault.union is not None:
            furthest[fault.union] = max(furthest.get(fault.union, 0), len(fault.where))
    return [fault for fault in faults if fault.union is None or len(fault.where) == furthest[fault.union]]


def _located(error: Any, data: Any) -> _Fault:
    """Pydantic's location without what is not in the file: the names of a union's branches."""
    where: Location = ()
    union: Location | None = None
    here = data
    for number, part in enumerate(error["loc"], 1):
        if _holds(here, part):
            here = here[part]
        elif error["type"] != "missing" or number < len(error["loc"]):
            union = where if union is None else union
            continue
        where = (*where, part)
    return _Fault(where, union, error)


def _holds(value: Any, part: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, dict) and part in value


_TOLD = {  # pydantic's type of error: what is wrong, where its own words won't do, and the cure
    "string_type": ("", "write a text, in quotes"),
    "string_too_short": ("this text is too short", "write more"),
    "int_type": ("must be a whole number", "write one, without quotes"),
    "int_parsing": ("must be a whole number", "write one, without quotes"),
    "int_from_float": ("must be a whole number", "write one"),
    "list_type": ("must be a list", "write a line with `- ` for each of its parts"),
    "dict_type": ("must be a mapping", "write a line `name: value` for each of its parts"),
    "model_type": ("must be a mapping", "write a line `field: value` for each of its fields"),
}
_SHAPES = {
    NAME: "letters, digits, `_`, `.` and `-` alone, with no `.` or `-` in front",
    r"^\w+$": "one word of letters, digits and `_`",
    r"\w": "at least one letter or digit",
    r"^[0-9a-f]{16}$": "16 of 0-9 and a-f",
    r"^[0-9a-f]{64}$": "64 of 0-9 and a-f",
}


def _problem(faults: Sequence[_Fault], model: type[BaseModel], lacking: list[str]) -> str:
    """What is wrong at a place, and its cure; of a union's branches, each."""
    where, _, error = faults[0]
    kind, message, context = error["type"], error["msg"], error.get("ctx", {})
    if kind == "missing":
        return "this field is missing; add it"
    if kind == "extra_forbidden":
        field = str(where[-1])
        if close := get_close_matches(field, lacking, 1):
            return f"no such field; did you mean {close[0]}?"
        known = sorted(model.model_fields) if len(where) == 1 else []
        return f"no such field; known are {', '.join(known)}" if known else f"no such field {field!r}; delete it"
    if kind in ("value_error", "assertion_error"):
        return str(message).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    optional = ", or delete this line" if _optional(model, where) else ""
    if kind == "too_short":
        least, there = context["min_length"], context["actual_length"]
        return f"list should have at least {least} item{'s' * (least != 1)} and has {there}; add one{optional}"
    told = dict.fromkeys(_told(fault.error) for fault in faults)
    shown = "nothing" if error["input"] is None else f"{error['input']!r:.80}"
    problem, cure = (", or ".join(dict.fromkeys(parts)) for parts in zip(*told, strict=True))
    return f"{problem}; got {shown}; {cure}{optional}"


def _told(error: Any) -> tuple[str, str]:
    kind, message, context = error["type"], error["msg"], error.get("ctx", {})
    problem, cure = _TOLD.get(kind, ("", "write another value"))
    if kind == "literal_error":
        cure = f"write {context['expected']}"
    elif kind == "string_pattern_mismatch":
        cure = f"write {_SHAPES.get(context['pattern'], 'a text that does')}"
    elif kind in ("greater_than_equal", "greater_than", "less_than_equal", "less_than"):
        cure = f"write a {'larger' if kind.startswith('greater') else 'smaller'} number"
    return problem or f"{message[0].lower()}{message[1:]}", cure


def _optional(model: type[BaseModel], where: Location) -> bool:
    """Whether a location is that of a field that may be left out."""
    if not where or isinstance(where[-1], int):
        return False
    models, found = [model], None
    for part in where:
        if isinstance(part, str):
            found = next((m.model_fields[part] for m in models if part in m.model_fields), None)
            if found is None:
                return False
            models = _models(found.annotation)
    return found is not None and not found.is_required()


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models in a type: of `list[Case] | None`, Case."""
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def dotted(where: Location) -> str:
    """A location as people write it, on one line: `cases[2].web[0]`."""
    text = ""
    for given in where:
        part = given if isinstance(given, int) or (given.isprintable() and len(given) <= 60) else f"{given!a:.60}"
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
