"""What was run and how, at one glance; and all of it, with the commands to run it again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape

from if2net.study.bench.display import spread
from if2net.study.bench.results import trained_on
from if2net.study.report.gather import Section, Source, devices_of
from if2net.study.report.rerun import commands
from if2net.study.report.tables import best_series

EXPLAINED = {
    "agnostic": "A prediction depends on the sample and the model alone.",
    "aware": "The evaluator tells the model which task a sample belongs to; not comparable with agnostic figures.",
    "transductive": "The representation is solved again on the test batch, so a prediction depends on the rest of "
    "it; not comparable with agnostic figures. The gap between the two variants is what leaks through the batch.",
}


def glance(section: Section) -> str:
    """The heading of a section: a few facts, the protocol and the best method."""
    runs = [run for series in section.series for run in series.runs]
    best = best_series(section)
    accuracy = spread(100 * best.summary["acc_mean"], 100 * best.summary["acc_std"], 2, int(best.summary["runs"]))
    facts = {
        "data": f"{_count(len(runs[0]['class_order']), 'class', 'classes')} in {_count(section.tasks, 'task')}",
        "methods": str(len({series.method for series in section.series})),
        "seeds": _seeds({run["seed"] for run in runs}),
        "best": f"{best.name}: {accuracy} %",
        "learning time": _duration(sum(run["seconds"]["learn"] for run in runs)),
        "device": _distinct(device for series in section.series for device in series.devices),
        "if2net": _distinct(source.results["environment"]["if2net"] for source in section.sources),
    }
    if seen := _distinct(filter(None, (trained_on(source.results) for source in section.sources))):
        facts["backbone trained on"] = seen
    cards = "".join(f"<div><dt>{name}</dt><dd>{escape(words)}</dd></div>" for name, words in facts.items())
    return (
        f"<h1>{escape(section.scenario)}</h1>"
        f'<p><span class="badge {section.protocol}">{escape(section.protocol)}</span> '
        f'{EXPLAINED[section.protocol]}</p><dl class="facts">{cards}</dl>'
    )


def origin(section: Section) -> str:
    """Environment, settings and commands of every folder in a section."""
    return "<h2>How to run it again</h2>" + "".join(
        _source(source, named=len(section.sources) > 1) for source in section.sources
    )


def _source(source: Source, named: bool) -> str:
    results = source.results
    heading = f"<h3>{escape(source.name)}</h3>" if named else ""
    lines = "\n".join(commands(results))
    made_with = results["environment"] | {"device": " and ".join(devices_of(results, results["runs"]))}
    environment = ", ".join(f"{key} {value}" for key, value in made_with.items())
    settings = json.dumps(results["settings"], indent=1)
    return (
        f"{heading}<pre>{escape(lines)}</pre>"
        f'<p class="soft">Datasets that do not ship with scikit-learn need --data DIR or IF2NET_DATA. '
        f"Made with {escape(environment)}.</p>"
        f"<details><summary>All settings</summary><pre>{escape(settings)}</pre></details>"
    )


def _count(number: int, noun: str, many: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def _seeds(seeds: set[int]) -> str:
    """
    >>> _seeds({0, 1, 2}), _seeds({4}), _seeds({1, 3})
    ('3 (0 to 2)', '1 (4)', '2 (1, 3)')
    """
    ordered = sorted(seeds)
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{len(ordered)} ({ordered[0]} to {ordered[-1]})"
    return f"{len(ordered)} ({', '.join(map(str, ordered))})"


def _duration(seconds: float) -> str:
    """
    >>> _duration(4.21), _duration(300), _duration(9000)
    ('4.2 s', '5.0 min', '2.5 h')
    """
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def _distinct(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))
