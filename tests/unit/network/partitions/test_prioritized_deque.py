"""A queue in which some elements overtake (rule 5.28)."""

from __future__ import annotations

from flowsim.network.partitions.prioritized_deque import PrioritizedDeque


def queue_of(*elements: str, first: int = 0) -> PrioritizedDeque[str]:
    """A queue whose first ``first`` elements have priority."""
    queue = PrioritizedDeque[str]()
    for element in elements[:first]:
        queue.add_priority_element(element)
    queue.extend(elements[first:])
    return queue


def test_elements_with_priority_keep_their_order_before_all_others() -> None:
    queue = queue_of("a", "b", first=1)
    queue.add_priority_element("c")
    assert (list(queue), queue.priority_elements) == (["a", "c", "b"], 2)


def test_taking_the_first_element_takes_priority_with_it() -> None:
    queue = queue_of("a", "b", first=1)
    assert [queue.popleft(), queue.priority_elements, queue.popleft(), queue.priority_elements] == ["a", 0, "b", 0]


def test_an_element_that_is_given_priority_moves_behind_those_that_have_it() -> None:
    queue = queue_of("a", "b", "c", first=1)
    queue.prioritize("c")
    assert (list(queue), queue.priority_elements) == (["a", "c", "b"], 2)
    queue.prioritize("a")
    assert (list(queue), queue.priority_elements) == (["a", "c", "b"], 2)
    assert (queue.contains_priority_element("c"), queue.contains_priority_element("b")) == (True, False)


def test_taking_an_element_out_of_the_middle_keeps_the_count() -> None:
    queue = queue_of("a", "b", "c", first=2)
    assert queue.get_and_remove(lambda element: element == "b") == "b"
    assert queue.get_and_remove(lambda element: element == "c") == "c"
    assert queue.get_and_remove(lambda element: element == "d") is None
    assert (list(queue), queue.priority_elements) == (["a"], 1)
