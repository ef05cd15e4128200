"""BEIR folders and TREC qrels: read as their owners write them, and scored as `ir_measures` scores them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from both import METRICS, Both
from ir_measures import Qrel, R, ScoredDoc, Success, nDCG

from pytest_engram.basics.registry import Registry
from pytest_engram.suites import SOURCES, loading, reach
from pytest_engram.suites.base import SuiteError

CORPUS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "Cats", "text": "They sit on mats.", "metadata": {"url": "x"}},
    {"_id": "d2", "title": "", "text": "Dogs bark."},
    {"_id": "d3", "text": "Birds sing."},
    {"_id": "d4", "title": "Empty", "text": ""},
]
QUERIES: list[dict[str, Any]] = [
    {"_id": "PLAIN-1", "text": "Where do cats sit?", "metadata": {}},
    {"_id": "PLAIN-2", "text": "Who sings?"},
    {"_id": "PLAIN-3", "text": "Not judged in this split."},
]
QRELS = "query-id\tcorpus-id\tscore\nPLAIN-1\td1\t2\nPLAIN-1\td2\t1\nPLAIN-1\td3\t0\nPLAIN-2\td3\t1\nPLAIN-2\tgone\t1\n"


def lined(rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def put(folder: Path, corpus: Any = CORPUS, queries: Any = QUERIES, qrels: str = QRELS, more: str = "") -> Path:
    """A folder as BEIR has it, and a suite file beside it."""
    home = folder / "tiny"
    (home / "qrels").mkdir(parents=True, exist_ok=True)
    (home / "corpus.jsonl").write_text(lined(corpus))
    (home / "queries.jsonl").write_text(lined(queries))
    (home / "qrels" / "test.tsv").write_text(qrels)
    path = folder / "tiny.yaml"
    path.write_text(
        "engram: pilot\nname: tiny\nsource: beir\nfolder: tiny\nmetrics: [ndcg@10, recall@2, recall_any@1]\n" + more
    )
    return path


def both(path: Path, data: Path | None = None) -> Both:
    sources: Registry[Any] = Registry("data source", SOURCES)
    return Both(*loading.load(path, data, sources=sources, metrics=METRICS, shipped_metrics=METRICS))


def told(path: Path) -> str:
    with pytest.raises(SuiteError) as error:
        both(path)
    return str(error.value).replace(f"{path.parent}/", "")


def test_a_folder(tmp_path: Path) -> None:
    found = both(put(tmp_path))
    assert [(q.id, q.query) for q in found.questions] == [
        ("PLAIN-1", "Where do cats sit?"),
        ("PLAIN-2", "Who sings?"),
    ]
    entries = found.haystack(found.questions[0].haystack)
    assert [(e.id, e.text) for e in entries] == [
        ("d1", "Cats They sit on mats."),
        ("d2", "Dogs bark."),
        ("d3", "Birds sing."),
        ("d4", "Empty"),
    ]
    assert list(found.gold(found.questions[0]).relevant) == ["d1", "d2"]  # judged 0 is not relevant
    assert found.describe()["notes"] == ["of 1 question, something that no entry is was judged: it counts as not found"]
    assert found.describe()["origin"] == "tiny/corpus.jsonl, tiny/queries.jsonl, tiny/qrels/test.tsv, own data"
    assert reach.answers(None, [found.suite.path], tmp_path / "r", tmp_path)[tmp_path / "tiny"] == "tiny of tiny.yaml"


def test_it_is_not_run_where_a_file_is_missing(tmp_path: Path) -> None:
    path = put(tmp_path, more="split: dev\n")
    assert both(path).suite.not_run == "no tiny/qrels/dev.tsv. Cure: put there what BEIR has under this name"
    (tmp_path / "tiny").rename(tmp_path / "tiyn")
    assert "did you mean tiyn?" in str(both(path).suite.not_run)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"corpus": [*CORPUS, {"_id": "d1", "text": "x"}]}, 'tiny/corpus.jsonl:5: _id: "d1" is the id of a document'),
        ({"corpus": [{"id": "d1", "text": "x"}]}, "tiny/corpus.jsonl:1: _id: this field is missing; add it"),
        ({"corpus": [{"_id": 1, "text": "x"}]}, "tiny/corpus.jsonl:1: _id: must be a text; got 1"),
        ({"queries": [{"_id": "PLAIN-1", "text": ""}]}, 'tiny/queries.jsonl:1: text: must be a text; got ""'),
        ({"queries": QUERIES[:1]}, 'tiny/qrels/test.tsv: queries.jsonl has no question "PLAIN-2"'),
        ({"qrels": "PLAIN-1\td1\tyes\n"}, 'tiny/qrels/test.tsv:1: relevance: must be a whole number; got "yes"'),
        ({"qrels": "PLAIN-1 d1\n"}, "tiny/qrels/test.tsv:1: has 2 columns; write `question iteration document"),
        ({"qrels": QRELS + "PLAIN-1\td1\t0\n"}, 'tiny/qrels/test.tsv:7: relevance: "d1" was judged 2 for "PLAIN-1"'),
        ({"qrels": "query-id\tcorpus-id\tscore\n"}, "tiny/qrels/test.tsv: holds no judgement"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, given: dict[str, Any], problem: str) -> None:
    assert told(put(tmp_path, **given)).startswith(problem)


def own(folder: Path, qrels: str, questions: str = "") -> Path:
    """The same, as a suite of own lines with judgements as TREC has them."""
    entries = [{"id": row["_id"], "text": row["text"] or "?"} for row in CORPUS]
    (folder / "entries.jsonl").write_text(lined(entries))
    asked = [{"id": row["_id"], "query": row["text"], "answers": ["x"]} for row in QUERIES]
    (folder / "questions.jsonl").write_text(questions or lined(asked))
    (folder / "qrels.txt").write_text(qrels)
    path = folder / "own.yaml"
    path.write_text(
        "engram: pilot\nname: own\nsource: own\nentries: entries.jsonl\nquestions: questions.jsonl\n"
        "qrels: qrels.txt\nmetrics: [ndcg@10, recall@2]\n"
    )
    return path


def test_judgements_as_trec_has_them(tmp_path: Path) -> None:
    found = both(own(tmp_path, "PLAIN-1 0 d1 2\nPLAIN-1 0 d2 1\nPLAIN-1 Q0 d3 0\n\nPLAIN-2 0 d3 -1\n"))
    first, none_relevant, unjudged = found.questions
    assert found.gold(first).grades == {"d1": 2, "d2": 1}
    assert found.gold(none_relevant).left_out["recall"] == "no entry answers"
    assert found.gold(unjudged).left_out["recall"] == "which entries answer is not told"


def test_judgements_stand_in_one_place(tmp_path: Path) -> None:
    question = lined([{"id": "PLAIN-1", "query": "?", "gold": ["d1"]}])
    assert told(own(tmp_path, "PLAIN-1 0 d1 2\n", question)).startswith(
        "questions.jsonl:1: gold: the suite has `qrels`"
    )
    assert told(own(tmp_path, "PLAIN-9 0 d1 2\n")).startswith("qrels.txt: questions.jsonl has no question 'PLAIN-9'")


@pytest.mark.parametrize("seed", range(20))
def test_figures_are_those_of_ir_measures(tmp_path: Path, seed: int) -> None:
    """Recall, success and NDCG of random rankings of randomly judged documents, with grades and lost documents."""
    draw = random.Random(seed)
    ids = [f"d{i}" for i in range(30)]
    judged = {
        f"q{i}": {id_: draw.choice([0, 1, 1, 2, 3]) for id_ in draw.sample([*ids, "gone"], draw.randint(1, 12))}
        for i in range(8)
    }
    for grades in judged.values():
        grades["d0"] = 1  # something answers: without, the two disagree about what the mean is over
    path = put(
        tmp_path,
        [{"_id": id_, "text": "x"} for id_ in ids],
        [{"_id": id_, "text": "?"} for id_ in judged],
        "".join(f"{q}\t{d}\t{grade}\n" for q, grades in judged.items() for d, grade in grades.items()),
    )
    path.write_text(path.read_text().replace("recall@2, recall_any@1", "ndcg@3, recall@10, recall@2, recall_any@1"))
    found = both(path)
    ranked = {q.id: draw.sample(ids, draw.randint(0, 10)) for q in found.questions}
    measures = {"ndcg@10": nDCG @ 10, "ndcg@3": nDCG @ 3, "recall@10": R @ 10, "recall@2": R @ 2}
    measures["recall_any@1"] = Success @ 1
    qrels = [Qrel(q, d, grade) for q, grades in judged.items() for d, grade in grades.items()]
    scored = [ScoredDoc(q, d, 10 - rank) for q, found_ids in ranked.items() for rank, d in enumerate(found_ids, 1)]
    theirs = {(m.query_id, m.measure): m.value for m in ir_measures.iter_calc(list(measures.values()), qrels, scored)}
    for question in found.questions:
        line = found.judge(question, ranked[question.id])
        for name, measure in measures.items():
            expected = theirs.get((question.id, measure), 0.0)  # nothing was returned
            assert line.metrics[name] == pytest.approx(expected, abs=1e-12), (question.id, name)
