"""A session's comments, as its view reports them."""

from domain.session.comments import Comment, Whereabouts
from projections.views.comments import CommentAnswerView, CommentPlaceView, CommentView


def comment_view(comment: Comment, whereabouts: Whereabouts) -> CommentView:
    change = comment.newest_change
    return CommentView(
        comment_id=comment.comment_id,
        path=comment.path,
        line=comment.line,
        end_line=comment.end_line,
        side=comment.side,
        quote=comment.quote,
        text=comment.text,
        by=comment.by,
        at=comment.at,
        head=comment.head,
        status=comment.status,
        reason=change.reason if change else "",
        answers=tuple(CommentAnswerView(**dict(answer)) for answer in comment.answers),
        now=CommentPlaceView(**dict(whereabouts.now)) if whereabouts.now else None,
        outdated=whereabouts.outdated,
    )
