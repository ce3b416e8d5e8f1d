"""The description of each endpoint that is no action, by the name of its handler; path, parameters and models say the
rest."""

from functools import partial

from api.actions.answers import Receipt
from api.openapi.parameters import ANY_OBJECT, CSV, HTML, MARKDOWN, PLAIN, Operation
from api.routes import turns as turn_bodies
from api.routes.health import Alive, Readiness
from api.routes.policies import lab
from api.routes.policies.endpoints import POLICIES
from api.routes.turns import HeldTurn, TurnOffer
from projections import reports
from projections.views import (
    blame,
    comments,
    conversations,
    diff,
    findings,
    inbox,
    past,
    record,
    review_map,
    sessions,
    turns,
)

_events = partial(Operation, answer="EventPage", stream=True, refuses=(429,))

OPERATIONS: dict[str, Operation] = {
    "show_channel": Operation(
        "Messages", "The active run of an origin, and its queue", answer=conversations.ChannelView
    ),
    "claim_turn": Operation(
        tag="Turns",
        summary="Claim the oldest turn that waits for an external agent",
        description="Waits up to `waitSeconds`, limited by the server (30 s by default). The turn is leased to the"
        " claiming API key; when the lease expires, the next claim gets it.",
        body=turn_bodies.TurnClaim,
        example={"roles": ["dev", "reviewer"], "waitSeconds": 20},
        answer=TurnOffer,
        nothing="No turn is waiting.",
        refuses=(503,),
    ),
    "heartbeat_turn": Operation(
        tag="Turns",
        summary="Renew the lease of a claimed turn",
        description="409 means the turn is lost, and `reason` says why; its result is no longer needed.",
        body=turn_bodies.TurnHeartbeat,
        example={"attempt": 1},
        answer=HeldTurn,
        refuses=(404, 409, 503),
    ),
    "record_result": Operation(
        tag="Turns",
        summary="Submit the result of a turn",
        description="Accepted once, from the claim that holds the turn; a late or second result is 409 and changes"
        " nothing. Send `text`, or `failure` if there is no usable answer. `files` are written into "
        "the workspace of a turn that may write, all or, where one is not allowed, none.",
        body=turn_bodies.TurnResult,
        example={
            "text": "The endpoint is there, and tested.",
            "files": {"src/app.py": "…"},
            "usage": {"inputTokens": 1200, "cachedTokens": 800, "outputTokens": 300, "costMicros": 4500},
            "agentSession": "thread-17",
            "attempt": 1,
        },
        answer=Receipt,
        refuses=(404, 409, 412, 503),
    ),
    "list_sessions": Operation("Sessions", "Sessions, newest first", answer=sessions.SessionPage),
    "show_session": Operation(
        tag="Sessions",
        summary="A session now, or at a version",
        description="`ETag` is the version, for `If-Match`; `availableCommands` lists the actions allowed now.",
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
        description="Long texts are complete. While the turn runs, `activity` is what the agent has done so far.",
        answer=turns.TurnDetail,
    ),
    "show_activity": Operation(
        tag="Sessions",
        summary="The activity of a turn",
        description="With `Accept: text/event-stream` each frame as soon as the agent has printed it; `id` is `seq`, "
        "`event: end` says that the turn has ended. As JSON what is known now: of a turn that has ended the first and "
        "the last hundred tools of each attempt. The output of validation commands comes as `notice`.",
        answer=turns.ActivityList,
        stream=True,
    ),
    "show_transcript": Operation(
        tag="Sessions",
        summary="What the agent's program printed, line by line",
        description="From the last attempt that printed anything. Secrets are removed. Longer output is cut at 64 MiB, "
        "and the cut is marked.",
        media=PLAIN,
    ),
    "show_changes": Operation(
        tag="Sessions",
        summary="What a session has changed, as files and one patch",
        description="From its base to its newest state, or to that of a version; with `turnId` what one turn changed. "
        "`Accept: text/x-diff` gives the patch alone. A failed or cancelled session keeps its changes.",
        answer=blame.ChangesView,
        other="text/x-diff",
    ),
    "list_comments": Operation(
        tag="Sessions",
        summary="What people have remarked on a result, oldest first",
        description="Each with the lines that it quotes, the commit that the person saw, its status and the answers. "
        "`now` is where they are in the result's `head`, found by what they say, as blame does; a comment whose lines "
        "are gone is `outdated`.",
        answer=comments.CommentPage,
    ),
    "list_cuts": Operation(
        tag="Sessions",
        summary="Where a fork of a session can begin",
        description="The versions at which a decision was complete, oldest first; for each question that is open "
        "there, who is asked, in which role, and how the recorded answer begins. At most 200 rows or `limit`; go on "
        "with the last version as `after`.",
        answer=past.Cuts,
    ),
    "list_findings": Operation(
        tag="Sessions",
        summary="What reviewers, judges and people have found, one row each with its life",
        description="Blocking issues, remarks, verdicts, points of reviews and debates, and people's comments. Reports "
        "about the same thing are one row (`findings@1`), with where it comes from, how much it weighs and how it "
        "stands. `recommendation` says whether another round is worth it; it is only shown and steers nothing.",
        answer=findings.FindingsView,
    ),
    "show_map": Operation(
        tag="Sessions",
        summary="What to look at first in a result: its hunks, ordered by facts of the record",
        description="Changed after the last look, tests or settings weakened, an open or declined comment, outside the "
        "named files or the scope, written by a fix, touched by several agents: each fact with the event that shows "
        "it, and each ranks its hunks before those without. Ties are in file order; every hunk is in the list.",
        answer=review_map.ReviewMapView,
    ),
    "list_conversations": Operation("Messages", "Conversations, newest first", answer=conversations.ConversationPage),
    "show_conversation": Operation(
        tag="Messages",
        summary="The messages of a conversation, and its last result",
        description="Messages of one `origin`. The next message starts from the last result, and the team reads what "
        "was said before.",
        answer=conversations.ConversationView,
    ),
    "show_blame": Operation(
        tag="Sessions",
        summary="Which turn wrote each line of a file",
        description="Of a file as a commit of `repository` has it, by default the one that is checked out; a session "
        "must have worked there. A line is an agent's where the turn's recorded patch added it: in the very commit, "
        "or, after an amend, rebase, squash, cherry-pick, rename, move or new indentation, where only that turn wrote "
        "these words. Any other line has `session: null`. `demandedBy` is the finding that names the place.",
        answer=blame.Blame,
        refuses=(404,),
    ),
    "show_worklog": Operation("Sessions", "A session's worklog", media=MARKDOWN),
    "show_budget": Operation("Sessions", "A session's budget over time", answer=record.BudgetPage),
    "list_artifacts": Operation("Sessions", "The artifacts of a session", answer=record.ArtifactPage),
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
        summary="Decide a session's history again and compare",
        description="With today's rules and the recorded answers; no agent is asked, nothing is stored. "
        "`difference` is the first difference, or null.",
        answer=past.ReplayAnswer,
    ),
    "show_diff": Operation(
        tag="Sessions",
        summary="Where two sessions diverge, and how each ended",
        description="Times, ids, durations and a fork's own events are ignored.",
        answer=diff.Diff,
    ),
    "list_decisions": Operation(
        tag="Sessions",
        summary="The inbox: everything that waits for a person, oldest first",
        description="Discussions that wait for a decision, orchestrations at a checkpoint or stopped, sessions out of "
        "budget. `choices` are what `/decision` takes, or the session's available commands; `version` is for "
        "`If-Match`.",
        answer=inbox.DecisionPage,
    ),
    "list_log": _events(
        tag="Log",
        summary="The whole log by position",
        description="A page. With `Accept: text/event-stream`: the history, then new events; the stream does not end.",
    ),
    "show_report": Operation(
        tag="Reports",
        summary="Figures over all sessions, as JSON or CSV",
        description="`summary`, `budgets` and `convergence` count sessions by when they began (forks: by when they "
        "were made); `quality`, `decisions` and `costs` count what happened by when it did. What a fork has from its "
        "source counts once, for the source, except in `summary` and `budgets`, where the fork is a session of its "
        "own. With `asOf` only facts up to that position count. `format=csv` gives the rows as `text/csv`.",
        answer=reports.ReportAnswer,
        other=CSV,
    ),
    "policy_lab": Operation(
        tag="Policies",
        summary="When would other profiles have stopped recorded discussions?",
        description="Recorded reviews and debates judged again; no agent is called, nothing is stored. `against` "
        "compares that with the record: `earlier`, `same`, `later` (it would have continued past the "
        "recorded end; the outcome is unknown) or `unknown` (it would have continued, and nothing is "
        "recorded to compare). `overruled` says whether the person who decided chose otherwise than "
        "the last judgement before that stop suggests.",
        body=lab.LabBody,
        example={
            "profiles": ["seed", "shipped-v3", {"agreement": 0.6, "stability": 0.7}],
            "query": {"kind": "review", "from": "2026-01-01"},
            "limit": 100,
        },
        answer=lab.LabAnswer,
        refuses=(404, 503),
    ),
    "alive": Operation("Health", "The process is alive", answer=Alive, open=True),
    "ready": Operation("Health", "The store answers and the views are up to date", answer=Readiness),
    "metrics": Operation("Health", "Figures for Prometheus", media=PLAIN),
    "show_openapi": Operation("Reference", "This document", answer=ANY_OBJECT, tagged=True),
    "show_reference": Operation("Reference", "The reference page", media=HTML, tagged=True),
    "show_asset": Operation("Reference", "A static file of the pages", media="text/css", tagged=True, refuses=(404,)),
} | {
    f"policy_{policy.name}": Operation(
        tag="Policies",
        summary=policy.summary,
        body=policy.asked,
        example=policy.example,
        answer=policy.answered,
    )
    for policy in POLICIES
}

TAGS = {
    "Sessions": "What a team of agents does, from the start request to the last event.",
    "Messages": "Messages to the team, continue and reset. One orchestration per origin at a time.",
    "Turns": "For external agents: claim, heartbeat, result.",
    "Log": "Every event of every session, in one order.",
    "Reports": "Figures over all sessions.",
    "Policies": "The pure rules: stateless, JSON in, JSON out. Nothing is stored.",
    "Health": "The state of the service.",
    "Reference": "About this API.",
    "Pages": "The pages for browsers.",
}
