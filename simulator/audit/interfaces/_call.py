"""Shared by all interfaces: one call of an audited function, and the conversion of its result to a block.

`V` is the vocabulary size, `B` the number of requests in a batch, `L` the length of a request's path.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from draftproof.simulator.audit.failures import BrokenResult
from draftproof.simulator.audit.interfaces._parameters import in_its_order
from draftproof.simulator.audit.rows import RowForm
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.protocol import Coin, Context, DraftNode, Vector, Verdict
from draftproof.simulator.symbolic import concrete

#: Names of parameters for a seed.
SEED_NAMES = frozenset(["seed", "rng_seed", "random_seed", "prng_seed"])
#: The value for "no token" in arrays of requests of different lengths.
PLACEHOLDER = -1


@dataclass(frozen=True)
class Call:
    """One call to be made.

    nodes: the roots of the draft trees, one a request. coins: gives coins as arguments. coin: for what the adapter
    itself draws. batched: whether the function takes several requests at once. ends: the token that ends a text, where
    there is one. made: the arguments of the call by name, once it is made. beside: where the function returns
    log-probabilities beside its tokens, what they are, once it is made.
    """

    function: Callable[..., Any]
    nodes: tuple[DraftNode, ...]
    rows: RowForm
    coins: Any
    coin: Coin
    batched: bool = False
    keywords: Mapping[str, Any] = field(default_factory=dict)
    ends: int | None = None
    made: dict[str, Any] = field(default_factory=dict)
    beside: list[Any] | None = None

    def result(self, in_order: Mapping[str, Any], named: Mapping[str, Any]) -> Any:
        """The function's own result for these arguments and the keywords of the audit."""
        by_name = {**self.keywords, **named}
        seeds = [item for item in self.later_parameters(len(in_order)) if item.name in SEED_NAMES]
        values = {item.name: by_name.get(item.name, item.default) for item in seeds}
        given = {name: self.coins.seed(name, value) for name, value in values.items() if type(value) is int}
        self.made.update({**in_order, **named, **given})
        result = self.function(*in_order.values(), **{**by_name, **given})
        if self.beside is None:
            return result
        tokens, logprobs = pair(result, "with logprobs it must return its usual result and the log-probabilities")
        self.beside.append(concrete(logprobs))
        return tokens

    @property
    def root(self) -> DraftNode:
        """The root of the first request."""
        return self.nodes[0]

    @property
    def size(self) -> int:
        """`V`."""
        return len(self.root.target)

    @cached_property
    def paths(self) -> list[list[DraftNode]]:
        """The nodes of the first path of every request, its root first."""
        return [first_path(root) for root in self.nodes]

    @property
    def drafted(self) -> list[Context]:
        """The tokens of the first path of every request."""
        return [path[-1].context for path in self.paths]

    @property
    def lengths(self) -> list[int]:
        """How many these are."""
        return [len(path) - 1 for path in self.paths]

    @property
    def q(self) -> list[list[Vector]]:
        """The draft rows of these paths."""
        return [[node.draft for node in path[:-1]] for path in self.paths]

    @property
    def p(self) -> list[list[Vector]]:
        """The target rows of these paths, the bonus row last."""
        return [[node.target for node in path] for path in self.paths]

    @property
    def logits(self) -> RowForm:
        """The form of rows that are logarithms whatever is asked for."""
        return replace(self.rows, logits=True)

    @property
    def probabilities(self) -> RowForm:
        """The form of rows that are probabilities whatever is asked for."""
        return replace(self.rows, logits=False)

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """Those of the function; none where it has no signature, as compiled functions have none."""
        try:
            return list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            return []

    def later_parameters(self, positional: int) -> list[inspect.Parameter]:
        """The parameters after the first `positional`."""
        numbered = enumerate(self.parameters)
        return [item for number, item in numbered if number >= positional or item.kind is item.KEYWORD_ONLY]


def own_results(call: Call, result: Any, wants: str) -> Sequence[Any]:
    """The result of every request: of a function of one the whole of it."""
    return by_request(result, len(call.nodes)) if call.batched else [result]


#: What makes an argument.
Maker = Callable[[Call], Any]


@dataclass(frozen=True)
class Interface:
    """How a kind of function is called and read.

    arguments: what makes each argument, by its name. read: the block that the result of one request means, given the
    root of its drafts and what is wanted, in words. results: those of all requests, given that of the call. returns:
    what is wanted, for people. by_name: whether a function gets those arguments that it names as parameters,
    in place of all (`in_its_order`). takes: their shapes in words; what is to be said beyond their names if `by_name`.
    count: how many arguments are handed over in their order. further: what makes those that are handed over by name
    where a function names them; the names of random numbers are kinds of `NOISE_KINDS`. usual: the name in `arguments`
    of a parameter. multi_path: whether it sees more than the first path. batches: whether it can
    take several requests at once. drafts: whether it drafts by itself. without_drafts: whether it may be called for
    requests of which none has a draft. ragged: whether requests of a batch may have drafts of different lengths.
    prompt: the text before the tokens of an instance, given the token that ends a text. libraries: of the rows, the
    first one where nothing else is asked for.
    """

    name: str
    arguments: Mapping[str, Maker]
    read: Callable[[Call, Any, DraftNode, str], Verdict]
    returns: str
    results: Callable[[Call, Any, str], Sequence[Any]] = own_results
    takes: str = ""
    by_name: bool = False
    count: Callable[[Call], int | None] = lambda call: None
    further: Mapping[str, Maker] = field(default_factory=dict)
    usual: Callable[[str], str] = lambda name: name
    multi_path: bool = False
    batches: bool = False
    drafts: bool = False
    without_drafts: bool = False
    ragged: bool = True
    prompt: Callable[[int | None], Context] = lambda ends: ()
    libraries: tuple[str, ...] = ("python", "numpy", "torch")

    @property
    def library(self) -> str:
        """That of the rows where nothing else is asked for."""
        return self.libraries[0]

    def how(self, batched: bool) -> str:
        """How a function is called, in words."""
        if self.by_name:
            return "; ".join(filter(None, [f"by parameter name: {self._known}", self.takes]))
        return self.takes if batched else self.takes.split("; in a batch")[0]

    def call(self, call: Call) -> Sequence[Verdict]:
        """The blocks that the function returns; raises `InvalidInput`, `InvalidVerifier`."""
        known = [] if self.by_name else list(self.arguments)[: self.count(call)]
        names = in_its_order(call.parameters, known, self.name)
        result = call.result({name: self.arguments[name](call) for name in names}, self._named(call, len(names)))
        wants = f"the {self.name} interface wants {self.returns}"
        results = self.results(call, result, wants)
        return [self.read(call, own, root, wants) for own, root in zip(results, call.nodes, strict=True)]

    @property
    def _known(self) -> str:
        return ", ".join([*self.arguments, *self.further])

    def _named(self, call: Call, positional: int) -> dict[str, Any]:
        """The arguments after the first `positional`, by name; parameters that mean nothing are left out.

        Raises `InvalidInput` for one of these without a default, where all are handed over by name.
        """
        if self.by_name and not call.parameters:
            raise InvalidInput(
                f"the {self.name} interface reads the names of the parameters; wrap the function in Python"
            )
        arguments: dict[str, Any] = {}
        usual = self.arguments if self.by_name else {}
        for parameter in call.later_parameters(positional):
            if parameter.name in call.keywords or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            make = usual.get(self.usual(parameter.name)) or self.further.get(kind_of(parameter.name) or parameter.name)
            if make is not None:
                arguments[parameter.name] = make(call)
            elif self.by_name and parameter.default is parameter.empty:
                raise InvalidInput(
                    f"the {self.name} interface has no argument {parameter.name!r}; it knows {self._known}"
                )
        return arguments


def integer(value: Any, what: str) -> int:
    """A whole number of the result; raises `InvalidVerifier` with what it was meant to be."""
    single = concrete(value)
    while isinstance(single, (list, tuple)) and len(single) == 1:  # arrays of one element
        single = single[0]
    if isinstance(single, bool) or not isinstance(single, int):
        raise InvalidVerifier(f"{what} must be a whole number, not {shown(value)}")
    return int(single)


def tokens(value: Any, what: str) -> Context:
    """A list of tokens of the result; raises `InvalidVerifier`."""
    plain = concrete(value)
    if not isinstance(plain, (list, tuple)):
        raise InvalidVerifier(f"{what} must be a list of tokens, not {shown(value)}")
    return tuple(integer(token, f"a token of {what}") for token in plain)


def shown(value: Any) -> str:
    """A result as errors show it, on one line."""
    return " ".join(repr(value).split())


def read_block(result: Any, path: Context, wants: str, padded: bool = True) -> Verdict:
    """The block that a function of one path returned.

    result: `(accepted tokens or their number, correction)`, or the whole output as a list or array. path: the drafted
    tokens. padded: whether placeholders may follow the last token. Raises `InvalidVerifier`.
    """
    if isinstance(result, tuple) and len(result) == 2:
        accepted, correction = result
        if isinstance(concrete(accepted), (list, tuple)):
            return Verdict(tokens(accepted, "the accepted part"), integer(correction, "the correction token"))
        count = integer(accepted, "the number of accepted tokens")
        return Verdict(_prefix(path, count), integer(correction, "the correction token"))
    if type(result) is tuple:
        raise InvalidVerifier(f"it returned a tuple of {len(result)}; {wants}")
    if result is None or isinstance(result, (str, bytes, dict, int, float)) or not hasattr(result, "__len__"):
        raise InvalidVerifier(f"it returned {shown(result)}; {wants}")
    output = whole_tokens(tokens(result, "the output"), padded)
    if not output:
        raise InvalidVerifier(f"it returned no token at all; {wants}")
    return Verdict(output[:-1], output[-1])


def whole_tokens(output: Context, padded: bool = False) -> Context:
    """The output without placeholders at its end, where it is padded; raises `BrokenResult` for any other one."""
    block = output
    while padded and block and block[-1] == PLACEHOLDER:
        block = block[:-1]
    if PLACEHOLDER in block:
        where = "between" if padded else "among its"
        raise BrokenResult(f"it returned {PLACEHOLDER} {where} tokens: {list(output)}")
    return block


def _prefix(path: Context, count: int) -> Context:
    if not 0 <= count <= len(path):
        raise InvalidVerifier(f"it accepted {count} tokens of a path of {len(path)}")
    return path[:count]


def pair(result: Any, wants: str, count: int = 2) -> Any:
    """The result, which must be a tuple of so many; raises `InvalidVerifier`."""
    if not (isinstance(result, tuple) and len(result) == count):
        raise InvalidVerifier(f"it returned {shown(result)}; {wants}")
    return result


def by_request(result: Any, count: int) -> list[Any]:
    """The results of a batch one by one: of a list or array over requests, or of `(numbers, corrections)` of arrays."""
    if isinstance(result, tuple) and len(result) == 2:  # a tuple of two results would look the same
        numbers, corrections = result
        arrays = all(hasattr(part, "__len__") and not isinstance(part, tuple) for part in result)
        if arrays and len(numbers) == len(corrections) == count:
            return list(zip(numbers, corrections, strict=True))
        raise InvalidVerifier(
            f"it returned a pair, {shown(result)}, which must be (numbers, corrections), two arrays of {count}; "
            "give the results of single requests in a list"
        )
    if hasattr(result, "__len__") and not isinstance(result, (str, bytes, dict)) and len(result) == count:
        return list(result)
    raise InvalidVerifier(f"it returned {shown(result)}; it must hold one result for each of {count} requests")


def whole_outputs(call: Call, result: Any) -> list[Any]:
    """The output of every request, from a list or array over requests also where there is one."""
    return [list(own) if isinstance(own, tuple) else own for own in by_request(result, len(call.nodes))]


def read_whole(call: Call, result: Any, root: DraftNode, wants: str) -> Verdict:
    """The block of a whole output, which placeholders may follow; raises `InvalidVerifier`."""
    return read_block(result, (), wants)


def read_counted(call: Call, result: Any, root: DraftNode, wants: str) -> Verdict:
    """The block of a whole output of which every token counts; raises `InvalidVerifier`."""
    return read_block(result, (), wants, padded=False)


def padded(lists: Sequence[Sequence[Any]], filler: Any) -> list[list[Any]]:
    """The lists with fillers behind them, as long as the longest."""
    longest = max(map(len, lists))
    return [[*values, *[filler] * (longest - len(values))] for values in lists]


def nodes_of(root: DraftNode) -> list[DraftNode]:
    """The nodes of a tree, level by level, equal drafts once."""
    nodes = [root]
    for node in nodes:  # grows while it is walked
        nodes += [node.child(token) for token in dict.fromkeys(node.children)]
    return nodes


def paths_of(root: DraftNode) -> list[Context]:
    """The drafted paths in draft order, duplicates kept, relative to the root."""
    return [path[len(root.context) :] for path in _through(root)]


def _through(node: DraftNode) -> list[Context]:
    """The paths through a node; where several drafts reach a child and fewer go on, the earlier ones do."""
    if not node.children:
        return [node.context]
    by_draft: dict[int, list[Context]] = {}
    for place, token in enumerate(node.children):
        if token in node.children[:place]:
            continue
        places = [other for other, drafted in enumerate(node.children) if drafted == token]
        below = _through(node.child(token))
        ended = [(*node.context, token)] * (len(places) - len(below))
        for index, path in enumerate([*below, *ended]):
            by_draft.setdefault(places[min(index, len(places) - 1)], []).append(path)
    return [path for place in sorted(by_draft) for path in by_draft[place]]


#: What names of parameters mean; without regard to case, and to a trailing "s" or "_".
UNIFORM = """uniform uniform_prob uniform_sample uniform_rand uniform_random uniform_number uniform_noise rand_uniform
u_rand random_uniform uniform_value coin rand random_number acceptance_uniform accept_uniform"""
FINAL_UNIFORM = """final_uniform bonus_uniform final_coin resample_uniform residual_uniform recovered_uniform
correction_uniform uniform_sample_for_final_sampling coin_for_final_sampling final_rand"""
EXPONENTIAL = "noise exponential exponential_noise exp_noise expo exponential_sample exp_sample exponential_rand"
GUMBEL = "gumbel gumbel_noise gumbel_sample gumbel_rand"
NOISE_KINDS = {
    name: kind
    for kind, names in (
        ("uniforms", UNIFORM),
        ("final_uniforms", FINAL_UNIFORM),
        ("noise", EXPONENTIAL),
        ("gumbel", GUMBEL),
    )
    for name in names.split()
}
#: The words for each kind in reports.
NOISE_WORDS = {
    "uniforms": "a uniform number for every draft",
    "final_uniforms": "one uniform number",
    "noise": "an exponential number for every token",
    "gumbel": "a Gumbel number for every token",
}


def kind_of(name: str) -> str | None:
    """Which random numbers a parameter of this name wants: of `NOISE_KINDS`; None for any other."""
    return NOISE_KINDS.get(name.lower().rstrip("_").removesuffix("s").rstrip("_"))


def noise(uniforms: Callable[[Call], tuple[int, ...]], axes: Callable[[Call], tuple[int, ...]]) -> dict[str, Maker]:
    """What makes the random numbers of each kind. uniforms: the shape of one for every draft; axes: of requests."""

    def maker(kind: str) -> Maker:
        def make(call: Call) -> Any:
            shape = {"uniforms": uniforms(call), "final_uniforms": axes(call)}.get(kind, (*axes(call), call.size))
            drawn = {"noise": "exponential", "gumbel": "gumbel"}.get(kind, "uniform")
            return call.coins.numbers(drawn, shape, call.rows.library, call.rows.dtype)

        return make

    return {kind: maker(kind) for kind in NOISE_WORDS}


#: For one request with a tree.
NOISE_OF_TREE = noise(lambda call: (sum(len(node.children) for node in nodes_of(call.root)),), lambda call: ())
