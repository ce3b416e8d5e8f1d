"""The tree is that of RFC 6962, and a proof proves exactly one leaf of one tree."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.proof.merkle import EMPTY, Tree, inclusion_proof, leaf, node, proves

# The reference inputs of Certificate Transparency's own tests, and the roots over the first n of them.
LEAVES = tuple(
    bytes.fromhex(digits)
    for digits in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
)
ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
PATHS = {
    (0, 1): (),
    (0, 8): (
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ),
    (5, 8): (
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
    (2, 3): ("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",),
    (1, 5): (
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ),
}
"""Index and size: the audit path from the leaf up."""


def tree_of(leaves: Sequence[bytes]) -> Tree:
    tree = Tree()
    for data in leaves:
        tree.add(data)
    return tree


def by_the_book(leaves: Sequence[bytes]) -> bytes:
    """MTH as the RFC defines it (§2.1)."""
    if not leaves:
        return EMPTY
    if len(leaves) == 1:
        return leaf(leaves[0])
    split = max(1 << power for power in range(64) if 1 << power < len(leaves))
    return node(by_the_book(leaves[:split]), by_the_book(leaves[split:]))


@pytest.mark.parametrize("size", range(9))
def test_the_roots_are_those_of_the_reference(size: int) -> None:
    assert tree_of(LEAVES[:size]).root().hex() == ROOTS[size]


@pytest.mark.parametrize(("index", "size"), PATHS)
def test_the_paths_are_those_of_the_reference(index: int, size: int) -> None:
    path = inclusion_proof([leaf(data) for data in LEAVES[:size]], index)
    assert tuple(part.hex() for part in path) == PATHS[index, size]
    assert proves(LEAVES[index], index, size, path, bytes.fromhex(ROOTS[size]))


@given(st.lists(st.binary(max_size=40), max_size=70))
def test_a_growing_tree_has_the_root_of_the_definition(leaves: list[bytes]) -> None:
    assert tree_of(leaves).root() == by_the_book(leaves)


@given(st.lists(st.lists(st.binary(max_size=8), max_size=20), max_size=6))
def test_a_tree_that_grows_by_many_leaves_is_the_same(pages: list[list[bytes]]) -> None:
    tree, leaves = Tree(), [leaf for page in pages for leaf in page]
    for page in pages:
        tree.extend(page)
    assert (tree.size, tree.root()) == (len(leaves), tree_of(leaves).root())


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=40, unique=True), st.data())
def test_a_proof_is_valid_only_for_its_leaf_position_and_tree(leaves: list[bytes], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(leaves) - 1))
    root, size = tree_of(leaves).root(), len(leaves)
    path = inclusion_proof([leaf(result) for result in leaves], index)
    assert proves(leaves[index], index, size, path, root)
    for other in range(-1, size + 2):
        assert proves(leaves[index], other, size, path, root) == (other == index)
        if 0 <= other < size and other != index:
            assert not proves(leaves[other], index, size, path, root)
    assert not proves(leaves[index], index, size, [*path, root], root)
    assert not path or not proves(leaves[index], index, size, path[:-1], root)
    assert not proves(leaves[index], index, size, path, bytes(32))


@given(st.integers(1, 30), st.data())
def test_a_changed_path_proves_nothing(size: int, data: st.DataObject) -> None:
    leaves = [bytes([number]) for number in range(size)]
    index = data.draw(st.integers(0, size - 1))
    path = inclusion_proof([leaf(result) for result in leaves], index)
    if path:
        place = data.draw(st.integers(0, len(path) - 1))
        bit = data.draw(st.integers(0, 255))
        changed = bytearray(path[place])
        changed[bit // 8] ^= 1 << bit % 8
        path[place] = bytes(changed)
        assert not proves(leaves[index], index, size, path, tree_of(leaves).root())


@given(st.binary(max_size=8), st.integers(-5, 300), st.integers(-5, 300), st.lists(st.binary(max_size=33), max_size=12))
def test_no_path_crashes_it_and_no_forged_path_proves_anything(
    data: bytes, index: int, size: int, path: list[bytes]
) -> None:
    assert not proves(data, index, size, path, bytes(32))


def test_a_node_cannot_be_taken_for_a_leaf() -> None:
    """Leaves and nodes are hashed apart, so that no inner node can be shown as an event (second preimages)."""
    left, right = leaf(b"a"), leaf(b"b")
    root = tree_of([b"a", b"b"]).root()
    assert leaf(left + right) != root
    assert not proves(left + right, 0, 1, [], root)
