from draftproof import Card, Verdict


class Mine:
    card = Card(name="mine", title="My verifier", source=None)

    def verify(self, root, coin):
        node = root
        while node.children:
            p, q, token = node.target, node.draft, node.children[0]
            if not coin.flip(min(1, p[token] / q[token])):
                return Verdict(node.context, coin.choose((p - q) * (p > q)))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))
