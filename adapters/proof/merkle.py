"""The Merkle tree of RFC 6962 (§2.1) over the hashes of all events, by position."""

from collections.abc import Iterable, Sequence
from hashlib import sha256


def leaf(data: bytes) -> bytes:
    return sha256(b"\x00" + data).digest()


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


EMPTY = sha256(b"").digest()


class Tree:
    """A tree that grows leaf by leaf; it only keeps the roots of its full subtrees."""

    def __init__(self) -> None:
        self.size = 0
        self._roots: list[bytes] = []

    def add(self, data: bytes) -> None:
        root, full = sha256(b"\x00" + data).digest(), self.size
        while full & 1:  # for each subtree that is already full and as high as this one
            root = sha256(b"\x01" + self._roots.pop() + root).digest()
            full >>= 1
        self._roots.append(root)
        self.size += 1

    def extend(self, data: Iterable[bytes]) -> None:
        """Add many leaves, level by level: faster than one by one."""
        level, full, roots = [sha256(b"\x00" + leaf).digest() for leaf in data], self.size, list[bytes]()
        self.size += len(level)
        while level:
            if full & 1:
                level.insert(0, self._roots.pop())
            if len(level) & 1:
                roots.append(level.pop())
            pairs = zip(level[::2], level[1::2], strict=True)
            level, full = [sha256(b"\x01" + left + right).digest() for left, right in pairs], full >> 1
        self._roots += reversed(roots)

    def root(self) -> bytes:
        """The tree head over everything added so far."""
        if not self._roots:
            return EMPTY
        digest = self._roots[-1]
        for root in reversed(self._roots[:-1]):
            digest = node(root, digest)
        return digest


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The audit path of leaf `index` (hashes of leaves), from the leaf up (RFC 6962 §2.1.1)."""
    if len(leaves) <= 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*inclusion_proof(leaves[:split], index), _root(leaves[split:])]
    return [*inclusion_proof(leaves[split:], index - split), _root(leaves[:split])]


def proves(data: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """True if the data is leaf `index` of the tree of that size and root (RFC 9162 §2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, digest = index, size - 1, leaf(data)
    for part in proof:
        if last == 0:
            return False
        if place % 2 or place == last:
            digest = node(part, digest)
            while place % 2 == 0 and place:
                place, last = place >> 1, last >> 1
        else:
            digest = node(digest, part)
        place, last = place >> 1, last >> 1
    return last == 0 and digest == root


def _split(size: int) -> int:
    """The largest power of two below the size."""
    return 1 << (size - 1).bit_length() - 1


def _root(leaves: Sequence[bytes]) -> bytes:
    """The root over hashes of leaves."""
    if len(leaves) == 1:
        return leaves[0]
    split = _split(len(leaves))
    return node(_root(leaves[:split]), _root(leaves[split:]))
