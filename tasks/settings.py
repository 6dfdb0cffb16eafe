"""The base class of every step's settings."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Frozen, closed settings: an unknown key is an error, not a typo that is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
