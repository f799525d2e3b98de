"""Bad input: exit 2 and one line on stderr that names the culprit; stdout stays empty and nothing is written."""

import json
from pathlib import Path

import pytest

ROWS = {"": ["1/3", "2/3"], "0": ["1/2", "1/2"], "1": ["1", "0"]}
GOOD = {"vocab_size": 2, "depth": 1, "target": ROWS, "draft": {"": ["1/2", "1/2"]}}
STRATIFIED = {"name": "stratified", "K": 2, "L1": 0, "L2": 1, "order": "descending"}


def changed(**fields: object) -> dict:
    return {**GOOD, **fields}


#: (what the file holds, what the message must name)
INSTANCES = {
    "no JSON": ("{", "line 1"),
    "a list": ("[]", "must be an object"),
    "no vocab_size": (json.dumps({k: v for k, v in GOOD.items() if k != "vocab_size"}), "'vocab_size'"),
    "no draft": (json.dumps({k: v for k, v in GOOD.items() if k != "draft"}), "'draft'"),
    "unknown key": (json.dumps(changed(verifier="x")), "'verifier'"),
    "vocab_size text": (json.dumps(changed(vocab_size="2")), "'2'"),
    "vocab_size zero": (json.dumps(changed(vocab_size=0)), "0"),
    "negative depth": (json.dumps(changed(depth=-1)), "-1"),
    "too large": (json.dumps(changed(vocab_size=100, depth=6)), "make it smaller"),
    "row sum": (json.dumps(changed(target={**ROWS, "0": ["1/2", "1/3"]})), "5/6"),
    "negative entry": (json.dumps(changed(target={**ROWS, "0": ["3/2", "-1/2"]})), "-1/2"),
    "missing context": (json.dumps(changed(target={"": ["1/3", "2/3"], "0": ["1/2", "1/2"]})), "'1'"),
    "context too deep": (json.dumps(changed(target={**ROWS, "0,0": ["1/2", "1/2"]})), "'0,0'"),
    "token too large": (json.dumps(changed(target={**ROWS, "2": ["1/2", "1/2"]})), "'2'"),
    "short row": (json.dumps(changed(target={**ROWS, "0": ["1"]})), "2 probabilities"),
    "no mass": (json.dumps(changed(draft={"": ["0", "0"]}, scheme=STRATIFIED)), "draft row () sums to 0"),
    "not a number": (json.dumps(changed(target={**ROWS, "0": ["a", "1"]})), "'a'"),
    "division by zero": (json.dumps(changed(target={**ROWS, "0": ["1/0", "1"]})), "'1/0'"),
    "not a number but NaN": (json.dumps(changed(target={**ROWS, "0": [float("nan"), 1]})), "nan"),
    "rounded decimals": (json.dumps(changed(target={**ROWS, "0": [0.333, 0.666]})), "999/1000"),
    "rows as a list": (json.dumps(changed(target=[["1/3", "2/3"]])), "must be an object"),
    "key twice": (json.dumps(GOOD).replace('"1": [', '"0": ['), "stands twice"),
    "scheme unknown": (json.dumps(changed(scheme={"name": "beam"})), "beam"),
    "scheme with text": (json.dumps(changed(scheme={"name": "delayed", "K": "2", "L1": 0, "L2": 1})), "whole number"),
    "too shallow": (json.dumps({**GOOD, "scheme": {"name": "delayed", "K": 2, "L1": 0, "L2": 3}}), "depth 1"),
}

#: (arguments, what the message must name)
FLAGS = [
    ("check blok", "did you mean 'block'"), ("check", "VERIFIER"), ("check block --K 0", "K = 0"),
    ("check block --L1 -1", "L1=-1"), ("check block --K 2 --L2 0", "L2 = 0"),
    ("check block --scheme stratified:K=0", "K = 0"), ("bound --scheme systematic --K 0", "K = 0"),
    ("check block --scheme rsd_s:K=0", "K = 0"), ("compare block --scheme stratified:order=up", "order = 'up'"),
    ("bound --scheme systematic:order=1", "order = '1'"), ("check block --scheme stratified:L2=0", "L2 = 0"),
    ("check block --scheme beam", "beam"), ("check block --world family:nope", "nope"),
    ("check block --world family:perturbed,z=1", "'z'"), ("check block --world family:perturbed,s=-1", "-1"),
    ("check block --world family:perturbed,s=1e400", "1e400 is too large"),
    ("check block --world file:.", "instance file .: it is no regular file"), ("check mine.py:", "write mine.py:NAME"),
    ("check block --world family:dirichlet,alpha=0", "alpha"),
    ("check block --world family:marginals,alpha=0", "marginals: alpha"),
    ("check block --world family:dirichlet,vocab=1", "at least 2"),
    ("check block --world family:dirichlet,denominator=2", "denominator 2"),
    ("check block --world family:dirichlet,seeds=-1", "-1 is no whole number"),
    ("check block --arithmetic float32", "float32"), ("check typical --engine structured", "structured"),
    ("check block --backend tpu", "tpu"), ("check block --K 1 --backend torch", "--arithmetic float64"),
    ("check nss --K 2 --max-memory 0", "memory"), ("check block --engine gpu", "gpu"),
    ("check block --world family:dirichlet,seeds=3..2", "seeds=3..2"),
    ("check block --world text:topics,seeds=0..1", "seeds"), ("check block --world grid:denominator=0", "denominator"),
    ("check block --world grid:denominator=3,vocab=4 --L2 3", "grid"),
    ("check block --world grid:denominator=3,vocab=4 --L2 3 --engine enumerate", "--max-runs"),
    ("check block --world none.json", "none.json"), ("check block --world text:none.txt", "none.txt"),
    ("check block --world text:topics,vocab=4000", "4000"),
    ("check block --world text:topics,draft_order=4", "draft order 4"),
    ("check block --world text:topics,root=x", "'x'"), ("check block --world text:topics,root=xyz,roots=2", "roots"),
    ("check block --world family:dirichlet,target_order=2", "target_order"),
    ("check block --world family:dirichlet,vocab=4 --K 4 --L2 12", "the deepest that fit have depth 9"),
    ("check traversal --K 4 --L2 4 --engine enumerate", "the nearest shape that fits is"),
    ("check traversal --K 6 --L2 6 --arithmetic float64", "the nearest shape that fits is delayed(K=5"),
    ("check ensemble:w=2", "w = 2"),
    ("check typical --backend torch --arithmetic float64", "is enumerated, which takes the backend numpy"),
    ("compare nss --by long-run", "by long-run needs n-gram processes; give a world such as text:topics"),
    ("compare nss --scheme top_k --cost draft=1,target=10", "cost is the time of branches below a trunk (K, L1, L2)"),
    ("check ensemble:w=x", "'x'"), ("check block:w=1", "'w'"), ("check none.py:Mine", "none.py"),
    ("check block -o none/a.json", "none/a.json"), ("check block --witness none/a.json", "none/a.json"),
    ("check block --frob", "--frob"), ("compare block --K 3..1", "K=3..1' is empty"), ("compare block --L1 a", "L1=a"),
    ("compare block --budget 99", "99"), ("compare blok", "blok"), ("compare block --plot none/a.png", "none/a.png"),
    ("compare block --jobs 0", "jobs 0"), ("check block --K 1000000 --L2 1", "1000000"),
    ("check block --L2 1000000000", "1000000000"), ("compare block --L1 0..1000000000", "1000000000"),
    ("check block --world grid:denominator=3 --L2 22", "grid"),
    ("check block --world grid:equal,denominator=2", "equal"),
    ("check block --world family:dirichlet,denominator=99999999999999999999", "99999999999999999999"),
    ("check block --world text:topics,target_order=1000000000", "1000000000"),
    ("check ensemble:w=1e-99999999", "1e-99999999"), ("check ensemble:w=1,w=0", "twice"),
    ("check block --scheme topology:tree=3-0", "tree"), ("check block --scheme delayed:tree=1-0", "tree"),
    ("check block --scheme adaptive --K 2", "K = 2"), ("check block --scheme adaptive:confidence=2", "confidence"),
    ("check gbv --scheme without_replacement --K 3", "i.i.d."), ("compare block -o a.csv --plot a.csv", "a.csv"),
    ("check blok --world conformance", "blok"),
    ("check block --world conformance:count=1", "instances=8"), ("frob", "frob"),
    ("check naive --precision float16 --world family:dirichlet,vocab=4 --K 4 --L2 4", "--max-runs"),
    ("check naive --precision float16 --K 3 --max-runs 1000", "the nearest shape that fits"),
    ("check ensemble threshold --witness w.json", "witness is the file of one check, not of 2; leave it out"),
    ("check naive --precision float16 --seconds 3", "seconds means nothing beside precision"),
    ("check naive --precision float16 --world conformance", "precision means nothing beside conformance"),
    ("check naive --world conformance --engine structured", "conformance: laws are enumerated in rational arithmetic"),
    ("check slem block2 --world strings", "unknown rule 'block2'; known: union, tli, slem, "),
    ("check slem optimum --world strings", "optimum is planned for one instance; the best verifier of a path is block"),
    ("check slem f.py:Mine --world strings", "f.py:Mine is your own and no rule of two tokenizers"),
    ("check slem --world strings:letters=abcde", "an alphabet of 5 letters: use 2 to 4, all different"),
    ("check slem --world strings:vocab=9", "9 tokens over 2 letters; give 2 to 8"),
    ("check slem --world strings:drafted=9", "262,144 drafts are more than 50,000; draft fewer tokens"),
    ("check slem --world strings --L2 12", "tables of depth 12 at V = 4"),
    ("check slem --world strings:history=4", "4^4 histories are more than 100"),
    ("check slem --world strings:after=a|c", "target: 'c' is no token of it; its tokens: a b bb aab"),
    ("check slem --world strings:same=perhaps", "perhaps is neither yes nor no"),
    ("check slem --world strings --sampling top_k=2", "are drawn as their rows say; leave out sampling"),
    ("check slem --world strings --arithmetic float64", "two tokenizers: laws are enumerated in rational arithmetic"),
    ("check slem --world strings --seconds 3", "seconds means nothing beside rules of two tokenizers"),
    ("check slem --world strings:p.json,seeds=2", "p.json is a pair of tokenizers; leave out the keys of random ones"),
    ("bound --long-run --K 2 --L2 2", "needs finitely many states, and the target is no Markov process"),
    ("bound --long-run --world text:topics,vocab=10", "V^m = 10^3 states are more than 512; use a smaller vocabulary"),
    ("bound --long-run --bias 0.1", "the long run has no bias; leave it out"),
    ("bound --long-run --method levels", "the long run has no method; leave it out"),
    ("compare greedy", "the policy greedy needs the roots of a text or of models: give a world such as text:topics"),
    ("compare greedy --world x.json", "x.json"), ("compare gredy --world text:topics", "unknown verifier 'gredy'"),
    ("compare selector --world text:topics", "selector belongs to a pair of models; give the world models:FOLDER"),
    ("compare selector:s.safetensors --world text:topics", "s.safetensors belongs to a pair of models; give the world"),
    ("compare static --world text:topics --by long-run", "not in the long run of by long-run; leave one of them"),
    ("compare greedy --world text:topics --scheme top_k --K 2", "chooses among delayed trees, not"),
    ("compare none.py:mine --world text:topics", "no file none.py; give your verifier or policy as FILE.py:NAME"),
    ("compare ensemble greedy --world text:topics", "ensemble is not declared lossless on delayed trees"),
]  # fmt: skip


#: Files of every kind that are none; code.py has functions and no verifier.
FILES = {
    "code.py": "def f(tokens, q, p):\n    return 0, 0\n\ndef paths(drafts, q, p):\n    return (), 0\n\nx = 1\n"
    "class V:\n    pass\n",
    "syntax.py": "def f(:\n", "broken.py": "import nothing_of_that_name\n",
    "bad.toml": "verifiers = [", "key.toml": 'verifier = ["nss"]\n', "latin.toml": b"verifiers = ['\xe9']",
    "kind.toml": 'verifiers = ["nss"]\noptimum = 3\n', "world.toml": 'verifiers = ["nss"]\nworld = "family:nope"\n',
    "scheme.toml": 'verifiers = ["nss"]\nscheme = "beam"\n', "runs.toml": 'verifiers = ["code.py:V"]\n',
    "twice.toml": 'verifiers = ["runs.toml"]\n', "sampling.toml": 'verifiers = "block"\nsampling = 3\n',
    "list.json": "[]", "brace.json": "{", "none.json": "{}", "nul.json": b"\0", "format.json": '{"format": "nonsense"}',
    "theorem.json": '{"format": "draftproof theorem 2"}', "bound.json": '{"format": "draftproof bound 1"}',
    "empty.db": "", "notes.db": "an older text\n" * 100, "short.txt": "ab", "empty.txt": "",
    "latin.txt": b"caf\xe9 " * 100,
    "prompts.jsonl": '{"prompt": 3}\n', "folder/.keep": "",
}  # fmt: skip

_CHAIN = "audit code.py:f --interface chain"
#: (arguments, what the message must name) of commands that use these files.
FILED = [
    ("check code.py:x", "'x' in code.py is no verifier"), ("check broken.py:x", "nothing_of_that_name"),
    ("check code.py:W", "code.py has no 'W'"), ("check syntax.py:V", "syntax.py cannot be used: SyntaxError"),
    ("check nss --scheme code.py:V", "V is no draft scheme: it needs `depth`"),
    ("check nss --scheme code.py:W", "code.py has no 'W'"), ("check nss --seconds -1", "seconds -1: give"),
    ("check nss --seconds 3 --K 2", "seconds is the time of the standard check; leave it out"),
    ("check nss --world strings:seeds=x", "x is no whole number or range"),
    ("check union --world family:dirichlet", "rules of two tokenizers are for worlds such as strings"),
    ("check union --K 2", "give K=1"), ("check union --world strings:none.json", "none.json: a pair: the key 'target'"),
    ("check union --world strings:drafted=0", "drafted is 0; give at least 1"),
    ("model validate --blocks 0", "blocks 0: give at least 1"), ("model choose --seconds -5", "seconds -5.0: give"),
    ("model choose --rounds 1", "rounds 1: give 2 to 10"),
    ("model validate --world models:none", "model train --out none"),
    ("model choose --world models:folder", "folder is there and holds no trained pair"),
    ("model choose --world models:target=x", "target=x is given without draft"),
    ("model choose --world models:target=nowhereé,draft=x", "target nowhereé does not exist; give the folder"),
    ("model validate --world models:x,vocab=3", "vocab is for exact tables"),
    ("model validate --world text:topics", "is no pair of models; give models:FOLDER"),
    ("model choose --world models:x --sampling eos=2", "generate of transformers, the baseline, does not sample with"),
    ("model validate --policy static --world models:x --draft-sampling top_k=2 --told draft", "goes without told"),
    ("model train --kind selector --world models:x --sampling min_p=.1", "networks know temperature and top_p; leave"),
    ("model validate --replace naive", "write NAME=OTHER"), ("model validate --resume short.txt", "short.txt"),
    ("model validate --policy static", "unknown policy 'static'"), ("model train", "out is missing"),
    ("model train --kind eagle", "world is missing: the models that eagle is for"),
    ("model train --kind x", "unknown kind 'x'"), ("model train --out new --steps 0", "steps 0: give at least 1"),
    ("model train --out new --trees 3", "trees belongs to kind selector"),
    ("model train --out new --text empty.txt", "empty.txt"),
    ("check nss --world models", "models:FOLDER"), ("check nss --world models:nowhere", "draftproof model train"),
    ("check nss --world models:folder", "folder is there and holds no trained pair"),
    ("check nss --world models:folder,prompts=nowhere.txt", "cannot read prompts nowhere.txt"),
    ("check nss --world models:folder,prompts=latin.txt", "latin.txt: it is not text in UTF-8"),
    ("check nss --world models:folder,prompts=prompts.jsonl", "prompts.jsonl, line 1: prompt is 3, no text"),
    ("check nss --world models:folder,prompts=empty.txt", "empty.txt has no prompt; write lines"),
    ("check nss --world text:latin.txt", "UTF-8"), ("check nss --world text:short.txt", "choose a smaller vocabulary"),
    ("check nss --world text:empty.txt", "the text has 0 different symbols"),
    ("check nss --world nul.json", "nul.json is not JSON"), ("check nss --world folder", "unknown world 'folder'"),
    ("check nss --world conformance:instances=0", "conformance:instances=8"),
    ("check nss --world conformance --K 2", "leave one of the two out"),
    ("check nss --precision float8", "choose from float64, float32"), ("check nss --precision ,", "as float32,float16"),
    ("check nss --precision float16 --arithmetic float64", "leave out arithmetic and engine"),
    ("check nss --sampling heat=1", "'heat=1': write temperature=.7"),
    ("check nss --told nobody", "choose sampled, draft"),
    ("check nss --witness list.json --world list.json", "give every file its own name"),
    ("check nss -o a.xyz", ".json, .jsonl, .csv, .md, .html"),
    ("check optimum --scheme topology", "planned for delayed trees"),
    ("prove", "VERIFIER"), ("prove blok", "did you mean 'block'"), ("prove nss --vocab 1", "(--vocab)"),
    ("prove nss --vocab 0", "V = 0: with one token"), ("prove naive --vocab 9999", "999,800,010,000 probabilities"),
    ("prove nss --vocab x", "'x'"), ("prove nss --K 0", "K = 0"), ("prove nss --scheme beam", "unknown scheme 'beam'"),
    ("prove khisti", "draftproof check"), ("prove optimum", "no theorem"),
    ("prove nss --dominates blok", "did you mean 'block'"), ("prove naive --K 4 --L2 3", "max_trees"),
    ("prove nss --jobs 0", "jobs 0: give at least 1"), ("prove nss --free nothing", "free nothing"),
    ("prove nss --certificate none/c.json", "cannot write certificate none/c.json: choose a file"),
    ("prove code.py:V", "'V' in code.py is no verifier"), ("prove syntax.py:V", "syntax.py, line 1)"),
    ("prove nss naive", "(naive)"), ("prove nss --resume notes.db", "notes.db is no store of rows"),
    ("prove nss --vocab any --zeros", "zeros is not for vocab any; leave"),
    ("audit", "name one function, FILE.py:FUNCTION"), ("audit code.py", "'code.py' names no function; write"),
    ("audit code", "write FILE.py:FUNCTION"), ("audit code.py:g", "code.py has no function 'g'"),
    ("audit code.py:x", "code.py has no function 'x'"), ("audit nowhere.py:f", "no file nowhere.py; give"),
    ("audit syntax.py:f", "syntax.py is no Python: invalid syntax"), ("audit math:nothing", "math has no nothing"),
    ("audit no.such.module:f", "no.such.module cannot be imported: No module named 'no'; install it"),
    ("audit code.py:f --interface chian", "did you mean 'chain'?"),
    ("audit code.py:f --interface bogus", "choose tree"),
    (f"{_CHAIN} --cases zeroes", "did you mean 'zeros'?"), (f"{_CHAIN} --cases bogus", "choose from context"),
    (f"{_CHAIN} --also bogus", "choose from masked"), (f"{_CHAIN} --K 2", "takes one path; leave out K=2"),
    (f"{_CHAIN} --batch 0", "give 2 or more"), (f"{_CHAIN} --batch 2 --boundary", "one request a call"),
    (f"{_CHAIN} --tolerance 2", "such as 1e-6"), (f"{_CHAIN} --tolerance x", "'--tolerance'"),
    (f"{_CHAIN} --lengths a", "write whole numbers"), (f"{_CHAIN} --lengths 2,1", "takes one path"),
    (f"{_CHAIN} --batch 2 --lengths 2,2,2", "one for each of 2 requests"),
    ("audit code.py:paths --interface paths --lengths 1,2", "the longest first"),
    ("audit code.py:paths --interface paths --lengths 2,1 --K 2", "leave out the scheme"),
    ("audit code.py:f --interface step --K 2", "drafts by itself"),
    (f"{_CHAIN} --argument weight", "write NAME=VALUE"), (f"{_CHAIN} --argument a.b=1", "write NAME=VALUE"),
    (f"{_CHAIN} --argument self.=1", "write NAME=VALUE"),
    (f"{_CHAIN} --argument a=numpy.no", "numpy.no cannot be used"),
    (f"{_CHAIN} --argument a=1", "the chain interface (--interface) calls it with (tokens, q, p)"),
    (f"{_CHAIN} --library jax", "'jax' is not one of"), (f"{_CHAIN} --arithmetic float16", "'float16' is not one of"),
    (f"{_CHAIN} --processing heat=2", "'heat=2': write temperature=.7"),
    (f"{_CHAIN} --world family:nope", "known: dirichlet"), (f"{_CHAIN} --world list.json", "must be an object"),
    (f"{_CHAIN} --cases zeros --world family:dirichlet", "leave one of them out"),
    (f"{_CHAIN} --level 2", "level 2.0: give"), (f"{_CHAIN} --sample 0", "sample 0: give"),
    (f"{_CHAIN} --seed -1", "seed -1: give"), (f"{_CHAIN} --shrink-seconds -1", "shrink_seconds -1: give"),
    (f"{_CHAIN} --max-runs 0", "more than 0 in all"),
    (f"{_CHAIN} --witness none/w.json", "cannot write witness none/w"),
    (f"{_CHAIN} --scheme beam", "unknown scheme 'beam'"),
    ("audit nothing --gallery folder", "gallery has no 'nothing'"),
    ("audit vllm-kernels --gallery folder", "draftproof list gallery says"),
    ("audit code.py:f --gallery folder --K 2", "leave out K"),
    ("compare bad.toml", "bad.toml"), ("compare key.toml", "key.toml: unknown key 'verifier'; known: verifiers"),
    ("compare kind.toml", "kind.toml: optimum = 3 is of the wrong kind"),
    ("compare world.toml", "unknown family 'nope'; known:"), ("compare scheme.toml", "unknown scheme 'beam'"),
    ("compare runs.toml", "runs.toml: code.py:V is a Python file; it is run only with --allow-code"),
    ("compare twice.toml", "runs.toml is another file of parameters; name the verifiers here"),
    ("compare sampling.toml", "sampling 3: give a text, or several"),
    ("compare latin.toml", "latin.toml: it is not text in UTF-8"),
    ("compare nowhere.toml", "cannot read world file nowhere"),
    ("compare key.toml naive", "a file of parameters goes alone"),
    ("compare nss --cost x", "draft=1,branch=0.1"), ("compare nss --cost list.json", "an object with draft and target"),
    ("compare nss --by bogus", "give depth, root"), ("compare nss --max-nodes 0", "max_nodes 0; widen K"),
    ("compare nss --sampling heat=3", "'heat=3': write"),
    ("compare nss --resume notes.db", "notes.db is no store of rows"), ("compare nss --resume folder", "resume folder"),
    ("compare nss --resume none/r.db", "cannot write resume none/r.db"),
    ("compare nss --arithmetic x", "'x' is not one of"),
    ("bound --world none.json", "none.json: the key 'vocab_size' is missing"), ("bound --world family:nope", "known:"),
    ("bound --bias x", "bias 'x' is no total variation"), ("bound --bias -1", "give numbers in 0..1"),
    ("bound --gap 0", "gap 0 is not positive; take one"), ("bound --seconds 0", "seconds 0 is not positive"),
    ("bound --gap x", "'--gap'"), ("bound --certificate none/c.json", "cannot write certificate none/c.json"),
    ("bound --scheme beam", "unknown scheme 'beam'"), ("bound --K x", "K=x in 'delayed:K=x': give a whole"),
    ("bound --bias 0 --plot none/a.png", "cannot write plot none/a.png"),
    ("claims gbv-at-least-blok", "did you mean gbv-at-least-block"), ("claims bogus", "experiments/claims/claims.toml"),
    ("claims actions --folder nowhere", "folder nowhere is not a folder; make it first"), ("claims --jobs 0", "jobs 0"),
    ("claims -o a.xyz", ".json, .jsonl, .csv, .md, .html"),
    ("report", "STORE"), ("report nowhere.db", "there is no store nowhere.db; give one"),
    ("report empty.db", "empty.db has no rows that a report shows; draftproof compare"),
    ("report notes.db", "notes.db is no store of rows"), ("report list.json", "list.json is no store of rows"),
    ("report folder", "folder is no store of rows"), ("report empty.db -o none/p.html", "cannot write -o none/p.html"),
    ("list scheme", "there is no list of scheme; choose from verifiers, schemes"),
    ("list -o a.xyz", ".json, .jsonl, .csv"),
    ("list verifiers schemes", "(schemes)"),
    ("nonsense", "No such command 'nonsense'."),
    ("verify", "FILE"), ("verify nowhere.json", "cannot read certificate nowhere.json"),
    ("verify none.json", "none.json is no certificate"), ("verify list.json", "list.json is no certificate"),
    ("verify format.json", "its format is 'nonsense'; known: 'draftproof bound 1'"),
    ("verify brace.json", "certificate brace.json is not JSON"), ("verify nul.json", "nul.json is not JSON"),
    ("verify folder", "folder: it is no regular file"), ("verify theorem.json", "theorem.json: its vocab_size must be"),
    ("verify theorem.json --instance none.json", "leave the instance out"),
    ("verify theorem.json code.py:V", "theorem.json is not about code.py:V; leave it out"),
    ("verify bound.json code.py:V", "leave code.py:V out"),
    ("verify bound.json --instance none.json", "none.json: the key 'vocab_size' is missing"),
]  # fmt: skip


def assert_refused(ran, named: str) -> None:
    assert ran.code == 2, ran.err
    assert named in ran.err
    last = ran.err.strip().splitlines()
    assert [line for line in last if line.startswith("draftproof: ")] == last[-1:]
    assert len(last) <= 2  # at most the cost estimate before it
    assert "Traceback" not in ran.err
    assert ran.err == ran.err.replace("\x1b", "")  # no bar, no colour where stderr is no terminal


@pytest.mark.parametrize("what", INSTANCES)
def test_malformed_instance(draftproof, tmp_path, what):
    content, named = INSTANCES[what]
    Path("bad.json").write_text(content)
    ran = draftproof("check", "block", "--world", "bad.json", *(() if what == "too shallow" else ("--L2", 1)))
    assert_refused(ran, named)
    assert ran.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]


def test_the_instance_that_the_malformed_ones_are_made_from_is_good(draftproof):
    Path("good.json").write_text(json.dumps(GOOD))
    assert draftproof("check", "block", "--world", "good.json").code == 0


@pytest.mark.parametrize(("arguments", "named"), FLAGS, ids=[arguments for arguments, _ in FLAGS])
def test_bad_flags(draftproof, tmp_path, arguments, named):
    assert_refused(draftproof(*arguments.split()), named)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("arguments", "named"), FILED, ids=[arguments for arguments, _ in FILED])
def test_bad_files_and_what_is_asked_about_them(draftproof, arguments, named):
    if "model" in arguments:
        pytest.importorskip("torch")
    Path("folder").mkdir()
    for name, content in FILES.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_refused(ran := draftproof(*arguments.split()), named)
    assert ran.out == ""
    for name, content in FILES.items():
        assert Path(name).read_bytes() == (content if isinstance(content, bytes) else content.encode())
