"""What is said of each door, by the name of its handler; the path, the parameters and the models say the rest."""

from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel

from api.openapi import shapes, turn_shapes
from api.routes import bodies
from api.routes.policies import POLICIES, lab
from api.routes.turns import bodies as turn_bodies
from projections.views import blame as blame_views
from projections.views import past, record, reports, sessions, turns
from projections.views import session as session_views

JSON = "application/json"
MARKDOWN = "text/markdown"
HTML = "text/html"
PLAIN = "text/plain"
CSV = "text/csv"
ANY_OBJECT = "object"
"""Instead of a model: any JSON object."""


@dataclass(frozen=True, slots=True)
class Operation:
    """`body` and `answer` are models or names of components, `refuses` statuses beyond the usual.

    `stream`: events too. `tagged`: with an `ETag` that is asked about. `open`: needs no key.
    `nothing`: what 204 means, where the door answers so. `other`: a text that it gives on request.
    """

    tag: str
    summary: str
    description: str = ""
    body: type[BaseModel] | str | None = None
    answer: type[BaseModel] | str | None = None
    media: str = JSON
    status: int = 200
    stream: bool = False
    tagged: bool = False
    open: bool = False
    nothing: str = ""
    other: str = ""
    refuses: tuple[int, ...] = ()


_command = partial(Operation, "Sessions", answer=shapes.Receipt)
_to_the_latest = partial(Operation, "Messages", body=bodies.Origin, answer=shapes.Done, refuses=(409, 412, 503))
_events = partial(Operation, answer="EventPage", stream=True)

OPERATIONS: dict[str, Operation] = {
    "start_session": _command(
        summary="Start a session",
        description="`kind` says which; `Location` says where it can be looked at. No version of it is there before: "
        "`If-Match` with one is 412.",
        body="Start",
        status=202,
        refuses=(409, 412, 503),
    ),
    "cancel_session": _command("End a session", body=bodies.Cancel),
    "retry_turn": _command(
        summary="Retry a turn",
        description="A turn that waits for its next attempt is asked at once; a turn whose last attempt has failed is "
        "asked again. Everything before it stays.",
        body=bodies.Retry,
        status=202,
    ),
    "answer_permission": _command(
        summary="Allow or deny what an agent asks for",
        description="An agent waits for permission to use a tool; `requestId` is that of `turn.permission_requested`. "
        "One answer counts, every other is refused.",
        body=bodies.AnswerPermission,
    ),
    "trust_project": Operation(
        tag="Sessions",
        summary="Trust the settings of a repository",
        description="Set-up, environment, network and team of its `hansard.toml` take effect from now on. A change of "
        "them has to be trusted again.",
        body=bodies.TrustProject,
        answer=shapes.TrustedSettings,
    ),
    "extend_budget": _command(
        summary="Give a session more budget",
        description="A recorded command of a person. A delivery whose budget was exhausted goes on.",
        body=bodies.Extend,
    ),
    "decide": _command(
        summary="Decide a review or a debate",
        description="The review or debate itself, or the session that waits for it; `version` is of the review or "
        "debate. `choices` of its view are what is open. One decision counts, every other is refused.",
        body=bodies.Decision,
    ),
    "decide_scope": _command(
        summary="Allow or deny changes outside the scope",
        description='Of a delivery whose repository says `[scope] outside = "ask"`. Allowed paths may be changed '
        "from then on; denied ones the developer has to undo in another iteration. The wait costs no budget.",
        body=bodies.ScopeAnswer,
    ),
    "land_session": _command(
        summary="Merge the result into a branch",
        description="Merged with the branch as it is now, and validated there; the branch moves only if that passes. "
        "The events `session.landed` and `session.sent_back` say what came of it.",
        body=bodies.Land,
        status=202,
    ),
    "fork_session": _command(
        summary="Begin a new session from a version of this one",
        description="The history up to `atVersion` (to the end of the decision that it is part of) is shared; the "
        "source is untouched. Recorded answers are used again, free, until the ways part; then the agents are asked, "
        "or with `stop` the fork is held until it is continued.",
        body=bodies.Fork,
        status=202,
    ),
    "continue_session": _command(
        summary="Let an orchestration or a held fork go on",
        description="From a checkpoint, or where the rounds were used up: with fresh rounds, and the planner is asked "
        "again only where there is no valid plan. A fork that is held goes on with the agents.",
        body=bodies.Empty,
    ),
    "reset_session": _command("End an orchestration", body=bodies.Cancel),
    "receive_message": Operation(
        tag="Messages",
        summary="Say something to the team",
        description="A request starts an orchestration or waits for its turn; a word to continue or reset does that.",
        body=bodies.Message,
        answer=shapes.MessageAnswer,
        refuses=(412, 503),
    ),
    "show_channel": Operation("Messages", "What an origin is busy with, and what waits", answer=sessions.ChannelView),
    "continue_latest": _to_the_latest("Let the latest orchestration of an origin go on"),
    "reset_latest": _to_the_latest("End the latest orchestration of an origin"),
    "claim_turn": Operation(
        tag="Turns",
        summary="Claim the oldest turn that waits for an external agent",
        description="Waits for one for `waitSeconds`, at most as long as the server allows (30 s unless set). The turn "
        "is leased to the API key that claims it; a lease that runs out gives it to the next one.",
        body=turn_bodies.TurnClaim,
        answer=turn_shapes.TurnOffer,
        nothing="Nothing waits.",
        refuses=(503,),
    ),
    "heartbeat_turn": Operation(
        tag="Turns",
        summary="Hold on to a claimed turn",
        description="409 says that it is lost, and `reason` why: nobody waits for what comes of it.",
        body=turn_bodies.TurnHeartbeat,
        answer=turn_shapes.HeldTurn,
        refuses=(404, 409, 503),
    ),
    "record_result": Operation(
        tag="Turns",
        summary="Hand in what came of a turn",
        description="Accepted once, from the claim that holds the turn: a late or second result is 409 and changes "
        "nothing. Give `text`, or `failure` where there is no usable answer. `files` are written into the workspace "
        "of a turn that may write, all or, where one is not allowed, none.",
        body=turn_bodies.TurnResult,
        answer=shapes.Receipt,
        refuses=(404, 409, 412, 503),
    ),
    "list_sessions": Operation("Sessions", "Sessions, newest first", answer=sessions.SessionPage),
    "show_session": Operation(
        tag="Sessions",
        summary="A session now, or as it stood at a version",
        description="`ETag` is the version, for `If-Match`; `availableCommands` names the doors that are open now.",
        answer="SessionAnswer",
        tagged=True,
    ),
    "list_events": _events(
        tag="Sessions",
        summary="A session's events",
        description="A page, or with `Accept: text/event-stream` the history and then what happens, until the session "
        "has ended (`event: end`).",
    ),
    "list_turns": Operation(
        tag="Sessions",
        summary="A session's turns, in the order of their requests",
        description="Each question to an agent, and each run of the validation commands, with its state, its usage, "
        "the files that it changed and how many tools it used.",
        answer=turns.TurnList,
    ),
    "show_turn": Operation(
        tag="Sessions",
        summary="A turn with its prompt, reply, activity and patch",
        description="Long texts are whole. While the turn runs, `activity` is what the agent did so far.",
        answer=turns.TurnDetail,
    ),
    "show_activity": Operation(
        tag="Sessions",
        summary="What the agent does",
        description="With `Accept: text/event-stream` each frame as soon as the agent has printed it; `id` is `seq`, "
        "`event: end` says that the turn has ended. As JSON what is known now: of a turn that has ended the first and "
        "the last hundred tools of each attempt. The output of validation commands comes as `notice`.",
        answer=turns.ActivityList,
        stream=True,
    ),
    "show_transcript": Operation(
        tag="Sessions",
        summary="What the agent's program printed, line by line",
        description="Of the last attempt that printed anything, without secrets; at most 64 MiB, then cut with a mark.",
        media=PLAIN,
    ),
    "show_changes": Operation(
        tag="Sessions",
        summary="What a session has changed, as files and one patch",
        description="From its base to its newest state, or to that of a version; with `turnId` what one turn changed. "
        "`Accept: text/x-diff` gives the patch alone. A failed or cancelled session keeps its changes.",
        answer=session_views.ChangesView,
        other="text/x-diff",
    ),
    "list_conversations": Operation(
        "Messages", "The conversations, the newest first", answer=sessions.ConversationPage
    ),
    "show_conversation": Operation(
        tag="Messages",
        summary="What was said in a conversation, and its last result",
        description="Messages of one `origin`. The next message starts from the last result, and the team reads what "
        "was said before.",
        answer=sessions.ConversationView,
    ),
    "show_blame": Operation(
        tag="Sessions",
        summary="Which turn wrote each line of a file",
        description="Of a file as a commit of `repository` has it, by default the one that is checked out; a session "
        "must have worked there. A line is an agent's where the turn's recorded patch added it: in the very commit, "
        "or, after an amend, rebase, squash, cherry-pick, rename, move or new indentation, where only that turn wrote "
        "these words. Any other line has `session: null`. `demandedBy` is the finding that names the place.",
        answer=blame_views.Blame,
        refuses=(404,),
    ),
    "show_worklog": Operation("Sessions", "A session's worklog", media=MARKDOWN),
    "show_budget": Operation("Sessions", "A session's budget over time", answer=record.BudgetPage),
    "list_artifacts": Operation("Sessions", "What a session has made", answer=record.ArtifactPage),
    "show_artifact": Operation("Sessions", "An artifact with its whole text", answer=record.ArtifactView),
    "show_explanation": Operation(
        tag="Sessions",
        summary="Why a session is in its state",
        description="The chain of commands that led to its newest change of state, first cause first, each with what "
        "the rules looked at. With `wish`, what another state lacks.",
        answer=past.Explanation,
    ),
    "show_replay": Operation(
        tag="Sessions",
        summary="Decide a session's history again, and compare",
        description="With today's rules and the recorded answers; nobody is asked, nothing is written. `difference` is "
        "the first place where something else would be written, or null.",
        answer=past.ReplayAnswer,
    ),
    "show_diff": Operation(
        tag="Sessions",
        summary="Where two sessions part, and what came of each",
        description="Instants, ids and durations are no difference, nor are a fork's own marks.",
        answer=past.Diff,
    ),
    "list_decisions": Operation(
        tag="Sessions",
        summary="The inbox: everything that waits for a person, oldest first",
        description="Discussions that wait for a decision, orchestrations at a checkpoint or stopped, sessions out of "
        "budget. `choices` are what `/decision` takes, or the session's available commands; `version` is for "
        "`If-Match`.",
        answer=sessions.DecisionPage,
    ),
    "list_log": _events(
        tag="Log",
        summary="The whole log by position",
        description="A page, or with `Accept: text/event-stream` the history and then what happens, without an end.",
    ),
    "show_report": Operation(
        tag="Reports",
        summary="Figures over all sessions, as JSON or CSV",
        description="`summary`, `budgets` and `convergence` count sessions by when they began; `quality`, `decisions` "
        "and `costs` count what happened by when it did. What a fork has from its source counts once, for the source, "
        "except in `summary` and `budgets`, where the fork is a session of its own. With `asOf` only facts up to that "
        "position count. `format=csv` gives the rows as `text/csv`.",
        answer=reports.ReportAnswer,
        other=CSV,
    ),
    "policy_lab": Operation(
        tag="Policies",
        summary="When would other profiles have stopped recorded discussions?",
        description="Recorded reviews and debates judged again; no agent is called, nothing is stored. `against` says "
        "how that stands to the record: `earlier`, `same`, `later` (it would have gone on where that stopped; how it "
        "went is unknown) or `unknown` (it would have gone on, and nothing is recorded to compare). `overruled` says "
        "whether the person who decided chose otherwise than the last judgement before that stop suggests.",
        body=lab.LabBody,
        answer=lab.LabAnswer,
        refuses=(404, 503),
    ),
    "alive": Operation("Health", "The process lives", answer=shapes.Alive, open=True),
    "ready": Operation("Health", "The store answers and the views are up to date", answer=shapes.Readiness),
    "metrics": Operation("Health", "Figures for Prometheus", media=PLAIN),
    "show_openapi": Operation("Reference", "This document", answer=ANY_OBJECT, tagged=True),
    "show_reference": Operation("Reference", "The reference page", media=HTML, tagged=True),
    "show_asset": Operation("Reference", "A file of the pages", media="text/css", tagged=True, refuses=(404,)),
} | {
    f"policy_{policy.name}": Operation(
        tag="Policies", summary=policy.summary, body=policy.asked, answer=policy.answered
    )
    for policy in POLICIES
}

TAGS = {
    "Sessions": "What a team of agents does, from the start request to the last event.",
    "Messages": "The team's own doors: a message, continue, reset. One orchestration of an origin at a time.",
    "Turns": "External agents come for their work here: claim, heartbeat, result.",
    "Log": "Every event of every session, in one order.",
    "Reports": "Figures over all sessions: each a view that follows the log.",
    "Policies": "The pure rules: stateless, JSON in, JSON out. Nothing is stored.",
    "Health": "How the service is.",
    "Reference": "What this API is.",
    "Pages": "What a browser shows.",
}
