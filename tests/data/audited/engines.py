"""Verifiers with the signatures of engines' own, right ones and twins with one bug each: rows of torch."""

import itertools

import torch

NONE = -1


def drawn(row):
    return int(torch.multinomial(row, 1))


def judged(tokens, q, p, residual):
    """Token-by-token verification; the correction, or None where everything is accepted."""
    for i, token in enumerate(tokens):
        if torch.rand((), dtype=p.dtype) * q[i, token] >= p[i, token]:
            return i, drawn(residual(p[i], q[i]))
    return len(tokens), None


def excess(p, q):
    return (p - q).clamp(min=0)


def target(p, q):
    return p


def vllm(residual, shift=0):
    def rejection_sample(
        draft_token_ids, num_draft_tokens, max_spec_len, cu_num_draft_tokens, draft_probs, target_probs,
        bonus_token_ids, sampling_metadata,
    ):  # fmt: skip
        assert not sampling_metadata.all_greedy
        output = torch.full((len(num_draft_tokens), max_spec_len + 1), NONE)
        for request, length in enumerate(num_draft_tokens):
            own = slice(int(cu_num_draft_tokens[request]) - length, int(cu_num_draft_tokens[request]))
            tokens = draft_token_ids[own].tolist()
            q = draft_probs.roll(shift, 0)[own]
            accepted, token = judged(tokens, q, target_probs[own], residual)
            output[request, :accepted] = torch.tensor(tokens[:accepted], dtype=torch.int64)
            output[request, accepted] = bonus_token_ids[request, 0] if token is None else token
        return output

    return rejection_sample


vllm_right, vllm_wrong, vllm_shifted_wrong = vllm(excess), vllm(target), vllm(excess, shift=1)


def vllm_forward_right(metadata, draft_probs, logits, sampling_metadata):
    """The bonus token is drawn inside, from its row of the logits."""
    assert len(sampling_metadata.output_token_ids) == len(metadata.num_draft_tokens)
    assert not sampling_metadata.logitsprocs.non_argmax_invariant
    target_probs = logits[metadata.target_logits_indices].softmax(-1)
    bonus = logits[metadata.bonus_logits_indices].softmax(-1)
    return vllm_right(
        metadata.draft_token_ids, metadata.num_draft_tokens, metadata.max_spec_len, metadata.cu_num_draft_tokens,
        draft_probs, target_probs, torch.tensor([[drawn(row)] for row in bonus]), sampling_metadata,
    )  # fmt: skip


def vllm_v2(bonus):
    def rejection_sample(
        target_logits, draft_logits, draft_sampled, cu_num_logits, pos, idx_mapping, expanded_idx_mapping,
        expanded_local_pos, temperature, seed, num_speculative_steps,
    ):  # fmt: skip
        sampled = torch.full((len(idx_mapping), num_speculative_steps + 1), 0)
        counts = torch.zeros(len(idx_mapping), dtype=torch.int32)
        ends = cu_num_logits.tolist()
        for request, (start, end) in enumerate(itertools.pairwise(ends)):
            assert (expanded_idx_mapping[start:end] == request).all()
            assert pos[start:end].diff().tolist() == expanded_local_pos[start:end].diff().tolist()
            p, q = target_logits[start:end].softmax(-1), draft_logits[request, : end - start - 1].softmax(-1)
            tokens = draft_sampled[start + 1 : end].tolist()
            accepted, token = judged(tokens, q, p, excess)
            sampled[request, :accepted] = torch.tensor(tokens[:accepted], dtype=torch.int64)
            sampled[request, accepted] = drawn(bonus(p)) if token is None else token
            counts[request] = accepted + 1
        return sampled, counts

    return rejection_sample


vllm_v2_right, vllm_v2_wrong = vllm_v2(lambda p: p[-1]), vllm_v2(lambda p: p[0])


def vllm_v2_compared_right(target_sampled, draft_sampled, cu_num_logits, num_speculative_steps):
    """Drafts are compared with tokens that were sampled from the target."""
    starts = cu_num_logits.tolist()
    sampled, counts = torch.zeros(len(starts) - 1, num_speculative_steps + 1, dtype=torch.int64), []
    for request, (start, end) in enumerate(itertools.pairwise(starts)):
        same = (target_sampled[start : end - 1] == draft_sampled[start + 1 : end]).long()
        counts.append(int(same.cumprod(0).sum()) + 1)
        sampled[request, : end - start] = target_sampled[start:end]
    return sampled, torch.tensor(counts)


def sglang(forgotten):
    """forgotten: whether tokens that were rejected may be drawn after all."""

    def tree_speculative_sampling_target_only(
        predicts, accept_index, accept_token_num, candidates, retrive_index, retrive_next_token,
        retrive_next_sibling, uniform_samples, uniform_samples_for_final_sampling, target_probs, draft_probs,
        threshold_single=1.0, threshold_acc=1.0, deterministic=True,
    ):  # fmt: skip
        for b in range(len(candidates)):
            slot, accepted = 0, 0
            accept_index[b, 0] = retrive_index[b, 0]
            while True:
                coin, below = uniform_samples[b, slot], 0
                child = int(retrive_next_token[b, slot])
                while child != NONE:
                    token = int(candidates[b, child])
                    below = below + target_probs[b, slot, token]
                    if coin < below:
                        break
                    draft_probs[b, slot, token] = 0 if forgotten else target_probs[b, slot, token]
                    child = int(retrive_next_sibling[b, child])
                if child == NONE:
                    break
                predicts[retrive_index[b, slot]] = token
                slot, accepted = child, accepted + 1
                accept_index[b, accepted] = retrive_index[b, slot]
            left = (target_probs[b, slot] - draft_probs[b, slot]).clamp(min=0).cumsum(0)
            coin = uniform_samples_for_final_sampling[b] * left[-1]
            predicts[retrive_index[b, slot]] = torch.searchsorted(left, coin, right=True)
            accept_token_num[b] = accepted

    return tree_speculative_sampling_target_only


sglang_right, sglang_wrong = sglang(False), sglang(True)


def sglang_chain(residual):
    def chain_speculative_sampling(
        predicts, accept_index, accept_token_num, candidates, retrieve_index, uniform_samples,
        uniform_samples_for_final_sampling, target_probs, draft_probs,
    ):  # fmt: skip
        for b in range(len(candidates)):
            p, q = target_probs[b], draft_probs[b]
            accepted, drafts = 0, candidates[b].tolist()[1:]
            for coin, token in zip(uniform_samples[b], drafts, strict=False):
                if coin * q[accepted, token] >= p[accepted, token]:
                    break
                predicts[retrieve_index[b, accepted]] = token
                accepted += 1
            left = residual(p[accepted], q[accepted]).cumsum(0)
            coin = uniform_samples_for_final_sampling[b] * left[-1]
            predicts[retrieve_index[b, accepted]] = torch.searchsorted(left, coin, right=True)
            accept_index[b, : accepted + 1] = retrieve_index[b, : accepted + 1]
            accept_token_num[b] = accepted

    return chain_speculative_sampling


sglang_chain_right, sglang_chain_wrong = sglang_chain(excess), sglang_chain(target)


def transformers(residual):
    def _speculative_sampling(candidate_input_ids, candidate_logits, candidate_length, new_logits, is_done_candidate):
        p, q = new_logits.softmax(-1)[0], candidate_logits.softmax(-1)[0]
        tokens = candidate_input_ids[0, -candidate_length:].tolist()
        accepted, token = judged(tokens, q, p, residual)
        return torch.tensor([[*tokens[:accepted], drawn(p[-1]) if token is None else token]]), accepted

    return _speculative_sampling


transformers_right, transformers_wrong = transformers(excess), transformers(target)


def eagle(removed):
    """Every candidate was chosen for certain. removed: whether a rejected one may not come after all."""

    def evaluate_posterior(logits, candidates, logits_processor):
        p = logits_processor(None, logits).softmax(-1)
        best, length = 0, 0
        while True:
            row, tried = p[best, length].clone(), set()
            shared = (candidates[:, : length + 1] == candidates[best, : length + 1]).all(1).nonzero()[:, 0].tolist()
            following = None
            for place in shared if length + 1 < candidates.shape[1] else ():
                token = int(candidates[place, length + 1])
                if token in tried or token == NONE:
                    continue
                tried.add(token)
                if torch.rand((), dtype=p.dtype) < row[token]:
                    following = place
                    break
                if removed:
                    row[token] = 0
                    row = row / row.sum()
            if following is None:
                return torch.tensor(best), length, row
            best, length = following, length + 1

    return evaluate_posterior


eagle_right, eagle_wrong = eagle(True), eagle(False)


def eagle_sampled(earlier):
    """Siblings are drawn without replacement. earlier: whether q forgets the earlier ones."""

    def evaluate_posterior(
        logits, candidates, logits_processor, cart_candidates_prob, op, p_indices, tree_candidates, b_indices
    ):
        p = logits_processor(None, logits).softmax(-1)
        best, length = 0, 0
        while True:
            row, tried = p[best, length].clone(), set()
            shared = (candidates[:, : length + 1] == candidates[best, : length + 1]).all(1).nonzero()[:, 0].tolist()
            following = None
            for place in shared if length + 1 < candidates.shape[1] else ():
                token = int(candidates[place, length + 1])
                if token in tried or token == NONE:
                    continue
                tried.add(token)
                if torch.rand((), dtype=p.dtype) * cart_candidates_prob[place, length + 1] < row[token]:
                    following = place
                    break
                q = op[length][p_indices[place][length + 1]].clone()
                if earlier and b_indices[place][length + 1]:
                    q[tree_candidates[0][b_indices[place][length + 1]]] = 0
                row = (row - q / q.sum()).clamp(min=0)
                row = row / row.sum()
            if following is None:
                return best, length, row
            best, length = following, length + 1

    return evaluate_posterior


eagle_sampled_right, eagle_sampled_wrong = eagle_sampled(True), eagle_sampled(False)


def rejected_indices(draft_probs, target_probs, generator, draft_tokens):
    tokens = torch.tensor(draft_tokens)
    places = torch.arange(len(tokens))
    ratios = target_probs[places, tokens] / draft_probs[places, tokens]
    return (torch.rand(len(tokens), generator=generator, dtype=ratios.dtype) > ratios).nonzero()


def tensorrt_llm(residual):
    def verify(draft_probs, target_probs, generator, draft_tokens, new_token):
        rejected = rejected_indices(draft_probs, target_probs, generator, draft_tokens)
        if len(rejected) == 0:
            return len(draft_tokens), new_token
        first = int(rejected[0])
        left = residual(target_probs[first], draft_probs[first])
        return first, torch.multinomial(left, num_samples=1, generator=generator).item()

    return verify


tensorrt_llm_right, tensorrt_llm_wrong = tensorrt_llm(excess), tensorrt_llm(target)


def one_model(residual):
    def rejection_sampling_one_model(draft_probs, draft_token_ids, target_probs, deterministic=True, seed=None):
        accepted, token = judged(draft_token_ids[0].tolist(), draft_probs[0], target_probs[0], residual)
        token = drawn(target_probs[0, -1]) if token is None else token
        tokens = torch.full((1, draft_token_ids.shape[1] + 1), NONE)
        tokens[0, :accepted], tokens[0, accepted] = draft_token_ids[0, :accepted], token
        return tokens, torch.tensor([accepted + 1])

    return rejection_sampling_one_model


one_model_right, one_model_wrong = one_model(excess), one_model(target)
