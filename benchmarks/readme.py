"""Put the reference run into README.md: `python -m benchmarks.readme`.

What stands between `<!-- reference: NAME -->` and `<!-- /reference -->` comes from `reports/reference`, and so does the
screenshot of its page. Nothing there is typed by hand, and a test compares the two.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "reports" / "reference"
SCREENSHOT = ROOT / "docs" / "page.png"
PAGE_HASH = "results.html sha256"  # text chunk of the screenshot: the page that it shows

_BLOCK = re.compile(r"(<!-- reference: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- /reference -->)", re.DOTALL)


def blocks() -> dict[str, str]:
    """What README.md takes from the reference run, by name."""
    text = (REFERENCE / "results.md").read_text(encoding="utf-8")
    model = (REFERENCE / "smollm2" / "results.md").read_text(encoding="utf-8")
    return {
        "experiment": _section(text, "## The experiment"),
        "frontier": _between(_section(text, "## Who deserves to win"), "backed_fc, by", "\n\nbacked_fc_implied, when"),
        "verdicts": _section(text, "### Claims stated before the run"),
        "comparisons": _section(text, "### Comparisons of this run"),
        "flips": _flip_table(_section(text, "### Micro-test gradual_override")),
        "resolved": _between(_section(text, "## Suite fc_sh_6k"), "Of ", "\n\nThe same questions"),
        "keep_both": _table(_section(text, "### Micro-test keep_both")),
        "locomo": _without_twins(_table(_section(text, "## Suite locomo"))),
        "model": "\n\n".join(_table(_section(model, f"## Suite {name}")) for name in ("fc_sh_262k", "fc_mh_262k")),
    }


def filled(readme: str, content: Mapping[str, str]) -> str:
    """The README with its blocks replaced."""
    return _BLOCK.sub(lambda m: f"{m[1]}{content[m['name']]}\n{m[4]}", readme)


def _section(text: str, heading: str) -> str:
    match = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{2,3}} |\Z)", text, re.DOTALL | re.MULTILINE)
    return match[1].strip() if match else ""


def _flip_table(section: str) -> str:
    at = section.find("Smallest number of backers")
    return section[at:].strip() if at >= 0 else section


def _between(section: str, start: str, end: str) -> str:
    """From the line that begins with `start` to what comes before `end`."""
    match = re.search(rf"^{re.escape(start)}.*?(?={re.escape(end)})", section, re.DOTALL | re.MULTILINE)
    return match[0].strip() if match else ""


def _without_twins(table: str) -> str:
    """A table without the second line of each method, which leaves the disputed keys out."""
    return "\n".join(line for line in table.splitlines() if not line.startswith("| without the "))


def _table(section: str) -> str:
    """The first table of a section, with the caption above it."""
    caption, table = section.split("\n\n", 2)[:2]
    return f"{caption}\n\n{table}"


def screenshot() -> None:
    """Take a picture of the reference page's beginning, marked with the page's hash."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo
    from playwright.sync_api import sync_playwright

    page = REFERENCE / "results.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
        )
        tab = browser.new_page(viewport={"width": 1280, "height": 1400})
        tab.goto(page.as_uri())
        tab.screenshot(path=SCREENSHOT)
        browser.close()
    mark = PngInfo()
    mark.add_text(PAGE_HASH, hashlib.sha256(page.read_bytes()).hexdigest())
    with Image.open(SCREENSHOT) as image:
        image.quantize(128).save(SCREENSHOT, pnginfo=mark, optimize=True)


def main() -> None:
    """Write both."""
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text(encoding="utf-8"), blocks()), encoding="utf-8")
    screenshot()


if __name__ == "__main__":
    main()
