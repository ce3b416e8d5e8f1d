"""Every request that is sent is a published operation, with parameters and fields that it documents."""

import tomllib
from pathlib import Path
from typing import Any

from adapters.forge.port import Forge, NewPullRequest, PostPlace
from tests.kit.forge import FakeForge

PUBLISHED = tomllib.loads(Path(__file__).with_name("operations.toml").read_text("utf-8"))
NEVER = ("/merge", "/approve", "/labels", "/branches", "/protected", "/hooks", "/settings", "/variables", "/secrets")
"""What only people do, and what nobody asked for."""


def tour(use: Any, fake: FakeForge) -> None:
    """Use every method of the port once."""
    head = fake.head("topic")
    assert head is not None
    issue = fake.issue("sam", "Totals", "")

    async def work(forge: Forge) -> None:
        await forge.account()
        await forge.facts()
        await forge.branch_head("topic")
        number = (await forge.open(NewPullRequest("topic", "main", "Totals", "Words", "s1/open", draft=True))).number
        await forge.find("topic")
        await forge.update(number, title="Total", body="More words")
        await forge.commits(number)
        fake.check(head, "tests", "failure", log="1 failed")
        fake.check(head, "coverage", "failure", via="status", log="81 %")
        await forge.checks(head, number)
        asked = fake.comment(number, "bea", "Why?", path="shop.py", line=1)
        fake.review(number, "bea", "Better")
        comments = (await forge.comments(number, since=int(asked.at * 1_000) - 60_000)).items
        reply = await forge.reply(
            number, next(each.thread for each in comments if each.path and each.thread), "Because", "s1/reply"
        )
        for place in (PostPlace("pull_request", number), PostPlace("issue", issue.number)):
            post = await forge.post(place, "Done", "s1/done")
            await forge.edit(place, post.id, "Done now", "s1/done")
            await forge.find_post(place, "s1/done", since=int(asked.at * 1_000) - 60_000)
        await forge.edit(PostPlace("pull_request", number), reply.id, "Because of that", "s1/reply")
        await forge.may_push("bea")
        await forge.is_member("tess", "testers")
        await forge.issue(issue.number)
        fake.close(number)
        await forge.get(number)

    use(work)


def test_every_request_is_a_published_operation(use: Any, fake: FakeForge) -> None:
    tour(use, fake)
    published = PUBLISHED[fake.kind]
    for call in fake.calls:
        name = f"{call.method} {call.template}"
        assert name in published, f"{call.method} {call.path} is not published"
        assert {*call.query} <= {*published[name].get("query", ())}, f"{name}: {call.query}"
        assert {*call.body} <= {*published[name].get("body", ())}, f"{name}: {call.body}"
        assert {*published[name].get("required", ())} <= {*call.body}, f"{name}: {call.body}"


def test_every_operation_in_the_list_is_used(use: Any, fake: FakeForge) -> None:
    tour(use, fake)
    used = {f"{call.method} {call.template}" for call in fake.calls}
    rare = {
        "GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations",
        "GET /projects/{project}/pipelines/{pipeline_id}",
    }
    assert PUBLISHED[fake.kind].keys() - used - rare == set()


def test_nothing_is_merged_deleted_or_set_up(use: Any, fake: FakeForge) -> None:
    tour(use, fake)
    changes = [call for call in fake.calls if call.method != "GET"]
    assert changes and not [call for call in changes if call.path.endswith(NEVER) or call.method == "DELETE"]


def test_each_request_names_us_and_shows_the_token_in_its_header_only(use: Any, fake: FakeForge) -> None:
    tour(use, fake)
    for call in fake.calls:
        assert call.headers["user-agent"] == "hansard"
        assert call.headers["authorization"] == f"Bearer {fake.token}"
        assert fake.token not in call.path and fake.token not in str(call.query)
        if fake.kind == "github":
            assert call.headers["x-github-api-version"] == "2022-11-28"
