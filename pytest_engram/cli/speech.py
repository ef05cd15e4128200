"""How the command line says things: what it quotes steers no terminal, and what can't be encoded ends nothing."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click


def say(text: object, *, err: bool = False) -> None:
    """Print a text, with marks in place of the control characters that a file's names and messages may hold."""
    from pytest_engram.report.wording import plain_lines

    click.echo(plain_lines(str(text)), err=err)


def encodable() -> None:
    """Let what the terminal's encoding lacks, such as a minus sign in cp1252, be shown as `?`."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # a stream that somebody put there, or a closed one
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def hang_up() -> None:
    """Nobody reads the output any more: let the interpreter flush into nothing when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
