"""The topics of events that views and pages name: each is one that is in the log."""

import ast
import re
from itertools import chain

from domain.kinds import TOPICS
from tests.scans.sources import ROOT, files, nodes

TOPIC = re.compile(rf"({'|'.join({topic.partition('.')[0] for topic in TOPICS})})\.[a-z]+_[a-z_]+")
"""A kind of event, and at least two words."""


def test_every_topic_that_is_named_exists() -> None:
    """What ends with `_` is the beginning of topics. One that no event has is a case that never comes."""
    named = {
        (path.relative_to(ROOT).as_posix(), node.value)
        for path in chain(files("projections"), files("api"))
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and TOPIC.fullmatch(node.value)
    }
    assert len(named) > 50
    absent = {(file, name) for file, name in named if name not in TOPICS}
    assert {(file, name) for file, name in absent if not any(topic.startswith(name) for topic in TOPICS)} == set()
