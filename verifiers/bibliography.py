"""The papers that cards and docstrings refer to, by key."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

BIBLIOGRAPHY: Mapping[str, str] = MappingProxyType(
    {
        "leviathan2023fast": (
            "Leviathan, Kalman, Matias. Fast inference from transformers via speculative decoding. "
            "ICML 2023, arXiv:2211.17192."
        ),
        "chen2023accelerating": (
            "Chen, Borgeaud, Irving, Lespiau, Sifre, Jumper. Accelerating large language model decoding with "
            "speculative sampling. 2023, arXiv:2302.01318."
        ),
        "miao2024specinfer": (
            "Miao et al. SpecInfer: accelerating large language model serving with tree-based speculative inference "
            "and verification. ASPLOS 2024, arXiv:2305.09781."
        ),
        "sun2024block": (
            "Sun, Mendlovic, Leviathan, Aharoni, Ro, Beirami, Suresh. Block verification accelerates speculative "
            "decoding. ICLR 2025, arXiv:2403.10444."
        ),
        "weng2025traversal": (
            "Weng, Hu, Chen, Liu, Mei, Qiu, Tian, Shi. Traversal verification for speculative tree decoding. "
            "NeurIPS 2025, arXiv:2505.12398."
        ),
        "witten1991zero": (
            "Witten, Bell. The zero-frequency problem: estimating the probabilities of novel events in adaptive text "
            "compression. IEEE Transactions on Information Theory 37(4), 1991."
        ),
    }
)
