"""Compare a method of your own with IF2Net and plain training on a stream of tasks.

usage: OMP_NUM_THREADS=1 python examples/compare_methods.py

The networks are small: several threads gain little, and on a busy machine they wait for each other.
"""

from if2net.study.bench.runner import run_plan
from if2net.study.bench.settings import resolve
from if2net.study.bench.stream import Plan
from if2net.study.data import load_dataset, parse_scenario
from if2net.study.methods import METHODS
from if2net.study.methods.common.trainer import Trainer


class Slower(Trainer):
    """Trains the shared network and halves the learning rate with each task."""

    name = "slower"
    summary = "half the learning rate with each task"

    def before_step(self, X, y):
        self.optimiser.rate = self.settings.rate / 2**self.tasks


def main() -> None:
    """Run three methods on digits in five tasks; more seeds shuffle the classes again."""
    METHODS["slower"] = Slower
    try:
        steps = [("none", "steps", 50), ("slower", "steps", 50)]
        settings = resolve(["if2net", "none", "slower"], "agnostic", steps)
        plan = Plan(parse_scenario("digits-10/5"), settings, seeds=(0,))
        results = run_plan(plan, load_dataset("digits"), out=None)
    finally:
        del METHODS["slower"]
    print("method    ACC %    BWT")
    for name, entry in results.summary.items():
        print(f"{name:8} {100 * entry['acc_mean']:6.2f} {entry['bwt_mean']:+6.2f}")


if __name__ == "__main__":
    main()
