"""The folder that a request names: whether it fits, and its settings, `hansard.toml`, as far as they are trusted."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.agents.tables import BadTeam
from adapters.agents.team import load as load_team
from adapters.project import NAME, BadProject, Project, Trust, load, parse
from adapters.workspace import Room, WorkspaceError, check, committed, confine
from adapters.workspace.conversion_facts import filtered_files
from api.node.checkouts import checkout_of, is_bare
from api.node.settings import Settings
from domain.delivery.validation import Preparation
from domain.values.base import Forbidden, Invalid
from domain.values.sentences import Sentence, sentence_of

_NAMED: Final = 5
"""Files under a filter that are named."""


def root_of(folder: Path) -> Path:
    """The root of the checkout that contains a folder; outside of git, the folder itself."""
    return checkout_of(folder) or folder


def within_roots(path: Path, settings: Settings) -> None:
    """Raises Invalid for a folder outside of `HANSARD_ROOTS`, also through links."""
    roots, place = settings.root_folders, path.resolve()
    if roots and not any(place.is_relative_to(root.resolve()) for root in roots):
        raise Invalid({"/workspace": Sentence("path_outside_roots", roots=", ".join(map(str, roots)))})


def trust_of(settings: Settings) -> Trust:
    return Trust(settings.node_dir / "trust.json", settings.trust)


def read_project(folder: Path) -> Project:
    """The settings of the checkout, or of the commit of a bare repository. Raises Invalid with file and line."""
    root = root_of(folder)
    try:
        return _committed(root) if is_bare(root) else load(root)
    except BadProject as error:
        raise Invalid({"/workspace": sentence_of(error)}) from None


def _committed(repository: Path) -> Project:
    """Without its team: that would be a file of the repository."""
    text = (committed(repository, NAME) or b"").decode("utf-8", errors="replace")
    project = parse(text)
    return project.model_copy(update={"delivery": project.delivery.model_copy(update={"team": None})})


def trusted_project(folder: str | None, settings: Settings) -> Project:
    """The settings with which a session starts. Raises Invalid; Forbidden for untrusted settings."""
    if folder is None:
        return Project()
    project, root = read_project(Path(folder)), root_of(Path(folder))
    if not trust_of(settings).covers(root, project):
        keys = ", ".join(key for key, value in project.risky.items() if value)
        detail = f"{root / NAME} has settings that you have to trust before they take effect: {keys}."
        raise Forbidden(f"{detail} Read them, then run: hansard trust {root}")
    return project


def team_of(folder: Path, settings: Settings) -> Path | None:
    """The team file that the repository's settings name, if they are trusted and it can be read."""
    root = root_of(folder)
    with suppress(Invalid):
        return trust_of(settings).effective(root, read_project(folder)).team_file(root)
    return None


def untrusted_team(folder: Path, settings: Settings) -> Path | None:
    """The team file that the repository's settings name, if it is theirs to take effect only once they are trusted."""
    root = root_of(folder)
    with suppress(Invalid):
        project = read_project(folder)
        if not trust_of(settings).covers(root, project):
            return project.team_file(root)
    return None


def unfit_team(path: Path) -> str | None:
    """Tells why a team file cannot be used; None if it can."""
    try:
        load_team(path)
    except BadTeam as error:
        return Sentence("team_unfit", problem=sentence_of(error))
    return None


def preparation_of(project: Project) -> Preparation:
    """The project as a session records it."""
    workspace = project.workspace
    return Preparation(
        setup=project.setup_steps(),
        copy_paths=workspace.copy_paths,
        link=workspace.link,
        env=workspace.env,
        network=project.validation.network,
        setup_network=workspace.network,
        services=project.services(),
        ports=workspace.ports,
        filters=workspace.filters,
        clean_room=project.validation.clean_room,
        repeat=project.validation.repeat,
        repeat_seconds=project.validation.repeat_seconds,
        coverage=project.validation.coverage,
    )


def filter_warnings(folder: str | None, preparation: Preparation) -> tuple[Sentence, ...]:
    """Says which files of a checkout git stores in another form than it shows, and which of both the agents see."""
    top = checkout_of(Path(folder)) if folder else None
    if top is None:
        return ()
    try:
        named = filtered_files(top)
    except WorkspaceError:  # the start itself says why the repository cannot be read
        return ()
    paths = sorted({path for each in named.values() for path in each})
    if not paths:
        return ()
    more = len(paths) - _NAMED
    shown = Sentence("paths_and_more", paths=", ".join(paths[:_NAMED]), number=more) if more > 0 else ", ".join(paths)
    code = "filters_on" if preparation.filters else "filters_off"
    return (Sentence(code, paths=shown, filters=", ".join(sorted(named))),)


def workspace_of(named: str | None, settings: Settings, *, measured: bool = True) -> Path | None:
    """The folder; `measured`: one without git is small enough, too. Raises Invalid for an unusable one, before any
    agent costs money."""
    if named is None:
        return None
    path = Path(named)
    if "\0" in named or not path.is_absolute():
        raise Invalid({"/workspace": Sentence("path_not_absolute")})
    within_roots(path, settings)
    try:
        room = Room(settings.workspace_files, settings.workspace_bytes) if measured else None
        check(path, ours=settings.node_dir, room=room, private=(settings.log_file,) if settings.log_file else ())
    except WorkspaceError as error:
        raise Invalid({"/workspace": sentence_of(error)}) from None
    return path


def confined_paths(paths: list[str]) -> tuple[str, ...]:
    """Raises Invalid for paths that lead out of the workspace."""
    errors, confined = {}, []
    for index, path in enumerate(paths):
        try:
            confined.append(confine(path))
        except WorkspaceError as error:
            errors[f"/filePaths/{index}"] = sentence_of(error)
    if errors:
        raise Invalid(errors)
    return tuple(confined)
