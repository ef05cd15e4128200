"""Suite files: find them, read them with their line numbers, and say what is wrong with them in one line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_engram.suites.base import SuiteError

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


def read(path: Path) -> tuple[dict[str, Any], Lines]:
    """A suite file's mapping, and where each part of it stands.

    Raises:
        SuiteError: it can't be read, is no YAML, holds a key twice, or is not a mapping.
    """
    import yaml

    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SuiteError(
            path, None, "", f"not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None
    except OSError as error:
        raise SuiteError(path, None, "", f"can't be read: {error.strerror}") from None
    loader_type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = loader_type(text)
        try:
            node = loader.get_single_node()
            builder = _Builder(loader, path)
            data = builder.build(node, ()) if node is not None else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(filter(None, [error.context, error.problem]))
        raise SuiteError(path, mark.line + 1 if mark else None, "", f"not YAML: {problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SuiteError(path, None, "", f"not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise SuiteError(path, 1, "", "must be a mapping with a top-level `engram:` key")
    return data, builder.lines


_DEEPEST = 100  # levels of nesting; suites have five
_LARGEST = 500_000  # values of a file with its aliases written out: ten lines of aliases can stand for a billion
_MERGE = "tag:yaml.org,2002:merge"


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
            top = where[:1]
            raise SuiteError(self.path, self.lines[top], dotted(top), f"nested too deeply: more than {_DEEPEST} levels")
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
            line = node.start_mark.line + 1
            raise SuiteError(self.path, line, dotted(where), f"not YAML: {' '.join(str(error).split())}") from None


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
        # A field that does not exist first: it is often the misspelt name of the one that is missing.
        first, *others = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
        where = tuple(first["loc"])
        lacking = [str(e["loc"][-1]) for e in others if e["type"] == "missing" and e["loc"][:-1] == first["loc"][:-1]]
        problem = _problem(first, model, lacking)
        more = f" (and {len(others)} more)" if others else ""
        raise SuiteError(path, lines[where], dotted(where), problem + more) from None


def _problem(error: Any, model: type[BaseModel], lacking: list[str]) -> str:
    kind, message = error["type"], error["msg"]
    if kind == "missing":
        return "this field is missing; add it"
    if kind == "extra_forbidden":
        field = str(error["loc"][-1])
        if close := get_close_matches(field, lacking, 1):
            return f"no such field; did you mean {close[0]}?"
        known = sorted(model.model_fields) if len(error["loc"]) == 1 else []
        return f"no such field; known are {', '.join(known)}" if known else f"no such field {field!r}; delete it"
    if kind == "value_error":
        return str(message).removeprefix("Value error, ")
    return f"{message[0].lower()}{message[1:]}; got {error['input']!r:.80}"


def dotted(where: Location) -> str:
    """A location as people write it: `cases[2].web[0]`."""
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
