import unittest

from basket import Item


class ItemTest(unittest.TestCase):
    def test_three_apples_cost_three_times_as_much_as_one(self) -> None:
        self.assertEqual(Item("apple", 40, 3).cost_cents(), 120)
