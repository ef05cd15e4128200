"""What the tests share: where the benchmarks' own files are, and pytest's own test helper."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

# Compiled modules can be loaded once in a process, and `pytester` forgets what an in-process run imported first.
for _name in ("numpy", "scipy.stats", "pyarrow", "pydantic", "matplotlib.figure", "matplotlib.backends.backend_svg"):
    import_module(_name)

# No deadline: how long one example takes says more about the machine than about the code.
settings.register_profile("engram", deadline=None)
settings.load_profile("engram")

pytest_plugins = ["pytester"]

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the official files."""
    if not (SHARED / "data").is_dir():
        pytest.skip("../shared/data is not here: the official files are not part of the project")
    return SHARED / "data"


@pytest.fixture(scope="session")
def bge() -> Path:
    """bge-small-en-v1.5."""
    path = SHARED / "models" / "bge-small-en-v1.5"
    if not path.is_dir():
        pytest.skip("../shared/models/bge-small-en-v1.5 is not here: the weights are not part of the project")
    return path
