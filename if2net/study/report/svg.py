"""A figure as SVG: inside a page, which styles it, or as a file that stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from if2net.study.report.palette import colour_class, dash, shape, style

# What the page's style sheet says of figures, in its light colours.
ALONE = (
    "svg{background:#fff}text{font:12px system-ui,'Helvetica Neue',Arial,sans-serif;fill:#1a1a1a}"
    ".grid{stroke:#ddd}.cell text{fill:currentColor}text.title{font-weight:600}"
)
CHARACTER = 7  # the width of one at 12 px, on the average
NARROW, WIDE = "fijlrt-,.: ()", "mwMW%"
LINE = 18


@dataclass(frozen=True)
class Key:
    """A series in the key of a figure."""

    name: str
    mark: int


@dataclass(frozen=True)
class Drawing:
    """A figure: what it shows in words, its size, and its elements."""

    label: str
    width: float
    height: float
    elements: Sequence[str]

    def inline(self) -> str:
        """For a page, whose style sheet has the colours."""
        size = f'viewBox="0 0 {self.width:g} {self.height:g}"'
        return f'<svg {size} role="img" aria-label="{escape(self.label)}">{"".join(self.elements)}</svg>'

    def alone(self, key: Sequence[Key] = ()) -> str:
        """For a file: with its title, its colours and the key."""
        titles = wrap(self.label, int((self.width - 16) / (1.1 * CHARACTER)))
        top = LINE * len(titles) + 10
        entries = [_entry(entry, top + self.height + LINE * place) for place, entry in enumerate(key)]
        height = top + self.height + LINE * len(key) + 8
        title = "".join(
            f'<text class="title" x="8" y="{LINE * (place + 1):g}">{escape(line)}</text>'
            for place, line in enumerate(titles)
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {height:g}" '
            f'width="{self.width:g}" height="{height:g}"><style>{ALONE}{style()}</style>'
            f'<rect width="100%" height="100%" fill="#fff"/>{title}'
            f'<g transform="translate(0 {top})">{"".join(self.elements)}</g>{"".join(entries)}</svg>\n'
        )


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """
    >>> text(1, 2, "a < b")
    '<text x="1" y="2">a &lt; b</text>'
    """
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.4g}" y="{y:.4g}"{place}{named}>{escape(words)}</text>'


def length(words: str) -> float:
    """How much room words take at 12 px in a wide font: for texts that stand beside other things.

    >>> length("il") < length("an") < length("mw")
    True
    """
    return sum(5 if letter in NARROW else 12 if letter in WIDE else 8 for letter in words)


def marker(mark: int, x: float, y: float, words: str = "", radius: float = 4) -> str:
    """A series' shape at a point, with words that show when it is pointed at."""
    said = f"<title>{escape(words)}</title>" if words else ""
    return f'<path class="v" d="{shape(mark, x, y, radius)}" fill="currentColor">{said}</path>'


def sample(mark: int) -> str:
    """A short piece of a series' line, for a key."""
    line = f'fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="{dash(mark)}"'
    return f'<path d="M2 8h22" {line}/>{marker(mark, 13, 8)}'


def _entry(entry: Key, y: float) -> str:
    return (
        f'<g transform="translate(8 {y:g})"><g class="{colour_class(entry.mark)}">{sample(entry.mark)}</g>'
        f"{text(32, 12, entry.name)}</g>"
    )
