"""What can go wrong with the warehouse, by kind."""


class WarehouseError(RuntimeError):
    """The file cannot be used as it is, or what was to be loaded does not fit it; nothing was changed."""


class WarehouseBusy(WarehouseError):
    """Somebody else held the file until the deadline; nothing was changed."""
