"""The loop interface: FUNCTION gets a target and a draft model and a prompt, and returns a text of so many new tokens.

A text of `N` new tokens is `N - 1` accepted ones and a last one, so the balance at every context is that its law is the
target's own. Models come anew with every call. Where rows are asked for that lie deeper than the instance, its last
tokens decide: they change no token that is judged.
"""

from typing import Any

from draftproof.simulator.audit.interfaces._call import Call, Interface, shown, tokens
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.protocol import Context, DraftNode, Vector, Verdict
from draftproof.simulator.symbolic import concrete

#: The text before the new tokens; two tokens, so that no vocabulary is too small.
PROMPT: Context = (1, 0)


class Table:
    """The rows of a process after any text that begins with the prompt. name: "target" or "draft"."""

    def __init__(self, root: DraftNode, name: str) -> None:
        self._root = root
        self._name = name
        self._depth = _depth(root) - (name == "draft")
        self.size = len(root.target)

    def row(self, text: Context) -> Vector:
        """Shape `(V,)`; raises `InvalidVerifier` for a text of other tokens, or without the prompt."""
        wrong = next((token for token in text if not 0 <= token < self.size), None)
        if wrong is not None:
            raise InvalidVerifier(f"it asks the {self._name} model about the text {list(text)}; {wrong} is no token")
        if text == PROMPT[: len(text)] != PROMPT:  # a prefix of the prompt has a row that decides nothing
            before: Vector = getattr(self._root, self._name)[::-1]
            return before
        if text[: len(PROMPT)] != PROMPT:
            asked = f"it asks the {self._name} model about {list(text)}"
            raise InvalidVerifier(f"{asked}, which does not begin with the prompt {list(PROMPT)}")
        context = text[len(PROMPT) :]
        if len(context) > self._depth:
            context = context[len(context) - self._depth :]
        node = self._root
        for token in context:
            node = node.child(token)
        row: Vector = getattr(node, self._name)
        return row


def _depth(node: DraftNode) -> int:
    depth = 0
    while node.children:
        node, depth = node.child(node.children[0]), depth + 1
    return depth


class Model:
    """A model as a function: the row after a text, shape `(V,)`, or `(B, V)` after an array of texts."""

    def __init__(self, table: Table, call: Call) -> None:
        self._table = table
        self._rows = call.rows
        self.vocab_size = table.size

    def __call__(self, text: Any) -> Any:
        plain = concrete(text)
        if isinstance(plain, (list, tuple)) and plain and isinstance(plain[0], (list, tuple)):
            return self._rows.array([self._table.row(tuple(item)) for item in plain])
        return self._rows.array(self._table.row(tokens(plain, "a text")))


def _call(call: Call) -> list[Verdict]:
    root = call.nodes[0]
    wanted = _depth(root) + 1
    tables = Table(root, "target"), Table(root, "draft")
    if call.rows.library == "torch":
        from draftproof.simulator.audit.interfaces.causal import causal_model  # noqa: PLC0415 - needs transformers

        models: Any = [causal_model(table, call.rows) for table in tables]
        prompt = call.rows.whole([list(PROMPT)])
    else:
        models = [Model(table, call) for table in tables]
        prompt = call.rows.whole(list(PROMPT))
    return [_read(call(*models, prompt, wanted), wanted)]


def _read(result: Any, wanted: int) -> Verdict:
    plain = concrete(getattr(result, "sequences", result))
    while isinstance(plain, (list, tuple)) and len(plain) == 1 and isinstance(plain[0], (list, tuple)):
        plain = plain[0]
    if not isinstance(plain, (list, tuple)):
        raise InvalidVerifier(f"it returned {shown(result)}; the loop interface wants {LOOP.returns}")
    text = tokens(list(plain), "the text")
    if text[: len(PROMPT)] != PROMPT:
        raise InvalidVerifier(f"it returned the text {list(text)} after the prompt {list(PROMPT)}; return both in one")
    new = text[len(PROMPT) :]
    if len(new) < wanted:
        raise InvalidVerifier(f"it returned {len(new)} new tokens, {list(new)}, and was asked for {wanted}")
    return Verdict(new[: wanted - 1], new[wanted - 1])


LOOP = Interface(
    name="loop",
    takes="(target, draft, prompt, new_tokens): models, functions from a text to the row after it, a text, a number; "
    "in torch causal models of transformers and a text of shape (1, n)",
    returns="the text: the prompt and at least so many new tokens; further ones are cut off",
    call=_call,
    drafts=True,
)
