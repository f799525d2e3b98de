"""What a fixed list of commands prints, as `tests/data/golden.txt` has it.

`GOLDEN=write pytest tests/experiments/cli/test_golden.py` writes the file anew; read what it changes.
"""

import os
import re
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "data" / "golden.txt"
SMALL = "--world family:dirichlet,vocab=2"
TEXT = "--world text:topics,vocab=2,target_order=2,roots=2"
COMMANDS = [
    f"check nss naive_from_target {SMALL} --K 1 --L2 1",
    "check traversal --world grid:denominator=2,vocab=2 --K 2 --L2 1",
    "check block --K 1 --L2 1 --precision float16",
    "check slem tli_unnormalised --world strings:drafted=2",
    "check nss specinfer --world conformance:instances=1 --scheme top_k --scheme delayed",
    f"compare block naive_from_target {SMALL} --K 1..2 --L2 1 --by root,depth --cost draft=1,branch=.1,target=4",
    f"compare naive static greedy {TEXT} --K 1..2 --L1 0 --L2 1 --no-optimum",
    f"compare naive block {TEXT} --K 2 --L2 1 --by long-run",
    f"bound {SMALL} --K 2 --L2 1",
    f"bound ensemble {SMALL} --K 1 --L2 1 --bias 0,.05",
    f"bound {TEXT} --K 1 --L2 1 --long-run",
    "prove naive --K 1 --L2 1 --formula",
    "prove naive_from_target --K 1 --L2 1 --vocab 2",
    "prove nss --dominates naive --K 1 --L2 1",
    "prove naive --vocab any --K 1 --L2 1",
    "list schemes",
    "list worlds",
]


def printed(ran):
    """The words of an output, without lines of tables, seconds, and what rounding leaves of a gap."""
    lines = (re.sub(r"[\s━─┏┓┳┃└┘┴│┡┩╇├┤┼]+", " ", line).strip() for line in ran.out.splitlines())
    return [re.sub(r"^seconds \S+|\b\d(\.\d+)?e-\d+", "..", line) for line in lines if line]


def golden():
    parts = re.split(r"^\$ draftproof (.*)\n", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {command: text.splitlines() for command, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_what_it_did(draftproof, command):
    ran = draftproof(*command.split())
    found = [f"exit {ran.code}", *printed(ran)]
    if os.environ.get("GOLDEN") == "write":
        kept = golden() if FILE.is_file() and command != COMMANDS[0] else {}
        texts = (f"$ draftproof {each}\n" + "\n".join(lines) for each, lines in {**kept, command: found}.items())
        FILE.write_text("\n".join(texts) + "\n", encoding="utf-8")
    assert found == golden()[command]
