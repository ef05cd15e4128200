"""A report over many items takes little more memory than one over few, and its JSON is what `json` writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.report.tables import indented
from pytest_engram.runs import folder as runfolder

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda part: st.lists(part) | st.dictionaries(st.text(), part),
)
FEW, MANY = 2_000, 12_000
REPORT = """
import sys
from pathlib import Path
from click.testing import CliRunner
from pytest_engram.cli.commands import main
done = CliRunner().invoke(main, ["report", sys.argv[1], "-o", sys.argv[1] + "/tables"], catch_exceptions=False)
assert done.exit_code == 0, done.output
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@given(JSON)
def test_json_is_written_as_json_writes_it(data: Any) -> None:
    assert indented(data) == json.dumps(data, ensure_ascii=False, indent=1)


def test_a_number_that_json_has_not_is_refused() -> None:
    for data in ({"a": float("nan")}, {"a": [{"b": float("inf")}]}):
        with pytest.raises(ValueError, match="JSON"):
            indented(data)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the largest memory of a process")
def test_the_report_of_one_more_item_takes_little_more_memory(tmp_path: Path) -> None:
    """A line takes 600 bytes here; that it was read as a whole, several times over, would be 10 KB an item."""
    peaks = {}
    for items in (FEW, MANY):
        # Lines of every kind: 11 of a question for all methods and seeds.
        outcomes, texts = synthetic.pilots(items // 11 + 1)
        outcomes = outcomes[:items]
        folder = tmp_path / str(items)
        runfolder.write(folder, outcomes, synthetic.manifest(outcomes), texts)
        done = subprocess.run([sys.executable, "-c", REPORT, str(folder)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        peaks[items] = 1024 * int(done.stdout.split()[-1])
    assert (peaks[MANY] - peaks[FEW]) / (MANY - FEW) < 6000
