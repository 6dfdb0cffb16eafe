"""The base class of every step's settings."""

from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator


class Settings(BaseModel):
    """Frozen, closed settings: an unknown key is an error, not a typo that is ignored; numbers are finite."""

    # infinity and NaN: no comparison with them says no, and JSON, in which settings are kept, has neither
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)


class Roles(Settings):
    """Which column is which: every field is a role, its value a column's name; an empty name means there is none."""

    @model_validator(mode="after")
    def _each_column_once(self) -> Self:
        roles: dict[str, str] = {}
        for role, name in self.named().items():
            if name in roles:
                raise ValueError(f"column {name!r} is named as {roles[name]} and as {role}; it can only be one of them")
            roles[name] = role
        return self

    def named(self) -> dict[str, str]:
        """The columns to read, by role."""
        return {role: name for role, name in self.model_dump().items() if name}
