"""Which sources a campaign changes, and which tests stand for each: the quick ones of its room, the likeliest first."""

#: Files and folders whose mutants are sampled.
ROOMS = (
    "simulator/symbolic", "simulator/audit", "simulator/laws", "simulator/coins.py", "simulator/drafts",
    "simulator/instances", "simulator/theorems", "simulator/verdicts", "verifiers", "lp_analysis", "experiments/grid",
)  # fmt: skip

_SYMBOLIC = "tests/simulator/symbolic/"
_LAWS = "tests/simulator/laws/"
_LP = "tests/lp_analysis/"
_AGREEMENT = _LP + "test_agreement.py::test_all_roads_lead_to_one_optimum"
_STRUCTURED = _LAWS + "test_structured_laws.py::test_"
_NUMBERS = (
    "test_functions", "test_comparisons", "test_races", "test_algebra", "test_refused", "test_axes",
    "test_measure", "test_random_expressions",
)  # fmt: skip
_SOURCES = ("test_generators", "test_refused", "test_arguments", "test_undone", "test_leaks", "test_load")
_TORCH = (
    "test_functions", "test_torch_tensors", "test_axes", "test_refused", "test_torch",
    "test_unset", "test_algebra",
)  # fmt: skip


def _symbolic(*names: str) -> tuple[str, ...]:
    return tuple(f"{_SYMBOLIC}{name}.py" for name in names)


#: Beginning of a path -> its tests; the longest beginning counts.
TESTS: dict[str, tuple[str, ...]] = {
    "simulator/symbolic": _symbolic(*_SOURCES, "test_algebra", "test_torch", "test_torch_tensors"),
    "simulator/symbolic/numbers": _symbolic(*_NUMBERS, "test_torch", "test_floats_of_python"),
    "simulator/symbolic/decide": _symbolic(*_NUMBERS, *_SOURCES),
    "simulator/symbolic/arrays": _symbolic(*_NUMBERS, "test_torch", "test_arguments", "test_not_a_number"),
    "simulator/symbolic/sources": _symbolic(*_SOURCES, "test_torch", "test_races"),
    "simulator/symbolic/torch": _symbolic(*_TORCH, "test_generators", "test_arguments"),
    **dict.fromkeys(
        (f"simulator/symbolic/loading/{name}.py" for name in ("compiled", "files", "locating", "partial_module")),
        _symbolic("test_taking", "test_load", "test_torch", "test_generators"),
    ),
    "simulator/symbolic/torch/memory.py": _symbolic(*_TORCH, "test_generators", "test_arguments", "test_leaks"),
    "simulator/symbolic/torch/random.py": _symbolic(*_SOURCES, "test_torch", "test_torch_tensors", "test_races"),
    "simulator/symbolic/decide/memory.py": _symbolic("test_unset"),
    "simulator/symbolic/arrays/numpy_lists.py": _symbolic("test_not_a_number", "test_floats_of_python", "test_unset"),
    "simulator/symbolic/where.py": _symbolic("test_where", "test_refused", "test_load"),
    "simulator/symbolic/triton": _symbolic("test_triton", "test_lanes"),
    "simulator/audit": (
        *(
            f"tests/simulator/audit/test_{name}.py"
            for name in ("child", "interfaces", "batches", "instances", "verdict", "worked_example", "told")
        ),
        "tests/experiments/cli/test_roads.py::test_python",
    ),
    "simulator/drafts": tuple(
        f"tests/simulator/drafts/test_{name}.py"
        for name in (
            "conformance",
            "deterministic_trees",
            "dyspec",
            "other_schemes",
            "stratified",
            "trees_and_schemes",
        )
    ),
    "simulator/instances": tuple(
        f"tests/simulator/instances/test_{name}.py"
        for name in ("instance", "families", "grams", "masks", "ngram", "processes", "sampling", "softmax")
    ),
    "simulator/theorems": tuple(
        f"tests/simulator/theorems/test_{name}.py"
        for name in ("proofs", "certificates", "relations", "nonnegative", "numbers", "watch", "any_vocabulary")
    ),
    "verifiers": tuple(
        f"tests/verifiers/test_{name}.py" for name in ("as_published", "one_step", "negative_controls", "pieces")
    ),
    "experiments/grid": (
        "tests/experiments/grid/test_store.py",
        "tests/experiments/grid/test_cost_and_engines.py",
        "tests/experiments/cli/test_world_file.py",
        "tests/experiments/cli/test_report.py",
    ),
    "simulator/coins.py": ("tests/simulator/test_coins.py",),
    "simulator/laws": tuple(_LAWS + name for name in ("test_law.py", "test_enumerate.py")),
    "simulator/laws/estimator.py": (
        "tests/verifiers/test_pieces.py"
        "::test_the_estimate_of_a_tree_is_that_of_the_coins_and_averages_to_block_efficiency",
    ),
    "simulator/laws/drawing.py": (_LAWS + "test_drawing.py",),
    "simulator/laws/precision.py": (_LAWS + "test_precision.py",),
    "simulator/laws/structured": (
        _LAWS + "test_structured_size.py",
        _STRUCTURED + "verifiers_that_offer_nothing_are_refused_by_name",
        _STRUCTURED + "a_child_law_is_asked_for_no_more_and_no_fewer_paths_than_there_may_be",
        _STRUCTURED + "every_way_to_a_law_gives_the_enumerated_one",
        _STRUCTURED + "laws_in_floats_differ_from_the_exact_one_by_rounding",
        _LAWS + "test_structured_users.py::test_a_liar_does_not_get_past_the_guard",
    ),
    "simulator/laws/structured/layered.py": (_STRUCTURED + "every_way_to_a_law_gives_the_enumerated_one",),
    "simulator/laws/structured/collapsed.py": (_LAWS + "test_collapsed.py",),
    "simulator/laws/structured/steady.py": (_LAWS + "test_collapsed.py",),
    "simulator/policies": ("tests/simulator/policies/test_policy.py",),
    "simulator/verdicts": tuple(f"tests/simulator/verdicts/test_{name}.py" for name in ("lossless", "conformance")),
    "simulator/verdicts/costs.py": (
        "tests/experiments/api/test_wrong_things.py",
        "tests/experiments/grid/test_cost_and_engines.py",
    ),
    "simulator/verdicts/validation.py": (
        "tests/simulator/verdicts/test_lossless.py",
        "tests/experiments/api/test_wrong_things.py",
    ),
    "simulator/verdicts/compatibility.py": ("tests/simulator/verdicts/test_compatibility.py",),
    "simulator/verdicts/cases.py": (
        "tests/simulator/verdicts/test_conformance.py",
        "tests/verifiers/test_room.py",
    ),
    "simulator/verdicts/conformance.py": (
        "tests/simulator/verdicts/test_conformance.py",
        "tests/mutants/test_liars.py",
    ),
    "simulator/verdicts/standard.py": ("tests/simulator/verdicts/test_standard.py",),
    "simulator/verdicts/search.py": ("tests/simulator/verdicts/test_search.py",),
    "simulator/verdicts/grids.py": ("tests/simulator/verdicts/test_search.py",),
    "simulator/verdicts/witness.py": ("tests/simulator/verdicts/test_search.py",),
    "lp_analysis": (
        _LP + "test_worked_example.py",
        _LP + "test_plan.py",
        _AGREEMENT,
        _LP + "test_optimum.py::test_one_path_is_block_verification_exactly",
        _LP + "test_optimum.py::test_bad_input_is_named",
        _LP + "test_optimum.py::test_programs_that_are_too_large_are_not_begun",
        _LP + "test_programs.py",
        _LP + "test_tiny_masses.py",
    ),
    "lp_analysis/solvers": (
        _LP + "test_worked_example.py",
        _LP + "test_convergence.py",
        _LP + "test_programs.py",
        _LP + "test_optimum.py::test_one_path_is_block_verification_exactly",
        _AGREEMENT,
        _AGREEMENT,
    ),
    "lp_analysis/__init__.py": (_LP + "test_certificates.py", _LP + "test_worked_example.py"),
    "lp_analysis/certificates.py": (_LP + "test_certificates.py",),
    "lp_analysis/checker.py": (_LP + "test_certificates.py", _LP + "test_long_run.py"),
    "lp_analysis/direct.py": (
        _LP + "test_programs.py",
        _AGREEMENT,
    ),
    "lp_analysis/potentials.py": (_LP + "test_long_run.py",),
    "lp_analysis/single_step.py": (_LP + "test_single_step.py",),
}


def tests_of(path: str) -> list[str]:
    """The tests of a source file, as pytest takes them."""
    return list(TESTS[max((start for start in TESTS if path.startswith(start)), key=len)])
