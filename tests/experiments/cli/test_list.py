"""`draftproof list`: everything comes from the cards."""

from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.world_grammar import KINDS
from draftproof.simulator.drafts import SCHEMES
from draftproof.verifiers import REGISTRY


def test_list_shows_every_card_scheme_and_family(draftproof):
    fields = draftproof("list", "--json").json
    assert [card["name"] for card in fields["verifiers"]] == list(REGISTRY)
    assert [scheme["name"] for scheme in fields["schemes"]] == list(SCHEMES)
    assert {
        "dirichlet",
        "perturbed",
        "temperature",
        "zeros",
        "ties",
        "point_masses",
        "equal",
        "disjoint",
        "marginals",
    } == {family["name"] for family in fields["families"]}
    assert {find_scheme(scheme["usual"]) for scheme in fields["schemes"]} == {kind() for kind in SCHEMES.values()}
    for card in fields["verifiers"]:
        declaring = [each["name"] for each in fields["schemes"] if set(card["needs"] or []) <= set(each["draws"])]
        assert card["lossless_for"] == (declaring if card["needs"] is not None else [])
    paired = {scheme["name"]: scheme["verified_with"] for scheme in fields["schemes"]}
    assert (paired["opt_tree"], paired["delayed"]) == ("nss", "")
    assert {world["name"] for world in fields["worlds"]} == set(KINDS)
    shown = draftproof("list", "schemes").out
    assert "dyspec_threshold:value=1/4,depth=3,nodes=64" in shown
    assert "without_replacement" in shown
