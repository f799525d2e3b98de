"""Choosers of the tree of every block: the network of a selector, or a policy of one's own."""

from collections.abc import Callable, Sequence

from draftproof.experiments.inputs.policies import UserPolicy
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.models.loop.choosing import BlockStart
from draftproof.experiments.models.selector.features import network_inputs
from draftproof.experiments.models.selector.network import SelectorNetwork
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.policies.policy import Action


def by_network(network: SelectorNetwork, sampling: Sampling) -> Callable[[BlockStart], int]:
    """Chooses the most probable action of a network."""
    return lambda start: int(network.choices(network_inputs([start], sampling, network.widths))[0])


def by_function(policy: UserPolicy, named: NamedVerifier, schemes: Sequence[Delayed]) -> Callable[[BlockStart], int]:
    """A user-defined policy; the chooser raises `InvalidInput` where it chooses none of these actions."""
    actions = [Action(scheme, named.verifier) for scheme in schemes]
    return lambda start: policy.position(start.known, actions)
