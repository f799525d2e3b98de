"""`--resume FILE.db`: a stored row answers the same question, and a command that was ended gives equal results."""

import json

import pytest

from draftproof.experiments.grid import run

SMALL = "--world family:perturbed,s=1,seeds=0..1 --K 1..2 --L2 1"
TEXT = "--world text:topics,vocab=3,roots=3 --K 2 --L2 1"
COMMANDS = [
    f"check nss naive_from_target {SMALL}",
    f"check ensemble block {TEXT} --arithmetic float64",
    "check nss naive_from_target --world conformance:instances=1 --scheme top_k",
    "check naive_from_target nss --scheme mine.py:One",
    "check block nss --K 1 --L2 1 --precision float16,float32",
    "check slem block --world strings:seeds=0..1 --K 1 --L2 2",
    f"bound {SMALL}",
    f"bound {TEXT} --certificate c.json",
    f"bound ensemble {TEXT} --bias 0,.05 --certificate c.json",
    "bound --world text:topics,vocab=2,target_order=2 --K 1..2 --L2 1 --long-run --certificate c.json",
    f"compare nss block {SMALL} --by root,depth",
]
SCHEME = """
class One:
    depth = 1
    def draw(self, draft, coin):
        return [(coin.choose(draft.row(())),)]
"""


ONE_STEP = """{"vocab_size": 2, "depth": 1, "target": {"": ["1/3", "2/3"], "0": ["0", "1"], "1": ["0", "1"]},
"draft": {"": ["1/2", "1/2"]}}"""


def without_times(fields):
    if isinstance(fields, dict):
        return {key: without_times(value) for key, value in fields.items() if "seconds" not in key}
    return [without_times(each) for each in fields] if isinstance(fields, list) else fields


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_was_ended_goes_on_and_gives_equal_results(draftproof, tmp_path, monkeypatch, command):
    (tmp_path / "mine.py").write_text(SCHEME)
    given = (*command.split(), "--jobs", 1, "--json")
    whole = draftproof(*given)
    compute, computed, most = run._numbered, [], [1]

    def until(number, *rest):
        if len(computed) == most[0]:
            raise KeyboardInterrupt
        computed.append(number)
        return compute(number, *rest)

    monkeypatch.setattr(run, "_numbered", until)
    assert draftproof(*given, "--resume", "rows.db").code == 130
    most[0] = None
    again = draftproof(*given, "--resume", "rows.db")
    assert again.code == whole.code
    assert without_times(again.json) == without_times(whole.json)
    rows, most[0] = len(computed), len(computed)
    assert rows > 1
    assert without_times(draftproof(*given, "--resume", "rows.db").json) == without_times(whole.json)
    assert len(computed) == rows  # nothing was computed again
    files = {path.name: path.read_text() for path in tmp_path.glob("*.json")}
    assert set(files) >= set(whole.json["files"])


def test_another_question_is_not_answered_by_a_stored_row(draftproof):
    asked = ("check", "nss", "--K", 2, "--L2", 1, "--resume", "rows.db", "--json")
    first = draftproof(*asked).row
    for more in (("--L1", 1), ("--arithmetic", "float64"), ("--world", "family:dirichlet,seeds=7")):
        assert draftproof(*asked, *more).row["block_efficiency"] != first["block_efficiency"]
    assert draftproof("check", "ensemble:w=1/2", *asked[2:]).code == 1
    assert draftproof("check", "ensemble:w=1", *asked[2:]).code == 0


@pytest.mark.parametrize(
    "command", ["check block", "bound", "compare block --by root", "check block --precision float16"]
)
def test_rows_of_a_copied_instance_file_name_the_copy(draftproof, tmp_path, command):
    (tmp_path / "first.json").write_text(ONE_STEP)
    (tmp_path / "copied.json").write_text(ONE_STEP)
    for name, other in (("first.json", "copied.json"), ("copied.json", "first.json")):
        ran = draftproof(*command.split(), "--world", name, "--resume", "rows.db", "--json")
        assert (ran.code, name in ran.out, other in ran.out) == (0, True, False)


def test_a_row_is_of_the_scheme_that_its_instance_file_says(draftproof, tmp_path):
    file = tmp_path / "given.json"
    asked = ("check", "naive_from_target", "--world", "given.json", "--scheme", "delayed:K=1,L1=0,L2=1")
    for fields, stands_there in (({}, False), ({"scheme": {"name": "delayed", "K": 1, "L1": 0, "L2": 1}}, True)):
        file.write_text(json.dumps(json.loads(ONE_STEP) | fields))
        ran = draftproof(*asked, "--resume", "rows.db", "--json")
        assert (ran.code, ran.witness["file"] == "given.json") == (1, stands_there)
