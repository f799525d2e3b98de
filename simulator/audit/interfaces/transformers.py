"""The interface of transformers' `_speculative_sampling`, which is imported from the installed package.

Its rows are logits of one path: `candidate_input_ids (1, L)`, `candidate_logits (1, L, V)`, `candidate_length`,
`new_logits (1, L + 1, V)`, and before version 5 `is_done_candidate`, False; it returns the output tokens `(1, n + 1)`
and the number `n` of accepted ones.
"""

import inspect
from dataclasses import replace

from draftproof.simulator.audit.interfaces._call import Call, Interface, integer, shown, tokens
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import Verdict


def _call(call: Call) -> list[Verdict]:
    nodes = first_path(call.nodes[0])
    rows = replace(call.rows, logits=True)
    before_five = "is_done_candidate" in inspect.signature(call.function).parameters
    result = call(
        rows.integers([list(nodes[-1].context)]),
        rows.array([[node.draft for node in nodes[:-1]]]),
        len(nodes) - 1,
        rows.array([[node.target for node in nodes]]),
        **({"is_done_candidate": False} if before_five else {}),
    )
    if not (isinstance(result, tuple) and len(result) == 2):
        raise InvalidVerifier(f"it returned {shown(result)}; the transformers interface wants {TRANSFORMERS.returns}")
    output = tokens(result[0][0], "the output")
    count = integer(result[1], "the number of matches")
    if count != len(output) - 1:
        raise InvalidVerifier(f"it says that {count} tokens were accepted and returns {len(output)} tokens")
    return [Verdict(output[:-1], output[-1])]


TRANSFORMERS = Interface(
    name="transformers",
    takes="(candidate_input_ids, candidate_logits, candidate_length, new_logits)",
    returns="(output tokens (1, n + 1), number of accepted tokens n)",
    call=_call,
    library="torch",
    libraries=("torch",),
)
