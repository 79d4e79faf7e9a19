"""A module that `shop.py` imports: the bundle must contain it."""


def item_path(number: int) -> str:
    """Name one of seven items."""
    return f"/items/{number % 7}"
