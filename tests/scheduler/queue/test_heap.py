from __future__ import annotations

import random

from apps.scheduler.queue.heap import KeyedHeap

Item = tuple[str, int]


def heap() -> KeyedHeap[Item]:
    return KeyedHeap(key=lambda item: item[0], rank=lambda item: item[1])


def test_putting_an_item_again_gives_it_a_new_place():
    items = heap()
    items.put(("a", 1))
    items.put(("b", 2))
    items.put(("a", 3))
    assert items.in_order() == [("b", 2), ("a", 3)]
    assert len(items) == 2


def test_a_deleted_item_is_not_popped():
    items = heap()
    items.put(("a", 1))
    items.put(("b", 2))
    assert items.delete("a") == ("a", 1)
    assert items.delete("a") is None
    assert items.pop() == ("b", 2)
    assert items.pop() is None


def test_an_item_deleted_and_put_back_keeps_one_place():
    items = heap()
    items.put(("a", 1))
    items.delete("a")
    items.put(("a", 1))
    assert items.in_order() == [("a", 1)]


def test_the_heap_agrees_with_a_sorted_dict_whatever_is_done_to_it():
    chance = random.Random(7)
    items, model = heap(), dict[str, int]()
    for _ in range(3000):
        key = f"k{chance.randrange(40)}"
        if chance.random() < 0.6:
            model[key] = chance.randrange(20)
            items.put((key, model[key]))
        elif chance.random() < 0.5:
            model.pop(key, None)
            items.delete(key)
        elif model:
            best = min(model, key=lambda name: (model[name], name))
            assert items.pop() == (best, model.pop(best))
    assert items.in_order() == sorted(model.items(), key=lambda pair: (pair[1], pair[0]))
    assert sorted(items) == sorted(model.items())
