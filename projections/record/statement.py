"""What a session did, as an in-toto statement: its result, who made it, what was validated and who approved it."""

from typing import Any, Final

from projections.record.provenance import Authorship, SessionAuthors
from projections.views.session import ResultView, SessionView

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://hansard.invalid/result/v1"


def statement(session: SessionView, result: ResultView, found: SessionAuthors, chain: str) -> dict[str, Any]:
    """`chain` is the hash of the session's last event, which covers all before it."""
    return {
        "_type": STATEMENT,
        "subject": [{"name": f"{session.id}/result", "digest": {"gitCommit": result.head}}],
        "predicateType": PREDICATE,
        "predicate": {
            "session": {
                "id": session.id,
                "kind": session.kind,
                "title": session.title,
                "status": session.status,
                "createdAt": session.created_at,
                "updatedAt": session.updated_at,
            },
            "base": {"branch": result.base.branch, "commit": {"gitCommit": result.base.commit}},
            "branch": result.branch,
            "commits": [{"gitCommit": commit} for commit in result.commits],
            "files": [{"path": file.path, "status": file.status} for file in result.files],
            "turns": [_turn(turn, author) for turn, author in found.turns.items()],
            "record": {"version": session.version, "chain": {"sha256": chain}},
        },
    }


def _turn(turn: str, author: Authorship) -> dict[str, Any]:
    approved = author.approved_by
    return {
        "turn": turn,
        "agent": author.agent,
        "model": author.model,
        "iteration": author.iteration,
        "prompt": {"sha256": author.prompt},
        "patch": {"sha256": author.patch},
        "demandedBy": [{"version": finding.version, "title": finding.title} for finding in author.findings],
        "validatedBy": author.validated_by,
        "approvedBy": {"version": approved.version, "actor": approved.actor} if approved else None,
    }
