"""A memory and a case to begin with, put into somebody's repository."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

CASES = "engram_cases"
METHOD = "my_memory"
PLUGIN = "engram_memory"  # where there is a conftest.py already

_MEMORY = '''"""A memory as a fixture: {command}"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_engram import Bench, Entry, method


class MyMemory:
    """Returns what shares most words with the question; of two entries with one beginning, only the newer.

    Put your own memory in its place. `bench.embed(texts)` and `bench.embed_query(text)` give embeddings.
    """

    def __init__(self, bench: Bench) -> None:
        self.entries: list[Entry] = []

    def write(self, entries: Sequence[Entry]) -> None:
        """Take entries; called once or many times, in time order."""
        self.entries += entries

    def search(self, query: str, k: int) -> list[str]:
        """Ids of at most k entries, best first."""
        newest = {{" ".join(entry.text.split()[:3]): entry for entry in self.entries}}
        wanted = set(query.lower().split())
        best = sorted(newest.values(), key=lambda entry: -len(wanted & set(entry.text.lower().split())))
        return [entry.id for entry in best[:k]]


@method(label="My memory")
def {method}() -> type[MyMemory]:
    return MyMemory
'''

_CASE = """# A case: what is believed, what contradicts it, and how many facts back either side.
engram: micro
name: office
rule: majority-support
construction: >-
  Two people who are said to move to another office. Both sides are backed by facts of daily work.
sweep: {web: [0, 2], backers: [0, 1, 3]}
cases:
  - name: office
    belief: "{name} works from the {old} office."
    web:
      - "Parcels for {name} are delivered to the {old} office."
      - "A parking space is reserved for {name} at the {old} office."
    update: "{name} works from the {new} office."
    backers:
      - "The {new} office printed a door sign for {name}."
      - "Lunch in the canteen of the {new} office is paid for {name}."
      - "The front desk of the {new} office has a badge for {name}."
    query: "Which office does {name} work from?"
    slots:
      - {name: Dana Whitlock, old: Leeds, new: Bristol}
      - {name: Omar Haddad, old: Bristol, new: Leeds}
"""

_INI = f"[pytest]\nengram_cases = {CASES}\n"
# Where pytest finds its root; in the last two, only with a section of its own.
_INI_FILES = {
    **dict.fromkeys(("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "setup.py"), ""),
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}


@dataclass(frozen=True)
class Started:
    """What was written, what stood there already and was left as it is, and what to type next."""

    written: list[Path]
    left: list[Path]
    command: str


def start(folder: Path) -> Started:
    """Write a memory, a case, and, where pytest has no configuration yet, a `pytest.ini`. Nothing is overwritten.

    Args:
        folder: made where it is missing.

    Raises:
        OSError: something can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    case = folder / CASES / "office.yaml"
    conftest = folder / "conftest.py"
    plugin = conftest.exists() and METHOD not in conftest.read_text(encoding="utf-8", errors="replace")
    memory = folder / f"{PLUGIN}.py" if plugin else conftest
    # Without a configuration, pytest takes the folder of the cases for the root and does not see the conftest.py.
    home = folder.resolve()
    bare = not any(
        _configures(place / name, mark) for place in (home, *home.parents) for name, mark in _INI_FILES.items()
    )
    command = f"python -m pytest -p {PLUGIN}" if plugin else "pytest"
    command += f" --engram-method={METHOD}" + ("" if bare else f" {CASES}")
    files = {memory: _MEMORY.format(method=METHOD, command=command), case: _CASE}
    if bare:
        files[folder / "pytest.ini"] = _INI
    written, left = [], []
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
            written.append(path)
        except FileExistsError:
            left.append(path)
    if home != Path.cwd():
        command = f"cd {shlex.quote(os.path.relpath(home))} && {command}"
    return Started(written, left, command)


def _configures(path: Path, mark: str) -> bool:
    return path.is_file() and mark in path.read_text(encoding="utf-8", errors="replace")
