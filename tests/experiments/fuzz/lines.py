"""Valid command lines to mutate, and the verifier of a user that they name."""

#: Valid lines, most of them quick. Files: an instance, a certificate, a store of rows, times, a text, a verifier.
LINES = tuple(
    line.split()
    for line in """
    list -o out.json
    check block --K 1 --L2 1 --world family:dirichlet,vocab=2,seeds=3,denominator=20
    check block --K 1 --L2 1 --arithmetic float64 --engine structured --backend numpy --max-memory 1
    check naive_from_target --K 1 --L2 1 --world family:dirichlet,vocab=2 --witness w.json --json
    check ensemble:w=1/2 --world given.json -o out.json
    check naive_from_target --seconds 5
    check own.py:Naive --K 2 --L2 1 --world family:dirichlet,vocab=2,denominator=20,seeds=0..1
    check naive --world grid:denominator=2,vocab=2 --K 1 --L2 1 --max-runs 100000
    check naive --world text:text.txt,vocab=3,target_order=2,draft_order=1,roots=2 --K 1 --L2 1
    check naive --world text:text.txt,vocab=3,root=the --K 1 --L2 1
    check naive_tree --scheme topology:tree=2-0-0 --world family:dirichlet,vocab=2
    check specinfer --scheme specinfer_config:widths=2 --world family:dirichlet,vocab=2
    check naive --scheme own.py:Own --world family:dirichlet,vocab=2
    compare nss naive --world family:dirichlet,vocab=2 --K 1..2 --L1 0..1 --L2 1 --jobs 1 --max-nodes 4
    compare nss block --world family:dirichlet,vocab=2 --K 2 --L2 1 --jobs 1 --resume rows.db -o out.csv -o out.md
    compare nss --world family:equal,vocab=2 --K 1 --L2 1..2 --jobs 1 --cost draft=1,branch=.1,target=10 --no-optimum
    compare nss --world family:equal,vocab=2,seeds=0..1 --K 1 --L2 1 --cost times.json --optimum --by root,depth
    compare naive --world text:text.txt,vocab=2 --K 1 --L2 1 --jobs 1 --by long-run
    compare naive --world text:text.txt,vocab=2 --K 1 --L2 0..1 --jobs 1 --no-optimum greedy ratio
    bound --world family:dirichlet --K 2 --L2 1 --gap 1e-6 --seconds 2 --method auto --certificate out.cert -o out.json
    verify certificate.json --instance given.json --json
    bound --world given.json --K 2 --L2 1 --bias 0 --plot out.png
    check slem block --world strings:drafted=1,letters=ab,vocab=3,draft_vocab=3,after=a --L2 1 --json
    check naive block --world conformance:instances=1 --scheme delayed
    report rows.db -o out.csv --json
    check naive --world family:dirichlet,vocab=2,denominator=64 --K 1 --L2 1 --precision float32,float16
    audit own.py:first --interface tree --cases context --L2 1 --K 1 --library numpy --witness w.json
    audit own.py:first --argument a=1 --world family:zeros --K 1 --L2 1 --processing temperature=1,top_k=2 --boundary
    prove block --K 1 --L2 1 --zeros --formula --json
    prove naive --K 1 --L2 1 --resume rows.db --certificate out.cert --max-trees 10
    prove naive --K 1 --L2 1 --equals block --vocab 2
    verify theorem.json
    --max-input 1 check block --world given.json
    --version
    """.strip().splitlines()
)
#: Lines that need models; they end before any of them is trained.
MODEL_LINES = tuple(
    line.split()
    for line in """
    model train --out pair.json --steps 2 --text text.txt --vocab 4 --tokenizer letters --device cpu --seed 1
    model validate naive block --world models:target=nowhere,draft=nowhere,roots=2 --blocks 5 --L2 1 --sampling top_p=1
    model validate naive --world models:rows.db --replace naive=ensemble --lossy naive --vectors torch --quick
    """.strip().splitlines()
)
OWN = """
from draftproof.simulator.drafts import Delayed
from draftproof.verifiers.naive import Naive

class Own:
    depth = nodes = 1
    def draw(self, draft, coin):
        return Delayed(1, 0, 1).draw(draft, coin)

def first(root, a=0):
    return root.children[:1], 0
"""
