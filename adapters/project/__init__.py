"""A repository's own settings: `hansard.toml`, the person's trust in it, and how to write one."""

from adapters.project.settings import BadProject, Project, Trust, load

__all__ = ["BadProject", "Project", "Trust", "load"]
