"""Any memory server that speaks the Model Context Protocol, over stdio or streamable HTTP: `mcp_memory`.

Five lines of a conftest say how the server is reached, which of its tools writes and which searches, and where in a
result the texts stand:

```python
from pytest_engram import method
from pytest_engram.methods.adapters.mcp import mcp_memory

@method(label="Ours", shared=True, packages=["mcp"])
def ours():
    return mcp_memory(
        command=["our-server", "--db", "{folder}/store.db"],
        write={"tool": "remember", "arguments": {"content": "{text}", "metadata": {"id": "{id}"}}},
        search={"tool": "recall", "arguments": {"query": "{query}", "limit": "{k}"}},
        result={"items": "memories", "text": "content", "id": "metadata.id"},
    )
```

All of it is plain data, so that it may as well stand in a file: `mcp_memory(**yaml.safe_load(text))`.

`--engram-method=mcp` is the reference server, `@modelcontextprotocol/server-memory`.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram.memory import Bench, Entry, MemoryFactory, Recalled, method

if TYPE_CHECKING:
    from mcp import Client

EACH = "for each"
OF_BENCH = ("folder", "namespace", "seed")
OF_ENTRY = ("id", "text", "time")
OF_QUESTION = ("query", "k")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_RESULT = ("items", "text", "id", "id_pattern", "split")
EXCERPT = 200  # characters of a result that an error shows


class ServerError(Exception):
    """A server that did not do what it was asked for: which tool, what came back, and a cure. One line."""


# Templates: what is sent


def filled(template: Any, values: Mapping[str, Any], entries: Sequence[Mapping[str, Any]] = ()) -> Any:
    """A template with its placeholders replaced. A text that is one placeholder alone becomes the value as it is.

    `{"for each": part}` becomes a list, with the part once for each entry.
    """
    if isinstance(template, str):
        whole = _PLACEHOLDER.fullmatch(template)
        if whole:
            return _value(values, whole[1])
        return _PLACEHOLDER.sub(lambda match: str(_value(values, match[1])), template)
    if isinstance(template, Mapping):
        if set(template) == {EACH}:
            return [filled(template[EACH], {**values, **entry}) for entry in entries]
        return {key: filled(part, values, entries) for key, part in template.items()}
    if isinstance(template, (list, tuple)):
        return [filled(part, values, entries) for part in template]
    return template


def _value(values: Mapping[str, Any], name: str) -> Any:
    given = values[name]
    return given() if callable(given) else given


def _placeholders(template: Any, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """Each placeholder, and whether it stands in a part for each entry."""
    if isinstance(template, str):
        yield from ((name, inside) for name in _PLACEHOLDER.findall(template))
    elif isinstance(template, Mapping):
        for key, part in template.items():
            yield from _placeholders(part, inside or key == EACH)
    elif isinstance(template, (list, tuple)):
        for part in template:
            yield from _placeholders(part, inside)


def _checked(where: str, template: Any, known: Sequence[str]) -> Any:
    found = list(_placeholders(template))
    apart = any(inside for _, inside in found)
    for name, inside in found:
        if apart and not inside and name in OF_ENTRY:
            raise ValueError(f"mcp_memory: {where}: {{{name}}} stands outside of {EACH!r}, where there are many")
        if name not in known:
            places = ", ".join(f"{{{one}}}" for one in known)
            raise ValueError(f"mcp_memory: {where}: {{{name}}} is no placeholder; there are {places}")
    return template


def _checked_tool(where: str, given: Any, known: Sequence[str]) -> tuple[str, Any]:
    if not isinstance(given, Mapping) or not isinstance(given.get("tool"), str) or set(given) - {"tool", "arguments"}:
        raise ValueError(f"mcp_memory: {where} is {given!r}; it must be {{'tool': a name, 'arguments': a mapping}}")
    return given["tool"], _checked(where, given.get("arguments", {}), known)


# Results: what comes back


def content_of(result: Any) -> Any:
    """The JSON value that a tool's result holds: structured, or as text, or the text itself."""
    if result.structured_content is not None:
        return result.structured_content
    blocks = [_parsed(block.text) for block in result.content if getattr(block, "type", "") == "text"]
    return blocks[0] if len(blocks) == 1 else blocks


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def results_of(content: Any, how: Mapping[str, str]) -> list[str | Recalled]:
    """The texts, or ids, of a tool's result; `how` as in `mcp_memory`.

    Raises:
        ServerError: there is nothing where `how` says that they are.
    """
    found = content
    if isinstance(found, str) and "split" in how:
        found = [part for part in found.split(how["split"]) if part.strip()]
    (items,) = _at(found, how["items"], "items") if how.get("items") else (found,)
    if items is None or items == "":
        return []
    items = items if isinstance(items, list) else [items]
    given: list[str | Recalled] = []
    for item in items:
        given += _results_of_one(item, how)
    return list(dict.fromkeys(given))  # a server that returns parts of entries can return one twice


def _results_of_one(item: Any, how: Mapping[str, str]) -> Iterator[str | Recalled]:
    pattern = re.compile(how.get("id_pattern", "(?s)(.+)"))
    texts = [text for place in _at(item, how.get("text", ""), "text") for text in _texts(place)]
    if "id" not in how:
        yield from (Recalled(text) for text in texts)
        return
    ids = [_group(match) for id_ in _at(item, how["id"], "id") for match in pattern.finditer(_text(id_))]
    if "text" not in how:
        yield from ids
    elif how["id"] != how["text"]:
        yield from (Recalled(text, tuple(ids)) for text in texts)
    else:  # the id was written into the text: it is no part of what was remembered
        for text in texts:
            yield Recalled(pattern.sub("", text).strip(), tuple(_group(match) for match in pattern.finditer(text)))


def _group(match: re.Match[str]) -> str:
    return match[1] if match.re.groups else match[0]


def _texts(place: Any) -> list[str]:
    return [_text(part) for part in place] if isinstance(place, list) else [_text(place)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _at(value: Any, path: str, what: str) -> list[Any]:
    """What stands at a path such as `items.0.name`; `*` stands for every element of a list.

    Raises:
        ServerError: there is no such thing.
    """
    found = [value]
    for step in path.split(".") if path else ():
        deeper: list[Any] = []
        for one in found:
            if step == "*" and isinstance(one, list):
                deeper += one
            elif isinstance(one, Mapping) and step in one:
                deeper.append(one[step])
            elif isinstance(one, list) and step.isdecimal() and int(step) < len(one):
                deeper.append(one[int(step)])
            else:
                raise ServerError(
                    f"a result has no {path!r}: at {step!r} it is {_excerpt(_text(one))}; mcp_memory(..., "
                    f"result={{{what!r}: ...}}) must say where it stands"
                )
        found = deeper
    return found


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}..."


# The session with a server


class Session:
    """One client, entered and left by a task of its own: each call of a memory is another task, and may do neither.

    Args:
        connect: gives the client, entered into the stack.
        tools: that the server must have.
    """

    def __init__(self, connect: Callable[[AsyncExitStack], Any], tools: Sequence[str]) -> None:
        self._connect = connect
        self._tools = tools
        self._end = asyncio.Event()
        self._open: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._held())

    async def client(self) -> Client:
        """The client, as soon as it is there.

        Raises:
            Exception: the server can't be reached, or lacks a tool.
        """
        return await asyncio.shield(self._open)

    async def _held(self) -> None:
        async with AsyncExitStack() as stack:
            try:
                client = await self._connect(stack)
                await _check_tools(client, self._tools)
            except Exception as error:  # told to whoever waits for the client; nobody waits for this task
                self._open.set_exception(error)
                return
            self._open.set_result(client)
            await self._end.wait()

    async def close(self) -> None:
        """Leave the client, and with it the server that was started for it."""
        self._end.set()
        await asyncio.gather(self._task, return_exceptions=True)


async def _check_tools(client: Client, wanted: Sequence[str]) -> None:
    there: list[str] = []
    page = await client.list_tools()
    there += [tool.name for tool in page.tools]
    while page.next_cursor:
        page = await client.list_tools(cursor=page.next_cursor)
        there += [tool.name for tool in page.tools]
    for name in wanted:
        if name not in there:
            raise ServerError(f"the server has no tool {name!r}; it has {', '.join(there)}")


class McpMemory:
    """A memory that a server of the Model Context Protocol keeps; see `mcp_memory` for what it is told."""

    def __init__(
        self,
        bench: Bench,
        reached: Mapping[str, Any],
        write: tuple[str, Any],
        search: tuple[str, Any],
        result: Mapping[str, str],
        timeout: float,
        batch: int,
    ) -> None:
        self._values = {"folder": lambda: str(bench.folder), "namespace": bench.namespace, "seed": bench.seed}
        self._reached = reached
        self._write = write
        self._search = search
        self._result = result
        self._timeout = timeout
        self._batch = batch if any(inside for _, inside in _placeholders(write[1])) else 1
        self._session: Session | None = None
        self._calls = 0

    async def write(self, entries: Sequence[Entry]) -> None:
        tool, template = self._write
        for start in range(0, len(entries), self._batch):
            part = [entry._asdict() for entry in entries[start : start + self._batch]]
            await self._call(tool, filled(template, {**self._values, **part[0]}, part))

    async def search(self, query: str, k: int) -> list[str | Recalled]:
        tool, template = self._search
        content = await self._call(tool, filled(template, {**self._values, "query": query, "k": k}))
        try:
            return results_of(content, self._result)[:k]
        except ServerError as error:
            raise ServerError(f"{tool}: {error}") from None

    async def close(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def usage(self) -> dict[str, float]:
        return {"calls": float(self._calls)}

    async def _call(self, tool: str, arguments: Any) -> Any:
        """What a tool's result holds. A session that failed is given up, so that the next call opens a new one."""
        from mcp import MCPError

        if self._session is None:
            self._session = Session(self._connect, [self._write[0], self._search[0]])
        try:
            client = await self._session.client()
            result = await client.call_tool(tool, arguments, read_timeout_seconds=self._timeout)
        except ServerError:
            await self.close()
            raise
        except MCPError as error:
            await self.close()
            raise ServerError(f"{tool}: {_excerpt(str(error))}") from error
        except Exception as error:
            await self.close()
            raise ServerError(f"{self._where()}: is it up? {_told(error)}") from error
        self._calls += 1
        content = content_of(result)
        if result.is_error:
            raise ServerError(f"{tool}: the server says: {_excerpt(_text(content))}")
        return content

    def _where(self) -> str:
        return f"the server at {self._reached['url']}" if "url" in self._reached else " ".join(self._reached["command"])

    async def _connect(self, stack: AsyncExitStack) -> Client:
        from mcp import StdioServerParameters, stdio_client

        reached = filled(self._reached, self._values)
        if "command" in reached:
            program, *arguments = map(str, reached["command"])
            # Of its own, as what pytest puts in the place of the standard error may be no file.
            errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
            stack.enter_context(errors)
            environment = {name: str(value) for name, value in reached["env"].items()}
            server = StdioServerParameters(command=program, args=arguments, env=environment)
            try:
                return await stack.enter_async_context(self._client(stdio_client(server, errlog=errors)))
            except FileNotFoundError:
                raise ServerError(f"there is no program {program!r}: install it, or give its whole path") from None
            except Exception as error:
                errors.seek(0)
                last = _excerpt(errors.read()[-EXCERPT:])
                raise ServerError(
                    f"{program} does not answer: {_told(error)}; its last words: {last or 'none'}"
                ) from error
        from httpx2 import AsyncClient, Timeout
        from mcp.client.streamable_http import streamable_http_client

        client = AsyncClient(headers=reached["headers"], timeout=Timeout(30.0, read=300.0))
        await stack.enter_async_context(client)
        transport = streamable_http_client(reached["url"], http_client=client)
        return await stack.enter_async_context(self._client(transport))

    def _client(self, transport: Any) -> Client:
        from mcp import Client

        return Client(transport, read_timeout_seconds=self._timeout)


def _told(error: BaseException) -> str:
    """What an exception says; of a group, what its first one does."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return _excerpt(f"{type(error).__name__}: {error}")


def mcp_memory(
    *,
    write: Mapping[str, Any],
    search: Mapping[str, Any],
    result: Mapping[str, str],
    command: Sequence[str] | None = None,
    url: str | None = None,
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    batch: int = 100,
) -> MemoryFactory:
    """For a fixture made by `@method`: memories that a server of the Model Context Protocol keeps.

    Placeholders may stand in all texts: `{folder}`, `{namespace}` and `{seed}` of the bench everywhere, `{id}`,
    `{text}` and `{time}` of an entry in `write`, `{query}` and `{k}` in `search`.

    Args:
        write: the `tool` that takes entries and its `arguments`. It is called once for each entry; once for `batch` of
            them where the arguments hold `{"for each": ...}`, which becomes a list.
        search: the `tool` that searches and its `arguments`.
        result: where things stand in what `search` gives, as paths such as `memories.0.content`, in which `*` is every
            element of a list: `items`, the list of what was found (default: all of it); `text`, in each of them;
            `id`, in each of them, where the id of an entry was written. Without `text`, ids are returned, else a
            `Recalled` for each text. `id_pattern`, a regular expression, cuts the id out of more; where `id` and
            `text` are the same place, it is cut out of the text. `split` parts a plain text at these characters.
        command: starts a server that is spoken to over stdio.
        url: or reaches one that is up, over streamable HTTP.
        env: environment variables for the command. Of those that are set, it gets PATH, HOME and a few more alone.
        headers: for the address.
        timeout: seconds that a call may take.
        batch: see `write`.

    Raises:
        pytest.UsageError: the package `mcp` is not installed.
        ValueError: what was given can't be used.
    """
    from pytest_engram.methods.adapters import lacks

    missing = lacks("mcp")
    if missing is not None:
        raise pytest.UsageError(f"mcp_memory: {missing}")
    if (command is None) == (url is None):
        raise ValueError("mcp_memory: give either command=[...] or url='...'")
    if isinstance(command, str):
        raise ValueError(f"mcp_memory: command is {command!r}; it must be a list, such as {command.split()}")
    if unknown := set(result) - set(_RESULT):
        raise ValueError(f"mcp_memory: result has {', '.join(sorted(unknown))}; there are {', '.join(_RESULT)}")
    if "id" in result and result["id"] == result.get("text") and "id_pattern" not in result:
        raise ValueError("mcp_memory: result: text and id stand in one place; say by id_pattern which part is the id")
    reached: dict[str, Any] = {"command": list(command), "env": dict(env or {})} if command else {}
    reached |= {"url": url, "headers": dict(headers or {})} if url else {}
    _checked("command, url, env or headers", reached, OF_BENCH)
    writes = _checked_tool("write", write, (*OF_ENTRY, *OF_BENCH))
    searches = _checked_tool("search", search, (*OF_QUESTION, *OF_BENCH))
    return lambda bench: McpMemory(bench, reached, writes, searches, result, timeout, batch)


@method(label="MCP reference server", name="mcp", shared=True, embeds=False, packages=["mcp"])
def reference_server() -> MemoryFactory:
    """A graph in a file, searched for entities that hold the whole question as it stands: hardly ever one."""
    installed = shutil.which("mcp-server-memory")
    return mcp_memory(
        command=[installed] if installed else ["npx", "--yes", "@modelcontextprotocol/server-memory"],
        env={"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
        write={
            "tool": "create_entities",
            "arguments": {"entities": {EACH: {"name": "{id}", "entityType": "entry", "observations": ["{text}"]}}},
        },
        search={"tool": "search_nodes", "arguments": {"query": "{query}"}},
        result={"items": "entities", "text": "observations", "id": "name"},
    )
