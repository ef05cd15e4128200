"""A model's thought, taken off what it says, in the forms in which servers leave it there.

Where a server parts the two itself (`reasoning_content`, `reasoning`), the content is the answer alone. Else the
thought stands in the text:

- between tags: `<think>` and its like (DeepSeek, Qwen, GLM), `[THINK]` (Mistral), `<|START_THINKING|>` (Cohere), and so
  on; the first tag may stand in the prompt, so that the text has the closing one alone;
- in channels (OpenAI's harmony format): the answer is what is in the one called `final`; without its marks, where a
  server drops special tokens, `analysis...assistantfinal...`;
- as parts of a content that is a list (Mistral): those of type `text` are the answer.
"""

from __future__ import annotations

import re
from typing import Any


class Cut(Exception):
    """A text that ends inside its thought: there is no answer in it."""


_WORDS = r"think|thinking|thought|reasoning|reflection|seed:think"
_TAGS = [  # opening and closing
    (rf"<(?:{_WORDS})>", rf"</(?:{_WORDS})>"),
    (r"\[think\]", r"\[/think\]"),
    (r"<\|(?:start_thinking|begin_of_thought)\|>", r"<\|(?:end_thinking|end_of_thought)\|>"),
    (r"◁think▷", r"◁/think▷"),
    (r"<\|channel>thought", r"<channel\|>"),
]
_OPEN, _CLOSE = (re.compile("|".join(tag[side] for tag in _TAGS), re.IGNORECASE) for side in (0, 1))
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>", re.IGNORECASE)
_END = re.compile(r"<\|(?:end|return|call|start)\|>")
_UNMARKED = re.compile(r"\A\s*analysis.*?assistantfinal", re.IGNORECASE | re.DOTALL)


def answer(content: str, *, ended: bool = True) -> str:
    """What a model says without its thought.

    Args:
        content: all of its text.
        ended: whether it came to its end, and was not cut.

    Raises:
        Cut: the text ends before the thought does.
    """
    if "<|channel|>" in content:
        return _final(content)
    text = _UNMARKED.sub("", content, count=1)
    first_open, first_close = _OPEN.search(text), _CLOSE.search(text)
    if first_close and (first_open is None or first_close.start() < first_open.start()):
        text = text[first_close.end() :]  # its beginning stands in the prompt
    while opened := _OPEN.search(text):
        closed = _CLOSE.search(text, opened.end())
        if closed is None:
            # A tag in the midst of an answer that came to its end may be a word of it.
            if not text[: opened.start()].strip() or not ended:
                raise Cut
            break
        text = text[: opened.start()] + text[closed.end() :]
    return text.strip() if text != content else content


def _final(content: str) -> str:
    final = [match for match in _CHANNEL.finditer(content) if match[1].lower() == "final"]
    if not final:
        raise Cut
    text = content[final[-1].end() :]
    end = _END.search(text)
    return (text[: end.start()] if end else text).strip()


def plain(content: Any) -> str | None:
    """The text of a message's content, also where it is a list of parts; None where it is neither."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    parts = [part if isinstance(part, dict) else getattr(part, "__dict__", {}) for part in content]
    texts = [part.get("text") for part in parts if part.get("type") in ("text", "output_text")]
    return "".join(text for text in texts if isinstance(text, str))
