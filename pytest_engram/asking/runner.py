"""Ask one question: search under the rules, and put down what was recalled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from pytest_engram.asking import again, recorded, rules
from pytest_engram.asking.memories import Empty, Held, Memories, close_one
from pytest_engram.asking.procedures import PROCEDURES, SEARCHES
from pytest_engram.asking.rules import Place
from pytest_engram.asking.watch import theirs
from pytest_engram.memory import Bench, Entry, Memory, MemoryFactory, Method, Recalled
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Question, Suite


def blank(suite: Suite, question: Question, method: str, seed: int, k: int, name: str) -> Outcome:
    """An outcome that nothing is known of yet."""
    return Outcome(
        suite=suite.name,
        question_id=question.id,
        method=method,
        seed=seed,
        k=k,
        ids=[],
        metrics={},
        status="ok",
        item=name,
        query=question.query,
    )


class Asker:
    """Asks questions, in whatever process; knows no gold.

    Args:
        memories: what is asked.
        refused: why a method may not be scored, else None.
        recordings: what recorded methods recalled, by their names.
        fits: how many of some texts, best first, the run's budget of tokens leaves; None: there is no budget.
    """

    def __init__(
        self,
        memories: Memories,
        refused: Callable[[Method], str | None],
        recordings: Mapping[str, recorded.Recording] | None = None,
        fits: Callable[[Sequence[str]], int] | None = None,
    ) -> None:
        self._memories = memories
        self._refused = refused
        self._recordings = recordings or {}
        self._fits = fits

    def ask(
        self,
        suite: Suite,
        question: Question,
        method: Method,
        seed: int,
        name: str,
        fixture: Callable[[], MemoryFactory],
        *,
        twice: bool = False,
    ) -> Outcome:
        """What one method recalls for one question, not yet judged; asked `twice`, the same both times.

        Whatever the method itself raises goes through: it is the author's own traceback, and the item's error.
        """
        __tracebackhide__ = True
        outcome = blank(suite, question, method.name, seed, self._memories.k, name)
        if method.recorded is not None:
            outcome.seconds = None  # until the file tells
        if suite.not_run is not None:
            outcome.status, outcome.reason = "not run", suite.not_run
            return outcome
        refused = self._refused(method)
        if refused is not None:
            outcome.status, outcome.reason = "violation", refused
            return outcome
        probe = Probing(self._memories, suite, question, method, seed, fixture, self._fits)
        outcome.haystack = len(probe.entries)
        if question.not_run is not None:
            outcome.status, outcome.reason = "not run", question.not_run
            return outcome
        if method.recorded is not None:
            self._take(self._recordings[method.name], suite, question, probe, outcome)
            return outcome
        watch, repeated = self._memories.watch, self._memories.calls.repeated
        watch.whose = method.name
        try:
            asked = PROCEDURES[suite.asks](probe, question, suite.settings)
            if twice:
                _ask_twice(probe)
            dropped = probe.trace()
            if told := watch.problem(method.name, f"{suite.name}:{question.id}"):
                raise rules.Violation(told)
        except rules.Violation as broken:
            outcome.status, outcome.reason = "violation", str(broken)
            return outcome
        except Empty as empty:
            if empty.told:
                outcome.status, outcome.reason = "not run", str(empty)
                return outcome
            empty.told = True
            raise
        finally:
            probe.close()
            outcome.retries = self._memories.calls.repeated - repeated
        probe.put_down(outcome)
        outcome.asked = asked
        if dropped is not None:
            outcome.dropped, outcome.lost = dropped, False
        return outcome

    def _take(
        self, recording: recorded.Recording, suite: Suite, question: Question, probe: Probing, outcome: Outcome
    ) -> None:
        """What a memory recalled elsewhere, under the same rules. Nothing is made, called or timed here."""
        line = recording.find(suite.name, question.id)
        if line is None:
            outcome.status, outcome.reason = "not run", recording.lacks(suite.name)
            return
        if suite.asks != "search":
            told = f"{suite.name} asks a memory for more than a file can tell"
            outcome.status, outcome.reason = "not run", f"{told}; run it where the memory is"
            return
        if line.results is not None:
            try:
                probe.take(line.results)
            except rules.Violation as broken:
                outcome.status, outcome.reason = "violation", str(broken)
                return
            probe.put_down(outcome)
            if len(probe.places) < len(line.results) and (line.answer is not None or line.verdicts is not None):
                # Of more than the other methods may have: neither taken over nor given anew by another reader.
                recorded.put_down(line._replace(answer=None, verdicts=None), recording, outcome)
                outcome.missing["answer"] = f"{recording.file} was answered from more than --engram-budget leaves"
                return
        recorded.put_down(line, recording, outcome)


class Probing:
    """One method, on one question, under the rules. Every `search` is checked and timed."""

    def __init__(
        self,
        memories: Memories,
        suite: Suite,
        question: Question,
        method: Method,
        seed: int,
        fixture: Callable[[], MemoryFactory],
        fits: Callable[[Sequence[str]], int] | None = None,
    ) -> None:
        self._memories = memories
        self._fits = fits
        self._suite = suite
        self._question = question
        self._seed = seed
        self._fixture = fixture
        self.method = method
        self.k = memories.k
        self.haystack = memories.haystack(suite, question.haystack)
        self.entries: Sequence[Entry] = self.haystack.entries
        self.places: list[Place] = []
        self.seconds = 0.0
        self._searches = 0
        self._encodings = 0
        self._first: Held | None = None
        self._temporary: list[Held] = []

    def held(self, *, one_by_one: bool = False) -> Held:
        """The memory with all entries written."""
        __tracebackhide__ = True
        factory = theirs(self._fixture)
        if not (one_by_one or self.method.scope == "function"):
            held = self._memories.hold(self.method, factory, self._seed, self._suite, self.haystack, admit=self._admit)
        elif self.method.scope == "function" and self._first is not None and not one_by_one:
            held = self._first
        else:
            use = f"{'one-' if one_by_one else ''}{len(self._temporary)}"
            bench = self._memories.bench(self._suite, self.method, self._seed, self.haystack, use)
            held = self._memories.fill(factory, bench, self.haystack, one_by_one=one_by_one)
            self._temporary.append(held)
        if self._first is None:
            self._first = held
        return held

    def _admit(self, held: Held) -> None:
        """Ask a memory once, before all questions, for an entry that it was given.

        Raises:
            Empty: nothing at all comes back.
        """
        __tracebackhide__ = True
        if not self.entries or self._suite.asks not in SEARCHES:
            return
        wanted = self.entries[0]
        try:
            returned = self._memories.calls.call(held.memory.search, wanted.text, self.k)
            results = list(islice(returned, self.k))
            found = any(_is(result, wanted) for result in results)
        except Exception:  # whatever it is, the questions will meet it, and it is their error
            return
        if not results:
            raise Empty(
                f"{self.method.name} holds nothing: asked for an entry that it was given ({wanted.text!r:.60}), it "
                "returned nothing. Did write() fail in silence, is its service up, does prepare() wait until what was "
                "written can be found?"
            )
        held.wrote["found"] = found

    def memory(self, *, one_by_one: bool = False) -> Memory:
        """The memory itself, for what is not a search."""
        __tracebackhide__ = True
        return self.held(one_by_one=one_by_one).memory

    def support(self) -> dict[str, float] | None:
        """The support of each entry, by the benchmark's ids, or None where the memory has no such thing."""
        __tracebackhide__ = True
        given = getattr(self.memory(), "support", None)
        if given is None:
            return None
        found = dict(self._memories.calls.call(given))
        return {entry.id: found[id_] for id_, entry in self.haystack.by_id.items() if id_ in found}

    @property
    def bench(self) -> Bench:
        """What the memory was given."""
        return self.held().bench

    def search(self, *, one_by_one: bool = False) -> list[Any]:
        """What the method returns, checked: the first search is the one that is put down and timed.

        Returns:
            Ids, or, where the memory has texts of its own, {text, sources} or {id} for each place.
        """
        __tracebackhide__ = True
        held = self.held(one_by_one=one_by_one)
        calls, encodings = self._memories.calls, held.bench.encodings
        returned = calls.call(held.memory.search, self._question.query, self.k)
        places = theirs(  # what comes may be made as it is looked at
            rules.check_recalled,
            returned,
            k=self.k,
            known=self.haystack.by_id,
            method=self.method.name,
            question=f"{self._suite.name}:{self._question.id}",
            tag=self.haystack.tag,
        )
        places = [Place(tuple(self.haystack.by_id[id_].id for id_ in place.ids), place.text) for place in places]
        places = self.cut(places)
        self._searches += 1
        if self._searches == 1:
            self.places, self.seconds = places, calls.seconds
            self._encodings = held.bench.encodings - encodings
        return _plain(places)

    def take(self, returned: Sequence[str | Recalled]) -> None:
        """What a memory returned elsewhere, by the benchmark's own ids, checked.

        Raises:
            rules.Violation: a rule was broken.
        """
        places = rules.check_recalled(
            returned,
            k=self.k,
            known=self.haystack.plain,
            method=self.method.name,
            question=f"{self._suite.name}:{self._question.id}",
        )
        self.places = self.cut(places)

    def cut(self, places: list[Place]) -> list[Place]:
        """As much of what came back as the budget leaves: the best, and whole results only."""
        if self._fits is None:
            return places
        entries = self.haystack.plain
        texts = [entries[place.ids[0]].text if place.text is None else place.text for place in places]
        return places[: self._fits(texts)]

    def put_down(self, outcome: Outcome) -> None:
        """What the first search found, and what it and the filling of the memory took."""
        outcome.ids = list(dict.fromkeys(id_ for place in self.places for id_ in place.ids))
        if any(place.text is not None for place in self.places):
            outcome.recalled = _plain(self.places)
        outcome.seconds, outcome.encodings = round(self.seconds, 6), self._encodings
        if self._first is None:
            return
        outcome.unsplit = self._first.bench.unsplit
        outcome.wrote, self._first.wrote = {} if self._first.counted else self._first.wrote, {}
        outcome.usage = self._memories.usage(self._first)

    def close(self) -> None:
        """Close what was made for this question alone."""
        for held in self._temporary:
            close_one(self._memories.calls, held.memory)

    @property
    def whose(self) -> str:
        """Method and question, as messages name them."""
        return f"{self.method.name} on {self._suite.name}:{self._question.id}"

    def trace(self) -> list[dict[str, Any]] | None:
        """What the memory says that it dropped, checked, or None where it says nothing."""
        __tracebackhide__ = True
        if self._searches == 0:
            return None
        trace = getattr(self.memory(), "trace", None)
        if trace is None:
            return None
        by_id = self.haystack.by_id
        dropped = theirs(
            rules.check_trace,
            self._memories.calls.call(trace, self._question.query, self.k),
            known=by_id,
            method=self.method.name,
            question=f"{self._suite.name}:{self._question.id}",
        )
        return [{**drop, "id": by_id[drop["id"]].id, "by": by_id[drop["by"]].id} for drop in dropped]


def _ask_twice(probe: Probing) -> None:
    __tracebackhide__ = True
    first = _plain(probe.places)
    told = again.problem(probe.whose, "by the same memory at once", first, probe.search())
    if told is not None:
        raise rules.Violation(told)


def _plain(places: Sequence[Place]) -> list[Any]:
    """As the log has it: ids, or, where the memory has texts of its own, {text, sources} or {id} for each place."""
    if all(place.text is None for place in places):
        return [place.ids[0] for place in places]
    return [
        {"id": place.ids[0]} if place.text is None else {"text": place.text, "sources": list(place.ids)}
        for place in places
    ]


def _is(result: object, entry: Entry) -> bool:
    if isinstance(result, Recalled):
        return entry.id in result.sources or entry.text in result.text
    return result == entry.id
