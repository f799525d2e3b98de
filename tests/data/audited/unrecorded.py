"""Token-by-token verification with coins from elsewhere: refused, but where the source is known."""

import _random
import os
import random
import secrets
import ssl
import uuid

import numpy as np
import seeds

SYSTEM = random.SystemRandom()
IN_C = _random.Random(0)
BITS = np.random.PCG64(0)
NUMPY = np.random.default_rng(0)
PYTHON = random.Random(0)


def of_system(tokens, q, p):
    return seeds.chain(tokens, q, p, random.SystemRandom().random)


def of_system_made_once(tokens, q, p):
    return seeds.chain(tokens, q, p, SYSTEM.random)


def of_secrets(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: secrets.randbelow(2**30) / 2**30)


def of_urandom(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: int.from_bytes(os.urandom(4), "big") / 2**32)


def of_file(tokens, q, p):
    def coin():
        with open("/dev/urandom", "rb") as file:
            return int.from_bytes(file.read(4), "big") / 2**32

    return seeds.chain(tokens, q, p, coin)


def of_ssl(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: int.from_bytes(ssl.RAND_bytes(4), "big") / 2**32)


def of_uuid(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: uuid.uuid4().int / 2**128)


def of_raw(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: NUMPY.bit_generator.random_raw() / 2**64)


def of_bits(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: BITS.random_raw() / 2**64)


def of_bytes(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: int.from_bytes(NUMPY.bytes(4), "big") / 2**32)


def of_ctypes(tokens, q, p):
    raw = NUMPY.bit_generator.ctypes
    return seeds.chain(tokens, q, p, lambda: raw.next_double(raw.state))


def of_words(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: PYTHON.getrandbits(53) / 2**53)


def of_beta(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: PYTHON.betavariate(1, 1))


def of_base_class(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: super(random.Random, PYTHON).random())


def of_c(tokens, q, p):
    return seeds.chain(tokens, q, p, IN_C.random)


def of_randbelow(tokens, q, p):
    return seeds.chain(tokens, q, p, lambda: PYTHON._randbelow(8) / 8)
