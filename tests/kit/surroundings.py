"""The environment that tests start programs in."""

import os


def without_settings() -> dict[str, str]:
    """This process's environment without its settings of Hansard; without a team file, the example team answers."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HANSARD_")}
    return kept | {"HANSARD_EXAMPLE": "1"}
