"""`draftproof vectors`: small instances with exact answers, which test suites in any language read."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import draftproof
from draftproof.experiments.cli.vectors import LARGEST, MARGIN, RULES, SCHEMA, VERSION

PROGRAMS = Path(__file__).parents[2] / "data" / "programs"


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """The lines of the file for the chain interface."""
    path = tmp_path_factory.mktemp("vectors") / "chain.jsonl"
    draftproof.vectors(interface="chain").write(path)
    assert path.stat().st_size < 10**6
    return [json.loads(line) for line in path.read_text().splitlines()]


def assert_of(schema, value):
    """What the schemas here use of JSON Schema."""
    kinds = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int}
    assert isinstance(value, kinds.get(schema.get("type"), object))
    assert value in schema.get("enum", [value])
    for name in schema.get("required", []):
        assert name in value
    for name, inner in schema.get("properties", {}).items():
        if name in value:
            assert_of(inner, value[name])
    for inner, item in zip(schema["prefixItems"], value, strict=True) if "prefixItems" in schema else ():
        assert_of(inner, item)
    for item in value if "items" in schema else ():
        assert_of(schema["items"], item)


def test_the_first_line_has_the_version_and_the_schema_of_the_others(chain):
    first, *lines = chain
    assert (first["draftproof_vectors"], first["interface"], first["schema"]) == (VERSION, "chain", SCHEMA)
    for line in lines:
        assert_of(first["schema"], line)


def test_laws_are_laws_and_a_drafted_token_is_accepted_as_often_as_it_should(chain):
    laws = [line for line in chain if line["kind"] == "law"]
    assert {line["rule"] for line in laws} == set(RULES[False])
    for line in laws:
        assert sum(Fraction(mass) for _, mass, _ in line["blocks"]) == 1
        for _, exact, rounded in (*line["blocks"], *line["accepted"]):
            assert float(Fraction(exact)) == rounded
        if line["rule"] == "token by token" and line["accepted"]:
            [first], (p, q) = line["accepted"][0][0], (line["exact"][name][0] for name in "pq")
            assert Fraction(line["accepted"][0][1]) == min(1, Fraction(p[first]) / Fraction(q[first]))
        if line["rule"] == "sample and match" and line["accepted"]:
            token = line["accepted"][0][0][0]
            assert line["accepted"][0][1] == line["exact"]["p"][0][token]


def test_there_are_boundary_coins_batches_and_requests_without_drafts(chain):
    calls = [line["arguments"] for line in chain if line["kind"] == "numbers"]
    flat = [each["uniforms"] for each in calls if "lengths" not in each]
    assert any(set(each) == {0.0} for each in flat)
    assert any(set(each) == {LARGEST} for each in flat)
    assert any(each == [] for each in flat)
    batches = [each for each in calls if "lengths" in each]
    assert any(-1 in row for each in batches for row in each["tokens"])
    assert len({tuple(each["lengths"]) for each in batches}) > 1
    titles = {line["case"] for line in chain[1:]}
    assert {"p = q", "zero entries in p and q", "every q has all its mass on one token"} <= titles


def test_there_are_numbers_beside_the_bound_of_a_draft(chain):
    numbers = [line for line in chain if line["kind"] == "numbers" and line["rule"] == "token by token"]
    calls = [
        line["arguments"] for line in numbers if line["arguments"]["tokens"] and "lengths" not in line["arguments"]
    ]
    tested = [(each["uniforms"][0], each["p"][0][x] / each["q"][0][x]) for each in calls for x in each["tokens"][:1]]
    assert any(0 < bound < 1 and round(abs(number - bound) / MARGIN) == 1 for number, bound in tested)


def test_batches_have_the_answers_of_their_requests(chain):
    """Each request by itself is a call with the same answer, by the client in Python."""
    lines = [line for line in chain if line["kind"] == "numbers" and "lengths" in line["arguments"]]
    lines = [line for line in lines if line["rule"] == "token by token"]
    asked, wanted = [], []
    for line in lines:
        given = line["arguments"]
        for place, length in enumerate(given["lengths"]):
            own = {name: given[name][place][:length] for name in ("tokens", "q", "uniforms")}
            asked.append({**own, "p": given["p"][place][: length + 1], "final_uniform": given["final_uniform"][place]})
            wanted.append(line["tokens"][place])
    assert answers([sys.executable, str(PROGRAMS / "client.py"), "numbers"], asked) == wanted


def answers(command, asked):
    lines = "".join(json.dumps({"id": number, **each}) + "\n" for number, each in enumerate(asked))
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=120)
    return [json.loads(line)["tokens"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("clients", ["c", "node", "python", "torch"], indirect=True)
def test_reference_clients_give_the_answers_and_their_bugs_do_not(chain, clients):
    lines = [line for line in chain if line["kind"] == "numbers" and line["rule"] == "token by token"]
    lines = [line for line in lines if "lengths" not in line["arguments"]]
    right, wrong = (answers(command.split(), [line["arguments"] for line in lines]) for command in clients)
    wanted = [line["tokens"] for line in lines]
    assert right == wanted
    assert wrong != wanted


@pytest.mark.parametrize("interface", ["tree", "paths", "posterior", "coins", "vllm", "sglang", "sglang-chain"])
def test_every_interface_that_a_pipe_carries_has_vectors(interface, tmp_path):
    made = draftproof.vectors(interface=interface, cases="context,zeros")
    made.write(tmp_path / "some.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "some.jsonl").read_text().splitlines()][1:]
    assert {line["case"] for line in lines} == {"p and q depend on the context", "zero entries in p and q"}
    for line in lines:
        assert_of(SCHEMA, line)


def test_what_a_pipe_does_not_carry_is_refused(draftproof):
    ran = draftproof("vectors", "--interface", "loop")
    assert ran.code == 2
    assert "hands over objects, which no pipe carries; choose tree, chain" in ran.err


def test_the_command_writes_the_file_and_shows_how_many_there_are(draftproof):
    ran = draftproof("vectors", "--interface", "chain", "--cases", "short", "-o", "short.jsonl")
    assert ran.code == 0
    assert "token by token" in ran.out
    assert json.loads(Path("short.jsonl").read_text().splitlines()[0])["kind"] == "header"
