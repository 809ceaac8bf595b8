"""Writes what the searches under results/search/ found best into if2net/bench/hyperparameters.toml.

usage: python results/found.py [FOLDER]
"""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
FILE = HERE.parent / "if2net/bench/hyperparameters.toml"


def found(folder: Path, method: str) -> list[str]:
    """One line a dataset (and scope): mnist = { rate = 0.05 }."""
    lines = []
    for path in sorted(folder.glob(f"*-{method}.json")):
        search = json.loads(path.read_text())
        if search["method"] == method:
            best = ", ".join(f"{name} = {value}" for name, value in search["best"]["acc"].items())
            lines.append(f"{path.stem.removesuffix(f'-{method}')} = {{ {best} }}")
    return lines


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "search"
    sections = re.split(r"\n\n(?=\[|#)", FILE.read_text().rstrip())
    for place, section in enumerate(sections):
        method = re.search(r"^\[([\w-]+)\]$", section, re.MULTILINE)
        if method and (lines := found(folder, method[1])):
            kept = section.split(f"\n[{method[1]}.found]")[0]
            sections[place] = "\n".join([kept, f"[{method[1]}.found]", *lines])
    FILE.write_text("\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()
