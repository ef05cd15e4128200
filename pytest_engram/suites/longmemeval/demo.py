"""Generated haystacks in LongMemEval's schema, so that its protocol runs without a download.

Everything is made up here: everyday topics, what a user says about them in passing, what other people are said to do,
and questions in other words than the statements. Each rule of the protocol has a case: evidence that only the
assistant gave, abstentions, several evidence sessions, evidence in one turn of many, a session twice under one id,
a session without a user turn, and answers that are numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

SESSIONS = 40  # in a haystack
KINDS = ("single", "update", "several", "aside")


@dataclass(frozen=True, slots=True)
class _Topic:
    """`says` states the user's own {v}; `told` is the assistant stating it; `others` say it of somebody else."""

    question: str
    says: tuple[str, str, str]
    told: str
    others: tuple[str, str]
    chat: tuple[str, str, str, str]
    values: tuple[str | int, ...]


_TOPICS = (
    _Topic(
        "What is the colour of the bicycle that I ride to the office?",
        (
            "I cycled in again, the {v} frame looks great now that the mud is off.",
            "Somebody scratched my {v} commuter bike at the station.",
            "I had the {v} one serviced before going back to work.",
        ),
        "You told me that the bike in your shed is {v}; a lamp in that colour would suit it.",
        (
            "My brother rides a {v} bicycle to the office, what lock would he need?",
            "The bicycle in the office lobby is {v}; whose colour scheme is that?",
        ),
        (
            "Which tyres are best for a bicycle on wet cobbles?",
            "How long should a ride to an office across town take?",
            "Is it worth having the chain replaced every spring?",
            "What colour of jacket is easiest to see at dusk?",
        ),
        ("turquoise", "burgundy", "mustard", "graphite", "ivory"),
    ),
    _Topic(
        "How many tomato plants do I grow on the balcony this year?",
        (
            "Watering {v} of those seedlings takes me half the evening, they fill the whole railing.",
            "I counted again: {v} pots of San Marzano out there, all flowering.",
            "There is hardly room for a chair next to my {v} vines.",
        ),
        "With {v} plants in pots, a drip line from the kitchen tap would save you time.",
        (
            "My aunt grows {v} tomato plants on a balcony, is that many?",
            "The community garden put {v} tomato plants on the balcony of the library this year.",
        ),
        (
            "When should tomato plants move outdoors?",
            "What can I grow on a balcony that faces north?",
            "How often do plants in pots need feed?",
            "Which year was the tomato brought to Europe?",
        ),
        (7, 11, 14, 17, 23),
    ),
    _Topic(
        "Which instrument am I learning to play?",
        (
            "My fingertips hurt, three weeks with the {v} and still no clean scale.",
            "The rented {v} came with a cracked case, but my teacher says it sounds fine.",
            "I practised on the {v} before breakfast so that the neighbours could sleep.",
        ),
        "As a beginner on the {v}, ten minutes a day will take you further than an hour on Sundays.",
        (
            "My daughter is learning to play the {v}, which instrument goes with it?",
            "A colleague gave up learning the {v}; which instrument is easier to play?",
        ),
        (
            "What instrument leads an orchestra when it tunes?",
            "How do people learn to read music late in life?",
            "Which pieces can one play with only three chords?",
            "Is learning by ear better than learning by score?",
        ),
        ("oboe", "mandolin", "cello", "accordion", "harp"),
    ),
    _Topic(
        "Where did I spend my summer holiday?",
        (
            "Still finding sand from {v} in my shoes, those two weeks in July did me good.",
            "The ferry back from {v} was six hours late and I arrived home sunburnt.",
            "I keep thinking of the evenings in {v}, we swam until it was dark.",
        ),
        "Since you were in {v} in July, your tan should last until September.",
        (
            "My parents spend every summer holiday in {v}, what is there to see?",
            "Where in {v} do people spend a holiday in summer? My boss just came back.",
        ),
        (
            "Where is it not too hot for a holiday in August?",
            "How much should I spend on travel insurance?",
            "Which summer festivals need no ticket?",
            "What do I pack for a holiday with only hand luggage?",
        ),
        ("Naxos", "Gotland", "Menorca", "Rügen", "Lošinj"),
    ),
    _Topic(
        "What is the name of my dog?",
        (
            "{v} chewed through another leash this morning, the vet says it is boredom.",
            "I had to carry {v} up the stairs after the operation, those paws are heavy.",
            "At the park {v} barks at every spaniel and will not come when I call.",
        ),
        "For a puppy like {v}, two short walks are better than one long one.",
        (
            "The dog next door has the name {v}, and it howls at night. What can I do?",
            "My sister wants to name her dog {v}. Is that a good name?",
        ),
        (
            "What is a good name for a cat that is always asleep?",
            "Which dog is the quietest in a flat?",
            "How do I stop a dog from pulling?",
            "At what age should a dog be vaccinated?",
        ),
        ("Biscuit", "Odin", "Pepper", "Waldo", "Zelda"),
    ),
    _Topic(
        "Who is my dentist?",
        (
            "Doctor {v} filled two of my molars and I could not feel my cheek for hours.",
            "The receptionist at {v}'s practice moved my cleaning to Thursday.",
            "I trust {v} with a drill, that is saying something.",
        ),
        "Ask Doctor {v} about a night guard when you have your teeth checked.",
        (
            "A friend recommends a dentist, {v}, who is said to be gentle. Who else is there?",
            "Who is {v}, the dentist on the poster in the tram?",
        ),
        (
            "How does one find a dentist who takes new patients?",
            "Who invented the electric toothbrush?",
            "Is a dentist allowed to charge for a missed visit?",
            "What helps against sensitive teeth?",
        ),
        ("Okafor", "Lindgren", "Marchetti", "Yilmaz", "Petrov"),
    ),
    _Topic(
        "Which language course did I sign up for?",
        (
            "First lesson tonight, and my head is full of {v} vowels.",
            "I paid the school for a term of {v}, Tuesdays at seven.",
            "My homework for the {v} class is to describe a kitchen.",
        ),
        "For {v} at your level, watch the news with subtitles.",
        (
            "My flatmate did sign up for a {v} language course, which book should I give her?",
            "Which course is the better one for the {v} language? A cousin asks.",
        ),
        (
            "Which language has the fewest irregular verbs?",
            "Is an evening course better than an app?",
            "How many words of a language does one need to read a newspaper?",
            "What does it cost to sign up for an exam?",
        ),
        ("Finnish", "Portuguese", "Korean", "Welsh", "Arabic"),
    ),
    _Topic(
        "What did I bake for the birthday party?",
        (
            "The {v} rose beautifully, and everybody had a second slice while she blew out the candles.",
            "I was up until midnight icing the {v}, forty guests is a lot.",
            "Note to self: the {v} needs ten minutes less in my oven.",
        ),
        "Your {v} will keep for three days if you cover it.",
        (
            "For a birthday party my neighbour will bake a {v}, what goes with it?",
            "What do you bake a {v} in? Someone asked me at a birthday party.",
        ),
        (
            "How do I bake without eggs?",
            "What games suit a birthday party for adults?",
            "Why does my sponge sink in the middle?",
            "What did people eat at a party a century ago?",
        ),
        ("lemon tart", "carrot cake", "babka", "pavlova", "gingerbread"),
    ),
    _Topic(
        "How far is my longest run so far, in kilometres?",
        (
            "I made it to {v} on Sunday before my knee complained, a new record for me.",
            "The watch said {v} when I got back to the car, I have never gone on for so long.",
            "After those {v} by the canal I slept like a stone.",
        ),
        "Your {v} kilometres by the river are a solid base for a half marathon.",
        (
            "How far is a run of {v} kilometres in miles? A colleague brags with his longest.",
            "Her longest run so far is {v} kilometres, she says. How far should a beginner go?",
        ),
        (
            "How far ahead should I taper for a race?",
            "Which shoes are best for a long run?",
            "How many kilometres a week are too many?",
            "What should I eat before the longest training?",
        ),
        (12, 15, 18, 22, 26),
    ),
    _Topic(
        "Which book did I borrow from the library last?",
        (
            "Forty pages into {v} and I already mistrust the narrator.",
            "I must bring {v} back by Friday, the fine is a euro a day.",
            "Read {v} on the train and missed my stop.",
        ),
        "If you liked {v}, its author has written a second part.",
        (
            "Which library has {v}? My reading group wants to borrow that book.",
            "The last book that my father did borrow was {v}, which is it like?",
        ),
        (
            "Which book won the prize last autumn?",
            "How long may one borrow films from a library?",
            "Can a library order a book from abroad?",
            "What is a good last chapter made of?",
        ),
        ("The Salt Road", "Winter Ledger", "Nine Lanterns", "A House of Rooks", "Glass Orchard"),
    ),
    _Topic(
        "What car do I drive at the moment?",
        (
            "The {v} would not start in the cold, I had to be towed to the garage.",
            "My {v} passed its inspection, only the wipers had to be changed.",
            "I parked the {v} under the lime trees and now it is sticky all over.",
        ),
        "On your {v}, the fuse for the radio is under the steering wheel.",
        (
            "What car is a {v} comparable to? My uncle wants to drive one.",
            "At the moment the company makes us drive a {v}; what does that car use?",
        ),
        (
            "What should I check before a long drive?",
            "Which car has the largest boot in its class?",
            "Is an electric car cheaper at the moment?",
            "How often must the oil be changed?",
        ),
        ("Fabia", "Yaris", "Twingo", "Octavia", "Panda"),
    ),
    _Topic(
        "In which street is my new flat?",
        (
            "The boxes are all in {v} now, I only miss the curtains.",
            "From my kitchen in {v} I can hear the tram, which I rather like.",
            "The landlord of {v} gave me the second key at last.",
        ),
        "For the move to {v} you need a parking permit from the town.",
        (
            "A new flat in {v} is too dear for my cousin. Which street is cheaper?",
            "In which part of town is {v}? A friend was offered a flat in that street.",
        ),
        (
            "Which street has the best bakeries?",
            "What should a handover of a flat note down?",
            "How do I paint a new wall without streaks?",
            "Is a flat on the ground floor a bad idea?",
        ),
        ("Harbour Lane", "Mill Row", "Cedar Court", "Tanner's Yard", "Abbey Close"),
    ),
)

_REPLIES = (
    "That depends on a few things. Tell me more, and I can be more precise.",
    "Good question. Start small, see what works, and change one thing at a time.",
    "Here are three options: the cheap one, the quick one, and the one that lasts.",
    "Most people find the second week the hardest; after that it is a habit.",
    "I would ask somebody who has done it, and compare at least two offers.",
)
_STARTS = ("By the way: ", "Before I forget, ", "", "", "Oh well. ")


def questions(seed: int) -> list[dict[str, Any]]:
    """All questions in LongMemEval's schema: four a topic. The same seed gives the same ones."""
    draw = random.Random(seed)
    pool = [(f"chat_{draw.getrandbits(32):08x}", _session(draw, [])) for _ in range(160)]
    return [
        _question(draw, f"demo_{number:02d}_{kind}", number, topic, kind, pool)
        for number, topic in enumerate(_TOPICS)
        for kind in KINDS
    ]


def _question(
    draw: random.Random,
    id_: str,
    number: int,
    topic: _Topic,
    kind: str,
    pool: list[tuple[str, list[dict[str, Any]]]],
) -> dict[str, Any]:
    first, second, *rest = draw.sample(topic.values, len(topic.values))
    told = kind == "aside" and number % 2 == 0
    statements = {
        "single": [topic.says[number % 3].format(v=first)],
        "update": [topic.says[0].format(v=second), topic.says[1].format(v=first)],
        "several": [says.format(v=first) for says in topic.says],
        "aside": [],
    }[kind]
    name = f"{draw.getrandbits(32):08x}"
    evidence = [
        (f"answer_{name}_{i}", _session(draw, [(statement, "user")], topic))
        for i, statement in enumerate(statements, start=1)
    ]
    if told:
        evidence = [(f"answer_{name}_1", _session(draw, [(topic.told.format(v=first), "assistant")], topic))]
    elif kind == "several":
        # Part of the evidence of a question may be the assistant's alone: that session is then no gold.
        evidence.append((f"answer_{name}_9", _session(draw, [(topic.told.format(v=first), "assistant")], topic)))
    near = [
        (f"near_{name}_{i}", _session(draw, [(draw.choice(topic.others).format(v=value), None)]))
        for i, value in enumerate(rest)
    ]
    fillers = draw.sample(pool, SESSIONS - len(evidence) - len(near))
    if number % 4 == 1:
        fillers[0] = fillers[1]  # the same session twice under one id
    if number % 4 == 2:
        fillers[2] = (fillers[2][0] + "_quiet", [{"role": "assistant", "content": draw.choice(_REPLIES)}])
    sessions = _in_order(draw, evidence, near + fillers)
    day = datetime(2025, 3, 1, 8)
    dates = []
    for _ in range(SESSIONS + 1):
        day += timedelta(hours=draw.randint(5, 60), minutes=draw.randint(0, 59))
        dates.append(day.strftime("%Y/%m/%d (%a) %H:%M"))
    abstains = kind == "aside" and not told
    return {
        "question_id": id_ + "_abs" if abstains else id_,
        "question_type": {
            "single": "single-session-user",
            "update": "knowledge-update",
            "several": "multi-session",
            "aside": "single-session-assistant" if told else "single-session-user",
        }[kind],
        "question": topic.question,
        "answer": "You have not told me." if abstains else first,
        "question_date": dates.pop(),
        "haystack_session_ids": [session_id for session_id, _ in sessions],
        "haystack_dates": dates,
        "haystack_sessions": [session for _, session in sessions],
        "answer_session_ids": [session_id for session_id, _ in evidence],
    }


def _in_order(draw: random.Random, evidence: list[Any], others: list[Any]) -> list[Any]:
    """The sessions in a random order, but those with evidence in theirs: an update comes after what it updates."""
    draw.shuffle(others)
    places = sorted(draw.sample(range(len(others) + 1), len(evidence)), reverse=True)
    for place, session in zip(places, reversed(evidence), strict=True):
        others.insert(place, session)
    return others


def _session(
    draw: random.Random, marked: list[tuple[str, str | None]], topic: _Topic | None = None
) -> list[dict[str, Any]]:
    """A chat of three to five exchanges, with the marked sentences in it: (text, whose evidence it is, if any's)."""
    turns: list[dict[str, Any]] = []
    for _ in range(draw.randint(3, 5)):
        about = topic if topic and draw.random() < 0.6 else draw.choice(_TOPICS)
        turns.append({"role": "user", "content": draw.choice(about.chat)})
        turns.append({"role": "assistant", "content": draw.choice(_REPLIES)})
    for text, whose in marked:
        turn = turns[2 * draw.randrange(len(turns) // 2) + (whose == "assistant")]
        turn["content"] = f"{draw.choice(_STARTS)}{text} {turn['content']}"
        if whose:
            turn["has_answer"] = True
    return turns
