"""Makes the golden logs of a version: `python -m tests.golden.make VERSION`. Existing files are never replaced.

Each file is an export. Later versions have to load, fold, render and replay it (promise P15).
"""

import hashlib
import json
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.proof.transfer import export
from tests.golden import details, forge_life, happenings, remarked, revised, runs, scenes, served, unattended
from tests.projections.stage import Stage
from tests.projections.walks import wander

PLACE = Path(__file__).parent
SUMS = PLACE / "SHA256SUMS"
SEEDS = (1, 5, 13)
"""Stories in which anything may happen."""


def main(version: str) -> None:
    modules = (scenes, happenings, details, runs, revised, unattended, forge_life, served, remarked)
    for name, scene in (each for module in modules for each in module.SCENES.items()):
        with TemporaryDirectory() as folder:
            stage = Stage(Path(folder))
            scene(stage)
            _keep(stage, f"{version}-{name}")
    for seed in SEEDS:
        with TemporaryDirectory() as folder:
            _keep(wander(Path(folder), seed, 40), f"{version}-mixed-{seed}")
    _sum()


def _keep(stage: Stage, name: str) -> None:
    """The export, and the version and state of each of its sessions."""
    with closing(stage.store):
        states = {session.id: [session.version, session.state] for session in stage.sessions()}
        with (PLACE / f"{name}.jsonl").open("xb") as file:
            file.writelines(export(stage.store))
    with (PLACE / f"{name}.states.json").open("x", encoding="utf-8") as file:
        json.dump(states, file, indent=1)
        file.write("\n")


def _sum() -> None:
    """Add the sums of new files; those of existing files stay as they are."""
    kept = SUMS.read_text().splitlines() if SUMS.exists() else []
    known = {line.partition("  ")[2] for line in kept}
    files = [path for path in sorted(PLACE.glob("*.json*")) if path.name not in known]
    kept += [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files]
    SUMS.write_text("\n".join(kept) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
