"""From a start request to the command that starts a session: paths, commands and scenario are checked first."""

import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypedDict

import orjson

from adapters.agents.scripted import Scenario
from adapters.agents.team import Team
from adapters.project import Project
from adapters.project.defaults import NO_RETRY, RetryDefaults, ReviewDefaults
from adapters.project.discovery import uses_pnpm
from api.actions.bodies import Conversation, DebateStart, DeliveryStart, Discussed, ReviewStart, Start, WishBody
from api.actions.projects import confined_paths, preparation_of, trusted_project, workspace_of
from api.node.checkouts import checkout_of
from api.node.settings import Settings
from domain.convergence.profiles import named
from domain.delivery.chart import PHASES, ROLES, checked_phases
from domain.delivery.commands import StartDelivery
from domain.delivery.validation import is_allowed, only, prefixes
from domain.discussion.strategies import CHOICES, PASSING, REJECTING, strategy_of
from domain.orchestration.events import Employee, OrchestrationRequest
from domain.session.attempts import RetryPolicy
from domain.session.children import DiscussionBrief, ReviewSettings
from domain.session.team_decisions import DecisionPolicy
from domain.session.validation import DEFAULT_COMMANDS, GivenCommand, ValidationStep, commands
from domain.session.workspace import ReviewedDiff
from domain.values.base import Blob, Invalid, Text
from domain.values.budget import DEFAULT_MINUTES, BudgetLimits, effective_iterations
from domain.values.sentences import Sentence
from domain.values.words import folded

TALKERS = ("reviewer", "coder", "critic", "planner", "synthesizer")
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(kind: str) -> str:
    """`delivery-7f3k2m9qx4`: the kind, then 50 random bits, asked for all at once."""
    return f"{kind}-{''.join(_LETTERS[byte % len(_LETTERS)] for byte in secrets.token_bytes(10))}"


class SharedFields(TypedDict):
    """The fields with which any session is started."""

    title: str
    origin: str
    labels: tuple[str, ...]
    workspace: str | None
    repository: bool
    started_in: str | None
    scenario: Text | None
    crew: dict[str, str]
    decisions: DecisionPolicy | None


def delivery(
    body: DeliveryStart,
    team: Team,
    settings: Settings,
    *,
    author: str = "",
    earlier: Sequence[ValidationStep] = (),
    reviewed: ReviewedDiff | None = None,
) -> StartDelivery:
    """`author` starts it; `earlier` is the validation of the work that it replaces; `reviewed` are the uncommitted
    changes that it starts with. Raises Invalid with a pointer for
    each field that does not hold."""
    if body.task is None:
        raise Invalid({"/task": Sentence("empty")})
    folder = workspace_of(body.workspace, settings)
    project = trusted_project(None if folder is None else str(folder), settings)
    body = body.model_copy(update=project.delivery.beside(body.model_fields_set))
    phases = checked_phases(body.phases or PHASES)
    shared, blobs = _shared(body, team, settings, *ROLES.values(), folder=folder, author=author)
    limits = BudgetLimits(
        max_iterations=effective_iterations(body.max_iterations, body.max_attempts),
        max_minutes=body.max_minutes or DEFAULT_MINUTES,
        max_tokens=body.max_tokens,
        max_cost_micros=body.max_cost_micros,
        minute=round(settings.budget_minute * 1000),
    )
    return StartDelivery(
        task=body.task,
        fixes=body.fixes or "",
        reviewed=reviewed if shared["repository"] else None,
        file_paths=confined_paths(body.file_paths),
        steps=steps_of(body.test_command, body.validation_commands, shared["workspace"], settings, project, earlier),
        limits=limits,
        max_attempts=body.max_attempts,
        review=_wish(_review_of(body, project), "review", team, settings, "/review"),
        phases=phases,
        retry=retry_policy(body, team, settings, project.delivery.retry),
        no_progress_limit=_progress_limit(team, settings) if body.no_progress_limit is None else body.no_progress_limit,
        baseline=project.validation.baseline if body.baseline is None else body.baseline,
        preparation=preparation_of(project),
        scope=project.scope,
        blobs=blobs,
        **shared,
    )


def _review_of(body: DeliveryStart, project: Project) -> WishBody | None:
    """The review that a person decides: of the request, else of the repository, unless the request leaves the phase
    out. Raises Invalid for a review without its phase."""
    reviewed = body.phases is None or "review" in body.phases
    if body.review is not None and body.review.enabled and not reviewed:
        raise Invalid({"/review": Sentence("review_without_phase")})
    return body.review or (_wish_of(project.delivery.review) if reviewed else None)


def _progress_limit(team: Team, settings: Settings) -> int:
    return 0 if team.example else settings.no_progress_limit


def _wish_of(default: ReviewDefaults | None) -> WishBody | None:
    return None if default is None else WishBody.model_validate(default.model_dump(), by_name=True)


def retry_policy(start: Start, team: Team, settings: Settings, project: RetryDefaults = NO_RETRY) -> RetryPolicy:
    """The rule for retries of failed turns: of the request, else the repository's settings, else the team file, else
    the settings. Raises Invalid.
    """
    body = start.retry
    fields = project.model_dump(exclude_none=True) | (body.model_dump(exclude_none=True) if body else {})
    chosen = {"attempts": settings.retry_attempts} | team.retry.model_dump(exclude_none=True) | fields
    names = list(dict.fromkeys([*(member.name for member in team.agents), *(start.scenario or {}).get("replies", ())]))
    known = {name.casefold() for name in names}
    unknown = {
        f"/retry/fallback/{index}": Sentence("not_one_of", choices=names)
        for index, name in enumerate((body.fallback if body else None) or ())
        if name.casefold() not in known
    }
    if unknown:
        raise Invalid(unknown)
    return RetryPolicy(second=max(1, round(settings.retry_seconds * 1000)), **chosen)


def orchestration(
    body: Conversation, team: Team, settings: Settings, *, author: str = ""
) -> tuple[OrchestrationRequest, tuple[Blob, ...]]:
    """The opening of the orchestration. Raises Invalid with a pointer for each field that does not hold."""
    if not body.prompt.strip():
        raise Invalid({"/prompt": Sentence("empty")})
    employees = employees_of(body, team)
    folder, roles = workspace_of(body.workspace, settings), ("planner", "judge", "assistant")
    shared, blobs = _shared(body, team, settings, *roles, employees=employees, folder=folder, author=author)
    project = trusted_project(shared["workspace"], settings)
    opening = OrchestrationRequest(
        prompt=body.prompt.strip(),
        employees=employees,
        max_rounds=body.max_rounds,
        triage=body.triage,
        plan_review=_wish(body.plan_review, "debate", team, settings, "/planReview"),
        work_review=_wish(body.work_review, "review", team, settings, "/workReview"),
        retry=retry_policy(body, team, settings),
        preparation=preparation_of(project),
        scope=project.scope,
        steps=_steps_if_any(body, shared["workspace"], settings, project),
        **shared,
    )
    return opening, blobs


def _steps_if_any(
    body: Conversation, workspace: str | None, settings: Settings, project: Project
) -> tuple[ValidationStep, ...]:
    """The commands that validate a run: of the request, else of the repository; none if they are turned off, or there
    are none. Raises Invalid."""
    if body.validated is False:
        return ()
    if not body.validation_commands and not project.validation_steps():
        return ()
    return steps_of(None, body.validation_commands, workspace, settings, project)


def discussion(
    body: ReviewStart | DebateStart, team: Team, settings: Settings, *, author: str = ""
) -> tuple[DiscussionBrief, tuple[Blob, ...]]:
    """The subject of a discussion. Raises Invalid with a pointer for each field that does not hold."""
    wish = _wished(body, body.kind, team, settings)
    shared, blobs = _shared(body, team, settings, folder=workspace_of(body.workspace, settings), author=author)
    subject, more = Text.of(body.subject if isinstance(body, ReviewStart) else body.plan)
    reviewed, patch = _reviewed(body)
    topic = DiscussionBrief(
        subject=subject,
        strategy=wish.strategy,
        max_rounds=wish.max_rounds,
        profile=wish.profile,
        expires_ms=wish.expires_ms,
        expires_as=wish.expires_as,
        retry=retry_policy(body, team, settings),
        reviewed=reviewed,
        **shared,
    )
    return topic, (*blobs, *more, *patch)


def _reviewed(body: ReviewStart | DebateStart) -> tuple[ReviewedDiff | None, tuple[Blob, ...]]:
    diff = body.reviewed if isinstance(body, ReviewStart) else None
    if diff is None:
        return None, ()
    patch, blobs = Text.of(diff.patch)
    return ReviewedDiff(commit=diff.commit, patch=patch), blobs


def _shared(
    body: Start,
    team: Team,
    settings: Settings,
    *roles: str,
    employees: Sequence[Employee] = (),
    folder: Path | None,
    author: str,
) -> tuple[SharedFields, tuple[Blob, ...]]:
    """The place and the team of the work; `roles` are those that the kind needs. A scenario replaces the team."""
    workspace = None if folder is None else str(folder)
    scenario, blobs = _scenario(body)
    shared = SharedFields(
        title=body.title,
        origin=body.origin,
        labels=tuple(body.labels),
        workspace=workspace,
        repository=folder is not None and checkout_of(folder) is not None,
        started_in=body.started_in,
        scenario=scenario,
        crew={} if scenario or team.example else stand_ins(team, employees) | everybody(team, *roles),
        decisions=team.decisions.policy(author, body.labels, workspace) if team.decisions else None,
    )
    return shared, blobs


def _wish(
    body: WishBody | None, kind: Literal["review", "debate"], team: Team, settings: Settings, pointer: str
) -> ReviewSettings | None:
    """The terms of a discussion; None where it is not."""
    if body is None or not body.enabled:
        return None
    try:
        return _wished(body, kind, team, settings)
    except Invalid as error:
        raise Invalid({pointer + at: detail for at, detail in error.errors.items()}) from None


def _wished(
    body: WishBody | Discussed, kind: Literal["review", "debate"], team: Team, settings: Settings
) -> ReviewSettings:
    """The number asked for, else what the team has settled (S2 phase 6), never below the strategy's minimum (K-28)."""
    default, limit = team.settings.of(kind)
    strategy = strategy_of(kind, default if body.strategy is None else body.strategy)
    if body.max_rounds is not None and body.max_rounds > settings.max_rounds:
        raise Invalid({"/maxRounds": Sentence("not_between", number=1, most=settings.max_rounds)})
    expires_as = body.decision_default
    if expires_as is not None and expires_as not in CHOICES[kind]:
        raise Invalid({"/decisionDefault": Sentence("not_one_of", choices=list(CHOICES[kind]))})
    if team.decisions and team.decisions.guarded and expires_as == PASSING[kind]:
        raise Invalid({"/decisionDefault": Sentence("expiry_would_pass", choice=REJECTING[kind])})
    expires_ms = team.decisions.expires_ms if team.decisions else None
    if body.decision_seconds is not None:
        expires_ms = body.decision_seconds * 1000
    if expires_as is not None and expires_ms is None:
        raise Invalid({"/decisionDefault": Sentence("requires_decision_seconds")})
    return ReviewSettings(
        strategy=strategy.name,
        max_rounds=max(strategy.minimum, body.max_rounds or limit),
        profile=named(body.profile),
        expires_ms=expires_ms,
        expires_as=expires_as,
    )


def steps_of(
    test_command: GivenCommand | None,
    validation_commands: Sequence[GivenCommand] | None,
    workspace: str | None,
    settings: Settings,
    project: Project,
    earlier: Sequence[ValidationStep] = (),
) -> tuple[ValidationStep, ...]:
    """The validation commands: of the request, else of the earlier work, else of the project. A test command has pnpm's
    own two before it in projects of pnpm only. Raises Invalid if there are none, or one is not allowed."""
    own = test_command is not None or bool(validation_commands)
    steps = commands(test_command, validation_commands) if own else tuple(earlier) or project.validation_steps()
    if not steps:
        raise Invalid({"/validationCommands": Sentence("no_validation_command")})
    if own and not validation_commands and not (workspace and uses_pnpm(Path(workspace))):
        steps = tuple(step for step in steps if step.command not in DEFAULT_COMMANDS)
    allowed = prefixes(settings.commands_allowed)
    refused = {
        f"/validationCommands/{index}" if validation_commands else "/testCommand": Sentence(
            "command_not_allowed", command=step.command[:200], detail=only(allowed)
        )
        for index, step in enumerate(steps)
        if not is_allowed(step.argv, allowed)
    }
    if refused:
        raise Invalid(refused)
    return steps


def _scenario(body: Start) -> tuple[Text | None, tuple[Blob, ...]]:
    if body.scenario is None:
        return None, ()
    Scenario.parse(body.scenario, at="/scenario")
    return Text.of(orjson.dumps(body.scenario).decode())


# -- who takes part ---------------------------------------------------------------------------------------------------


def employees_of(body: Conversation, team: Team) -> tuple[Employee, ...]:
    if body.employees is None:
        return tuple(Employee(name=name, role=role) for name, role in team.employees())
    names = [folded(employee.name) for employee in body.employees]
    twins = {
        f"/employees/{place}/name": Sentence("employee_name_taken")
        for place, name in enumerate(names)
        if name in names[:place]
    }
    if twins:
        raise Invalid(twins)
    return tuple(Employee(name=employee.name, role=employee.role.strip().lower()) for employee in body.employees)


def _crew(team: Team, roles: Iterable[str]) -> dict[str, str]:
    """The agent for each role: the team's own names, recorded with the session."""
    members = {role: team.agent_for(role) for role in roles}
    return {role: member.name for role, member in members.items() if member is not None}


def stand_ins(team: Team, employees: Iterable[Employee]) -> dict[str, str]:
    """The agent for each employee: a request may call them as it likes."""
    members = {employee.name: team.member_for(employee.name, employee.role, {}) for employee in employees}
    return {name: member.name for name, member in members.items() if member is not None}


def everybody(team: Team, *roles: str) -> dict[str, str]:
    """The agents with these roles, and those that review and debate: the first agent if none does (S2: the main
    model).
    """
    talkers = [role for role in TALKERS if role not in roles]
    return dict.fromkeys(talkers, team.agents[0].name) | _crew(team, (*talkers, *roles))
