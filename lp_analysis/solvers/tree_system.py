"""The normal equations of the linear program of `rows`, factorised along the tree.

The normal matrix `A' W A` couples each node with its parent only, and with the unknowns `b` of its trunk's cells (the
linear pieces of `g`): the unknowns of one node are eliminated after those of its children, all nodes of a depth at
once. What is left is dense and small: `b` of each trunk, then the nodes of the trunks. Notation as in `rows`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # what is used of it is loaded at its first use

from draftproof.lp_analysis.solvers.rows import Constraints, LevelRows, Unknowns


@dataclass
class _Depth:
    """What the elimination of the nodes of depth `d` leaves for the solves; shape `(V**d,)`, `above`: `(V**(d-1),)`.

    First `pi` of a node is eliminated, `pivot pi + c1 t - c2 pi(parent) = ..`, then `t`, `A t + B pi(parent) = ..`.
    """

    weight: Any  # of constraint i, after the children
    fold: Any  # sum_y p B / A over the children
    pivot: Any  # the coefficients of the two equations
    c1: Any
    c2: Any
    A: Any
    B: Any
    above: Any  # sum_y p^2 / A over siblings


class TreeSystem:
    """`factor` for the weights of a step, then `solve` for any right side."""

    def __init__(self, rows: LevelRows) -> None:
        self.rows = rows

    def factor(self, weights: Constraints) -> None:
        """Eliminate leaves to trunks; keeps what `solve` needs. Raises `np.linalg.LinAlgError` where float64 cannot."""
        self.weights = weights
        W = weights.cells
        self.total = W.sum(2)
        self.mean = self.rows.law(W).reshape(self.rows.T, self.rows.N) / self.total
        centred = self.rows.slopes[:, None, :] - self.mean[:, :, None]
        coupling = W * centred
        S = laplacian(W, self.total)
        spread = (coupling * centred).sum(2).ravel()
        rest, columns = spread, coupling.reshape(-1, self.rows.M)
        fold: Any = np.zeros(self.rows.V**self.rows.L)
        offset: Any = None
        weight = weights.i[self.rows.at[self.rows.L]]
        self.levels: dict[int, _Depth] = {}
        for d in range(self.rows.L, self.rows.L1, -1):
            level, rest, columns, offset_next = self._eliminate(d, weight, fold, rest, columns, offset, S)
            self.levels[d], offset = level, offset_next
            fold = (self.rows.target[d - 1].ravel() * level.B / level.A).reshape(-1, self.rows.V).sum(1)
            if d - 1 > self.rows.L1:
                w = weights.i[self.rows.at[d - 1]]
                weight = w / (1 + w * level.above)
        self._top(S, rest, fold, columns, offset)

    def _gram(self, columns: Any, weight: Any) -> Any:
        scaled = (columns * np.sqrt(weight)[:, None]).reshape(self.rows.T, -1, self.rows.M)
        return np.matmul(scaled.transpose(0, 2, 1), scaled)

    def _eliminate(
        self, d: int, weight: Any, fold: Any, rest: Any, columns: Any, offset: Any, S: Any
    ) -> tuple[_Depth, Any, Any, Any]:
        """Eliminate `pi`, then `t`, of the nodes of depth `d`; their contribution to the cells is added to `S`.

        rho: the entries of the cells in the equations of `pi`. f: those of `t` after that. k: those of `pi(parent)`,
        whose own coefficient is `E`.
        """
        w2, w3 = self.weights.ii[self.rows.at[d]], self.weights.iii[self.rows.at[d]]
        c1 = weight * (1 + fold)
        c2 = c1 + w3
        pivot = c1 * (1 + fold) + w3 + rest
        rho = columns if offset is None else columns + c1[:, None] * offset
        free = w3 + rest  # the weight of `pi` outside constraint i
        joint = 1 / (1 / weight + 1 / w2 + (1 + fold) ** 2 / free)
        shift = -((1 + fold) / free)[:, None] * columns
        S += self._gram(shift if offset is None else shift + offset, joint) - self._gram(columns, 1 / free)
        A = weight * free / pivot + w2
        B = weight * (fold * w3 - rest) / pivot
        E = ((weight + w3) * rest + weight * w3 * fold * fold) / pivot
        f, k = -(c1 / pivot)[:, None] * rho, (c2 / pivot)[:, None] * rho
        if offset is not None:
            f += weight[:, None] * offset
            k -= weight[:, None] * offset
        p = self.rows.target[d - 1].ravel()
        by_parent = (-1, self.rows.V)
        above = (p * p / A).reshape(by_parent).sum(1)
        rest = ((weight * w3 * rest / pivot + w2 * E) / A).reshape(by_parent).sum(1)
        columns = (k - (B / A)[:, None] * f).reshape(*by_parent, self.rows.M).sum(1)
        offset = ((p / A)[:, None] * f).reshape(*by_parent, self.rows.M).sum(1)
        return _Depth(weight, fold, pivot, c1, c2, A, B, above), rest, columns, offset

    def _top(self, S: Any, rest: Any, fold: Any, columns: Any, offset: Any) -> None:
        """Factorise the cells of each trunk, then the trunk nodes and `sigma = sum_y p(y|trunk) t(y)`."""
        self.fold_top = fold
        if self.rows.L1 == 0:
            self.inner = [cholesky(S[0][:-1, :-1])]
            return
        scale = self.levels[self.rows.L1 + 1].above
        S = S + offset[:, :, None] * offset[:, None, :] / scale[:, None, None]
        self.inner = [cholesky(block[:-1, :-1]) for block in S]
        cross = np.stack([-offset / scale[:, None], -fold[:, None] * offset / scale[:, None] - columns], axis=1)
        self.cross = cross[:, :, :-1]
        corner = np.empty((self.rows.T, 2, 2))
        corner[:, 0, 0] = 1 / scale
        corner[:, 0, 1] = corner[:, 1, 0] = fold / scale
        corner[:, 1, 1] = fold * fold / scale + rest
        self._top_rows()
        weights = np.concatenate([part[: self.m] for part in self.weights[:3]])
        H = (self.top_matrix.T * weights) @ self.top_matrix
        for trunk, block in enumerate(self.inner):
            left = corner[trunk] - self.cross[trunk] @ scipy.linalg.cho_solve(block, self.cross[trunk].T)
            H[np.ix_(self.at_trunk[trunk], self.at_trunk[trunk])] += left
        self.outer = cholesky(H)

    def _top_rows(self) -> None:
        """Constraints i to iii of the trunk nodes over their `t`, `pi` and the trunks' `sigma`, as a dense matrix."""
        m = self.m = self.rows.at[self.rows.L1].stop
        rows = np.zeros((3 * m, 2 * m + self.rows.T))
        for d in range(1, self.rows.L1 + 1):
            for index in range(self.rows.V**d):
                c = self.rows.at[d].start + index
                rows[c, [c, m + c]] = 1
                rows[m + c, c] = 1
                rows[2 * m + c, m + c] = 1
                if d > 1:
                    parent = self.rows.at[d - 1].start + index // self.rows.V
                    rows[[c, 2 * m + c], m + parent] = -1
                if d < self.rows.L1:
                    below = self.rows.at[d + 1].start + index * self.rows.V
                    rows[c, below : below + self.rows.V] = -self.rows.target[d][index]
                else:
                    rows[c, 2 * m + index] = -1
        self.top_matrix = rows
        first = self.rows.at[self.rows.L1].start
        self.at_trunk = [[2 * m + trunk, m + first + trunk] for trunk in range(self.rows.T)]

    def solve(self, right: Unknowns) -> Unknowns:
        """The solution of `A' W A x = right`; the last cell of each trunk has `b = 0` (levels have no origin)."""
        zero = np.zeros(self.rows.T)
        no_cells = np.zeros((self.rows.T, self.rows.M))
        x, eta, slope = self._below(right, no_cells, zero, zero)
        leaves = x.pi[self.rows.at[self.rows.L]].reshape(self.rows.T, 1, self.rows.N)
        W = self.weights.cells
        flow = np.matmul(x.a[:, None, :], W) - np.matmul(leaves, W) * self.rows.slopes[:, None, :]
        wanted = (right.b - flow[:, 0, :])[:, :-1]
        b = np.zeros((self.rows.T, self.rows.M))
        if self.rows.L1 == 0:
            b[0, :-1] = scipy.linalg.cho_solve(self.inner[0], wanted[0])
            return self._below(right, b, zero, zero)[0]
        m = self.m
        outer_right = np.concatenate([right.t[:m], right.pi[:m], zero])
        for trunk, block in enumerate(self.inner):
            outer_right[self.at_trunk[trunk]] += -np.array([eta[trunk], slope[trunk]]) - self.cross[
                trunk
            ] @ scipy.linalg.cho_solve(block, wanted[trunk])
        y = scipy.linalg.cho_solve(self.outer, outer_right)
        for trunk, block in enumerate(self.inner):
            b[trunk, :-1] = scipy.linalg.cho_solve(block, wanted[trunk] - y[self.at_trunk[trunk]] @ self.cross[trunk])
        first = m + self.rows.at[self.rows.L1].start
        x = self._below(right, b, y[2 * m :], y[first : first + self.rows.T])[0]
        x.t[:m], x.pi[:m] = y[:m], y[m : 2 * m]
        return x

    def _below(self, right: Unknowns, b: Any, sigma: Any, trunk_pi: Any) -> tuple[Unknowns, Any, Any]:
        """Unknowns below the trunks for given cells and trunks, and their derivatives by `sigma` and `trunk_pi`."""
        Wb = self.weights.cells * b[:, None, :]
        a_right = right.a - Wb.sum(2)
        pi_right = right.pi[self.rows.at[self.rows.L]] + self.rows.law(Wb) + (a_right * self.mean).ravel()
        offset: Any = 0.0
        kept: dict[int, tuple[Any, Any, Any]] = {}
        for d in range(self.rows.L, self.rows.L1, -1):
            level = self.levels[d]
            rho = pi_right + level.c1 * offset
            f = right.t[self.rows.at[d]] - level.c1 / level.pivot * rho + level.weight * offset
            k = level.c2 / level.pivot * rho - level.weight * offset
            kept[d] = (rho, f, offset)
            p = self.rows.target[d - 1].ravel()
            offset = (p / level.A * f).reshape(-1, self.rows.V).sum(1)
            pi_right = (k - level.B / level.A * f).reshape(-1, self.rows.V).sum(1)
            if d - 1 > self.rows.L1:
                pi_right = pi_right + right.pi[self.rows.at[d - 1]]
        eta, slope = self._trunk_derivatives(sigma, trunk_pi, offset, pi_right)
        t, pi = np.zeros(self.rows.n), np.zeros(self.rows.n)
        above_pi, t_shift = trunk_pi, eta
        for d in range(self.rows.L1 + 1, self.rows.L + 1):
            level, (rho, f, _) = self.levels[d], kept[d]
            parent = np.repeat(above_pi, self.rows.V)
            p = self.rows.target[d - 1].ravel()
            now_t = t[self.rows.at[d]] = (f - level.B * parent + p * np.repeat(t_shift, self.rows.V)) / level.A
            now = pi[self.rows.at[d]] = (rho - level.c1 * now_t + level.c2 * parent) / level.pivot
            t_shift = level.weight * (now_t + now - parent - kept[d][2] + level.fold * now)
            above_pi = now
        a = a_right / self.total + self.mean * pi[self.rows.at[self.rows.L]].reshape(self.rows.T, self.rows.N)
        return Unknowns(t, pi, a, b), eta, slope

    def _trunk_derivatives(self, sigma: Any, trunk_pi: Any, offset: Any, pi_right: Any) -> tuple[Any, Any]:
        if self.rows.L1 == 0:
            return np.zeros(1), np.zeros(1)
        eta = (sigma - offset + self.fold_top * trunk_pi) / self.levels[self.rows.L1 + 1].above
        return eta, self.fold_top * eta - pi_right


def laplacian(W: Any, total: Any) -> Any:
    """`diag(sum_x W) - sum_x W_j W_k / total` of every trunk, its diagonal summed from the rest: nothing cancels."""
    R = W / np.sqrt(total)[:, :, None]
    S = -np.matmul(R.transpose(0, 2, 1), R)
    diagonal = np.arange(W.shape[2])
    S[:, diagonal, diagonal] = 0
    S[:, diagonal, diagonal] = -S.sum(2)
    return S


def cholesky(matrix: Any) -> Any:
    """The factors of a positive matrix; where rounding has made it indefinite, with a little more diagonal.

    Directions are inexact then, which the next step corrects. Raises `np.linalg.LinAlgError` beyond a share of 1e-8.
    """
    scale = np.diagonal(matrix).copy()
    for share in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        try:
            return scipy.linalg.cho_factor(matrix + np.diag(share * scale), lower=True)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("float64 cannot factorise the normal equations")
