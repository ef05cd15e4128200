"""Things of a kind by their names, some of them the names of modules that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Clash(Exception):
    """Two things of a kind have one name. The message is one line, with the cure."""


class Registry(Mapping[str, T], Generic[T]):
    """What plugins and conftest files brought, beside what is shipped.

    Args:
        kind: what they are, for messages, such as "data source".
        given: one mapping a plugin: name to thing, or to where it is, as `package.module` or `package.module:name`.

    Raises:
        Clash: two mappings have one name, so that nobody could tell which of the two was used.
    """

    def __init__(self, kind: str, *given: Mapping[str, Any]) -> None:
        self.kind = kind
        self._things: dict[str, Any] = {}
        for mapping in given:
            for name, thing in mapping.items():
                if self._things.setdefault(name, thing) is not thing and self._things[name] != thing:
                    raise Clash(f"two {kind}s have the name {name!r}; rename one")

    def brought(self, name: str) -> Any:
        """What was given for a name: the thing itself, or where it is, if it was not needed yet."""
        return self._things[name]

    def __getitem__(self, name: str) -> T:
        thing = self._things[name]
        if isinstance(thing, str):
            thing = self._things[name] = resolve_name(thing)
        return thing  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def __contains__(self, name: object) -> bool:
        return name in self._things
