"""The picture of the page on concepts: `python -m draftproof.experiments.pages.concept` writes `docs/concept.svg`.

It is as wide as a phone. Its numbers are computed here, those of the balance equation by enumeration.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from draftproof import block_law, tree_law
from draftproof.experiments.shared.output import write_whole

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "concept.svg"
P, Q = ["1/2", "1/3", "1/6"], ["1/6", "1/6", "2/3"]
VERIFIER, SCHEME, PATHS = "specinfer", "delayed:K=2,L1=0,L2=2", [(2, 1), (1, 2)]
#: Colours: ink, quiet ink, target, draft, accepted, correction.
INK, QUIET, TARGET, DRAFT, ACCEPTED, CORRECTION = "#1c2430", "#5b6675", "#2f6fdf", "#d98a00", "#cfe0ff", "#c9efd3"


def text(
    x: float, y: float, words: str, size: int = 14, anchor: str = "start", fill: str = INK, bold: bool = False
) -> str:
    """A line of text."""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"{weight}>{words}</text>'


def bars(x: float, row: list[str], title: str, colour: str) -> list[str]:
    """A distribution over three tokens."""
    drawn = [text(x, 66, title, fill=colour, bold=True)]
    for token, value in enumerate(row):
        y, width = 76 + 22 * token, float(Fraction(value)) * 160
        drawn += [
            text(x, y + 14, str(token), fill=QUIET),
            f'<rect x="{x + 16}" y="{y}" width="{width:.4g}" height="17" fill="{colour}"/>',
            text(x + 22 + width, y + 14, value, 13),
        ]
    return drawn


def node(x: float, y: float, label: str, fill: str = "#ffffff", dashed: bool = False) -> str:
    """A token in a circle."""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    size = 11 if len(label) > 1 else 15
    return f'<circle cx="{x}" cy="{y}" r="17" fill="{fill}" stroke="{INK}" stroke-width="1.5"{dash}/>' + text(
        x, y + 5, label, size, "middle"
    )


def edge(x: float, y: float, to_x: float, to_y: float, dashed: bool = False) -> str:
    """A line between two nodes."""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{INK}" stroke-width="1.5"{dash}/>'


def tree() -> list[str]:
    """The draft tree of two paths, one of which is accepted for one token, with a correction token after it."""
    return [
        *(edge(150, 226, x, 294) for x in (80, 220)),
        edge(80, 294, 80, 362),
        edge(220, 294, 190, 362),
        edge(220, 294, 260, 362, dashed=True),
        node(150, 226, "root", ACCEPTED),
        node(80, 294, "2"),
        node(220, 294, "1", ACCEPTED),
        node(80, 362, "1"),
        node(190, 362, "2"),
        node(260, 362, "0", CORRECTION, dashed=True),
        text(290, 225, "white: drafted", 13, fill=QUIET),
        text(290, 241, "and rejected", 13, fill=QUIET),
        text(290, 299, "accepted", 13, fill=QUIET),
        text(290, 360, "correction:", 13, fill=QUIET),
        text(290, 376, "not drafted", 13, fill=QUIET),
    ]


def block() -> list[str]:
    """The output of one call."""
    return [
        f'<rect x="24" y="444" width="40" height="34" rx="5" fill="{ACCEPTED}" stroke="{INK}"/>',
        text(44, 466, "1", 15, "middle"),
        f'<rect x="68" y="444" width="40" height="34" rx="5" fill="{CORRECTION}" stroke="{INK}"/>',
        text(88, 466, "0", 15, "middle"),
        text(122, 458, "tau = 1 accepted token, one correction token;", 13),
        text(122, 475, "on average E[tau + 1], the block efficiency", 13),
    ]


def balance() -> list[str]:
    """The equation, and its numbers at the root."""
    law = block_law(VERIFIER, P, Q, SCHEME).as_dict()
    accepted = sum(mass for (context, _), mass in law.items() if context[:1] == (0,))
    correction = law[(), 0]
    wanted = Fraction(P[0])
    assert accepted + correction == wanted
    terms = [
        (85, "D(c) · p(y | c)", ("c is accepted,", "times the target")),
        (160, "=", ()),
        (220, "D(c, y)", ("y is accepted", "after c")),
        (280, "+", ()),
        (345, "e(c, y)", ("y is the correc-", "tion after c")),
    ]
    return [
        *(text(x, 548, term, 17, "middle", bold=True) for x, term, _ in terms),
        *(text(x, 570 + 15 * i, line, 12, "middle", QUIET) for x, _, lines in terms for i, line in enumerate(lines)),
        text(24, 616, f"At the root, token 0:  1 · {wanted} = {accepted} + {correction}", 14),
    ]


def picture() -> str:
    """The whole picture."""
    reach = tree_law(VERIFIER, P, Q, PATHS).reach
    assert reach[1,] > reach[1, 2]  # it can happen that the token 1 is accepted and no other after it
    heads = [
        (34, "1  Two models: rows of probabilities after a context"),
        (190, "2  A draft scheme draws a tree; a verifier reads it"),
        (424, "3  The block: what one target pass brings"),
        (516, "4  Lossless: for every context c and every token y"),
    ]
    parts = [
        *(text(16, y, words, 15, bold=True) for y, words in heads),
        *bars(24, P, "target p", TARGET),
        *bars(224, Q, "draft q", DRAFT),
        *tree(),
        *block(),
        *balance(),
    ]
    lines = "\n".join(parts)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420 636" font-family="sans-serif" role="img">\n'
        "<title>Target and draft, draft tree, block and balance equation</title>\n"
        f'<rect width="420" height="636" rx="10" fill="#f6f8fb"/>\n{lines}\n</svg>\n'
    )


if __name__ == "__main__":
    write_whole(PICTURE, picture())
