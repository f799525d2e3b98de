"""Verifiers and schemes that break their contract: one line and exit code 2, whichever command meets them."""

import pytest

from tests.data import nonsense

FILE = nonsense.__file__
SHAPE = ("--K", 2, "--L2", 1)
WORLD = ("--world", "family:dirichlet,vocab=2")
SMALL = (*WORLD, *SHAPE)
COMMANDS = {
    "check": (*WORLD, *SHAPE, "--engine", "structured"),
    "compare": (*SMALL, "--no-optimum", "--engine", "structured"),
    "prove": ("--vocab", 2, "--K", 1, "--L2", 1),
}
#: Never asked for what is wrong: a theorem follows `verify` alone.
UNASKED = {
    *(("prove", name) for name in nonsense.VERIFIERS if name.startswith("Struct")),
    *(("prove", name) for name in ("BranchRaises", "BranchReturnsNone", "ChildLawReturnsList")),
    *(("prove", name) for name in nonsense.SCHEMES if name.startswith("Count")),
    ("bound", "TextRaises"),  # it prints the name of a scheme, not its text
}


def refused(ran) -> None:
    assert (ran.code, ran.out) == (2, ""), ran
    assert "Traceback" not in ran.err
    (line,) = [line for line in ran.err.splitlines() if line.startswith("draftproof: ")]
    assert len(line) < 700


def cases(commands, names):
    return [(command, name) for name in names for command in commands if (command, name) not in UNASKED]


@pytest.mark.one_in(7)
@pytest.mark.parametrize(("command", "name"), cases(COMMANDS, nonsense.VERIFIERS))
def test_a_verifier_that_breaks_its_contract_is_refused_in_one_line(draftproof, command, name):
    refused(draftproof(command, f"{FILE}:{name}", *COMMANDS[command]))


@pytest.mark.one_in(7)
@pytest.mark.parametrize(("command", "name"), cases((*COMMANDS, "bound"), nonsense.SCHEMES))
def test_a_scheme_that_breaks_its_contract_is_refused_in_one_line(draftproof, command, name):
    given = ("bound",) if command == "bound" else (command, "naive")
    size = WORLD if command in ("check", "compare", "bound") else ("--vocab", 2)
    refused(draftproof(*given, "--scheme", f"{FILE}:{name}", *size))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["Single", "Reduced", "ReducedToOurs", "Sized", "Inheriting"])
def test_a_witness_on_a_scheme_of_ones_own_is_seen_again_by_the_command_that_it_names(draftproof, name):
    ran = draftproof("check", f"{FILE}:Lossy", "--scheme", f"{FILE}:{name}", *WORLD, "--json")
    assert ran.code == 1
    assert draftproof(*ran.witness["again"].split()[1:]).code == 1
    assert draftproof("compare", "naive", "--scheme", f"{FILE}:{name}", *WORLD).code == 0
    world = ("--world", "conformance:instances=1")
    assert draftproof("check", "naive", "--scheme", f"{FILE}:{name}", *world).code == 0


def test_a_verifier_that_fails_once_and_holds_when_asked_again_is_no_function_and_has_no_verdict(draftproof):
    said = []
    for runs in range(150, 400, 25):
        ran = draftproof("check", f"{FILE}:Stopping:runs={runs}", *WORLD, *SHAPE)
        assert ran.code in (0, 1, 2), (
            ran.err
        )  # who stops before it begins or after it has ended is taken for a function
        if ran.code == 2:
            refused(ran)
            said.append("must be a function of the tree and the coin" in ran.err)
    assert said
    assert all(said)
