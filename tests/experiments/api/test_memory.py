"""No call of the library takes memory without a bound: at the vocabulary of a real model it answers or is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.quick import quick

ROOT = Path(__file__).parents[3]
#: Every call in one process that may take a GiB beside what its imports took; what came of each, by name.
PROGRAM = """
import json, resource, sys
import numpy as np
import scipy.optimize, scipy.sparse.linalg
import draftproof.simulator.audit, draftproof.simulator.laws.precision as precisions
from draftproof import lp_analysis
from draftproof import simulator
from draftproof import *
from draftproof.lp_analysis.single_step import best_set
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.drafts import SpecHub
from draftproof.verifiers import STANDALONE

V = 50_257
random = np.random.default_rng(0)
P, Q = (random.dirichlet(np.ones(V)) for _ in "pq")
FLOATS = MarkovProcess(P[None], ()), MarkovProcess(Q[None], ())
CALLED = CallableProcess(V, lambda context: P), CallableProcess(V, lambda context: Q)
ONE, TWO = Delayed(4, 0, 1), Delayed(2, 0, 2)
EVERY = STANDALONE[:: int(sys.argv[1])]
TREES = [name for name in EVERY if name != "spechub"]

def one_block(name):
    scheme = SpecHub(2) if name == "spechub" else TWO  # it takes its own pairs only
    root = scheme.draw(CALLED[1], SamplingCoin(np.random.default_rng(1))).root(*CALLED)
    return make(name).verify(root, SamplingCoin(np.random.default_rng(2)))

def law_in_low_precision(scheme):
    exact = TableProcess([RATIONAL.vector([[Fraction(1, V)] * V])])
    return precisions.low_precision_law(make("naive"), exact, exact, scheme, precisions.precision_named("float32"))

def careless(tokens, q, p):
    return len(tokens), int(np.random.choice(len(p[-1]), p=p[-1]))

from fractions import Fraction

class Wide:
    depth = 2
    def draw(self, draft, coin):
        return [(coin.choose(draft.row(())), 0)]

CALLS = {
    **{f"block of {name}": lambda name=name: one_block(name) for name in EVERY},
    **{f"check of {name}": lambda name=name: check(name, FLOATS, ONE, arithmetic="float64") for name in TREES},
    **{f"check of {name}, called": lambda name=name: check(name, CALLED, TWO, arithmetic="float64") for name in TREES},
    **{f"law of {name}": lambda name=name: block_law(name, *FLOATS, ONE, "float64") for name in TREES},
    "single step": lambda: best_set(P, Q, 4),
    "single step of many": lambda: best_set(P, Q, 10**6),
    "bound": lambda: bound(world=(P, Q), scheme=ONE),
    "bound of a listed scheme": lambda: bound(world=(P, Q), scheme="top_k:K=2,L1=0,L2=2"),
    "bound of an own scheme": lambda: bound(world=(P, Q), scheme=Wide()),
    "direct bound": lambda: lp_analysis.direct_bound(*FLOATS, ONE),
    "compare": lambda: compare(["naive", "specinfer"], (P, Q), ["delayed:K=2,L1=0,L2=1", "delayed:K=2,L1=0,L2=2"]),
    "precision": lambda: law_in_low_precision(Delayed(1, 0, 1)),
    "from_softmax": lambda: from_softmax(np.broadcast_to(np.float32(1 / V), (V, V)), root=(0,)),
    "MarkovProcess": lambda: MarkovProcess(np.broadcast_to(1 / V, (V, V)), root=(0,)),
    "TableProcess": lambda: TableProcess([P[None], np.broadcast_to(1 / V, (V, V))]),
    "rationalise": lambda: rationalise(np.broadcast_to(1 / V, (V, V)), 2**20),
    "tabulate": lambda: tabulate(FLOATS[0], 1, FLOAT64),
    "text": lambda: TextPair("".join(map(chr, range(33, 9000))), 8_000, 1, 0).processes((0,)),
    "text of a great order": lambda: TextPair("abcab" * 50, 3, 40, 1),
    "family": lambda: FAMILIES["dirichlet"].instance(V, 1, random),
    "witness": lambda: find_witness("naive_from_target", "delayed:K=1,L1=0,L2=1", 1, V),
    "audit": lambda: assert_lossless(careless, *FLOATS, Delayed(1, 0, 1), interface="chain", library="numpy"),
    "conformance": lambda: Instance.of(*FLOATS, 1, FLOAT64),
    "steady state": lambda: simulator.verdicts.lossless.Evaluator(make("block"), "float64").steady_state(*FLOATS, ONE),
}

now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 2**30, now + 2**30))
came = {}
for name, call in CALLS.items():
    try:
        call()
        came[name] = "answered"
    except DraftproofError as error:
        came[name] = f"{type(error).__name__}: {error}"
    except MemoryError:
        came[name] = "no memory"
    except Exception as error:
        came[name] = f"!! {type(error).__name__}: {error}"
print(json.dumps(came))
"""


@pytest.fixture(scope="module", params=quick([1, 11], (11,)), ids=["every verifier", "one in eleven"])
def came(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What came of every call."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not say what a process holds")
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # every thread takes address space of its own
    env = {**os.environ, **one, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(request.param)], env=env, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.heavy
def test_every_call_answers_or_is_refused_with_a_way_out(came: dict[str, Any]) -> None:
    assert len(came) > 40
    wrong = {name: said for name, said in came.items() if said != "answered" and not said.startswith("TooLarge: ")}
    assert wrong == {}


@pytest.mark.heavy
def test_refusals_name_the_size_and_a_way_out_that_is_no_flag(came: dict[str, Any]) -> None:
    refused = {name: said for name, said in came.items() if said != "answered"}
    ways = (
        "smaller", "lower", "fewer", "nearest shape", "deepest that fit", "keep the most probable",
    )  # fmt: skip
    assert [name for name, said in refused.items() if not any(way in said for way in ways)] == []
    assert [name for name, said in refused.items() if "--" in said] == []


def test_blocks_are_verified_at_a_real_vocabulary(came: dict[str, Any]) -> None:
    refused = {name for name, said in came.items() if name.startswith("block of ") and said != "answered"}
    assert refused == {"block of layer_without_replacement", "block of gls"} & came.keys()


def test_one_token_is_checked_at_a_real_vocabulary(came: dict[str, Any]) -> None:
    answered = {name.removeprefix("check of ") for name in came if came[name] == "answered"}
    one_token = {
        "nss", "naive", "naive_tree", "specinfer", "spectr", "block", "hsd", "tree_monte_carlo", "gbv", "mixed_order",
    }  # fmt: skip
    assert {name for name in one_token if f"check of {name}" in came} <= answered
