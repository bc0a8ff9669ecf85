"""A tree bin of a Java hash map: a red-black tree whose nodes are also in a list, which iteration follows.

The first node of the list, and the position of a new one, depend on the shape of the tree. So this tree makes the same
moves as Java's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

Comparison = Callable[[object, object], int]
"""A function that returns a negative number, 0 or a positive number, as Java's ``compareTo`` for two keys of one hash."""


class Node(Generic[K]):
    """A node of the tree with its key; ``spread`` is the key's spread hash code as a signed number."""

    __slots__ = ("key", "spread", "parent", "left", "right", "is_red", "before", "after")

    def __init__(self, key: K, spread: int) -> None:
        self.key = key
        self.spread = spread
        self.parent: Node[K] | None = None
        self.left: Node[K] | None = None
        self.right: Node[K] | None = None
        self.is_red = False
        self.before: Node[K] | None = None
        self.after: Node[K] | None = None


class JavaTreeBin(Generic[K]):
    """The nodes of one bin. Java: HashMap.TreeNode."""

    __slots__ = ("_first", "_root", "_compare", "_nodes")

    def __init__(self, entries: Iterable[tuple[K, int]], compare: Comparison) -> None:
        """Builds the tree from ``entries``: keys and spread hash codes in the order of the bin."""
        self._compare = compare
        self._nodes: dict[K, Node[K]] = {}
        self._first: Node[K] | None = None
        self._root: Node[K] | None = None
        last: Node[K] | None = None
        for key, spread in entries:
            node = self._nodes[key] = Node(key, spread)
            node.before = last
            if last is None:
                self._first = node
            else:
                last.after = node
            last = node
        for node in list(self._nodes.values()):
            self._hang(node)
        self._lead()

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[K]:
        """Yields the keys in list order."""
        node = self._first
        while node is not None:
            yield node.key
            node = node.after

    def add(self, key: K, spread: int) -> None:
        """Inserts a new key into the list after its parent in the tree."""
        node = self._nodes[key] = Node(key, spread)
        parent = self._hang(node, balanced=False)
        if parent is not None:
            node.before, node.after = parent, parent.after
            if parent.after is not None:
                parent.after.before = node
            parent.after = node
        self._balance_insertion(node)
        self._lead()

    def remove(self, key: K) -> bool:
        """Removes a key. Returns False if the bin must become a plain list."""
        node = self._nodes.pop(key)
        if node.before is None:
            self._first = node.after
        else:
            node.before.after = node.after
        if node.after is not None:
            node.after.before = node.before
        root = self._root
        if root is None or root.right is None or root.left is None or root.left.left is None:
            return False
        self._cut(node)
        self._lead()
        return True

    def _hang(self, node: Node[K], *, balanced: bool = True) -> Node[K] | None:
        """Adds a node below a leaf and returns the node's parent."""
        place, parent, goes_left = self._root, None, False
        while place is not None:
            parent = place
            goes_left = self._goes_left(node, place)
            place = place.left if goes_left else place.right
        node.parent = parent
        if parent is None:
            self._root = node
            node.is_red = False
            return None
        if goes_left:
            parent.left = node
        else:
            parent.right = node
        if balanced:
            self._balance_insertion(node)
        return parent

    def _goes_left(self, node: Node[K], place: Node[K]) -> bool:
        if place.spread != node.spread:
            return place.spread > node.spread
        return self._compare(node.key, place.key) <= 0

    def _lead(self) -> None:
        """Moves the root of the tree to the head of the list."""
        root, first = self._root, self._first
        if root is None or root is first:
            return
        if root.after is not None:
            root.after.before = root.before
        if root.before is not None:
            root.before.after = root.after
        if first is not None:
            first.before = root
        root.after, root.before = first, None
        self._first = root

    def _replace(self, old: Node[K], new: Node[K] | None) -> None:
        """Replaces ``old`` by ``new`` below the parent of ``old``."""
        parent = old.parent
        if parent is None:
            self._root = new
        elif parent.left is old:
            parent.left = new
        else:
            parent.right = new

    def _rotate(self, node: Node[K], *, left: bool) -> None:
        """Rotates the tree: a child takes the position of ``node``, which becomes its child on the other side."""
        child = node.right if left else node.left
        if child is None:
            return
        inner = child.left if left else child.right
        if left:
            node.right, child.left = inner, node
        else:
            node.left, child.right = inner, node
        if inner is not None:
            inner.parent = node
        self._replace(node, child)
        child.parent, node.parent = node.parent, child

    def _balance_insertion(self, node: Node[K]) -> None:
        node.is_red = True
        while True:
            parent = node.parent
            if parent is None:
                node.is_red = False
                return
            grandparent = parent.parent
            if not parent.is_red or grandparent is None:
                return
            on_left = parent is grandparent.left
            uncle = grandparent.right if on_left else grandparent.left
            if uncle is not None and uncle.is_red:
                uncle.is_red = parent.is_red = False
                grandparent.is_red = True
                node = grandparent
                continue
            if node is (parent.right if on_left else parent.left):
                node = parent
                self._rotate(node, left=on_left)
            upper = node.parent
            if upper is not None:
                upper.is_red = False
                if upper.parent is not None:
                    upper.parent.is_red = True
                    self._rotate(upper.parent, left=not on_left)

    def _cut(self, node: Node[K]) -> None:
        """Removes a node from the tree; a node with two children is first swapped with its successor."""
        if node.left is not None and node.right is not None:
            self._swap_with_successor(node)
        child = node.left if node.left is not None else node.right
        if child is not None:
            self._replace(node, child)
            child.parent = node.parent
            if child.parent is None:
                child.is_red = False
            node.left = node.right = node.parent = None
            if not node.is_red:
                self._balance_deletion(child)
            return
        if not node.is_red:
            self._balance_deletion(node)
        self._replace(node, None)
        node.parent = None

    def _swap_with_successor(self, node: Node[K]) -> None:
        left, right = node.left, node.right
        if left is None or right is None:
            return
        successor = right
        while successor.left is not None:
            successor = successor.left
        successor.is_red, node.is_red = node.is_red, successor.is_red
        below, above = successor.right, node.parent
        self._replace(node, successor)
        if successor is right:
            node.parent = successor
            successor.right = node
        else:
            parent = successor.parent
            node.parent = parent
            if parent is not None:
                parent.left = node
            successor.right = right
            right.parent = successor
        successor.parent = above
        node.left, node.right = None, below
        if below is not None:
            below.parent = node
        successor.left = left
        left.parent = successor

    def _balance_deletion(self, node: Node[K]) -> None:
        while node is not self._root:
            parent = node.parent
            if parent is None:
                node.is_red = False
                return
            if node.is_red:
                node.is_red = False
                return
            on_left = parent.left is node
            sibling = parent.right if on_left else parent.left
            if sibling is not None and sibling.is_red:
                sibling.is_red, parent.is_red = False, True
                self._rotate(parent, left=on_left)
                sibling = parent.right if on_left else parent.left
            if sibling is None:
                node = parent
                continue
            near = sibling.left if on_left else sibling.right
            far = sibling.right if on_left else sibling.left
            if not _red(near) and not _red(far):
                sibling.is_red = True
                node = parent
                continue
            if not _red(far):
                if near is not None:
                    near.is_red = False
                sibling.is_red = True
                self._rotate(sibling, left=not on_left)
                sibling = parent.right if on_left else parent.left
            if sibling is not None:
                sibling.is_red = parent.is_red
                outer = sibling.right if on_left else sibling.left
                if outer is not None:
                    outer.is_red = False
            parent.is_red = False
            self._rotate(parent, left=on_left)
            return


def _red(node: Node[K] | None) -> bool:
    return node is not None and node.is_red
