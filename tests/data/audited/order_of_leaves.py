"""Traversal verification in plain Python; the wrong one takes leaves by the order in which their paths were drafted."""

import random


class Node:
    def __init__(self, node, parent, paths):
        self.context, self.p, self.q = node.context, list(node.target), list(node.draft or ())
        self.parent, self.order, self.weight, self.children = parent, paths[0], 1, {}
        if len(node.children) != len(paths):
            paths = list(range(len(node.children)))
        for token in dict.fromkeys(node.children):
            through = [path for path, drafted in zip(paths, node.children, strict=True) if drafted == token]
            self.children[token] = Node(node.child(token), self, through)


def reweigh(node):
    for token, child in node.children.items():
        child.weight = min(1, node.weight * node.p[token] / node.q[token])
        reweigh(child)


def leaves(node):
    return [leaf for child in node.children.values() for leaf in leaves(child)] or [node]


def delete(leaf):
    parent, token = leaf.parent, leaf.context[-1]
    del parent.children[token]
    rest = [max(parent.weight * a - b, 0) for a, b in zip(parent.p, parent.q, strict=True)]
    left = sum(rest)
    parent.weight = left / (left + 1 - parent.weight) if left > 0 else 0
    parent.p = [x / left for x in rest] if left > 0 else parent.p
    parent.q[token] *= 0
    total = sum(parent.q)
    parent.q = [x / total for x in parent.q] if total > 0 else parent.q
    reweigh(parent)


def verify(root, choose):
    top = Node(root, None, [0])
    reweigh(top)
    while top.children:
        leaf = choose(leaves(top))
        if random.random() < leaf.weight:
            return leaf.context, random.choices(range(len(leaf.p)), weights=leaf.p)[0]
        delete(leaf)
    return (), random.choices(range(len(top.p)), weights=top.p)[0]


def right(root):
    return verify(root, lambda found: found[0])


def wrong(root):
    return verify(root, lambda found: min(found, key=lambda leaf: leaf.order))
