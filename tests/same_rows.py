"""Records what a fixed set of commands writes as data, and compares two recordings.

    python tests/same_rows.py record OUT.json [NAME ..]     all takes some six minutes
    python tests/same_rows.py compare A.json B.json         exit 1 and where each command first differs

Runs the checkout that holds this file, with the Python that runs it. Of each command it keeps the exit code, the JSON
and the exported files, without what differs from run to run: seconds, versions, digests, paths. Numbers are kept as
they are printed, so both recordings have to be made on one machine.
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import readings  # noqa: E402

MINE = '''
from draftproof import Card, Verdict

class Naive:
    card = Card(name="mine", title="Token-by-token verification", source=None)

    def verify(self, root, coin):
        node = root
        while node.children:
            p, q, token = node.target, node.draft, node.children[0]
            if not coin.flip(min(1, p[token] / q[token])):
                return Verdict(node.context, coin.choose(self.rest(p, q)))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))

    def rest(self, p, q):
        return (p - q) * (p > q)

class FromTarget(Naive):
    def rest(self, p, q):
        return p

class Refused(Naive):
    def rest(self, p, q):
        return [float(x) for x in p]

class TwoFirst:
    """Two independent first tokens, and a second one after the first of them."""
    depth = 2
    def draw(self, draft, coin):
        first = [coin.choose(draft.row(())) for _ in range(2)]
        return [(first[0], coin.choose(draft.row((first[0],)))), (first[1],)]

def by_context(known, actions):
    return actions[known.context[-1] % len(actions)]
'''

THEIRS = """
import math
import random

def pick(row):
    return random.choices(range(len(row)), weights=row)[0]

def chain(tokens, q, p, rest=lambda p, q: [max(a - b, 0) for a, b in zip(p, q)]):
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            return i, pick(rest(p[i], q[i]))
    return len(tokens), pick(p[-1])

def from_target(tokens, q, p):
    return chain(tokens, q, p, lambda p, q: p)

def tree(root):
    node = root
    while node.children:
        token = node.children[0]
        if random.random() * node.draft[token] >= node.target[token]:
            return node.context, pick([max(a - b, 0) for a, b in zip(node.target, node.draft)])
        node = node.child(token)
    return node.context, pick(node.target)

def loop(target, draft, prompt, new_tokens):
    text = list(prompt)
    while len(text) < len(prompt) + new_tokens:
        drafted = pick(draft(text))
        row = target(text)
        accepted, token = chain([drafted], [draft(text)], [row, target([*text, drafted])])
        text += [drafted, token] if accepted else [token]
    return text

def refused(tokens, q, p):
    return int(math.sin(random.random()) < p[0][0]), 0
"""

TENSORS = """
import torch

def chain(tokens, q, p):
    place = torch.arange(tokens.shape[0])
    accepted = torch.rand(tokens.shape[0], dtype=p.dtype) < p[place, tokens] / q[place, tokens]
    n = int(accepted.long().cumprod(0).sum())
    if n == tokens.shape[0]:
        return n, torch.multinomial(p[n], 1)
    rest = (p[n] - q[n]).clamp(min=0)
    return n, torch.multinomial(rest if rest.sum() > 0 else p[n], 1)
"""

WORLDS = """
verifiers = ["naive", "block", "traversal", "layer_transport", "spectr"]
arithmetic = "rational"
optimum = true
world = "family:perturbed,s=1,vocab=2..3,seeds=0..2,denominator=20"
sampling = "temperature=.5"
scheme = ["delayed:K=1..2,L2=1..2", "dyspec:nodes=3"]
max_nodes = 3
"""
#: The same questions about another world, whose tokens are not sampled.
PAIR = WORLDS.replace('"family:perturbed,s=1,vocab=2..3,seeds=0..2,denominator=20"', '"models:pair"').replace(
    'sampling = "temperature=.5"\n', ""
)

INSTANCE = """
{"vocab_size": 2, "depth": 1,
 "target": {"": ["1/3", "2/3"], "0": ["1/2", "1/2"], "1": ["1", "0"]},
 "draft": {"": ["2/3", "1/3"]}}
"""

FILES = {
    "mine.py": MINE,
    "theirs.py": THEIRS,
    "tensors.py": TENSORS,
    "worlds.toml": WORLDS,
    "pair.toml": PAIR,
    "world.json": INSTANCE,
}

_COST = "--cost draft=1,branch=.1,target=10,node=.1"

#: Each command under a name of its own; they run in this order, in one folder. JSON is asked for where it is not named;
#: other files that a command writes are kept if their names are in its line.
COMMANDS = {
    "train": "model train --out pair --vocab 5 --steps 20 --seed 1 --device cpu",
    "list": "list",
    "check": "check traversal --K 3 --L2 1",
    "check all of a grid": "check block --world grid:denominator=3,vocab=2 --K 1 --L2 2",
    "check random instances": "check traversal_insertion_order --K 3 --L2 2 --witness witness.json"
    " --world family:dirichlet,denominator=20,seeds=0..49",
    "check a witness": "check traversal_insertion_order --world witness.json",
    "check an instance file": "check naive --world world.json --K 1 --L2 1",
    "check a text in float64": "check specinfer --world text:topics,vocab=8 --K 3 --L2 4 --arithmetic float64",
    "check on torch": "check layer_transport --world text:topics,vocab=4 --K 2 --L2 3 --arithmetic float64"
    " --backend torch",
    "check another scheme": "check specinfer --scheme without_replacement --world family:dirichlet,vocab=2 --L2 1",
    "check a parameter": "check ensemble:w=1/2 --K 1 --L2 1 --engine enumerate",
    "check a user's verifier": "check mine.py:Naive --world family:zeros --L2 2",
    "check a user's wrong verifier": "check mine.py:FromTarget --seconds 600",
    "check a user's scheme": "check specinfer --scheme mine.py:TwoFirst --world family:dirichlet,vocab=2",
    "check what cannot be exact": "check mine.py:Refused --L2 1",
    "check no such verifier": "check nobody",
    "prove": "prove traversal --K 2 --L2 1 --jobs 1 --formula",
    "prove with zeros": "prove naive --K 1 --L2 1 --zeros --jobs 1 --certificate proof.json",
    "prove a certificate": "verify proof.json",
    "prove wrong": "prove naive_from_target --K 1 --L2 1 --jobs 1",
    "prove dominates": "prove block --K 1 --L2 2 --dominates naive --jobs 1",
    "prove any solver": "prove khisti --K 2 --L2 1 --free solver --jobs 1",
    "audit a tree": "audit theirs.py:tree --scheme delayed --K 2 --L2 1 --arithmetic rational",
    "audit a chain": "audit theirs.py:chain --interface chain --cases context,zeros",
    "audit a wrong chain": "audit theirs.py:from_target --interface chain --boundary",
    "audit a loop": "audit theirs.py:loop --interface loop --world family:dirichlet,vocab=2 --arithmetic rational",
    "audit tensors": "audit tensors.py:chain --interface chain --library torch --arithmetic float32 --cases context",
    "audit what cannot be followed": "audit theirs.py:refused --interface chain",
    "compare": "compare naive specinfer block traversal layer_transport --world family:perturbed,s=1 --K 2"
    " --L1 0..1 --L2 1..2 --arithmetic rational -o table.csv -o table.md --resume compared.db",
    "compare all on a text": f"compare --world text:topics,vocab=4 --K 1..2 --L2 1..2 --max-nodes 3 {_COST}",
    "compare the long run": f"compare naive spectr --world text:topics,vocab=4 --K 2 --L2 1..2 {_COST} --by long-run",
    "compare a user's verifier": "compare mine.py:Naive naive block --scheme mine.py:TwoFirst --arithmetic rational"
    " --world family:dirichlet,vocab=2",
    "compare policies": f"compare specinfer --world text:topics,vocab=3 --K 1..2 --L2 0..2 {_COST} static"
    " greedy mine.py:by_context --arithmetic rational",
    "compare by depth": "compare naive_tree traversal --world text:topics,vocab=3 --L1 0 --L2 2 --by depth"
    " --arithmetic rational --sampling top_p=.9 --sampling temperature=.7",
    "bound": "bound --world family:perturbed,s=1 --K 3 --L1 0 --L2 2 --certificate bound.json",
    "bound a certificate": "verify bound.json",
    "bound another scheme": "bound --world family:dirichlet,vocab=2 --scheme top_k:K=2,L1=0,L2=1",
    "check many": "check naive spectr sequoia hsd_uncapped mine.py:Naive --world conformance:instances=2"
    " --scheme delayed --scheme top_k --scheme without_replacement --scheme mine.py:TwoFirst",
    "check two tokenizers": "check union tli slem uag slrs block tli_unnormalised --world strings:drafted=2",
    "check in low precision": "check naive block spectr optimal_transport --precision float64,float32,float16,bfloat16",
    "claims": "claims gbv-one-path-is-block hsd-uncapped-lossless block-at-least-naive --jobs 1",
    "gallery": "list gallery",
    "compare worlds": "compare worlds.toml --resume worlds.db --jobs 2 -o rows.csv",
    "compare pairs": "compare pair.toml --resume worlds.db --jobs 2",
    "report": "report worlds.db compared.db -o report.html",
    "train-head": "model train --kind eagle --world models:pair,device=cpu --steps 10",
    "train-selector": "model train --kind selector specinfer --world models:pair,device=cpu --K 1 --L1 0"
    f" --L2 0..1 {_COST} --exact",
    "check models": "check traversal --world models:pair,roots=2 --K 2 --L2 1",
    "compare models": "compare naive spectr traversal --world models:pair --K 2 --L2 1..2 --sampling temperature=.7",
    "compare a lookup": "compare naive --world models:target=pair/target,draft=lookup,roots=2 --K 1 --L2 2",
    "validate": "model validate naive traversal --world models:pair,device=cpu --quick --K 2 --L1 0 --L2 2 -o valid.md",
    "choose": "model choose naive traversal --world models:pair,device=cpu,roots=2 --tokens 4 --rounds 2"
    " --K 1 --L1 0 --L2 1..2",
}
#: What differs from run to run, or says where and by which version a row was made. history: bounds by seconds;
#: calls: those of an audit, whose cost is estimated from as many trees as a time allows.
_VOLATILE = re.compile(
    r"second|hour|version|digest|hash|sha256|strong_id|^id$|^pair$|^command$|^day$|^file$|^cost$|^threads$|^history$|^calls$"
)
#: Of these commands only the exit code and these keys of each row: the rest follows the clock.
_BESIDE_CLOCK = {"choose": ("verifier", "scheme", "expected_block_efficiency")}


def kept(value: Any, folder: str) -> Any:
    """What two runs have in common, of a value of JSON."""
    if isinstance(value, dict):
        return {key: kept(each, folder) for key, each in value.items() if not _VOLATILE.search(key)}
    if isinstance(value, list):
        return [kept(each, folder) for each in value]
    if isinstance(value, str):
        return value.replace(folder, "FOLDER").replace(f"{ROOT}/draftproof/", "ROOT/").replace(f"{ROOT}/", "ROOT/")
    return value


def read(path: Path) -> Any:
    """A file that a command wrote: values of JSON and CSV, lines of anything else."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.loads(text)
    if path.suffix == ".csv":
        return list(csv.DictReader(text.splitlines()))
    return text.splitlines()


def run(arguments: Sequence[str], folder: str | Path, json_file: str) -> subprocess.CompletedProcess[bytes]:
    """Runs one command of this checkout in a folder; its JSON is written to that file."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    command = [sys.executable, "-m", "draftproof", *arguments, "-o", json_file]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=False)


def record(name: str, line: str, folder: Path) -> dict[str, Any]:
    """Runs one command in a folder; its exit code and what it wrote."""
    printed = folder / "printed.json"
    printed.unlink(missing_ok=True)
    arguments = line.split()
    ran = run(arguments, folder, printed.name)
    result: dict[str, Any] = {"exit": ran.returncode}
    if ran.returncode not in (0, 1, 3):
        sys.stderr.write(ran.stderr.decode(errors="replace"))
    names = [word for word in (*arguments, printed.name) if Path(word).suffix in (".json", ".csv", ".md")]
    for path in (folder / name for name in names):
        if path.name not in FILES and path.exists():
            result[path.name] = kept(read(path), str(folder))
    if name in _BESIDE_CLOCK and printed.name in result:
        found = result[printed.name]
        rows = [{key: row[key] for key in _BESIDE_CLOCK[name]} for row in found["rows"]]
        result[printed.name] = sorted(rows, key=json.dumps)
    return result


def record_all(names: Sequence[str]) -> dict[str, Any]:
    """Those commands, each in the order of the list; all where none is named."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        for name, line in COMMANDS.items():
            if not names or name in names:
                begun = perf_counter()
                results[name] = record(name, line, Path(folder))
                sys.stderr.write(f"{name}: exit {results[name]['exit']}, {perf_counter() - begun:.1f} s\n")
    return results


#: Places of a command that are printed.
SHOWN = 3


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Prints of every command how many readings are the same, and those that differ; 1 if there are some."""
    failed = 0
    for name, value in before.items():
        same, different = readings.compared(value, after.get(name))
        failed += bool(different)
        print(f"{name}: {same} the same, {sum(count for count, _ in different)} differ")
        for count, text in different[:SHOWN]:
            print(f"    {text} ({count} values)")
    print(f"{failed} of {len(before)} commands differ")
    return int(failed > 0)


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["record"] and len(arguments) > 1:
        Path(arguments[1]).write_text(json.dumps(record_all(arguments[2:]), indent=1) + "\n", encoding="utf-8")
        return 0
    if arguments[:1] == ["compare"] and len(arguments) == 3:
        return compare(*(json.loads(Path(name).read_text(encoding="utf-8")) for name in arguments[1:]))
    sys.stderr.write(str(__doc__))
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
