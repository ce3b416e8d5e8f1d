"""Answers that schemathesis takes for failures and that are right. It loads this file (SCHEMATHESIS_HOOKS).

A request can fit the document and still be refused for what the server knows: that another session is further on, that
a key was used for another body, that no page ended with this cursor. And HTTP ignores headers that it does not know.
"""

import json
from typing import Any, Final

import schemathesis

KNOWN_BY_THE_SERVER: Final = {
    "version_mismatch",
    "idempotency_key_reused",
    "read_after_beyond",
    "unknown_cursor",
    "landing_without_target",
    "prompt_not_found",
    "not_a_discussion",
    "folder_is_root",
    "folder_missing",
    "beyond_the_log",
    "fixes_no_review",
    "field_of_another_kind",
    "not_later_than_from",
}
STRICT_JSON: Final = {"integer_too_large", "json_string_holds", "json_name_twice", "int_type"}
"""Rules for all JSON, which no schema of a field that takes anything can repeat; for JSON Schema 1.0 is an integer."""
TOGETHER: Final = {
    "validation_missing",
    "answer_missing",
    "fields_missing",
    "fields_missing_any",
    "query_and_sessions",
    "requires_decision_seconds",
}
"""Fields that belong together or exclude each other, often depending on the kind of the session."""
PATHS: Final = {
    "path_names_no_file",
    "path_not_relative",
    "path_leaves_workspace",
    "path_has_bad_characters",
    "path_belongs_to_git",
    "path_too_long",
}
"""Rules for paths within a workspace, which the document states in words."""
UNKNOWN_HEADER: Final = "x-schemathesis-unknown-property"
OF_STREAMS: Final = "Last-Event-ID"
"""Read for streams only, and schemathesis asks for none."""


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Whether it is one."""
    if failure.code == "ST202":
        judges = case.operation.path == "/api/policies/validation"  # it is asked whether commands are good
        return not (judges or _is_right(response, case.headers or {}))
    if failure.code == "ST201":
        return not _is_ignored(str(failure.message))
    return True


def _is_right(response: Any, headers: Any) -> bool:
    try:
        problem = json.loads(response.content)
    except ValueError:
        return False
    codes = {problem.get("code"), *(each.get("code") for each in problem.get("errors", ()))}
    if codes & (KNOWN_BY_THE_SERVER | STRICT_JSON | TOGETHER | PATHS):
        return True
    if problem.get("code") == "if_match_malformed":  # it sends the text of the pattern without its quotes
        return '"' not in str(headers.get("If-Match"))
    if any(str(each.get("pointer")).startswith("/scenario/") for each in problem.get("errors", ())):
        return True  # scripted agents: the document says in words what a scenario holds
    errors = {(each.get("pointer"), each.get("code")) for each in problem.get("errors", ())}
    elsewhere = {("/wish", "not_one_of"), ("/decisionDefault", "not_one_of"), ("/task", "missing")}
    elsewhere |= {("/maxRounds", "not_between")}  # the document names the most that HANSARD_MAX_ROUNDS may allow
    return bool(errors & elsewhere)  # right for another kind of session, or beside another field


def _is_ignored(message: str) -> bool:
    """Only one part of the request was wrong, and that one is not read."""
    wrong = [line for line in message.splitlines() if line.strip().startswith(("Invalid component: ", "- "))]
    return bool(wrong) and all("in header - object with unexpected" in line or OF_STREAMS in line for line in wrong)
