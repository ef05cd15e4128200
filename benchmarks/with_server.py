"""Run a command while SmolLM2-135M-Instruct is served on loopback: `python benchmarks/with_server.py COMMAND ...`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))


def main(command: list[str]) -> int:
    """The command's exit status; its environment names the server."""
    server_module = import_module("server")  # of the end-to-end tests, which are no package
    if reason := server_module.missing():
        print(f"no model server: {reason}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, server_module.Server(Path(folder) / "server.log") as server:
        environment = os.environ | {"OPENAI_BASE_URL": server.base_url}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
