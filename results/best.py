"""Write the best settings of the searches under results/search/ into if2net/study/bench/hyperparameters.toml.

usage: python results/best.py [FOLDER]
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FILE = HERE.parent / "if2net/study/bench/hyperparameters.toml"
OF_THE_EXPERIMENT = ("scope", "memory", "classes")  # settings that `if2net reproduce` gives itself


def best_of(folder: Path, method: str) -> dict[str, str]:
    """Return data set (and scope or protocol) → a line such as: mnist = { rate = 0.05 }."""
    lines = {}
    for path in sorted(folder.glob(f"*-{method}.json")):
        search = json.loads(path.read_text())
        if search["method"] == method:
            key = path.stem.removesuffix(f"-{method}")
            settings = ", ".join(f"{name} = {in_toml(value)}" for name, value in settings_of(search).items())
            name = key if re.fullmatch(r"[\w-]+", key) else f'"{key}"'
            lines[name] = f"{name} = {{ {settings} }}"
    return lines


def settings_of(search: dict[str, Any]) -> dict[str, str]:
    """Return the best settings of a search, with those that were fixed in it. The first variant decides."""
    fixed = search["fixed"] if "tasks" in search else []  # in a grid, they belong to the experiment
    kept = {name: str(value) for _, name, value in fixed if name not in OF_THE_EXPERIMENT}
    return kept | next(iter(search["best"].values()))


def in_toml(value: str) -> str:
    return value if re.fullmatch(r"[\d.e+-]+", value) else f'"{value}"'


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "search"
    sections = re.split(r"\n\n(?=\[|#)", FILE.read_text().rstrip())
    for place, section in enumerate(sections):
        method = re.search(r"^\[([\w-]+)\]$", section, re.MULTILINE)
        if method and (lines := best_of(folder, method[1])):
            kept, _, old = section.partition(f"\n[{method[1]}.best]\n")
            lines = {line.split(" = ")[0]: line for line in old.splitlines()} | lines
            sections[place] = "\n".join([kept, f"[{method[1]}.best]", *lines.values()])
    FILE.write_text("\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()
