"""`draftproof audit --program CMD`: programs in any language, through a pipe."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from draftproof.experiments.grid.store import stored_rows
from draftproof.simulator.audit.cells import MISSED, RESOLUTION, Cells
from draftproof.simulator.audit.function import refutation
from draftproof.simulator.audit.program import Pipe
from tests.modules import load

DATA = Path(__file__).parents[2] / "data"
PROGRAMS = DATA / "programs"
PYTHON = f"{sys.executable} {PROGRAMS}/client.py"
NUMBERS = ("--numbers", "uniforms,final_uniform")
CHAIN = ("--interface", "chain", "--shrink-seconds", 0, "--json")


def audited(draftproof, command, *given, cases="short"):
    return draftproof("audit", "--program", command, *CHAIN, "--cases", cases, *given)


@pytest.mark.parametrize("clients", ["c", "node", "torch"], indirect=True)
def test_clients_are_judged_rightly_exactly_and_by_samples(draftproof, clients):
    right, wrong = clients
    is_torch = "torch" in right  # which takes seconds to start, and long for each answer
    exact = audited(draftproof, right, *NUMBERS, cases="short,no_drafts" if is_torch else "three_tokens,zeros")
    assert exact.code == 0
    assert exact.row["verdict"].startswith("LOSSLESS on 2 instances by bisecting, which can miss answers on less than")
    assert exact.row["bias"] < 1e-11
    refuted = audited(draftproof, wrong, *NUMBERS)
    assert refuted.code == 1
    assert refuted.json["hypotheses"][0]["name"] == "correction from p"
    if is_torch:
        return
    assert audited(draftproof, right, "--sample", 1000).code == 2
    assert audited(draftproof, wrong, "--sample", 20000).code == 1


def test_a_witness_of_a_program_is_shown_by_its_command(draftproof):
    ran = draftproof("audit", "--program", f"{PYTHON} numbers bug", *NUMBERS, *CHAIN[:2], "--cases", "short", "--json")
    assert ran.code == 1
    command = str(ran.json["witness"])
    assert "audit --program" in command
    assert "--numbers uniforms,final_uniform" in command


def test_a_program_that_ignores_its_numbers_is_named(draftproof):
    """One that draws its own gives two answers to a request; one that decides nothing has another law."""
    ran = audited(draftproof, PYTHON, *NUMBERS)
    assert ran.code == 2
    assert "it gives two answers to the same request with the same numbers" in ran.err
    steady = write("steady.py", "uniforms = final_uniform = None", "[0]")
    assert audited(draftproof, steady, *NUMBERS).code == 1


MATCHING = """
def pick(row, number):
    for token, weight in enumerate(row):
        number -= weight
        if number < 0:
            return token
    return max(token for token, weight in enumerate(row) if weight > 0)
def walk(node, numbers, final):
    token = pick(node["target"], numbers[0] if numbers else final)
    below = node["children"].get(str(token))
    return [token] if below is None else [token, *walk(below, numbers[1:], final)]
"""


def test_trees_and_batches_take_numbers_too(draftproof):
    command = write("tree.py", MATCHING, "walk(asked['root'], asked['uniforms'], asked['final_uniform'])")
    given = ("--program", command, *NUMBERS, "--interface", "tree", "--cases", "short", "--json")
    assert draftproof("audit", *given).code == 0
    same = "[[pick(p[0], number)] for p, number in zip(asked['p'], asked['final_uniform'])]"
    command = write("batch.py", MATCHING, same)
    ran = audited(draftproof, command, *NUMBERS, "--batch", 2, "--also", "reproducible")
    assert ran.code == 0
    assert any(note.startswith("reproducible: ") for note in ran.json["notes"])
    command = write("shared.py", MATCHING, same.replace("number)]", "asked['final_uniform'][0])]"))
    assert audited(draftproof, command, *NUMBERS, "--batch", 2).code == 1


def write(name, before, tokens, logprobs=None):
    """The command of a program whose answer is an expression of what is asked, its log-probabilities one of both."""
    beside = "" if logprobs is None else f", 'logprobs': {logprobs}"
    Path(name).write_text(
        f"import json, math, random, sys\n{before}\nfor line in sys.stdin:\n    asked = json.loads(line)\n"
        f"    tokens = {tokens}\n    print(json.dumps({{'id': asked['id'], 'tokens': tokens{beside}}}), flush=True)\n"
    )
    return f"{sys.executable} {name}"


def test_noise_is_refused_and_sampled(draftproof):
    command = write(
        "race.py", "", "[min((x / (w + 1e-300), i) for i, (x, w) in enumerate(zip(asked['noise'], asked['p'][0])))[1]]"
    )
    given = ("--numbers", "noise")
    ran = audited(draftproof, command, *given, cases="no_drafts")
    assert ran.code == 2
    assert "noise: cells of uniform numbers alone are bisected" in ran.err
    ran = audited(draftproof, command, *given, "--sample", 500, cases="no_drafts")
    assert (ran.code, ran.row["samples"]) == (2, 500)


def test_a_program_without_boxes_is_sampled_on_the_requests_that_were_bisected(draftproof):
    command = write("product.py", "", "[int(asked['uniforms'][0] * asked['final_uniform'] < 0.3)]")
    ran = audited(draftproof, command, *NUMBERS, "--sample", 500)
    assert (ran.code, ran.row["samples"] > 0) == (1, True)
    assert "constant on no 300 boxes" in str(ran.json)


def test_what_bisecting_misses_is_what_it_says():
    """An answer inside of a cell is seen where its share is as large as that which is told."""
    width = MISSED ** (1 / 2)

    def ask(points):
        return [[int(0.4 < x < 0.4 + width and 0.4 < y < 0.4 + width)] for x, y in points]

    small = Cells(ask, 2)
    assert small.count > 1
    assert small.answer((0.45, 0.45)) == [1]
    edges = Cells(lambda points: [[int(x < 1 / 3)] for (x,) in points], 1)
    assert abs(edges.root.edge - 1 / 3) <= RESOLUTION


def test_many_long_requests_wait_and_ctrl_c_leaves_no_answer_to_the_next(monkeypatch):
    """By a program that gives its requests back."""
    with closing(Pipe("cat", 30, ("tokens",))) as pipe, monkeypatch.context() as patched:
        long = list(range(5000))
        assert pipe.ask([f'"tokens": {long}'] * 100) == [long] * 100
        patched.setattr(pipe, "_fields", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pipe.ask(['"tokens": [1]'] * 2)
        patched.undo()
        assert pipe.ask(['"tokens": [2]']) == [[2]]


FAULTS = {
    "crash": "ended with exit code 3 after 200 answers",
    "segfault": "was ended by signal 11 (SIGSEGV) after 200 answers",
    "silent": "gave no answer to request 200 within 1 s",
    "malformed": "wrote 'Loading model..' to request 200",
    "no tokens": "wrote '{\"id\": 200}' to request 200",
    "text": "to request 200; write one line",
    "killed in a line": 'ended by signal 9 (SIGKILL) after 800 answers, within the line \'{"id": 800, "t\'',  # 4 starts
    "out of order": "answered request 201 where 200 is next",
    "twice": "answered request 200 where 201 is next",
    "closed": "closed its output after 200 answers",
    "endless": "bytes without the end of a line",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_named_and_what_was_found_before_is_kept(draftproof, fault):
    command = f"{sys.executable} {PROGRAMS}/faulty.py '{fault}' 200"
    seconds = 60 if fault == "endless" else 1
    ran = audited(draftproof, command, "--sample", 1000, "--answer-seconds", seconds)
    assert ran.code == 2
    assert ran.row["verdict"].startswith("NOT JUDGED, no bias found in ")
    assert FAULTS[fault] in ran.row["verdict"]
    assert ran.row["lossless"] is None


def test_a_fault_ends_an_exact_audit_with_exit_2(draftproof):
    ran = audited(draftproof, f"{sys.executable} {PROGRAMS}/faulty.py crash", *NUMBERS, cases="short,context")
    assert ran.code == 2
    assert "the program ended with exit code 3 after 0 answers" in ran.err


def test_a_token_that_does_not_exist_is_a_failure(draftproof):
    ran = audited(draftproof, f"{sys.executable} {PROGRAMS}/faulty.py 'foreign token' 200", "--sample", 1000)
    assert ran.code == 1
    assert "99 is no token" in ran.row["verdict"]


def test_a_program_that_is_killed_is_started_again_and_nothing_is_lost(draftproof):
    ran = audited(draftproof, f"{sys.executable} {PROGRAMS}/faulty.py killed 200", "--sample", 500)
    assert (ran.code, ran.row["samples"]) == (2, 500)
    assert any("killed from outside once, started again" in note for note in ran.json["notes"])


def test_a_sampled_audit_that_is_killed_goes_on_where_it_was(draftproof):
    """kill -9 of the audit itself: the same command goes on from the counts of its store, with more samples too."""
    given = ["--program", PYTHON, *map(str, CHAIN), "--cases", "short", "--resume", "counts.db", "--sample"]
    running = subprocess.Popen(
        [sys.executable, "-m", "draftproof", "audit", *given, "1000000"], start_new_session=True, stderr=subprocess.PIPE
    )
    while not rows_of("counts.db"):
        assert running.poll() is None
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    [before] = rows_of("counts.db")
    calls = sum(map(sum, before["counts"]))
    ran = draftproof("audit", *given, calls + 500)
    assert f"goes on after {calls:,} calls" in ran.err
    assert (ran.code, ran.row["samples"]) == (2, calls + 500)
    [after] = rows_of("counts.db")
    assert all(new >= old for new, old in zip(after["counts"][0], before["counts"][0], strict=True))
    assert after["portions"] > before["portions"]
    other = draftproof("audit", *given, 200, "--seed", 1)
    assert (other.row["samples"], "goes on" in other.err) == (200, False)


def rows_of(path):
    """The rows of a store, none where it is not there yet."""
    return list(stored_rows(path)) if Path(path).exists() else []


@pytest.mark.parametrize(("drawn", "code"), [("random.random()", 2), ("shared", 1)])
def test_batches_of_a_program_that_draws_its_own_are_sampled(draftproof, drawn, code):
    """One number for all requests leaves each of them its law; the test sees that they depend on each other."""
    command = write("own.py", MATCHING, f"[[pick(p[0], {drawn})] for shared in [random.random()] for p in asked['p']]")
    ran = audited(draftproof, command, "--batch", 2, "--sample", 3000, cases="context")
    assert ran.code == code
    assert ran.row["verdict"].startswith("REFUTED" if code == 1 else "NO BIAS FOUND in 3,000 samples")


def test_a_batch_with_too_many_texts_is_refused(draftproof):
    ran = audited(draftproof, PYTHON, "--batch", 9, "--sample", 100, cases="context")
    assert ran.code == 2
    assert "texts of a batch are too many to be counted; take fewer requests" in ran.err


def test_the_program_is_ended_with_its_children(draftproof):
    command = f"{sys.executable} {PROGRAMS}/faulty.py child 10"
    assert audited(draftproof, command, "--sample", 100, "--answer-seconds", 1).code == 2
    state = Path("/proc", Path("child.pid").read_text(), "stat")
    while state.exists() and state.read_text().split()[2] != "Z":  # a killed process takes a moment
        time.sleep(0.05)
    assert not Path("survived").exists()  # as after its whole time


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("x.py:f", "--program", "true"), "name one function"),
        (("--program", "true", "--interface", "loop"), "hands over objects"),
        (("--program", "true", "--numbers", "dice"), "numbers dice: a program can take"),
        (("--program", "", "--interface", "chain"), "give a command"),
        (("--program", "true", "--boundary"), "draftproof vectors"),
        (("--program", "true", "--answer-seconds", "0"), "give a time above 0"),
        (("--program", "./not_there", "--interface", "chain", "--numbers", "uniforms"), "cannot run ./not_there"),
        (("x.py:f", "--numbers", "uniforms"), "numbers are for a program"),
        (("--program", "true", "--resume", "counts.db"), "resume keeps the counts of samples"),
    ],
)
def test_bad_input_is_one_line(draftproof, given, named):
    ran = draftproof("audit", *given)
    assert ran.code == 2
    assert named in ran.err


REPLACED = ("--scheme", "without_replacement", "--K", 2, "--L1", 0, "--L2", 2)
GREEDY = ("--scheme", "top_k", "--K", 2, "--L1", 0, "--L2", 2)
COOLED, UNIFORMS = ("--processing", "temperature=.5"), ("--numbers", "uniforms,final_uniforms")
LISTS, ARRAYS, PATHS = ("chain", "python", ()), ("chain", "numpy", ()), ("paths", "python", ())
#: Functions that travel through a pipe: file, functions, and interface, library and options.
WRONG = [
    ("correction_from_target", "wrong", LISTS), ("uncapped_ratio", "wrong", LISTS),
    ("catalogue", "no_coin swapped draft_row_late weights_as_probabilities exact_first_token", LISTS),
    ("catalogue", "bonus_row", (*LISTS[:2], ("--cases", "context"))),  # it ends on requests without drafts
    ("catalogue", "uniforms_multiplied", LISTS), ("catalogue", "target_cooled", ("chain", "numpy", COOLED)),
    ("catalogue", "duplicates_twice longest_path", PATHS), ("catalogue", "not_forgotten", (*PATHS[:2], REPLACED)),
    ("coin_reuse", "wrong", ("coins", "numpy", UNIFORMS)),
    ("engine_bugs", "wrong_softmax wrong_greedy_bonus wrong_sample_again wrong_races_twice", ARRAYS),
    ("engine_bugs", "wrong_coin_in_race", (*ARRAYS[:2], ("--cases", "three_tokens"))),
    ("engine_bugs", "wrong_greedy_tree", ("paths", "numpy", GREEDY)),
]  # fmt: skip
RIGHT = [
    ("correction_from_target", "right", LISTS), ("uncapped_ratio", "right", LISTS),
    ("catalogue", "right first_failure block one_uniform", LISTS), ("catalogue", "cooled", ("chain", "numpy", COOLED)),
    ("catalogue", "siblings first_path", PATHS), ("catalogue", "forgotten", (*PATHS[:2], REPLACED)),
    ("coin_reuse", "right", ("coins", "numpy", UNIFORMS)),
    ("engine_bugs", "right_residual right_sample_and_compare right_races right_coin_apart", ARRAYS),
    ("engine_bugs", "right_greedy_tree", ("paths", "numpy", GREEDY)),
    ("order_of_leaves", "right", ("tree", "python", ())),
]  # fmt: skip
SERVED = [
    pytest.param(f"{file}.py", name, called, wrong, id=f"{file}-{name}")
    for functions, wrong in ((WRONG, True), (RIGHT, False))
    for file, names, called in functions
    for name in names.split()
]


@pytest.mark.one_in(16)
@pytest.mark.parametrize(("file", "name", "called", "wrong"), SERVED)
def test_bugs_of_the_catalogue_are_refuted_through_the_pipe(draftproof, file, name, called, wrong):
    interface, library, options = called
    command = f"{sys.executable} {PROGRAMS}/serve.py {DATA}/audited/{file} {name} {library}"
    given = ("--interface", interface, *options, "--json")
    wanted = 40_000 if wrong else 1500
    ran = draftproof("audit", "--program", command, *given, "--sample", wanted)
    found = (0, "LOSSLES") if "--numbers" in given else (2, "NO BIAS")
    assert (ran.code, ran.row["verdict"][:7]) == ((1, "REFUTED") if wrong else found)


def test_the_program_on_the_page_is_lossless(draftproof):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no compiler of C")
    page = (Path(__file__).parents[3] / "docs" / "howto" / "programs.md").read_text(encoding="utf-8")
    Path("first.c").write_text(page.partition("```c\n")[2].partition("```")[0])
    subprocess.run([compiler, "first.c", "-o", "first"], check=True, timeout=60)
    [command] = (line for line in page.splitlines() if line.startswith("draftproof audit --program"))
    ran = draftproof(*command.split()[1:], "--cases", "three_tokens,zeros,no_drafts")
    assert ran.code == 0, ran.err


def test_log_probabilities_are_those_of_the_target(draftproof):
    """A program that answers with those of q on drafted tokens fails."""
    one, logs = "[pick(asked['p'][0], asked['final_uniform'])]", "[math.log({}[0][tokens[0]])]"
    for rows, code in (("asked['p']", 0), ("(asked['q'] or asked['p'])", 1)):
        command = write("logs.py", MATCHING, one, logs.format(rows))
        ran = audited(draftproof, command, *NUMBERS, "--also", "logprobs")
        assert ran.code == code
    assert "as log-probability of token" in str(ran.json["failures"])
    ran = audited(draftproof, write("none.py", MATCHING, one), *NUMBERS, "--also", "logprobs")
    assert ran.code == 2
    assert '"logprobs": [..]' in ran.err


def test_a_seed_makes_a_program_reproducible_or_not(draftproof):
    before = MATCHING + "\ndef number(*key):\n    return random.Random(str(key)).random()\n"
    own = "[[pick(p[0], number(asked['seed'], place))] for place, p in enumerate(asked['p'])]"
    shared = "[[pick(p[0], number(asked['seed'], sum(asked['lengths'])))] for p in asked['p']]"
    given = ("--numbers", "seed", "--batch", 2, "--also", "reproducible")
    ran = audited(draftproof, write("own.py", before, own), *given, cases="context")
    assert (ran.code, "not reproducible" in ran.out) == (2, False)  # the law of seeds is not bisected
    ran = audited(draftproof, write("shared.py", before, shared), *given, cases="context")
    assert (ran.code, ran.row["verdict"]) == (1, "FAILS on 1 of 1 instances")
    [failure] = ran.json["failures"]
    tokens, batches = re.findall(r"\[[0-9, ]+\]", failure["error"]), re.findall(r"\[\[.*?\]\]", failure["error"])
    assert len(set(batches)) == len(batches) == 2
    assert tokens[0] != tokens[1]


@pytest.mark.parametrize(
    ("asked", "batch"), [("batch", ("--batch", 2, "--also", "reproducible")), ("logs", ("--also", "logprobs"))]
)
def test_python_functions_are_asked_the_same(draftproof, asked, batch):
    ran = draftproof("audit", f"{DATA}/audited/beside.py:wrong_{asked}", *CHAIN, *batch, "--cases", "context")
    assert (ran.code, ran.row["verdict"]) == (1, "FAILS on 1 of 1 instances")


def test_test_suites_ask_the_same():
    options = {"interface": "chain", "cases": ["context"]}
    for name, asked in (("batch", {"also": ["reproducible"], "batch": 2}), ("logs", {"also": ["logprobs"]})):
        assert refutation(load(DATA / "audited" / "beside.py", f"right_{name}"), **options, **asked) is None
        told = refutation(load(DATA / "audited" / "beside.py", f"wrong_{name}"), **options, **asked)
        assert "not reproducible" in told or "as log-probability of token" in told


ALIAS = """
import struct
def alias(row, number):
    size = len(row)
    share, other = [weight * size for weight in row], list(range(size))
    small, large = ([token for token in range(size) if (share[token] < 1) == less] for less in (True, False))
    while small and large:
        one, two = small.pop(), large.pop()
        other[one], share[two] = two, share[two] - (1 - share[one])
        (small if share[two] < 1 else large).append(two)
    bin = min(int(number * size), size - 1)
    return bin if number * size - bin < share[bin] else other[bin]
def single(row, number):
    number, total = struct.unpack("f", struct.pack("f", number))[0], 0.0
    for token, weight in enumerate(row):
        total += weight
        if number < total:
            return token
    return len(row)
"""
#: p has tokens of probability 1e-4, which bisecting the numbers of the alias method misses.
RARE = {
    "vocab_size": 4,
    "depth": 0,
    "target": {"": ["9997/10000", "1/10000", "1/10000", "1/10000"]},
    "draft": {"": [1, 0, 0, 0]},
}


def test_answers_that_bisecting_misses_refute_nothing(draftproof):
    """Alias sampling has a token of little mass inside of the cell of another one."""
    command = write("alias.py", ALIAS, "[alias(asked['p'][0], asked['final_uniform'])]")
    Path("rare.json").write_text(json.dumps(RARE))
    given = ("--program", command, *NUMBERS, *CHAIN, "--world", "rare.json", "--L2", 0)
    ran = draftproof("audit", *given)
    assert ran.code == 2
    assert "bisecting missed an answer: with the numbers [" in ran.err
    shifted = write("shifted.py", MATCHING, "[pick(asked['p'][0], asked['final_uniform'] + 1e-5)]")
    ran = draftproof("audit", "--program", shifted, *given[2:])
    assert ran.code == 2
    assert "a bias of 1e-05, which answers that bisecting missed may explain" in ran.err


@pytest.mark.parametrize(
    "tokens",
    ["[float(pick(asked['p'][0], asked['final_uniform']))]", "[single(asked['p'][0], asked['final_uniform'])]"],
)
def test_whole_numbers_and_numbers_are_read_as_programs_write_and_read_them(draftproof, tokens):
    """1.0 is a token in languages without whole numbers; float32 has nothing between 1 - 2**-24 and 1.

    The logarithm of 1 may be written as a whole number, that of 0 as null.
    """
    answer = '{"id": 0, "tokens": [1.0], "logprobs": [0, null]}'
    with closing(Pipe(f"echo '{answer}'", 30, ("tokens", "logprobs"))) as pipe:
        assert pipe.ask(['"p": []']) == [([1], [0.0, -math.inf])]
    command = write("other.py", MATCHING + ALIAS, tokens)
    assert audited(draftproof, command, *NUMBERS, cases="short,no_drafts").code == 0
