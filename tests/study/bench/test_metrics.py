import pytest

from if2net.study.bench import metrics

R = [[1.0], [0.8, 0.9], [0.6, 0.7, 0.95]]


def test_acc_is_the_mean_of_the_last_row():
    assert metrics.acc(R) == pytest.approx((0.6 + 0.7 + 0.95) / 3)


def test_bwt_is_the_final_minus_the_first_accuracy_of_old_tasks():
    assert metrics.bwt(R) == pytest.approx(((0.6 - 1.0) + (0.7 - 0.9)) / 2)


def test_fwt_leaves_out_the_first_task():
    independent = [0.0, 0.95, 0.9]
    assert metrics.fwt(R, independent) == pytest.approx(((0.9 - 0.95) + (0.95 - 0.9)) / 2)


def test_forgetting_counts_from_the_best_accuracy_ever():
    rising = [[0.5], [0.9, 0.9], [0.6, 0.9, 1.0]]
    assert metrics.forgetting(rising) == pytest.approx((0.3 + 0.0) / 2)
    assert metrics.bwt(rising) == pytest.approx((0.1 + 0.0) / 2)


def test_average_incremental_accuracy_is_the_mean_of_the_curve():
    assert metrics.curve(R) == pytest.approx([1.0, 0.85, 0.75])
    assert metrics.average_incremental(R) == pytest.approx((1.0 + 0.85 + 0.75) / 3)


def test_a_single_task_has_no_transfer():
    assert (metrics.bwt([[0.9]]), metrics.fwt([[0.9]], [0.9]), metrics.forgetting([[0.9]])) == (0.0, 0.0, 0.0)


def test_a_matrix_of_the_other_orientation_is_refused():
    with pytest.raises(ValueError, match="but row 1 has 3"):
        metrics.acc(R[::-1])


def test_metrics_leave_the_matrix_as_it_was():
    before = [list(row) for row in R]
    metrics.acc(R), metrics.bwt(R), metrics.forgetting(R), metrics.curve(R)
    assert before == R
