"""All sentences of ``flowsim why late``."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.truth.event_time_rules import (
    drop_of,
    event_pattern,
    ms_of,
)
from tests.support.truth.late_checks import (
    accepts,
    all_arrived,
    arrived,
    behind,
    bound,
    by_assigner,
    channel_line,
    closed,
    declared,
    declared_by_source,
    elsewhere,
    first_of,
    gaps,
    in_time,
    itself,
    late,
    made,
    made_last,
    none_late,
    not_announced,
    not_waited_for,
    nothing_arrived,
    of_split,
    result,
    since,
    split_line,
    window_closed,
)
from tests.support.truth.late_results import late_firing, of_record, overdue_timer
from tests.support.why_truth import Pattern

_RECORD = r"(?:Record (?P<value>.+?)|a Record)(?: \(timestamp {at:E}\))?(?:, key (?P<key>.+),)?"
ATTEMPT = r"(?: in attempt {attempt:N} \(of 0 to {attempts:N}\))?"
HIGHEST = r"their highest timestamp {high:E}, less the bound of {bound:S}, less 1 ms"
MERGED = (
    r"its {all:N} splits are all idle, so the highest of their watermarks"
    r"|(?:the minimum over the [\d,]+ splits that it waits for, )?that of {of:P}(?:, the only split that it waits "
    r"for)?"
)
CHANNEL = (
    r"{w:W}(?:, idle since {idle:M}|(?P<behind>, not waited for until it has caught up))?"
    r"(?:, EndOfData (?P<drain>with|without) drain at {end:M})?"
)

LATE: Sequence[Pattern] = (
    event_pattern(
        "late record",
        _RECORD
        + rf" is late at {{o:O}}{ATTEMPT}: it (?P<fate>goes to the late side output|is dropped and only counted)\.",
        late,
    ),
    event_pattern(
        "closed windows",
        r"The watermark of the operator was {w:E} when the record arrived, and (?P<which>its window is|all its "
        r"\d+ windows are) "
        r"closed: a window is closed when the watermark reaches its last millisecond plus the allowed lateness of "
        r"{l:S}\.",
        closed,
    ),
    event_pattern(
        "closed window", r"window \[{a:N}, {b:N}\) is closed since the watermark reached {w:E}", window_closed
    ),
    event_pattern(
        "late by itself",
        r"Its timestamp plus the allowed lateness of {l:S} is not above the watermark, which is {w:E}\.",
        lambda claim: drop_of(claim).timestamp + ms_of(claim["l"]) <= ms_of(claim["w"]) == drop_of(claim).watermark,
    ),
    event_pattern(
        "late at a join",
        r"An interval join does not use a record below the watermark, which is {w:E}\.",
        lambda claim: drop_of(claim).timestamp < ms_of(claim["w"]) == drop_of(claim).watermark,
    ),
    event_pattern(
        "watermark of the task",
        r"{t:T} has watermark {w:E} since {m:M}: (?:(?P<only>the watermark of its only channel)|(?P<idle>all its "
        r"channels had become "
        r"idle, so it is the highest of their watermarks)|the minimum over the channels that it waited for "
        r"then(?:, without {n:N} idle "
        r"channels?)?)\.",
        since,
    ),
    event_pattern(
        "behind a watermark",
        r"The record came over channel #{ch:N} from {t:T}, behind watermark {w:E} of that channel, which {s:T} "
        r"had sent before it\.",
        behind,
    ),
    event_pattern(
        "emitted by the source itself",
        r"{t:T} itself emitted watermark {w:E}, and then the record\. A source that emits its own watermarks must "
        r"not emit them "
        r"ahead of its records\.",
        itself,
    ),
    event_pattern(
        "generated watermark",
        rf"{{o:O}} generated watermark {{w:E}} after {{n:N}} records?(?:: (?:{HIGHEST}|{MERGED}))?\.",
        made,
    ),
    event_pattern(
        "generated MAX", r"{o:O} generated watermark MAX \(end of event time\) at the end of its input\.", made_last
    ),
    event_pattern(
        "split of the record",
        r"The record is of {split:P}, which did not hold back this watermark: (?P<why>a subtask reads its files "
        r"one after the "
        r"other, and only the one that it reads counts|it was idle|the source did not wait for it|it had no "
        r"watermark and no status "
        r"yet)\.",
        of_split,
    ),
    event_pattern(
        "bound",
        r"(?:The record is {behind:S} behind the highest timestamp that .+ had seen, but the bound allows|The "
        r"bound of .+ is) "
        r"{bound:S}\. With a bound of at least {needed:S} it would have been in time\.",
        bound,
    ),
    event_pattern(
        "channel that was idle",
        r"The record came over channel #{ch:N} from {t:T}, (?:which has no watermark|whose own watermark is only "
        r"{w:E})\. But that "
        r"channel was idle from {m:M} on, so the watermark did not wait for it(?:; it became active again at "
        r"{again:M}, behind the "
        r"watermark)?\.",
        not_waited_for,
    ),
    event_pattern(
        "declared idle",
        r"{o:O} was declared idle(?:(?P<splits>: each of its splits was idle or had ended)|(?P<reader> by its "
        r"reader or its watermark "
        r"generator)|(?P<perhaps>: by its idle timeout of {d:D}, or by its reader or its watermark generator)|: "
        r"it had no record for "
        r"more than its idle timeout of (?P<d2>[^,]+?))\.",
        declared,
    ),
    event_pattern(
        "declared idle by the source",
        r"{t:T} itself declared that it is idle\.",
        declared_by_source,
    ),
    event_pattern(
        "not announced active",
        r"{t:T} sent {n:N} records? on this channel since it was idle, from {m:M} on, this record included\. But "
        r"an idle output becomes "
        r"active only with its next watermark, which must be above its last one: (?:it did so at {did:M}|the "
        r"recording shows no such "
        r"status)\.",
        not_announced,
    ),
    event_pattern("result", r"{t:T} emitted the record as a result, after it had forwarded the watermark\.", result),
    event_pattern(
        "late firing",
        r"A record within the allowed lateness fired window \[{a:N}, {b:N}\) when the watermark was {w:E} already\. A result "
        r"has the last millisecond of its window as timestamp, so the operators after it need an allowed lateness as well\.",
        late_firing,
    ),
    event_pattern(
        "overdue timer",
        r"Event-time timer {at:E} was due already when it was registered at {m:M}, at watermark {w:E}\. So it fired only "
        r"with the next watermark, {next:E}, and its results have the timestamp of the timer\.",
        overdue_timer,
    ),
    event_pattern(
        "result of a record",
        r"It belongs to a record with the same timestamp, {at:E}, which was behind the watermark already\.",
        of_record,
    ),
    event_pattern("channel", rf"channel #{{ch:N}} from {{t:T}}: {CHANNEL}", channel_line),
    event_pattern(
        "none is late here",
        r"(?:No record is late: )?{o:O} got {n:N} records?(?: \((?P<attempts>[^)]+)\))?"
        r"(?:, all above its watermark|(?P<join>, none below its watermark)|"
        r"(?P<clock>: the windows follow the clock, so no record is late)|"
        r"(?P<global>: the global window is never closed, so no record is late)|, of which {behind:N} arrived behind "
        r"its watermark\. (?:A "
        r"window of each was still open|None was late: a window was still open, or the timestamp plus the allowed "
        r"lateness was above "
        r"the watermark))\.",
        none_late,
    ),
    event_pattern(
        "none is late",
        r"No record is late: {n:N} records? arrived at windows or interval joins\.",
        all_arrived,
    ),
    event_pattern(
        "no record arrived",
        r"No record is late: no record arrived at a window or an interval join, and only these can drop late "
        r"records\.",
        nothing_arrived,
    ),
    event_pattern(
        "not late", _RECORD + rf" is not late at {{o:O}}{ATTEMPT}(?P<gap>, but no window contains it)?\.", in_time
    ),
    event_pattern(
        "watermark at the arrival",
        r"(?:(?P<first>It arrived before the first watermark)|(?P<above>It arrived above the watermark, which was "
        r")|(?P<join>Its "
        r"timestamp is not below the watermark, which was )|It arrived behind the watermark, which was "
        r"){w:E}?(?:, but (?:a window was "
        r"still open|(?P<merged>it merged into a window that was still open)): lateness depends on the end of the "
        r"window, not on the "
        r"record's own timestamp)?\.",
        arrived,
    ),
    event_pattern(
        "by the clock",
        r"(?:(?P<clock>The windows follow the clock)|The global window is never closed), so no record is late\.",
        by_assigner,
    ),
    event_pattern("open window", r"window \[{a:N}, {b:N}\) accepts records until the watermark reaches {w:E}", accepts),
    event_pattern(
        "gap between windows",
        r"The windows have a size of {size:N} ms, and a new one starts every {slide:N} ms: a record in the gap "
        r"between two windows is "
        r"skipped\. It is not counted as late unless it is also behind the watermark\.",
        gaps,
    ),
    event_pattern(
        "first of several",
        r"this is the first of {n:N} late records: (?P<parts>[^;]+)(?:; name one .+: (?P<named>.+))?",
        first_of,
    ),
    event_pattern(
        "elsewhere",
        rf"an equal record is (?P<what>late as well|not late) at {{o:O}}{ATTEMPT}(?P<other> \(see --task\))?",
        elsewhere,
    ),
    event_pattern("split", r"{name:P}: {w:W}(?P<idle>, idle)?(?:, not waited for)?", split_line),
)
