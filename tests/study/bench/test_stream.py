"""A damaged checkpoint is refused with the advice to delete it."""

import pytest
import torch

from if2net import modelfile
from if2net.errors import ModelFileError
from if2net.study.bench import stream as streams
from if2net.study.bench.runner import run_plan


def interrupt(step):
    if step.task == 2:
        raise KeyboardInterrupt


@pytest.fixture
def kill(digits, tmp_path, monkeypatch):
    """Return a function that starts a plan of one method, kills it after the third task, and gives its checkpoint."""
    monkeypatch.setattr(streams, "BETWEEN_CHECKPOINTS", 0.0)

    def run(plan):
        with pytest.raises(KeyboardInterrupt):
            run_plan(plan, digits, tmp_path, interrupt)
        return streams.checkpoint_path(tmp_path, next(iter(plan.settings)), 0)

    return run


@pytest.fixture(params=["if2net", "ncm", "none"])
def killed(request, make_plan, kill):
    """A plan whose run was killed, and its checkpoint."""
    plan = make_plan((request.param,))
    return plan, kill(plan)


DAMAGE = {
    "no tasks": lambda tensors, header: header.pop("tasks"),
    "tasks that are text": lambda tensors, header: header.update(tasks="3"),
    "more tasks than there are": lambda tensors, header: header.update(tasks=9),
    "rows that are missing": lambda tensors, header: header.update(rows={"": []}),
    "another variant": lambda tensors, header: header.update(rows={"x": header["rows"].popitem()[1]}),
    "no accuracy": lambda tensors, header: header["rows"][""][0].__setitem__(0, 7.0),
    "no times": lambda tensors, header: header.update(seconds=None),
    "no tensors": lambda tensors, header: tensors.clear(),
}


@pytest.mark.parametrize("fault", DAMAGE)
def test_a_damaged_checkpoint_can_be_deleted(killed, digits, fault):
    plan, path = killed
    tensors, header = modelfile.read(path)
    DAMAGE[fault](tensors, header)
    modelfile.write(path, tensors, header)
    with pytest.raises(ModelFileError, match=r"checkpoint .* is damaged or of another version\. Delete it"):
        run_plan(plan, digits, path.parents[1])
    path.unlink()
    assert len(run_plan(plan, digits, path.parents[1]).runs) == 1


def test_a_checkpoint_that_is_cut_short_can_be_deleted(killed, digits):
    plan, path = killed
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelFileError, match="Delete it"):
        run_plan(plan, digits, path.parents[1])


@pytest.mark.parametrize(
    ("name", "tensor", "shape"),
    [("il2m", "state.factor", (1, 3)), ("bic", "state.memory.X", (2, 5)), ("owm", "state.P.0", (7, 7))],
)
def test_a_checkpoint_whose_tensors_do_not_fit_can_be_deleted(name, tensor, shape, digits, make_plan, tmp_path, kill):
    path = kill(make_plan((name,)))
    tensors, header = modelfile.read(path)
    (key,) = (key for key in tensors if key.endswith(tensor))
    tensors[key] = torch.zeros(shape, dtype=tensors[key].dtype)
    modelfile.write(path, tensors, header)
    with pytest.raises(ModelFileError, match=r"checkpoint .* Delete it"):
        run_plan(make_plan((name,)), digits, tmp_path)
