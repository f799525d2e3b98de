"""Rejection samplers in JAX: eager, compiled with loops of `lax`, and by blocks; each wrong one has a right twin."""

import functools

import jax
import jax.numpy as jnp


def drawn(key, row):
    return jax.random.categorical(key, jnp.log(row))


def token_wise(key, tokens, q, p, ratio, correction):
    for i, token in enumerate(tokens):
        key, accept, resample = jax.random.split(key, 3)
        if jax.random.uniform(accept) >= ratio(p[i, token], q[i, token]):
            return i, correction(accept, resample, jnp.maximum(p[i] - q[i], 0))
    return len(tokens), drawn(jax.random.fold_in(key, 7), p[-1])


def right(tokens, q, p, key):
    return token_wise(key, tokens, q, p, lambda p, q: p / q, lambda used, fresh, row: drawn(fresh, row))


def key_used_twice(tokens, q, p, key):
    return token_wise(key, tokens, q, p, lambda p, q: p / q, lambda used, fresh, row: drawn(used, row))


def swapped(tokens, q, p, key):
    return token_wise(key, tokens, q, p, lambda p, q: q / p, lambda used, fresh, row: drawn(fresh, row))


def inverted(key, row):
    """For rows that sum to 1."""
    return jnp.minimum(jnp.searchsorted(jnp.cumsum(row), jax.random.uniform(key), side="right"), row.size - 1)


def not_renormalised(tokens, q, p, key):
    return token_wise(key, tokens, q, p, lambda p, q: p / q, lambda used, fresh, row: inverted(fresh, row))


def renormalised(tokens, q, p, key):
    return token_wise(key, tokens, q, p, lambda p, q: p / q, lambda used, fresh, row: inverted(fresh, row / row.sum()))


@functools.partial(jax.jit, static_argnames="one_key")
def looped(rng, tokens, q, p, one_key=False):
    """Compiled; the output is padded with -1. one_key: the coins of all places are one."""
    count = len(tokens)

    def going(state):
        place, accepted = state
        return accepted & (place < count)

    def step(state):
        place, _ = state
        coin = jax.random.uniform(jax.random.fold_in(rng, 0 if one_key else place))
        accepted = coin * q[place, tokens[place]] < p[place, tokens[place]]
        return place + accepted, accepted

    place, accepted = jax.lax.while_loop(going, step, (jnp.int32(0), True))
    row = jax.lax.cond(accepted, lambda: p[place], lambda: jnp.maximum(p[place] - q[jnp.minimum(place, count - 1)], 0))
    token = jnp.argmax(jnp.log(row) + jax.random.gumbel(jax.random.fold_in(rng, count), row.shape))
    places = jnp.arange(count + 1)
    padded = jnp.append(tokens, 0)
    return jnp.where(places < place, padded, jnp.where(places == place, token, -1))


def coins_shared(rng, tokens, q, p):
    return looped(rng, tokens, q, p, one_key=True)


@functools.partial(jax.jit, static_argnames="capped")
def block(key, tokens, q, p, capped=True):
    """Block verification, with `scan` over the places and a coin for each."""
    count = len(tokens)
    key, last = jax.random.split(key)
    coins = jax.random.uniform(key, (count,))

    def step(state, each):
        weight, best, kept = state
        place, token, here, there, row, other, coin = each
        weight = weight * here[token] / there[token]
        if capped:
            weight = jnp.minimum(weight, 1)
        stop = jnp.minimum(weight, 1)
        spare = jnp.maximum(weight * row - other, 0).sum()
        stop = jnp.where(place < count - 1, spare / jnp.maximum(spare + 1 - stop, 1e-30), stop)
        longer = coin < stop
        best = jnp.where(longer, place + 1, best)
        return (weight, best, jnp.where(longer, jnp.minimum(weight, 1), kept)), None

    following = jnp.concatenate([q[1:], jnp.zeros_like(q[:1])])
    rows = (jnp.arange(count), tokens, p[:-1], q, p[1:], following, coins)
    (_, best, kept), _ = jax.lax.scan(step, (1.0, 0, 1.0), rows)
    drafted = jnp.concatenate([q, jnp.zeros_like(q[:1])])[best]
    token = jax.random.categorical(last, jnp.log(jnp.maximum(kept * p[best] - drafted, 0)))
    return best, token


def block_uncapped(key, tokens, q, p):
    return block(key, tokens, q, p, capped=False)


def single_precision(tokens, q, p, key):
    return right(tokens, q.astype(jnp.float32), p.astype(jnp.float32), key)


@jax.jit
def single_inside(key, tokens, q, p):
    """Compiled, in a lower precision."""
    return block(key, tokens, jnp.asarray(q, jnp.float32), jnp.asarray(p, jnp.float32))


def own_seed(tokens, q, p):
    return right(tokens, q, p, jax.random.PRNGKey(0))


def many_at_once(tokens, q, p, key):
    """All places at once, by `vmap`."""
    first, last = jax.random.split(key)
    keys = jax.random.split(first, len(tokens))
    accepted = jax.vmap(lambda key, token, q, p: jax.random.uniform(key) < p[token] / q[token])(keys, tokens, q, p[:-1])
    count = int(jnp.cumprod(accepted).sum())
    row = p[count] if count == len(tokens) else jax.nn.relu(p[count] - q[count])
    return count, jax.random.choice(last, row.size, p=row / row.sum())


def normal_noise(tokens, q, p, key):
    return right(tokens, q, p, key if jax.random.normal(key) < 0 else jax.random.key(1))
