"""The interface of transformers' `_speculative_sampling`, which is imported from the installed package.

Its rows are logits of one path: `candidate_input_ids (1, L)`, `candidate_logits (1, L, V)`, `candidate_length`,
`new_logits (1, L + 1, V)`, and before version 5 `is_done_candidate`, False; it returns the output tokens `(1, n + 1)`
and the number `n` of accepted ones.
"""

from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, integer, pair, tokens
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import Verdict


def _read(call: Call, result: Any, wants: str) -> list[Verdict]:
    outputs, matches = pair(result, wants)
    output = tokens(outputs[0], "the output")
    count = integer(matches, "the number of matches")
    if count != len(output) - 1:
        raise InvalidVerifier(f"it says that {count} tokens were accepted and returns {len(output)} tokens")
    return [Verdict(output[:-1], output[-1])]


TRANSFORMERS = Interface(
    name="transformers",
    arguments={
        "candidate_input_ids": lambda call: call.rows.integers([list(path) for path in call.drafted]),
        "candidate_logits": lambda call: call.logits.array(call.q),
        "candidate_length": lambda call: call.lengths[0],
        "new_logits": lambda call: call.logits.array(call.p),
    },
    further={"is_done_candidate": lambda call: False},
    read=_read,
    takes="(candidate_input_ids, candidate_logits, candidate_length, new_logits)",
    returns="(output tokens (1, n + 1), number of accepted tokens n)",
    libraries=("torch",),
)
