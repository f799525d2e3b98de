"""Sequoia: accept steps one after the other from the root, as in its `verify`, on given trees.

A tree has the form of `construct_grow_map`: a node for every drafted token. Without replacement the tokens below a
node are different; with replacement duplicates are nodes of their own.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from draftproof.simulator.lazy import torch_module
from draftproof.simulator.symbolic import locate_function


def spec_tree(checkout: Path, path: str) -> Any:
    """`SpecTree.accept_step`, with the residual that its graph computes."""
    step = locate_function(checkout / path, "SpecTree.accept_step").function
    residual = locate_function(checkout / "utils.py", "get_residual").function
    return _verifier(_unbound(step), residual, shared=True)


def specinfer_tree(checkout: Path, path: str) -> Any:
    """`SpecInferTree.accept_step`."""
    step = locate_function(checkout / path, "SpecInferTree.accept_step").function
    return _verifier(_unbound(step), None, shared=False)


def _unbound(step: Any) -> Any:
    """The function of the method: `_verifier` passes its `self`."""
    return step.__wrapped__


def _tree(paths: Any, shared: bool) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """The contexts of the nodes, and the nodes below each; shared: whether paths share nodes of common prefixes."""
    contexts: list[tuple[int, ...]] = [()]
    successors: list[list[int]] = [[]]
    for path in paths:
        parent = 0
        for length in range(1, len(path) + 1):
            known = [node for node in successors[parent] if contexts[node] == path[:length]] if shared else []
            if not known:
                contexts.append(path[:length])
                successors.append([])
                successors[parent].append(len(contexts) - 1)
            parent = known[0] if known else len(contexts) - 1
    return contexts, successors


def _verifier(accept_step: Callable[..., Any], residual: Any, shared: bool) -> Any:
    torch = torch_module("the gallery")

    def verify(paths: Any, p: Any, q: Any) -> Any:
        contexts, successors = _tree(paths, shared)
        logits = [
            q[context].log() if children else p[context] for context, children in zip(contexts, successors, strict=True)
        ]
        tree = SimpleNamespace(
            ground_truth_len=1,
            target_logits=torch.stack([p[context] for context in contexts]),
            draft_logits=torch.stack(logits),
            Successors=successors,
            tokens=torch.tensor([0, *(context[-1] for context in contexts[1:])]),
            r=torch.rand(len(contexts), dtype=torch.float64),
            temperature=1.0,
            residual_graph=residual,
            dtype=torch.float64,
        )
        node = 0
        while True:
            accepted, correction_law = accept_step(tree, parent_id=node)
            if accepted == -1:
                return contexts[node], correction_law.multinomial(num_samples=1, replacement=True)
            node = accepted

    return verify
