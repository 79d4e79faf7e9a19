"""What the shop imports from beside itself: it has to travel with it."""


def item_path(number: int) -> str:
    """Name one of seven items."""
    return f"/items/{number % 7}"
