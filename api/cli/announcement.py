"""The words with which a process that stays begins: its log, its team and its fence."""

from adapters.fence.choice import fenced_by
from api.cli.labels import sentence
from api.cli.terminal import counted, say
from api.node.settings import Settings
from api.system import Core


def announce_work(process: Core, settings: Settings) -> None:
    """Say which log and team a process has, and what fences its agents."""
    say(sentence("  log   {log}", log=settings.log_name))
    if process.team.example and not settings.example:
        say(
            sentence(
                "  team  none: starts are refused; `hansard init` writes a team file, --example uses the scripted team"
            )
        )
    elif process.team.example:
        say(sentence("  team  the scripted example team, which does no real work"))
    else:
        agents = counted(len(process.team.agents), "agent")
        say(sentence("  team  {file} ({agents})", file=settings.team, agents=agents))
    say(sentence("  fence {fence}", fence=sentence(fenced_by(process.sandbox))))
