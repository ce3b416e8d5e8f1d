"""`python -m api.document > docs/openapi.json`: rewrite the description after a change of endpoints or models."""

import sys

from api.app import COMMANDS, VIEWS
from api.openapi import Document

if __name__ == "__main__":
    sys.stdout.buffer.write(Document(COMMANDS, VIEWS).content)
