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
        "sun2023spectr": (
            "Sun, Suresh, Ro, Beirami, Jain, Yu. SpecTr: fast speculative decoding via optimal transport. "
            "NeurIPS 2023, arXiv:2310.15141."
        ),
        "khisti2025multi": (
            "Khisti, Ebrahimi, Dbouk, Behboodi, Memisevic, Louizos. Multi-draft speculative sampling: canonical "
            "decomposition and theoretical limits. ICLR 2025, arXiv:2410.18234."
        ),
        "hu2025towards": ("Hu et al. Towards optimal multi-draft speculative decoding. ICLR 2025, arXiv:2502.18779."),
        "hu2024accelerated": ("Hu, Huang. Accelerated speculative sampling based on tree Monte Carlo. ICML 2024."),
        "thomas2026greedy": "Thomas, Pal. Greedy multi-path block verification for speculative decoding. 2026.",
        "zhou2026overcoming": (
            "Zhou, Huang, Li, Wu, Wang, Zhang, Lin, Cheng. Overcoming joint intractability with lossless hierarchical "
            "speculative decoding. 2026, arXiv:2601.05724."
        ),
        "cha2026layer": "Cha, Cho, Yun. Layer verification for speculative decoding. Workshop paper, 2026.",
        "fujishige1980lexicographically": (
            "Fujishige. Lexicographically optimal base of a polymatroid with respect to a weight vector. "
            "Mathematics of Operations Research 5(2), 1980."
        ),
        "jeon2024recursive": (
            "Jeon, Gagrani, Goel, Park, Lee, Lott. Recursive speculative decoding: accelerating LLM inference via "
            "sampling without replacement. 2024, arXiv:2402.14160."
        ),
        "rheo2026resolving": (
            "RheoSampling: resolving the one-hot dilemma in stochastic dynamic-tree speculative decoding. 2026, "
            "arXiv:2609.21827."
        ),
        "li2025training": (
            "Li, Xu, Li, Yang, Xu, Yin, Li, Ngai, Barsoum. Training-free loosely speculative decoding: accepting "
            "semantically correct drafts beyond exact match. 2025, arXiv:2511.22972."
        ),
        "zhang2027secure": (
            "Zhang, Wang, Gong, Yang. Secure speculative decoding for large language models. IEEE S&P 2027."
        ),
        "xiong2024dyspec": (
            "Xiong et al. DySpec: faster speculative decoding with dynamic token tree structure. 2024, "
            "arXiv:2410.11744."
        ),
        "chen2024sequoia": (
            "Chen et al. Sequoia: scalable, robust, and hardware-aware "
            "speculative decoding. NeurIPS 2024, arXiv:2402.12374."
        ),
        "sun2024spechub": (
            "Sun et al. SpecHub: provable acceleration to multi-draft speculative decoding. "
            "EMNLP 2024, arXiv:2411.05289."
        ),
        "li2024eagle": (
            "Li, Wei, Zhang, Zhang. EAGLE-2: faster inference of language models with dynamic draft trees. EMNLP 2024, "
            "arXiv:2406.16858."
        ),
        "shi2026specblock": (
            "Shi, Xu, Deng, Wu, Liu, Xu, Chen, Zhu, Xu, Huang, Yang, Zhou. SpecBlock: block-iterative speculative "
            "decoding with dynamic tree drafting. 2026, arXiv:2605.07243."
        ),
        "wang2024opt": (
            "Wang et al. OPT-Tree: speculative decoding with adaptive draft tree structure. 2024, arXiv:2406.17276."
        ),
        "brown2024dynamic": (
            "Brown et al. Dynamic depth decoding: faster speculative decoding for LLMs. 2024, arXiv:2409.00142."
        ),
        "cai2024medusa": (
            "Cai, Li, Geng, Peng, Lee, Chen, Dao. Medusa: simple LLM inference acceleration framework with multiple "
            "decoding heads. ICML 2024, arXiv:2401.10774."
        ),
        "zheng2024sglang": (
            "Zheng et al. SGLang: efficient execution of structured language model programs. NeurIPS 2024, "
            "arXiv:2312.07104; the options are those of its kernels."
        ),
        "wang2026diversed": (
            "Wang, Kasa, M S, Kasa, Zou, Negi, Zhang, Jiang, Song. DIVERSED: relaxed speculative decoding via dynamic "
            "ensemble verification. AISTATS 2026, arXiv:2604.07622."
        ),
        "fu2025fast": (
            "Fu, Jiang, Chen, Fan, Geng, Yang. Fast large language model collaborative decoding via speculation. "
            "ICML 2025, arXiv:2502.01662."
        ),
        "narasimhan2025faster": (
            "Narasimhan, Jitkrittum, Rawat, Kim, Gupta, Menon, Kumar. Faster cascades via speculative decoding. "
            "ICLR 2025, arXiv:2405.19261."
        ),
        "hao2026cactus": (
            "Hao, Mou. Cactus: accelerating auto-regressive decoding with constrained acceptance speculative sampling. "
            "ICLR 2026, arXiv:2604.04987."
        ),
        "holsman2025fuzzy": (
            "Holsman, Huang, Dhingra. Fuzzy speculative decoding for a tunable accuracy-runtime tradeoff. Findings of "
            "ACL 2025, arXiv:2502.20704."
        ),
        "tranthien2023optimal": (
            "Tran-Thien. An optimal lossy variant of speculative decoding. 2023, a post on huggingface.co/blog."
        ),
        "holtzman2020curious": (
            "Holtzman, Buys, Du, Forbes, Choi. The curious case of neural text degeneration. ICLR 2020, "
            "arXiv:1904.09751."
        ),
        "nguyen2025turning": (
            "Nguyen, Baker, Neo, Roush, Kirsch, Shwartz-Ziv. Turning up the heat: min-p sampling for creative and "
            "coherent LLM outputs. ICLR 2025, arXiv:2407.01082."
        ),
        "hewitt2022truncation": (
            "Hewitt, Manning, Liang. Truncation sampling as language model desmoothing. Findings of EMNLP 2022, "
            "arXiv:2210.15191."
        ),
        "daliri2024coupling": (
            "Daliri, Musco, Suresh. Coupling without communication and drafter-invariant speculative decoding. 2024, "
            "arXiv:2408.07978."
        ),
        "rowan2025list": (
            "Rowan, Phan, Khisti. List-level distribution coupling with applications to speculative decoding and lossy "
            "compression. NeurIPS 2025, arXiv:2506.05632."
        ),
        "border1991implementation": (
            "Border. Implementation of reduced form auctions: a geometric approach. Econometrica 59(4), 1991."
        ),
        "witten1991zero": (
            "Witten, Bell. The zero-frequency problem: estimating the probabilities of novel events in adaptive text "
            "compression. IEEE Transactions on Information Theory 37(4), 1991."
        ),
        "timor2025accelerating": (
            "Timor, Mamou, Korat, Berchansky, Jain, Pereg, Wasserblat, Harel. Accelerating LLM inference with lossless "
            "speculative decoding algorithms for heterogeneous vocabularies. ICML 2025, arXiv:2502.05202."
        ),
    }
)
