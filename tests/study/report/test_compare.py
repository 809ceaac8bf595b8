import pytest
from scipy import stats

from if2net.errors import ConfigurationError
from if2net.study.bench.display import ACC
from if2net.study.report.compare import changes, compare, paired_half_width, tied, welch_half_width
from if2net.study.report.gather import Source, sections_of

FIRST, SECOND = [0.90, 0.94, 0.86, 0.91], [0.92, 0.955, 0.89, 0.925]


@pytest.fixture
def with_accuracies(make_results, make_run):
    def make(values, seeds=None, method="if2net", **changes):
        seeds = seeds or range(len(values))
        return make_results(
            *(make_run(method, seed, R=[[1.0], [value, value]]) for seed, value in zip(seeds, values, strict=True)),
            **changes,
        )

    return make


def accuracy(before, after):
    return compare(before, after)[0]


def test_the_intervals_are_those_of_scipy():
    paired = stats.ttest_rel(SECOND, FIRST).confidence_interval(0.95)
    assert paired_half_width(FIRST, SECOND) == pytest.approx((paired.high - paired.low) / 2)
    other = [0.5, 0.9, 0.7]
    welch = stats.ttest_ind(other, FIRST, equal_var=False).confidence_interval(0.95)
    assert welch_half_width(FIRST, other) == pytest.approx((welch.high - welch.low) / 2)


def test_the_same_seeds_are_paired_so_that_a_steady_gain_shows(with_accuracies):
    found = accuracy(with_accuracies(FIRST), with_accuracies(SECOND))
    assert (found.test, found.verdict) == ("paired", "better")
    assert found.mean == pytest.approx(0.02)
    assert accuracy(with_accuracies(SECOND), with_accuracies(FIRST)).verdict == "worse"


def test_other_seeds_are_not_paired_so_the_same_gain_is_within_the_spread(with_accuracies):
    found = accuracy(with_accuracies(FIRST), with_accuracies(SECOND, seeds=range(4, 8)))
    assert (found.test, found.verdict) == ("Welch", "within the spread")


def test_pairing_goes_by_seed_and_not_by_place(with_accuracies):
    shuffled = with_accuracies(SECOND[::-1], seeds=range(3, -1, -1))
    assert accuracy(with_accuracies(FIRST), shuffled) == accuracy(with_accuracies(FIRST), with_accuracies(SECOND))


@pytest.mark.parametrize("seeds", [[0], [7]])
def test_one_seed_gives_no_verdict(with_accuracies, seeds):
    found = accuracy(with_accuracies(FIRST), with_accuracies([0.99], seeds=seeds))
    assert (found.test, found.verdict, found.half_width) == ("one seed", "cannot say", None)


def test_equal_results_are_the_same(with_accuracies):
    assert {entry.verdict for entry in compare(with_accuracies(FIRST), with_accuracies(FIRST))} == {"the same"}


def test_results_that_differ_by_rounding_are_the_same(with_accuracies):
    rounded = [accuracy + 1e-7 * (1 + place) for place, accuracy in enumerate(FIRST)]
    assert {entry.verdict for entry in compare(with_accuracies(FIRST), with_accuracies(rounded))} == {"the same"}


def test_without_any_spread_every_difference_is_beyond_it(with_accuracies):
    found = accuracy(with_accuracies([0.5, 0.5]), with_accuracies([0.6, 0.6], seeds=[5, 6]))
    assert (found.verdict, found.half_width) == ("better", 0.0)


@pytest.mark.parametrize("change", [{"protocol": "aware"}, {"scenario": "digits-2/2"}])
def test_results_of_different_scenarios_or_protocols_are_refused(with_accuracies, change):
    with pytest.raises(ConfigurationError, match=f"choose two of the same {next(iter(change))}"):
        compare(with_accuracies(FIRST), with_accuracies(FIRST, **change))


def test_results_without_a_method_in_common_are_refused(with_accuracies):
    with pytest.raises(ConfigurationError, match="no method in common"):
        compare(with_accuracies(FIRST), with_accuracies(FIRST, method="joint"))


def test_methods_that_ran_on_other_devices_are_listed(make_results, make_run):
    before = make_results(make_run(device="NVIDIA H200"), make_run("ncm"), make_run("joint"))
    after = make_results(make_run(device="cpu"), make_run("ncm", device="cpu"), make_run("joint", device="TPU"))
    assert changes(before, after) == ["device: NVIDIA H200 → cpu (if2net)", "device: cpu → TPU (joint)"]


def test_all_environments_of_a_method_are_compared(make_results, make_run):
    before = make_results(make_run(), make_run(seed=1, torch="3.0"), make_run("ncm"))
    after = make_results(make_run(torch="3.0"), make_run(seed=1, torch="3.0"), make_run("ncm"))
    assert changes(before, after) == ["torch: 2.9 and 3.0 → 3.0 (if2net)"]
    assert changes(before, before) == []
    swapped = make_results(make_run(torch="3.0"), make_run(seed=1), make_run("ncm"))
    assert changes(before, swapped) == []


def test_changed_settings_versions_and_methods_are_listed(with_accuracies, make_results, make_run):
    before = with_accuracies(FIRST, settings={"if2net": {"width": 10, "rule": "analytic"}})
    runs = [make_run(torch="3.0"), make_run("ncm", device="TPU")]
    after = make_results(*runs, settings={"if2net": {"width": 20, "rule": "analytic"}})
    assert changes(before, after) == ["if2net.width: 10 → 20", "torch: 2.9 → 3.0", "Only the second has ncm."]


def tied_at(make_results, make_run, **accuracies):
    """The methods tied on ACC, from their accuracies by seed."""
    runs = [
        make_run(method, seed, R=[[1.0], [value, value]])
        for method, values in accuracies.items()
        for seed, value in enumerate(values)
    ]
    (section,) = sections_of([Source("a", make_results(*runs))])
    return tied(section, ACC)


def test_a_small_lead_with_every_seed_is_no_tie(make_results, make_run):
    near, always_behind = [0.91, 0.89, 0.93], [0.895, 0.915, 0.925]
    assert tied_at(make_results, make_run, if2net=[0.90, 0.92, 0.93], slda=near, acil=always_behind) == {
        "if2net",
        "slda",
    }


def test_a_large_spread_alone_makes_no_tie(make_results, make_run):
    assert tied_at(make_results, make_run, if2net=[0.90, 0.92, 0.91], gem=[0.89, 0.50, 0.95]) == {"if2net"}


def test_with_one_seed_only_equal_values_are_tied(make_results, make_run):
    assert tied_at(make_results, make_run, acil=[0.9], slda=[0.9], gem=[0.89]) == {"acil", "slda"}
