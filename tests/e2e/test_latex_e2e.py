"""The LaTeX tables compile as a paper would read them, whatever a run holds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import runs

from pytest_engram import report
from pytest_engram.runs import folder as runfolder

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
PAPER = """\
\\documentclass{article}
\\usepackage{booktabs,graphicx}
\\begin{document}
\\input{results}
\\end{document}
"""
COMMANDS = {
    "pdflatex": ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
    "tectonic": ["tectonic", "paper.tex"],
}


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest) -> list[str]:
    """How one TeX is called. Tectonic fetches its packages, so that it only stands in where there is no other."""
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"no {name} here: tests/e2e/install.sh installs pdflatex")
    if name == "tectonic" and shutil.which("pdflatex"):
        pytest.skip("pdflatex is here, and needs no network")
    return COMMANDS[name]


def compiled(folder: Path, command: list[str]) -> str:
    """What TeX said; the paper was set to its end."""
    (folder / "paper.tex").write_text(PAPER, encoding="utf-8")
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert (folder / "paper.pdf").read_bytes().startswith(b"%PDF")
    return done.stdout


def test_the_tables_of_a_run(tmp_path: Path, command: list[str]) -> None:
    folder = runs.run(tmp_path)
    told = compiled(folder, command)
    assert "Missing character" not in told


def test_all_that_the_reference_run_has(tmp_path: Path, command: list[str]) -> None:
    """Benchmarks, categories, micro-tests, flips, costs and verdicts: every kind of table."""
    run = runfolder.read(ROOT / "reports" / "reference")
    report.write(tmp_path, run.outcomes, run.manifest, only=["results.tex"], known=run.known)
    assert "Missing character" not in compiled(tmp_path, command)


def test_names_that_tex_would_read_as_commands(tmp_path: Path, command: list[str]) -> None:
    name = r"50%_off & #1 {x} $y$ ~z^ \input{a} <|> [b] “q” … ±"
    outcomes = [
        runs.outcome(f"q{i}", float(i % 2 == place), method=method, group=f"*{name}", suite="tiny")
        for place, method in enumerate((f"one {name}", f"[two] {name}"))
        for i in range(6)
    ]
    report.write(tmp_path, outcomes, runs.manifest(outcomes), only=["results.tex"])
    compiled(tmp_path, command)
