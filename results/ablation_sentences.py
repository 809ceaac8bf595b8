"""The sentences of docs/ablations.md that state numbers, each with the committed numbers behind it."""

import json
import math
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from ablations import results_of
from comparing import extremes, relation_by_seed

from if2net.study.ablations.ingredients import ABLATION, worth_of
from if2net.study.bench.paper import paper_figures

AGNOSTIC, AWARE = "agnostic", "aware"
ALONE, MIXED = "transductive, one task per batch", "transductive, tasks mixed"
ROOT = Path(__file__).parents[1]
Sentences = list[tuple[str, Iterable[Any]]]

RANDOM = ("random, 0.02", "random, 0.002")
SMALL_STEP = tuple(f"analytic {samples}, 0.0002" for samples in ("1k", "2.5k", "5k"))
ANALYTIC = ("analytic 1k, 0.002", *SMALL_STEP)
PAPERS_MU = "analytic 5k, 0.0002, μ = 2⁻³⁰"
RELATIONS = {"ahead": "ahead of", "level": "level with", "behind": "behind"}
WORDS = ("none", "one", "two", "three", "four", "five")
SHAPES = ("100x1", "50x2", "25x4", "10x10", "5x20", "1x100")


def by_seed(name: str, cell: str, protocol: str, key: str = "acc") -> dict[int, float]:
    """Return seed → a number of a cell. Case (a) has no protocol; its numbers are listed as agnostic."""
    protocol = AGNOSTIC if cell == "a" else protocol
    runs = [run for run in results_of(name).runs if (run.cell, run.protocol) == (cell, protocol)]
    return {run.seed: run.numbers[key] for run in runs}


def means(name: str, cells: Iterable[str], protocol: str, key: str = "acc", factor: float = 100) -> list[float]:
    return [factor * fmean(by_seed(name, cell, protocol, key).values()) for cell in cells]


def spreads(name: str, cells: Iterable[str], protocol: str, key: str = "acc", factor: float = 100) -> list[float]:
    """Return the mean and the standard deviation of each cell, one after the other."""
    values = [by_seed(name, cell, protocol, key).values() for cell in cells]
    return [factor * number for cell in values for number in (fmean(cell), stdev(cell))]


def leads(name: str, first: str, second: str, protocol: str, key: str = "acc") -> list[float]:
    """Return a number of one cell minus that of another, for each seed; ACC in points."""
    ours, theirs = (by_seed(name, cell, protocol, key) for cell in (first, second))
    return [(100 if key == "acc" else 1) * (ours[seed] - theirs[seed]) for seed in ours]


def relation(name: str, first: str, second: str, protocol: str) -> str:
    """Return whether a cell is ahead of another, level with it or behind it, by the rule of docs/metrics.md."""
    deviations = spreads(name, [first, second], protocol)[1::2]
    return RELATIONS[relation_by_seed(leads(name, first, second, protocol), deviations)]


def sentences() -> Sentences:
    """Return the sentences, each with the values of its placeholders."""
    return [*_of_the_start(), *_of_blocks(), *_of_layers(), *_of_random_labels(), *_of_clusters(), *_of_ours()]


def _of_the_start() -> Sentences:
    name = "table-init"
    paper = paper_figures(name)
    first, last = ({start: f"{start}; {epochs}" for start in (*RANDOM, *ANALYTIC, PAPERS_MU)} for epochs in (1, 10))

    def losses(cells: dict[str, str], *starts: str) -> list[float]:
        return means(name, (cells[start] for start in starts), AWARE, "loss", 1)

    def final(protocol: str, *starts: str) -> list[float]:
        return spreads(name, (last[start] for start in starts), protocol)

    gains = [mean - other for mean in final(ALONE, *ANALYTIC)[::2] for other in final(ALONE, *RANDOM)[::2]]
    printed = [[100 * paper[start]["10"][2] for start in starts] for starts in (ANALYTIC, RANDOM)]
    printed_gains = [mean - other for mean in printed[0] for other in printed[1]]
    all_mixed = [
        mean
        for epochs in (1, 5, 10)
        for mean in means(name, (f"{start}; {epochs}" for start in (*RANDOM, *ANALYTIC, PAPERS_MU)), MIXED)
    ]
    *small, huge = sorted(by_seed(name, first[PAPERS_MU], AWARE, "loss").items(), key=lambda entry: entry[1])
    higher = all(
        lead > 0 for ours in ANALYTIC for theirs in RANDOM for lead in leads(name, last[ours], last[theirs], ALONE)
    )
    return [
        (
            "the loss is {:.3f} with 1,000 samples, {:.3f} with 2,500 and {:.3f} with 5,000",
            losses(first, *SMALL_STEP),
        ),
        ("It is {:.3f} and {:.3f} with a random start", losses(first, *RANDOM)),
        (
            "deviations are large ({:.3f} to {:.3f})",
            extremes(spreads(name, (first[start] for start in (*RANDOM, *ANALYTIC)), AWARE, "loss", 1)[1::2]),
        ),
        (
            "After ten epochs the loss is {:.3f} and {:.3f} with a random start, and {:.3f} to {:.3f} with an "
            "analytic",
            [*losses(last, *RANDOM), *extremes(losses(last, *ANALYTIC))],
        ),
        (
            "After ten epochs with η = 0.002, ACC is {:.2f} ± {:.2f} with a random start and {:.2f} ± {:.2f} with an "
            "analytic one. With a tenth of that η, the analytic starts have {:.2f} ± {:.2f} to {:.2f} ± {:.2f}",
            final(AWARE, RANDOM[1], *ANALYTIC[:2], ANALYTIC[-1]),
        ),
        (
            "The random starts have {:.2f} ± {:.2f} and {:.2f} ± {:.2f} after the first epoch, where the paper has "
            "{:.2f} and {:.2f}",
            [
                *spreads(name, (first[start] for start in RANDOM), AWARE),
                *(100 * paper[start]["1"][2] for start in RANDOM),
            ],
        ),
        ("the analytic start is {:.0f} to {:.0f} points better", extremes(gains)),
        (
            "After ten epochs ACC is {:.2f} ± {:.2f} and {:.2f} ± {:.2f} with a random start, and {:.2f} ± {:.2f}, "
            "{:.2f} ± {:.2f}, {:.2f} ± {:.2f} and {:.2f} ± {:.2f} with an analytic one",
            final(ALONE, *RANDOM, *ANALYTIC),
        ),
        ("{} every analytic start has a higher ACC than every random one", ("With μ = 100," if higher else "Not",)),
        ("In the paper the difference is {:.0f} to {:.0f} points", extremes(printed_gains)),
        (
            "With η = 0.002, ACC after ten epochs is {:.2f} ± {:.2f} with a random start and {:.2f} ± {:.2f} with an "
            "analytic one. With a tenth of that η the analytic starts have {:.2f} ± {:.2f} to {:.2f} ± {:.2f}",
            final(AGNOSTIC, RANDOM[1], *ANALYTIC[:2], ANALYTIC[-1]),
        ),
        (
            "falls from {:.2f} ± {:.2f} after one epoch to {:.2f} ± {:.2f} after ten",
            [*spreads(name, [first[RANDOM[0]]], AGNOSTIC), *final(AGNOSTIC, RANDOM[0])],
        ),
        (
            "With 1,000, 2,500 and 5,000 samples it is {:.2f} ± {:.2f}, {:.2f} ± {:.2f} and {:.2f} ± {:.2f} aware, "
            "and "
            "{:.2f} ± {:.2f}, {:.2f} ± {:.2f} and {:.2f} ± {:.2f} agnostic",
            [*final(AWARE, *SMALL_STEP), *final(AGNOSTIC, *SMALL_STEP)],
        ),
        ("ACC falls: {:.2f} ± {:.2f}, {:.2f} ± {:.2f} and {:.2f} ± {:.2f}", final(ALONE, *SMALL_STEP)),
        (
            "is below {:.1f} with four of the five seeds and about {:.0f} with one, where {:.0f} % are still right",
            [
                math.ceil(10 * small[-1][1]) / 10,
                round(huge[1], -1),
                100 * by_seed(name, first[PAPERS_MU], AWARE, "first")[huge[0]],
            ],
        ),
        (
            "After ten epochs ACC is {:.2f} ± {:.2f} aware, {:.2f} ± {:.2f} transductive with one task per batch, "
            "and "
            "{:.2f} ± {:.2f} agnostic",
            [number for protocol in (AWARE, ALONE, AGNOSTIC) for number in final(protocol, PAPERS_MU)],
        ),
        ("With the tasks mixed in a batch, no mean is above {:.0f} %", (math.ceil(max(all_mixed)),)),
    ]


def _of_blocks() -> Sentences:
    name, good, one = "table-blocks", "10x10", "1x100"
    paper = {shape: figures["acc"] for shape, figures in paper_figures(name).items()}
    small = ("100x1", "50x2")
    losses = [-fmean(leads(name, shape, good, AWARE)) for shape in small]
    words = [relation(name, shape, good, AWARE) for shape in small]
    others = [shape for shape in SHAPES if shape != one]
    by_shape = {shape: relation(name, one, shape, AWARE) for shape in others}
    level = [shape for shape in others if by_shape[shape] == "level with"]
    agnostic = {relation(name, one, shape, AGNOSTIC) for shape in others}
    pairs = {relation(name, *pair, ALONE) for pair in combinations(SHAPES[1:], 2)}
    worst = {relation(name, "100x1", shape, ALONE) for shape in SHAPES[1:]}
    alone = dict(zip(SHAPES, means(name, SHAPES, ALONE), strict=True))
    ordered = sorted(SHAPES[1:], key=alone.__getitem__)
    return [
        (
            "Blocks of one and two nodes have {:.2f} and {:.2f}, and are {} (10, 10), which has {:.2f}",
            [*means(name, small, AWARE), "/".join(sorted(set(words))), *means(name, [good], AWARE)],
        ),
        (
            "The differences are {:.1f} and {:.1f} points; in the paper they are {:.0f} and {:.0f}",
            [*losses, *(paper[good] - paper[shape] for shape in small)],
        ),
        (
            "One block of 100 nodes has the highest mean ({:.2f}), level with {} and ahead of the rest. In the paper "
            "it has "
            "{:.2f}",
            [max(means(name, SHAPES, AWARE)), " ".join(f"({', '.join(s.split('x'))})" for s in level), paper[one]],
        ),
        (
            "Blocks of one node have {:.2f}, which is {:.1f} points less than (10, 10) with {:.2f}. One block of 100 "
            "nodes "
            "({:.2f}) is {} all others",
            [
                *means(name, ["100x1"], AGNOSTIC),
                -fmean(leads(name, "100x1", good, AGNOSTIC)),
                *means(name, [good, one], AGNOSTIC),
                "/".join(agnostic),
            ],
        ),
        ("only blocks of one node are {}", ("/".join(worst),)),
        (
            "They have {:.2f}, which is {:.1f} points less than (10, 10) with {:.2f}",
            [alone["100x1"], alone[good] - alone["100x1"], alone[good]],
        ),
        (
            "The other five are {} from {:.2f} for (25, 4) to {:.2f} for one block of 100 nodes",
            [
                "level," if pairs == {"level with"} and ordered[0] == one and ordered[-1] == "25x4" else "not level,",
                alone[ordered[-1]],
                alone[ordered[0]],
            ],
        ),
        ("mixed in a batch, no mean is above {:.0f} %", (math.ceil(max(means(name, SHAPES, MIXED))),)),
        ("BWT is at most {:.3f} below zero", (-min(means(name, SHAPES, AWARE, "bwt", 1)),)),
    ]


def _of_layers() -> Sentences:
    name, cases = "table-layers", "abcde"
    aware = dict(zip(cases, means(name, cases, AWARE), strict=True))
    alone = dict(zip(cases, means(name, cases, ALONE), strict=True))
    agnostic = means(name, cases, AGNOSTIC)
    paper = paper_figures(name)
    forgotten = means(name, cases, AWARE, "bwt", 1)
    kept, peak = ({p: means(name, cases, p, key, 1) for p in (AGNOSTIC, AWARE)} for key in ("kept", "memory"))
    close = [lead for lead in leads(name, "e", "d", AWARE) if lead < 0.1]
    aheads = sum(lead > 0 for lead in leads(name, "e", "d", ALONE))
    return [
        ("BWT is {:.3f} in (a), {:.3f} in (b), {:.3f} in (c), and {:.3f} in (d) and (e)", forgotten[:4]),
        (
            "(b) is {} (c) by {:.1f} points and of (d) by {:.1f}, and {} (e). (c) is {} (d) and (e)",
            [
                "/".join({relation(name, "b", case, AWARE) for case in "cd"}),
                *(fmean(leads(name, "b", case, AWARE)) for case in "cd"),
                relation(name, "b", "e", AWARE),
                "/".join({relation(name, "c", case, AWARE) for case in "de"}),
            ],
        ),
        ("ACC rises from {:.2f} in (a) to {:.2f} in (b)", (aware["a"], aware["b"])),
        ("(b) has {:.2f}, {:.0f} points less than (a)", (agnostic[1], agnostic[0] - agnostic[1])),
        ("From (a) to (e), ACC is {:.2f}, {:.2f}, {:.2f}, {:.2f} and {:.2f}", agnostic),
        ("(b) and (c) are {} and so are (d) and (e)", (_level(name, ("bc", "de"), AGNOSTIC),)),
        (
            "ACC is {:.2f} in (b), {:.2f} in (c), {:.2f} in (d) and {:.2f} in (e). (b) is {} the other three",
            [*(alone[case] for case in "bcde"), "/".join({relation(name, "b", case, ALONE) for case in "cde"})],
        ),
        (
            "ACC is {:.2f} in (e) and {:.2f} in (d). (e) is {}, because it is higher with each seed, with {} of the "
            "five by "
            "less than 0.1 points. The paper has {:.2f} and {:.2f}",
            [
                aware["e"],
                aware["d"],
                relation(name, "e", "d", AWARE).removesuffix(" of"),
                WORDS[len(close)],
                *(paper[case]["acc"] for case in "ed"),
            ],
        ),
        (
            "(e) has {:.2f} ± {:.2f} and (d) {:.2f} ± {:.2f}. They are {} (e) is higher with {} of the five seeds",
            [*spreads(name, "ed", ALONE), _level(name, ("ed",), ALONE).replace(",", ":"), WORDS[aheads]],
        ),
        (
            "{:.1f} MB are kept in (a), {:.1f} in (b), {:.1f} in (c) and {:.1f} in (d) and (e). With a tweak per "
            "task it is "
            "{:.1f} to {:.1f} MB",
            [*kept[AGNOSTIC][:4], *extremes(kept[AWARE][1:])],
        ),
        ("the task ({:.0f} MB in (a))", peak[AGNOSTIC][:1]),
        ("up to {:.0f} MB agnostic, and {:.0f} MB with", (max(peak[AGNOSTIC]), max(peak[AWARE][1:]))),
        ("OWM alone (a) has {:.2f}, and in the paper {:.2f}", (aware["a"], paper["a"]["acc"])),
    ]


def _level(name: str, pairs: Iterable[str], protocol: str) -> str:
    return "level," if all(relation(name, *pair, protocol) == "level with" for pair in pairs) else "not level,"


def _of_random_labels() -> Sentences:
    name, cases = "figure-rademacher", "abcde"
    end, start = ({p: means(name, cases, p, key, 1) for p in (AWARE, AGNOSTIC)} for key in ("after 5", "after 1"))
    growth = {p: [last - first for last, first in zip(end[p], start[p], strict=True)] for p in end}
    gains = [by_seed(name, case, AGNOSTIC, f"after {task}") for case in "ed" for task in (5, 1)]
    smaller = sum(gains[0][seed] - gains[1][seed] < gains[2][seed] - gains[3][seed] for seed in gains[0])
    newest = means(name, "ae", AWARE, "newest", 1)
    return [
        ("grows by {:.3f} in case (a), {:.3f} in (b), {:.3f} in (c), {:.3f} in (d) and {:.3f} in (e)", growth[AWARE]),
        (
            "fit the random labels of a new task to {:.3f} of 1, and the output layer on 200 frozen features to "
            "{:.3f}",
            newest,
        ),
        (
            "deviation after five tasks is {:.3f} in (e) and {:.3f} in (d)",
            spreads(name, "ed", AWARE, "after 5", 1)[1::2],
        ),
        (
            "(e) grows by {:.3f} and (d) by {:.3f}; the growth in (e) is smaller with {} of the five seeds",
            [*growth[AGNOSTIC][:2:-1], WORDS[smaller]],
        ),
        ("has {:.3f} of 5 at the end", end[AWARE][:1]),
    ]


def _of_clusters() -> Sentences:
    def share(cell: str, key: str = "same_class") -> float:
        return means("figure-tsne", [cell], "", key)[0]

    raw, aware, agnostic = (f"{row}, tasks 1 to 5" for row in ("raw", "aware", "agnostic"))
    return [
        (
            "{:.1f} % of the neighbours of a sample have its class after five tasks, compared with {:.1f} % for raw "
            "samples. But {:.1f} % belong to its task",
            (share(aware), share(raw), share(aware, "same_task")),
        ),
        ("The share is {:.1f} %, less than", (share(agnostic),)),
        ("With the first task alone the share is {:.1f} %", (share("aware, tasks 1 to 1"),)),
        ("{:.1f} % is for all ten classes", (share(raw),)),
    ]


def _of_ours() -> Sentences:
    name, chosen, gradient = ABLATION.name, "analytic, ridge chosen", "gradient"
    measured = results_of(name)
    cells = {summary.cell: 100 * summary.numbers["acc"].mean for summary in measured.summary}
    tweak = [
        cells[f"tweaked; {gradient}; {width}; {link}"] - cells[f"plain; {gradient}; {width}; {link}"]
        for link in ("no direct link", "direct link")
        for width in (1000, 250)
    ]
    link = [
        cells[f"{first}; {gradient}; 1000; no direct link"] - cells[f"{first}; {gradient}; 1000; direct link"]
        for first in ("plain", "tweaked")
    ]
    ridges = [worth_of(measured, "rule", chosen, f"analytic, ridge {ridge}") for ridge in ("0.1", "1e-4")]
    best = max(cells, key=cells.__getitem__)
    default = f"plain; {chosen}; 1000; direct link"
    same_but_ridge = best == default.replace("ridge chosen", "ridge 1e-4")
    stability = "ablation-stability"
    acc = [f"gradient, {tasks}" for tasks in (5, 10, 500)]
    free = [
        means(stability, [f"{rule}, {n}"], AGNOSTIC, "free", 1)[0]
        for rule in ("analytic", gradient)
        for n in (5, 500)
    ]
    tried = json.loads((ROOT / "results/encoder/fashion-mnist-aware-width.json").read_text())["tried"]
    width = {trial["settings"]["width"]: 100 * trial["acc"] for trial in tried}
    return [
        ("which gains {:.1f} points on [held-back training data]", (width["2000"] - width["500"],)),
        ("costs {:.2f} points on average", (-worth_of(measured, "rule", chosen, gradient),)),
        (
            "**The tweak costs {:.2f} points** with the analytic rule and {:.2f} over all rules. With the gradient "
            "rule it "
            "gains {:.2f} on average: it gains {:.1f} and {:.1f} points without a direct link, and costs {:.1f} and "
            "{:.1f} "
            "with one",
            [
                -worth_of(measured, "tweak", "plain", "tweaked", chosen),
                -worth_of(measured, "tweak", "plain", "tweaked"),
                worth_of(measured, "tweak", "plain", "tweaked", gradient),
                *tweak[:2],
                *(-cost for cost in tweak[2:]),
            ],
        ),
        (
            "a quarter of the width costs {:.2f} points, and no direct link costs {:.2f}",
            [
                -worth_of(measured, "width", "1000", "250", chosen),
                -worth_of(measured, "link", "direct link", "no direct link", chosen),
            ],
        ),
        ("the direct link costs {:.1f} points without the tweak and {:.1f} with it", link),
        ("a ridge of 0.1 costs {:.2f} points", (-ridges[0],)),
        ("1e-4 is {:.2f} points better", (ridges[1],)),
        (
            "and the ridge 1e-4: {:.2f}, and {:.2f} with the ridge chosen",
            (cells[best] if same_but_ridge else math.nan, cells[default]),
        ),
        ("ACC is the same from 5 to 500 tasks, {:.2f} on average", means(stability, ["analytic, 5"], AGNOSTIC)),
        ("ACC is {:.2f} with 5 tasks, {:.2f} with 10 and {:.2f} with 500", means(stability, acc, AGNOSTIC)),
        ("(BWT is {:.3f} with 5 tasks)", means(stability, acc[:1], AGNOSTIC, "bwt", 1)),
        (
            "It is {:.3f} with 5 tasks and {:.3f} with 500 under the analytic rule, which chooses the ridge again, "
            "and "
            "{:.3f} and {:.3f} under the gradient rule",
            free,
        ),
    ]
