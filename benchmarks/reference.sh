#!/usr/bin/env bash
# The committed reference run. Four runs, each with its own report:
#   reports/reference           every shipped suite, Loom and all that runs beside it, SubEM by the reader without a model;
#                               LoCoMo's texts, CC BY-NC 4.0, are withheld from it
#   reports/reference/sampled   the stochastic variant on the small pilot sets
#   reports/reference/adapters  other people's memories beside the anchors, on the small pilot sets
#   reports/reference/smollm2   both 262K suites answered by SmolLM2-135M-Instruct, served by llama.cpp on loopback
# All are packed in the end: the log compressed, the tables that nobody opens left out (`engram pack --help`).
# Needs the official data and bge-small-en-v1.5 (ENGRAM_DATA, or ../shared), a browser and the model server.
# Usage: benchmarks/reference.sh BIN   where BIN holds the project's python
set -euo pipefail
cd "$(dirname "$0")/.."
BIN=${1:-.venv/bin}
OUT=reports/reference

if [ -z "${ENGRAM_DATA:-}" ]; then
    echo "make reference: the official data is not here: set ENGRAM_DATA to the folder that holds memoryagentbench/" >&2
    exit 2
fi
PYTHON=$BIN/python bash tests/e2e/install.sh

pilots=(cases/pilot/demo_fc.yaml cases/pilot/fc_sh_6k.yaml cases/pilot/fc_mh_6k.yaml)
large=(cases/pilot/fc_sh_262k.yaml cases/pilot/fc_mh_262k.yaml)

"$BIN/python" -m pytest -q -n auto --engram-method=loom --engram-encoder=bge-small-en-v1.5 --engram-reader=newest \
    --engram-withhold-texts --engram-report=$OUT
"$BIN/python" -m pytest -q -n auto --engram-method=loom-sampled --engram-encoder=bge-small-en-v1.5 \
    --engram-report=$OUT/sampled "${pilots[@]}"
"$BIN/python" -m pytest_engram.methods.adapters.http_server_example --port 18080 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
ENGRAM_HTTP_URL=http://127.0.0.1:18080 "$BIN/python" -m pytest -q -n 2 --engram-no-controls \
    --engram-method=lancedb,llamaindex,langgraph,mem0,mcp,http,bm25,dense \
    --engram-encoder=bge-small-en-v1.5 --engram-report=$OUT/adapters "${pilots[@]}"
"$BIN/python" benchmarks/with_server.py \
    "$BIN/python" -m pytest -q -n 2 --engram-method=bm25,dense,tide,loom --engram-no-controls \
    --engram-encoder=bge-small-en-v1.5 --engram-reader=openai:SmolLM2-135M-Instruct \
    --engram-report=$OUT/smollm2 "${large[@]}"
"$BIN/engram" pack $OUT $OUT/sampled $OUT/adapters $OUT/smollm2
"$BIN/python" -m benchmarks.readme
