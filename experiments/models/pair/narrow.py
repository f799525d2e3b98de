"""A draft model with fewer tokens than its target, whose embeddings are padded further: the same tokenizer, two sizes.

A target says what is sampled, its padding too, if it likes. Tokens that the draft does not have get no mass from it,
and where one stands in a text the draft reads its last token instead: any draft is right for a lossless verifier.
"""

from __future__ import annotations

from typing import Any

#: How many tokens of the larger model may be padding: one in so many.
PADDING = 32


def alike(first: int, second: int) -> bool:
    """Whether two numbers of tokens differ by no more than padding would."""
    return abs(first - second) * PADDING <= max(first, second)


class Narrow:
    """`narrowed` as a model of `size` tokens; everything else is its own."""

    def __init__(self, narrowed: Any, own: int, size: int) -> None:
        self.narrowed, self._own, self._size = narrowed, own, size

    def __call__(self, input_ids: Any, **given: Any) -> Any:
        """What the model puts out, with logits for `size` tokens."""
        from torch.nn.functional import pad

        output = self.narrowed(input_ids=input_ids.clamp(max=self._own - 1), **given)
        output.logits = pad(output.logits[..., : self._own], (0, self._size - self._own), value=float("-inf"))
        return output

    def __getattr__(self, name: str) -> Any:
        return getattr(self.narrowed, name)
