"""Says what a good result leaves open: a person reads this before it is merged."""

from collections.abc import Iterator, Mapping
from typing import Any

from api.cli.exits import in_words
from api.cli.labels import sentence
from api.cli.terminal import visible_name
from projections.record.status import fails_as_before


def result_notes(session: Mapping[str, Any]) -> Iterator[str]:
    """The sentences about a session with a result, most important first; none where nothing is open."""
    result = session.get("result") or {}
    if session.get("scripted"):
        yield sentence("Scripted: scripted agents took part; they do no real work.")
    yield from _on_validation(session, result)
    if ignored := [file["path"] for file in result.get("files") or () if file.get("ignored")]:
        words = "Ignored files that an agent committed are part of the work: {paths}."
        yield sentence(words, paths=", ".join(map(visible_name, ignored)))
    reviewed = result.get("reviewed")
    if reviewed and reviewed["shown"] < reviewed["of"]:
        percent = reviewed["shown"] * 100 // reviewed["of"]
        yield sentence("Review saw {percent} % of the changes.", percent=percent)


def checks(session: Mapping[str, Any]) -> Iterator[str]:
    """Says what was checked of a result, and how."""
    result = session.get("result") or {}
    if validated := result.get("validated"):
        named = ", ".join(f"`{command}`" for command in validated["commands"])
        passed = "{commands} passed in a fresh checkout" if validated["cleanRoom"] else "{commands} passed"
        yield sentence(passed if validated["passed"] else "{commands} failed", commands=named)
    if reviewed := result.get("reviewed"):
        percent = reviewed["shown"] * 100 // reviewed["of"] if reviewed["of"] else 100
        yield sentence("a review saw {percent} % of the changes", percent=percent)


def unchecked(session: Mapping[str, Any]) -> Iterator[str]:
    """Says what was not checked of a result, or proves less than it seems."""
    if session.get("result"):
        yield from result_notes(session)
    result, phases = session.get("result"), session.get("phaseStatuses") or {}
    if result and not result.get("reviewed") and phases.get("review") in ("skipped", "pending"):
        yield sentence("Not reviewed.")


def weaker(session: Mapping[str, Any]) -> Iterator[str]:
    """Says what makes its validation prove less than before the work, a sentence each."""
    weakened = (session.get("report") or {}).get("weakened") or ()
    if weakened:
        from domain.checks.weakening import Weakening, weakening_sentence  # only where there is one
    for weakening in weakened:
        path = weakening["path"]
        shown = {**weakening, "path": path and visible_name(path)}
        yield in_words(weakening_sentence(Weakening.model_validate(shown)))


def only_applies(session: Mapping[str, Any]) -> bool:
    """True if no commit can be made of the result because only the person's own git can convert its files."""
    values = ((session.get("result") or {}).get("branchProblemSentence") or {}).get("params") or {}
    detail = values.get("detail")
    if not isinstance(detail, Mapping):
        return False
    from domain.session.workspace import UNCONVERTED  # only where there is a problem: a list starts without it

    return detail.get("code") in UNCONVERTED


def _on_validation(session: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[str]:
    if not result:
        return
    validated = result.get("validated")
    if validated is None:
        no_tests = result.get("why") == "no_tests"
        yield sentence("Not validated: no tests ran." if no_tests else "Not validated.")
        return
    if fails_as_before(session):
        named = ", ".join(f"`{command}`" for command in validated["commands"])
        yield sentence("The validation fails, as before the changes: {commands}.", commands=named)
    if not validated["cleanRoom"]:
        yield sentence("Not checked in a clone.")
    yield from weaker(session)
    report = session.get("report") or {}
    for command in (report.get("cleanRoom") or {}).get("stale") or ():
        words = "`{command}` failed in the workspace, whose set-up was out of date, and passed in a fresh checkout."
        yield sentence(words, command=command)
    for flake in report.get("flaky") or ():
        if not flake["known"]:
            words = "Flaky: `{command}` failed {failed} of {runs} times, then passed."
            yield sentence(words, command=flake["command"], failed=flake["failed"], runs=flake["runs"])
