"""A shopping basket. Prices are whole cents, so that nothing is lost in rounding."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """Something to buy, so many times."""

    name: str
    price_cents: int
    quantity: int = 1

    def cost_cents(self) -> int:
        """What these pieces cost together."""
        return self.price_cents * self.quantity
