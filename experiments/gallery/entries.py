"""The audited public implementations, by repository, commit and path, each with an adapter.

No code of theirs is copied. `text` describes the bug of a lossy one to its project; its witness is a file of
`witnesses`, plain Python that shows the bug without draftproof.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from draftproof.experiments.gallery.adapters import (
    distill_spec,
    installed,
    sequoia,
    vllm_ascend,
)
from draftproof.simulator.audit.interfaces import SelfDrafted
from draftproof.simulator.drafts import Delayed, Greedy, WithoutReplacement
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.symbolic import locate_function


@dataclass(frozen=True)
class Entry:
    """One function of a public project.

    repository: owner/name. commit: of the file that was measured. build: from the folder of a checkout and the path to
    the function. scheme: its drafts, None for the default ones. cases: default instances that the function is made for,
    None for all. text, witness: for a lossy one.
    """

    name: str
    repository: str
    commit: str
    path: str
    what: str
    build: Callable[[Path, str], Any]
    interface: str
    scheme: DraftScheme | None = None
    cases: tuple[str, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    witness: str = ""

    @property
    def folder(self) -> str:
        """The name of the folder of its checkout."""
        return self.repository.partition("/")[2]

    @property
    def is_installed(self) -> bool:
        """Whether it comes from an installed package instead of a checkout."""
        return not self.path.endswith(".py")


_EAGLE = ("SafeAILab/EAGLE", "cb7e0841fe0c206c6ed74a197ad5e2a1f13f5a2b", "eagle/model/utils.py")
_HSD = (
    "ZhouYuxuanYX/Hierarchical-Speculative-Decoding",
    "b8575e2ad42bcf2b32d0c6f3481eb49099453f33",
    "EAGLE-3H/eagle/model/utils.py",
)
_SEQUOIA = ("Infini-AI-Lab/Sequoia", "0ff3ff71475ca148f2dfb7545e0de5caf5c67b39")
_ASCEND = (
    "vllm-project/vllm-ascend",
    "182b75ea84ff13ece27b57391331ef8935410aea",
    "vllm_ascend/sample/rejection_sampler.py",
)
_VLLM = ("vllm-project/vllm", "0097a7bbf1d91c71f03e35dc6c6fe978b88181f5", "vllm/v1/sample/rejection_sampler.py")
_SGLANG = (
    "sgl-project/sglang",
    "f60f793838054ff89e7882f2dd9973d2b4817cd8",
    "python/sglang/kernels/ops/speculative/reject_sampling.py",
)
_DISTILL = ("Rmuk655/Distill-Spec-Research", "08571bb7c182457493043fe15e9cda871e82b4df", "verifiers/verifier.py")
#: Independent paths of one length, which is all that `TreeVerifier` is made for.
_EVEN = (
    "context", "three_tokens", "zeros", "one_hot", "equal", "disjoint", "context_free", "short", "three_paths",
    "many_paths", "wide",
)  # fmt: skip
_ROWS = {"library": "torch"}


def _function(name: str) -> Callable[[Path, str], Any]:
    """The function itself, where an interface is made for it."""
    return lambda checkout, path: locate_function(checkout / path, name).function


_posterior = _function("evaluate_posterior")


ENTRIES = (
    Entry(
        "transformers-sampling", "huggingface/transformers", "", "transformers.generation.utils",
        "_speculative_sampling", installed.sampling, "transformers",
    ),
    Entry(
        "transformers-assisted", "huggingface/transformers", "", "transformers.generation",
        "generate(assistant_model=...), texts of three tokens", installed.assisted, "loop",
        SelfDrafted(2), ("context", "zeros", "equal"), _ROWS,
    ),
    Entry("eagle-posterior", *_EAGLE, "evaluate_posterior on the likeliest tokens", _posterior, "eagle",
          Greedy(2, 0, 2)),
    Entry("hsd-eagle", *_HSD, "evaluate_posterior(hsd=True) on the likeliest tokens", _posterior, "eagle",
          Greedy(2, 0, 2), ("context", "three_tokens", "zeros", "equal", "disjoint", "context_free", "short"),
          {"keywords": {"hsd": True}}),
    Entry("sequoia-tree", *_SEQUOIA, "Tree/SpecTree.py", "SpecTree.accept_step, drafts without replacement",
          sequoia.spec_tree, "paths", WithoutReplacement(2, 0, 2), None, _ROWS),
    Entry("sequoia-specinfer", *_SEQUOIA, "Tree/SpecInferTree.py", "SpecInferTree.accept_step, independent drafts",
          sequoia.specinfer_tree, "paths", None, None, _ROWS),
    Entry("vllm-kernels", *_VLLM, "rejection_sample: its Triton kernels", _function("rejection_sample"), "vllm"),
    Entry("sglang-chain", *_SGLANG, "chain_speculative_sampling_triton",
          _function("chain_speculative_sampling_triton"), "sglang-chain"),
    Entry("vllm-ascend-tokens", *_ASCEND, "rejection_random_sample_pytorch", vllm_ascend.token_wise, "chain",
          None, None, _ROWS),
    Entry(
        "vllm-ascend-block", *_ASCEND, "rejection_random_sample_block_verify_pytorch, three drafts", vllm_ascend.block,
        "chain", Delayed(1, 0, 3), None, {"library": "torch", "arithmetic": "float32"},
        text="""\
Block verification (enable_block_verify) does not sample from the target.
`rejection_random_sample_block_verify_pytorch` compares the cumulative product of min(1, p/q) with the cumulative
product of the uniform numbers. The product of i uniform numbers is no uniform number: it is below a threshold t
with probability t (1 - ln t) at i = 2, not t. A prefix of i drafts is accepted too often, and the more so the
longer it is. Block verification draws an independent uniform number for every prefix and compares it with a
probability of its own, made of the residual (w p - q)+ (Sun et al., "Block Verification Accelerates Speculative
Decoding", Algorithm 2). Where p = (3/4, 1/4) and q = (1/4, 3/4) after every context and three tokens are drafted,
the first token of the output is 0 with probability 0.535 instead of 0.75.""",
        witness="vllm_ascend_block.txt",
    ),
    Entry("distill-spec-block", *_DISTILL, "TreeVerifier.bv_verify", distill_spec.block, "paths", None, _EVEN, _ROWS),
    Entry(
        "distill-spec-gbv", *_DISTILL, "TreeVerifier.gbv_verify", distill_spec.gbv, "paths", None, _EVEN, _ROWS,
        text="""\
`gbv_verify` breaks ties of min(1, p/q) in two ways. The path is chosen with `>`, so that of drafts of an equal
ratio the one that was drafted first wins; the skewed draft law is computed from a stable argsort, in which of
equal ratios the larger token wins. All tokens with p >= q have the ratio 1, so ties are the rule. Where p = (1/2,
3/8, 1/8), q = (1/4, 1/4, 1/2), two paths of one token, the token 0 is put out with probability 31/56 instead of
1/2. Ranking by p/q itself, or choosing the child of the largest place in `order`, makes both agree.""",
        witness="gbv_ties.txt",
    ),
    Entry(
        "distill-spec-traversal", *_DISTILL, "TreeVerifier.traversal_verify", distill_spec.traversal, "paths",
        None, _EVEN, _ROWS,
        text="""\
`traversal_verify` takes the leaf of the smallest index, and nodes are numbered path after path. That is no
depth-first order: with three paths a subtree may be left after its first leaf, and come back to after a leaf of
another one. The rule is right only if all leaves of a subtree are tried before its siblings. Where three paths of
two tokens are drafted, p and q are 1/2 at the root, p = (0, 1) after both tokens and q = (1/2, 1/2) and (0, 1),
the first token is 0 with probability 15/32 instead of 1/2. Numbering the nodes depth first, or choosing the first
leaf below the first child, fixes it.""",
        witness="traversal_order.txt",
    ),
)  # fmt: skip
