"""The states of longer events as a SQLite file holds them: deflated, with a dictionary of what such states repeat.

Hashes, exports, checkpoints and other stores are about the JSON text, which is unpacked wherever rows are read. Rows of
older versions hold that text itself.
"""

import zlib
from collections.abc import Sequence
from typing import Any, Final

MARK: Final = b"\x01"
"""The beginning of a packed state; no JSON text begins so. A second dictionary would take another mark."""
SHORT: Final = 320
"""States of up to so many bytes stay as they are: most events are that short, and reading many has to be fast."""
_LONG: Final = 3_000
"""From here on, a state repeats itself more than it repeats the dictionary."""
_MOST: Final = 1 << 28
"""A damaged or hostile row unpacks to no more bytes; states are far shorter."""
DICTIONARY: Final = (
    b'"fallback":false,"counts":{"verdict":"PASS","summary":"","resolvedCount":0,'
    b'"remainingCount":0}"feedback":{"verdict":"NEEDS_FIX","summary":"","issues":[{"severity":"major",'
    b'"description":"","suggestion":""}]}"feedback":{"verdict":"CHALLENGE","concerns":[""],'
    b'"suggestions":[""]},"waited":1000,"spent":{"tokens":60,"costMicros":12,"unknown":1},"rationale":"",'
    b'"choice":"apply_fix","state":"decided","role":"person""childId":"debate-","childKind":"review",'
    b'"about":"agent:0","by":"person","synthesis":{"head":"","length":191}"planVersion":1,'
    b'"plan":{"head":"[{\\"agent\\": \\"","length":274},"agents":[{"agent":"","task":"","role":"backend",'
    b'"parallel":true,"checkpoint":false,"verification":{"pass_criteria":""},"phaseProfile":[3],'
    b'"currentPhaseIdx":0,"currentPhase":3,"completed":false,"history":[],"subtaskId":"s1"}],"lastRound":3,'
    b'"source":"planner""blockingIssues":[{"id":"b1","title":"","detail":""}],"fixPlan":[""],"score":40,'
    b'"classification":"test","summary":""state":"planning","policy":"delivery@1","task":"",'
    b'"filePaths":["src/"],"steps":[{"stage":"test","command":"pytest -q","argv":["pytest","-q"]}],'
    b'"limits":{"maxIterations":2,"maxMinutes":45,"minute":60000},"workspace":"/","home":"/",'
    b'"repository":true,"opening":{"prompt":"","employees":[{"name":"Backend","role":"backend"}],'
    b'"maxRounds":3,"triage":"orchestrate"},"mode":"orchestrated","labels":[],"origin":"","title":"",'
    b'"parent":{"sessionId":"","about":"plan"},"retry":{"attempts":5,"backoffSeconds":[5,30,120,600],'
    b'"maxWaitSeconds":21600,"repairs":1,"fallback":[]}"topic":{"subject":{"head":"","length":120},'
    b'"strategy":"review","maxRounds":5,"profile":{"name":"custom","version":1,"words":"seed@1",'
    b'"similarity":"jaccard","ratioOver":"all","agreement":0.7,"stability":0.8,"stabilityWithoutPair":0.0,'
    b'"agreementWeight":0.6,"stall":0.3,"stallAfter":1},"scenario":{"head":"{\\"replies\\": {\\"reviewer\\": [{\\"t'
    b'ext\\": \\"","phase":"implementation","iteration":1,"elapsedMs":5000,"remainingIterations":2,'
    b'"artifactId":"delivery-","mediaType":"text/markdown","content":{"head":"","length":2000,"digest":"",'
    b'"goals":[""],"modules":[],"checklist":[]"tools":[{"tool":"execute","title":"","exitCode":0,'
    b'"milliseconds":500},{"tool":"edit","title":"","paths":["src/"],"milliseconds":20}],"toolsTotal":2,'
    b'"transcript":{"head":"","length":2000,"digest":""},"failure":{"code":"unreadable","detail":"",'
    b'"retryable":true},"next":"repair""message":"Round 3: critique.","role":"critique","round":3,'
    b'"agent":"reviewer","content":{"head":"","length":221},"problem":"The reply holds no review verdict.",'
    b'"sentence":{"text":"The reply holds no review verdict.","code":"reply_without",'
    b'"params":{"what":{"text":"review verdict","code":"review_verdict","params":{}}}}}}{"at":1764000000000,'
    b'"actor":"agent:coder","turn":"t1#1","cause":10,"data":{"turnId":"orchestration-.t4","work":"ask",'
    b'"agent":"coder","role":"coder","prompt":"rebuttal.review@1","context":{"task":{"head":"","length":10},'
    b'"files":{"head":"","length":120},"max_iterations":{"head":"3","length":1},"iteration":{"head":"1",'
    b'"length":1},"history":{"head":"","length":28},"validation":{"head":"pytest -q","length":9},'
    b'"plan":{"head":"","length":200},"changes":{"head":"","length":7},"rounds":{"length":730,'
    b'"derived":{"what":"rounds","sessionId":"review-","version":13,"seen":""}},"round":{"head":"4",'
    b'"length":1},"subject":{"head":"","length":120}},"reads":"review","access":"read","ordinal":1,'
    b'"roleOrdinal":1,"agentSession":"scripted:coder","deadline":"2026-01-01T00:00:00.000Z",'
    b'"phase":"rebuttal","round":4}}{"at":1764000000000,"actor":"agent:reviewer","turn":"t3#1","cause":10,'
    b'"data":{"turnId":"review-.t3","attempt":1,"agent":"reviewer","role":"reviewer","seconds":0.0003,'
    b'"usage":{"inputTokens":1200,"cachedTokens":1000,"outputTokens":50,"reasoningTokens":10,'
    b'"costMicros":30},"model":"claude-","fence":"bwrap","reply":{"head":"The ","length":222},'
    b'"prompt":{"length":3105,"derived":{"what":"prompt","sessionId":"review-","version":10,"template":"",'
    b'"language":"en"}},"agentSession":"scripted:reviewer","files":[{"path":"src/","added":1,"removed":1}],'
    b'"tree":""}}'
)
"""It never changes: rows of every log were made with it. What comes most often is at its end."""
_BEGUN: Final = zlib.compressobj(6, zlib.DEFLATED, -12, 4, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)


def pack(state: bytes) -> bytes:
    """The bytes that the file holds for the state of an event."""
    if len(state) <= SHORT and state[:1] != MARK:
        return state
    if len(state) <= _LONG:
        deflate = _BEGUN.copy()
    else:
        deflate = zlib.compressobj(3, zlib.DEFLATED, -15, 8, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)
    return MARK + deflate.compress(state) + deflate.flush()


def unpack(stored: bytes) -> bytes:
    """The state of an event. What cannot be unpacked stays as it is: its reader finds that it is no JSON."""
    if stored[:1] != MARK:
        return stored
    inflate = zlib.decompressobj(-15, DICTIONARY)
    try:
        state = inflate.decompress(stored[1:], _MOST)
    except zlib.error:
        return stored
    return state if inflate.eof and not inflate.unused_data else stored


def plain(rows: Sequence[Sequence[Any]], state: int) -> Sequence[Any]:
    """Rows as they are read, with their states (in this column) unpacked. A damaged file may hold anything there."""
    return [
        (*row[:state], unpack(row[state]), *row[state + 1 :])
        if isinstance(row[state], bytes) and row[state][:1] == MARK
        else row
        for row in rows
    ]
