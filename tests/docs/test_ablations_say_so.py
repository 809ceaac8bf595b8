"""What docs/ablations.md says of the initialisation holds in the committed results, under the protocol it names."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = json.loads((ROOT / "results/table-init/results.json").read_text())
PAGE = " ".join((ROOT / "docs/ablations.md").read_text().split())
RANDOM = ("random, 0.02", "random, 0.002")
SAMPLES = ("analytic 1k, 0.0002", "analytic 2.5k, 0.0002", "analytic 5k, 0.0002")
ANALYTIC = ("analytic 1k, 0.002", *SAMPLES)
ONE_TASK = "transductive, one task per batch"


def by_seed(row, epochs, protocol, key="acc"):
    cell = f"{row}; {epochs}"
    return [run[key] for run in RESULTS["runs"] if (run["cell"], run["protocol"]) == (cell, protocol)]


def spread(row, epochs, protocol):
    """As the page writes it: mean and standard deviation, in percent."""
    (entry,) = [
        entry for entry in RESULTS["summary"] if (entry["cell"], entry["protocol"]) == (f"{row}; {epochs}", protocol)
    ]
    return 100 * entry["acc"]["mean"], 100 * entry["acc"]["std"]


def test_on_task_1_the_order_of_the_losses_is_the_same_in_both_seeds():
    rows = [by_seed(row, 1, "aware", "loss") for row in (*reversed(SAMPLES), "random, 0.02")]
    assert [len(row) for row in rows] == [2] * 4
    for losses in zip(*rows, strict=True):
        assert sorted(losses) == list(losses)


def test_told_the_task_both_starts_end_within_the_spread():
    random, analytic = ([spread(row, 10, "aware") for row in rows] for rows in (RANDOM, ANALYTIC))
    for mean, _ in random:
        assert all(abs(other - mean) < deviation for other, deviation in analytic)


def test_with_one_task_per_batch_every_analytic_start_is_ahead_of_every_random_one_with_both_seeds():
    random, analytic = ([by_seed(row, 10, ONE_TASK) for row in rows] for rows in (RANDOM, ANALYTIC))
    for seed in (0, 1):
        assert min(row[seed] for row in analytic) > max(row[seed] for row in random)
    ahead = [spread(row, 10, ONE_TASK)[0] - spread(other, 10, ONE_TASK)[0] for row in ANALYTIC for other in RANDOM]
    assert (round(min(ahead)), round(max(ahead))) == (20, 30)


def test_agnostically_the_starts_are_alike_with_the_same_step():
    assert spread("random, 0.002", 10, "agnostic") == pytest.approx(spread(ANALYTIC[0], 10, "agnostic"), abs=0.01)


@pytest.mark.parametrize("protocol", ["aware", "agnostic", ONE_TASK])
def test_more_samples_are_quoted_with_their_spread_under_every_protocol(protocol):
    quoted = [f"{mean:.2f} ± {deviation:.2f}" for mean, deviation in (spread(row, 10, protocol) for row in SAMPLES)]
    assert f"{quoted[0]}, {quoted[1]} and {quoted[2]}" in PAGE


def test_more_samples_gain_nothing_beyond_the_spread():
    for protocol in ("aware", "agnostic"):
        (first, deviation), *_, (last, _) = [spread(row, 10, protocol) for row in SAMPLES]
        assert last - first < deviation
    means = [spread(row, 10, ONE_TASK)[0] for row in SAMPLES]
    assert sorted(means, reverse=True) == means
