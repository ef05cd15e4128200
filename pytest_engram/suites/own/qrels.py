"""Relevance judgements in a file of their own, as TREC and BEIR have them."""

from __future__ import annotations

from pathlib import Path

from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.own.lines import lines, shown


def read(path: Path) -> dict[str, dict[str, int]]:
    """The relevance of documents, by question and document, in the order of the file.

    Args:
        path: of lines `question iteration document relevance`, as TREC has them, or `question document relevance`
            below a heading, as BEIR has them; parted by tabs, or by white space where a line has no tab.

    Raises:
        SuiteError: it can't be read, a line is none, or a pair is judged twice, each time otherwise.
    """
    found: dict[str, dict[str, int]] = {}
    first = True
    for number, line in lines(path):
        parts = [part.strip() for part in line.split("\t")] if "\t" in line else line.split()
        heading = first and len(parts) == 3 and "id" in parts[0].lower() and not _is_whole(parts[2])
        first = False
        if heading:
            continue
        if len(parts) not in (3, 4):
            expected = "`question iteration document relevance`, or `question document relevance`"
            raise SuiteError(path, number, "", f"has {len(parts)} columns; write {expected}")
        question, document, relevance = parts[0], parts[-2], parts[-1]
        if not _is_whole(relevance):
            problem = f"must be a whole number; got {shown(relevance)}; above 0 is relevant"
            raise SuiteError(path, number, "relevance", problem)
        grades = found.setdefault(question, {})
        if grades.setdefault(document, int(relevance)) != int(relevance):
            problem = f"{shown(document)} was judged {grades[document]} for {shown(question)} before; delete one"
            raise SuiteError(path, number, "relevance", problem)
    if not found:
        raise SuiteError(path, None, "", "holds no judgement; write `question iteration document relevance` a line")
    return found


def _is_whole(text: str) -> bool:
    return len(text) < 10 and text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()
