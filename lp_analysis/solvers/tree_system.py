"""The normal equations of the linear program of `rows`, factorised along the tree.

The equation of a constraint `continued` joins the unknowns of siblings; with its multiplier `y` as one more unknown a
node meets its parent only (by `pi` and `y`), the price of bias, and the cells of its trunk. So nodes are eliminated
from the leaves up, all of one depth at once, each as `y`, `Z`, `pi`, and at the trunks their cells. The remaining
coefficients are written as sums of numbers of one sign where they are, so that little cancels.

*Columns* are the coefficients with the price of bias, first, and with the cells of the trunk, below the trunks.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # what is used of it is loaded at its first use

from draftproof.lp_analysis.solvers.rows import Constraints, Rows, Unknowns


@dataclass
class _Below:
    """What the elimination of the children leaves in the equations of their parents, shape `(V**d,)` and with columns.

    own: coefficient of `pi`. also: columns of `pi`. y: minus the coefficient of the parent's `y`. fold: that of `pi`
    in the equation of `y`. across: the columns of `y`.
    """

    own: Any
    also: Any
    y: Any
    fold: Any
    across: Any


@dataclass
class _Depth:
    """A depth above `L`, for the solves. r: 1 over the pivot of `y`. h, d: the pivots of `Z` and `pi`. up: the
    coefficient of `pi` with the parent's. columns: of `pi`, after `y` and `Z`.
    """

    below: _Below
    r: Any
    h: Any
    d: Any
    up: Any
    columns: Any


class TreeSystem:
    """`factor` for the weights of a step, then `solve` for any right side.

    Without a bias `pi` of the root, whose equation follows from the others, and the price of bias stay as they are.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.corner: Any = 0.0  # the coefficient of the price of bias, above the cells

    def factor(self, weights: Constraints) -> None:
        """Eliminate leaves to root. Raises `np.linalg.LinAlgError` where float64 cannot."""
        rows, self.weights = self.rows, weights
        self.short = weights.short if rows.biased else np.zeros(1)
        below = self._leaves()
        self.levels: dict[int, _Depth] = {}
        for d in range(rows.L - 1, -1, -1):
            if d == rows.L1:
                below = self._cells(below)
            if d:
                below = self._eliminate(d, below)
        if rows.biased:
            self.outer = cholesky(np.block([[below.own, below.also[:, 0]], [below.also[:, 0], self.corner]]))

    def _leaves(self) -> _Below:
        """Eliminate `a`, `z` and `pi` of the paths."""
        rows, w, W = self.rows, self.weights, self.weights.cells
        at = rows.at[rows.L]
        self.total = W.sum(2)
        self.mean = rows.law(W).reshape(rows.T, rows.N) / self.total
        centred = rows.slopes[:, None, :] - self.mean[:, :, None]
        coupling = W * centred
        spread = (coupling * centred).sum(2).ravel()
        coupling = coupling.reshape(-1, rows.M)
        w1, w2, w3, wh = w.ended, w.chosen[at], w.corrected[at], self.short
        wl = w.excess if rows.biased else np.zeros(1)
        h = w1 + w3 + wl + wh
        up = w2 + w1 * w3 / h
        d = up + w1 * (wl + wh) / h + spread
        p = rows.tables[at]
        price = w1 * wh / h
        columns = np.concatenate([price[:, None], coupling], axis=1)  # minus those of `pi`
        self.leaf = h, d, up, columns, p * w1 / h
        self.system = np.zeros((rows.T, rows.M + 1, rows.M + 1))
        self.system[:, 1:, 1:] = laplacian(W, self.total) - self._gram(coupling, 1 / d)
        across = (-(price / d)[:, None] * coupling).reshape(rows.T, -1, rows.M).sum(1)
        self.system[:, 0, 1:] += across
        self.system[:, 1:, 0] += across
        self.system[:, 0, 0] += (
            (wh * (w3 + wl) / h + price * (w2 + spread + w1 * (w3 + wl) / h) / d).reshape(rows.T, -1).sum(1)
        )
        own = w3 * (wl + wh) / h + up * (w1 * (wl + wh) / h + spread) / d
        also = -(up / d)[:, None] * columns
        also[:, 0] -= w3 * wh / h
        y = p * p / h + (p * w1 / h) ** 2 / d
        fold = -p * (w3 + w1 * up / d) / h
        onto = -(p * w1 / h / d)[:, None] * columns
        onto[:, 0] -= p * wh / h
        return self._summed(own, also, y, fold, onto)

    def _summed(self, *parts: Any) -> _Below:
        return _Below(*(part.reshape(-1, self.rows.V, *part.shape[1:]).sum(1) for part in parts))

    def _gram(self, columns: Any, weight: Any) -> Any:
        groups = self.rows.T if columns.shape[1] > 1 else 1
        scaled = (columns * np.sqrt(weight)[:, None]).reshape(groups, -1, columns.shape[1])
        return np.matmul(scaled.transpose(0, 2, 1), scaled)

    def _eliminate(self, depth: int, below: _Below) -> _Below:
        """Eliminate `y`, `Z` and `pi` of the nodes of a depth from 1 to `L - 1`."""
        at = self.rows.at[depth]
        w2, w3, w4 = self.weights.chosen[at], self.weights.corrected[at], self.weights.continued[at]
        r = 1 / (1 / w4 + below.y)
        h = w3 + r
        joint = w3 * r / h
        own, fold, also, across = below.own, below.fold, below.also, below.across
        d = own + w2 + joint * fold * fold
        columns = also + (joint * fold)[:, None] * across
        self.levels[depth] = _Depth(below, r, h, d, w2 - joint * fold, columns)
        free = own + w2  # without the constraint `corrected`
        together = 1 / (1 / joint + fold * fold / free)
        self._add(self._gram(across - (fold / free)[:, None] * also, together) - self._gram(also, 1 / free))
        p = self.rows.tables[at]
        upward = (w2 - joint * fold)[:, None] * also
        return self._summed(
            ((w2 + joint) * own + w2 * joint * (1 + fold) ** 2) / d,
            ((joint * (own + w2 * (1 + fold)))[:, None] * across + upward) / d[:, None],
            p * p / h + (p * r * fold / h) ** 2 / d,
            -p * (w3 * d + r * joint * fold * fold - w2 * r * fold) / (h * d),
            (p * r / (h * d))[:, None] * (free[:, None] * across - fold[:, None] * also),
        )

    def _add(self, change: Any) -> None:
        """To the equations of the columns: those of each trunk, or of the price of bias alone."""
        if change.shape[1] == 1:
            self.corner = self.corner + change.sum()
        else:
            self.system = self.system + change

    def _cells(self, below: _Below) -> _Below:
        """Eliminate the cells of every trunk; the last has `b = 0`, as levels have no origin."""
        self.inner = [cholesky(block[1:-1, 1:-1]) for block in self.system]
        self.bound = np.stack([self.system[:, 0, 1:-1], below.also[:, 1:-1], below.across[:, 1:-1]], axis=1)
        gone = np.stack(
            [rows @ scipy.linalg.cho_solve(block, rows.T) for rows, block in zip(self.bound, self.inner, strict=True)]
        )
        self.corner = (self.system[:, 0, 0] - gone[:, 0, 0]).sum()
        self.system = self.system[:, :1, :1]
        return _Below(
            below.own - gone[:, 1, 1],
            below.also[:, :1] - gone[:, 0, 1, None],
            below.y + gone[:, 2, 2],
            below.fold - gone[:, 1, 2],
            below.across[:, :1] - gone[:, 0, 2, None],
        )

    def solve(self, right: Unknowns) -> Unknowns:
        """The solution of `A' W A x = right`."""
        rows, w = self.rows, self.weights
        h, d, up, columns, onto = self.leaf
        at = rows.at[rows.L]
        p = rows.tables[at]
        price = right.price[0]
        z = right.z[at]
        rho = right.pi[1:][at] + (self.mean * right.a).ravel() + w.ended * z / h
        share = rho / d
        cells = right.b - np.matmul((right.a / self.total)[:, None, :], w.cells)[:, 0, :]
        cells = cells + (columns[:, 1:] * share[:, None]).reshape(rows.T, -1, rows.M).sum(1)
        price += (self.short * z / h + columns[:, 0] * share).sum()
        eliminated: dict[int, tuple[Any, Any, Any]] = {rows.L: (rho, z, 0)}
        own = (w.corrected[at] * z / h + up * share).reshape(-1, rows.V).sum(1)
        y = (p * z / h + onto * share).reshape(-1, rows.V).sum(1)
        for depth in range(rows.L - 1, -1, -1):
            own = own + right.pi[:1] if depth == 0 else own + right.pi[1:][rows.at[depth]]
            if depth == rows.L1:
                cells = cells[:, :-1]
                solved = [
                    rows_ @ scipy.linalg.cho_solve(block, own_)
                    for rows_, block, own_ in zip(self.bound, self.inner, cells, strict=True)
                ]
                gone = np.array(solved)
                price, own, y = price - gone[:, 0].sum(), own - gone[:, 1], y - gone[:, 2]
            if depth == 0:
                break
            at, level = rows.at[depth], self.levels[depth]
            p, w3 = rows.tables[at], w.corrected[at]
            kappa = level.r * (w3 * y - right.z[at]) / level.h
            z = right.z[at] + level.r * y
            rho = own + level.below.fold * kappa
            share = rho / level.d
            eliminated[depth] = rho, z, y
            across = level.below.across * kappa[:, None] - level.columns * share[:, None]
            price += across[:, 0].sum()
            if depth > rows.L1:
                cells = cells + across[:, 1:].reshape(rows.T, -1, rows.M).sum(1)
            own = (w3 * z / level.h + level.up * share).reshape(-1, rows.V).sum(1)
            y = (p * (z - level.r * level.below.fold * share) / level.h).reshape(-1, rows.V).sum(1)
        top = scipy.linalg.cho_solve(self.outer, np.array([own[0], price])) if rows.biased else np.zeros(2)
        return self._back(right, eliminated, top, cells)

    def _back(self, right: Unknowns, eliminated: dict[int, tuple[Any, Any, Any]], top: Any, cells: Any) -> Unknowns:
        """The unknowns from the root down. cells: their right sides."""
        rows, w = self.rows, self.weights
        pi, z = np.zeros(rows.n + 1), np.zeros(rows.n)
        pi[0], price = top
        b = np.zeros((rows.T, rows.M))
        above, y = pi[:1], np.zeros(1)
        known = np.array([price])[None, :]
        for depth in range(rows.L):
            if depth:
                at, level, (rho, wanted, owed) = rows.at[depth], self.levels[depth], eliminated[depth]
                p, below = rows.tables[at], level.below
                parent, outer = above.repeat(rows.V), y.repeat(rows.V)
                global_ = self._times(level.columns, known), self._times(below.across, known)
                now = (rho + level.up * parent - global_[0] - p * level.r * below.fold / level.h * outer) / level.d
                rest = below.fold * now + global_[1]
                own = (wanted + w.corrected[at] * parent + p * outer - level.r * rest) / level.h
                above, y = now, (own + rest - owed) * level.r
                pi[1:][at], z[at] = now, own
            if depth == rows.L1:
                for t, block in enumerate(self.inner):
                    b[t, :-1] = scipy.linalg.cho_solve(
                        block, cells[t] - np.array([price, above[t], y[t]]) @ self.bound[t]
                    )
                known = np.concatenate([np.full((rows.T, 1), price), b], axis=1)
        return self._paths(right, eliminated, pi, z, known, above, y)

    def _paths(
        self, right: Unknowns, eliminated: dict[int, Any], pi: Any, z: Any, known: Any, above: Any, y: Any
    ) -> Unknowns:
        rows, w, at = self.rows, self.weights, self.rows.at[self.rows.L]
        h, d, up, columns, onto = self.leaf
        rho, wanted, _ = eliminated[rows.L]
        parent, outer, price = above.repeat(rows.V), y.repeat(rows.V), known[0, 0]
        now = (rho + up * parent + self._times(columns, known) + onto * outer) / d
        pi[1:][at] = now
        z[at] = (wanted + w.ended * now + w.corrected[at] * parent + self.short * price + rows.tables[at] * outer) / h
        b = known[:, 1:]
        a = (right.a - np.matmul(w.cells, b[:, :, None])[:, :, 0]) / self.total
        a = a + self.mean * now.reshape(rows.T, rows.N)
        return Unknowns(pi, z, np.array([price]), a, b)

    def _times(self, columns: Any, known: Any) -> Any:
        """Columns times the price of bias, and the cells of the trunk where there are any."""
        width = columns.shape[1]
        groups = len(known) if width > 1 else 1
        return np.matmul(columns.reshape(groups, -1, width), known[:groups, :width, None]).ravel()


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
