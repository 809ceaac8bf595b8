"""A model that was used before a fork works in the child."""

import os
import subprocess
import sys
import urllib.request

import pytest
from processes import execute
from waiting import until

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")

MODEL = """
import os, sys, threading, numpy as np, torch
from if2net import IF2Net
torch.set_num_threads(2)
random = np.random.default_rng(0)
X, y = random.normal(size=(2000, 50)), np.arange(2000) % 4
net = IF2Net(seed=0, device="cpu", width=600).learn(X, y)
expected = net.predict(X)  # uses torch's threads, which a child does not have
"""


def test_a_child_predicts_and_learns_also_while_another_thread_learns():
    """The process is new, since in one that was forked itself torch has one thread."""
    program = f"""{MODEL}
def check(children):
    for _ in range(children):
        child = os.fork()
        if child == 0:
            samples = net.samples
            assert samples % 2000 == 0 and (net.predict(X) == expected).mean() > 0.99
            assert net.learn(X[:100], y[:100]).samples == samples + 100
            net.predict(X)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

def learn():
    while True:
        net.learn(X, y)

check(2)
threading.Thread(target=learn, daemon=True).start()
check(3)
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=240)


FIRST = {
    "loads": "IF2Net.load(sys.argv[1], device='cpu').predict(X)",
    "copies": "copy.deepcopy(net).predict(X)",
    "pickles": "pickle.loads(pickle.dumps(net)).predict(X)",
    "merges": "net.merge(other)",
    "begins anew": "IF2Net(seed=0, device='cpu', width=600).learn(X, y).predict(X)",
}


@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_a_child_does_not_wait_for_threads_that_it_does_not_have(first, tmp_path):
    program = f"""{MODEL}
import copy, pickle
other = net.fork().learn(X[:200] + 1, y[:200])
net.save(sys.argv[1])
child = os.fork()
if child == 0:
    {first}
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "model.if2")], check=True, timeout=100)


FORKING = {
    "that only fork": """
def work():
    for _ in range(40):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
""",
    "that learn from data loaders with workers": """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, place):
        return torch.randn(10, generator=torch.Generator().manual_seed(place)), place % 3
def work():
    own = IF2Net(width=50, device="cpu")
    for _ in range(3):
        own.learn(torch.utils.data.DataLoader(Data(), batch_size=100, num_workers=1))
    assert own.samples == 1200
""",
}


@pytest.mark.parametrize("case", FORKING)
def test_two_threads_that_fork_do_not_block_each_other(case):
    program = f"""
import os, threading, torch
from if2net import IF2Net
learners = [IF2Net(width=50, device="cpu") for _ in range(20)]
{FORKING[case]}
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all(learner._lock.acquire(timeout=1) for learner in learners)
"""
    execute(program)


def test_the_workers_of_gunicorn_predict_with_a_model_loaded_before_the_fork(tmp_path):
    pytest.importorskip("gunicorn")
    application = f"""{MODEL}
def app(environment, start_response):
    right = float((net.predict(X) == expected).mean())
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(right).encode()]
"""
    (tmp_path / "service.py").write_text(application)
    address = tmp_path / "port"
    settings = f"def when_ready(server): open({str(address)!r}, 'w').write(str(server.LISTENERS[0].getsockname()[1]))"
    (tmp_path / "settings.py").write_text(settings)
    options = ["--preload", "--workers", "2", "--bind", "127.0.0.1:0", "--config", "settings.py"]
    server = subprocess.Popen([sys.executable, "-m", "gunicorn", *options, "service:app"], cwd=tmp_path)
    try:
        until(lambda: server.poll() is not None or (address.exists() and address.read_text()))
        assert server.poll() is None
        for _ in range(4):
            with urllib.request.urlopen(f"http://127.0.0.1:{address.read_text()}/", timeout=120) as answer:
                assert float(answer.read()) == 1.0
    finally:
        server.terminate()
        server.wait(timeout=60)


def test_ctrl_c_during_a_fork_leaves_no_lock_taken():
    """A lock that stays taken would let every other thread wait for ever."""
    program = f"""{MODEL}
import contextlib, random, signal
sys.unraisablehook = lambda error: None  # Python reports a Ctrl-C that it ignores
signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
moments, parent = random.Random(0), os.getpid()
for _ in range(400):
    try:
        signal.setitimer(signal.ITIMER_REAL, moments.uniform(5e-6, 2e-4))
        os.fork()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    if os.getpid() != parent:
        os._exit(0)
    assert not net._lock._is_owned()
    with contextlib.suppress(ChildProcessError):  # Ctrl-C came before the fork
        os.wait()
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_ctrl_c_before_any_lock_is_taken_makes_a_changing_learner_read_only_in_the_child():
    program = f"""{MODEL}
from if2net import os_fork
from if2net.errors import InputError
sys.unraisablehook = lambda error: None
changing, done = threading.Event(), threading.Event()

def batches():
    yield X[:20], y[:20]
    changing.set()
    done.wait()

threading.Thread(target=lambda: net.learn(batches()), daemon=True).start()
changing.wait()

def interrupt(frame, event, argument):
    if frame.f_code is os_fork._hold.__code__:
        sys.settrace(None)
        raise KeyboardInterrupt

sys.settrace(interrupt)
child = os.fork()
sys.settrace(None)
if child == 0:
    try:
        net.learn(X[:3], y[:3])
    except InputError:
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
