"""Training depends on its arguments alone, and learns."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import if2net
from if2net.encoder.innate.compiling import OPTIONS, repeatable
from if2net.encoder.innate.drawings import Drawings
from if2net.encoder.innate.training import SIZES, Course, _Classifier, _Trainer, plan_and_course, train
from if2net.errors import ConfigurationError, NumericalError

CPU = torch.device("cpu")


def weights(plan, course):
    return train(plan, course, Drawings(course.seed), CPU).state_dict()


def test_training_twice_gives_the_same_bits_and_leaves_the_random_numbers_alone(plan, course):
    torch.manual_seed(7)
    first = weights(plan, course)
    after = torch.rand(3)
    torch.manual_seed(8)
    second = weights(plan, course)
    assert all(torch.equal(values, second[name]) for name, values in first.items())
    torch.manual_seed(7)
    assert torch.equal(torch.rand(3), after)


def test_another_seed_gives_other_weights(plan, course):
    first, second = weights(plan, course), weights(plan, replace(course, seed=2))
    assert not torch.equal(first["stem.kernel.weight"], second["stem.kernel.weight"])


def test_the_loss_falls_and_progress_is_shown(plan, course):
    shown = []
    longer = replace(course, steps=60, batch=30)
    train(plan, longer, Drawings(1), CPU, lambda *words: shown.append(words))
    losses = [float(text.removeprefix("loss ")) for _, _, text in shown]
    assert [done for done, _, _ in shown] == list(range(1, 61))
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])


def test_a_training_that_diverges_ends_with_an_error(plan, course):
    shown = []
    with pytest.raises(NumericalError, match=r"diverged: the loss is nan after \d+ steps.* smaller rate"):
        train(plan, replace(course, steps=60, rate=1e20), Drawings(1), CPU, lambda *words: shown.append(words))
    assert len(shown) < 60


def test_a_rehearsal_changes_nothing(plan, course):
    """A GPU records an update after a rehearsal, and must then begin where a CPU begins."""

    def trained(rehearsals):
        torch.manual_seed(0)
        trainer = _Trainer(_Classifier(plan, course).train(), course, Drawings(1), CPU)
        trainer.rate.fill_(0.1)
        trainer.rehearse(rehearsals)
        for _ in range(3):
            trainer.update()
        return [*trainer.state, *trainer.speed, *trainer.average, trainer.count]

    assert all(torch.equal(one, other) for one, other in zip(trained(0), trained(3), strict=True))


def test_a_network_with_a_teacher_predicts_its_maps_and_leaves_it_alone(plan, course):
    teacher = train(replace(plan, widths=(6, 8, 10)), course, Drawings(1), CPU)
    before = {name: values.clone() for name, values in teacher.state_dict().items()}
    shown = []
    taught = replace(course, steps=60, batch=30, teacher="large", imitation=10.0)
    network = train(plan, taught, Drawings(1), CPU, lambda *words: shown.append(words), teacher)
    losses = [float(text.removeprefix("loss ")) for _, _, text in shown]
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
    assert losses[0] > 10  # the error of the predictions, with its weight, is part of the loss
    assert all(torch.equal(values, before[name]) for name, values in teacher.state_dict().items())
    assert not any("predict" in name for name in network.state_dict())


def test_a_teacher_changes_the_network(plan, course):
    teacher = train(plan, replace(course, seed=2), Drawings(2), CPU)
    alone, taught = (train(plan, course, Drawings(1), CPU, None, one) for one in (None, teacher))
    assert not torch.equal(alone.stem.kernel.weight, taught.stem.kernel.weight)


def test_the_rate_rises_and_falls_to_zero():
    course = Course(steps=100, rate=0.2)
    rates = [course.rate_at(step) for step in range(101)]
    assert max(rates) == rates[15] == 0.2
    assert rates[:16] == sorted(rates[:16])
    assert rates[15:] == sorted(rates[15:], reverse=True)
    assert rates[100] == pytest.approx(0)


def test_sizes_have_a_plan_and_a_course():
    plan, course = plan_and_course("small", seed=3, steps=5)
    assert (plan, course.seed, course.steps, course.batch) == (SIZES["small"][0], 3, 5, 512)
    with pytest.raises(ConfigurationError, match="did you mean 'small'"):
        plan_and_course("smal")
    with pytest.raises(ConfigurationError, match="1 or more"):
        Course(steps=0)


def test_the_compiler_knows_the_options_and_chooses_no_kernel_by_timing():
    config = torch._inductor.config
    assert config.triton.autotune_pointwise, "the default has changed; the option may be superfluous"
    with config.patch(OPTIONS):
        assert config.deterministic
        assert not config.triton.autotune_pointwise
    assert repeatable(torch.sin) is not torch.sin  # an unknown option is an error here


def test_nothing_else_in_the_package_is_compiled():
    folder = Path(if2net.__file__).parent
    calling = [path.name for path in folder.rglob("*.py") if "torch.compile" in path.read_text(encoding="utf-8")]
    assert calling == ["compiling.py"]
