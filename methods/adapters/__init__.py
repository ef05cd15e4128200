"""Memories of other people, one file each. A file is imported only when one of its methods is named.

A method belongs to the adapter that its name begins with: `mem0-infer` to `mem0`. The packages of most adapters are
extras of this project, called as the adapter is: `pip install 'pytest-engram[mem0]'`.
"""

from __future__ import annotations

# The adapter to its module in this folder, and to the distribution that it can't do without.
ADAPTERS: dict[str, tuple[str, str | None]] = {
    "http": ("http", None),
    "lancedb": ("lancedb", "lancedb"),
    "langgraph": ("langgraph", "langgraph-checkpoint"),
    "llamaindex": ("llamaindex", "llama-index-core"),
    "mcp": ("mcp", "mcp"),
    "mem0": ("mem0", "mem0ai"),
}


def adapter_of(method: str) -> str | None:
    """The adapter that brings a method; None: none of these."""
    return next((name for name in ADAPTERS if method == name or method.startswith(f"{name}-")), None)


def lacks(adapter: str) -> str | None:
    """What has to be installed for an adapter, with the command; None: nothing."""
    from importlib.metadata import PackageNotFoundError, version

    distribution = ADAPTERS[adapter][1]
    if distribution is not None:
        try:
            version(distribution)
        except PackageNotFoundError:
            return f"the package {distribution} is not installed: pip install 'pytest-engram[{adapter}]'"
    return None
