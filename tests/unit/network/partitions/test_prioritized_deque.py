"""A queue with priority elements (rule 5.28)."""

from __future__ import annotations

from flowsim.network.partitions.prioritized_deque import LONGEST_LIST, PrioritizedDeque, PrioritizedList


def queue_of(*elements: str, first: int = 0) -> PrioritizedDeque[str]:
    """A queue whose first ``first`` elements have priority."""
    queue = PrioritizedDeque[str]()
    for element in elements[:first]:
        queue.add_priority_element(element)
    queue.extend(elements[first:])
    return queue


def test_priority_elements_stay_in_order_before_others() -> None:
    queue = queue_of("a", "b", first=1)
    queue.add_priority_element("c")
    assert (list(queue), queue.priority_elements) == (["a", "c", "b"], 2)


def test_taking_first_element_reduces_priority_count() -> None:
    queue = queue_of("a", "b", first=1)
    assert [queue.popleft(), queue.priority_elements, queue.popleft(), queue.priority_elements] == ["a", 0, "b", 0]


def test_prioritized_element_moves_behind_other_priority_elements() -> None:
    queue = queue_of("a", "b", "c", first=1)
    queue.prioritize("c")
    assert (list(queue), queue.priority_elements) == (["a", "c", "b"], 2)
    queue.prioritize("a")
    assert (list(queue), queue.priority_elements) == (["a", "c", "b"], 2)
    assert (queue.contains_priority_element("c"), queue.contains_priority_element("b")) == (True, False)


def test_removing_inner_element_keeps_priority_count() -> None:
    queue = queue_of("a", "b", "c", first=2)
    assert queue.get_and_remove(lambda element: element == "b") == "b"
    assert queue.get_and_remove(lambda element: element == "c") == "c"
    assert queue.get_and_remove(lambda element: element == "d") is None
    assert (list(queue), queue.priority_elements) == (["a"], 1)


def test_a_list_keeps_priority_as_a_deque_does() -> None:
    queue = PrioritizedList[str]()
    for element in "ab":
        queue.add_priority_element(element)
    assert queue.appended("c") is queue
    assert queue.get_and_remove(lambda element: element == "b") == "b"
    assert queue.get_and_remove(lambda element: element == "d") is None
    assert [queue.popleft(), queue.priority_elements, queue.popleft(), queue.priority_elements] == ["a", 0, "c", 0]


def test_a_list_that_grows_is_continued_by_a_deque_with_the_same_elements() -> None:
    queue = PrioritizedList[int]()
    queue.add_priority_element(0)
    for number in range(1, LONGEST_LIST):
        assert queue.appended(number) is queue
    longer = queue.appended(LONGEST_LIST)
    assert isinstance(longer, PrioritizedDeque)
    assert (list(longer), longer.priority_elements) == (list(range(LONGEST_LIST + 1)), 1)
    assert longer.appended(-1) is longer
