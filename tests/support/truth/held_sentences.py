"""All sentences of ``flowsim why no-output`` about windows."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.truth.event_time_rules import (
    event_pattern,
    place_of,
)
from tests.support.truth.held_checks import (
    _countdown,
    _idle,
    _without_calls,
    _without_timeout,
    ended_idle,
    holder,
    idle_under_way,
    in_queue,
    last_watermark,
    limit,
    merged_splits,
    needs_of_source,
    no_drain,
    not_forwarded,
    own_watermarks,
    paused,
    source_line,
    stopped,
    subtask_agrees,
    under_way,
)
from tests.support.truth.late_sentences import HIGHEST, MERGED
from tests.support.truth.open_window_checks import (
    at_the_end,
    by_clock,
    clock,
    ends_of,
    fired_last,
    has_fired,
    has_this_watermark,
    last_millisecond,
    more_windows,
    no_such_window,
    not_aligned,
    not_fired,
    of_count,
    only_late,
    time_out,
    triggers,
    unknown_trigger,
    windows_with_records,
)
from tests.support.why_truth import Pattern

WINDOW = r"(?:Window \[{a:N}, {b:N}\)|The global window)(?: of key (?P<key>.+?))?"
LAST_RECORD = r"(?: Its last record came at {m:M}, with timestamp {at:E}\.)?"
CALLS = (
    r"(?:(?P<perrecord>it emits watermarks with its records)|(?P<zero>it emits no watermarks, because "
    r"auto_watermark_interval is 0)|"
    r"it emits watermarks at its periodic calls, every (?P<every>[^.]+?))"
)
LATER = (
    r"(?:it becomes idle at {idleat:M}|its reader or its watermark generator declares it idle at {readerat:M}"
    r"|a record comes before, at {record:M}|(?P<never>the recording does not show that it becomes idle))"
)
FIRES_LATER = (
    r"(?:; (?:it fires at {fires:M}|(?P<not>the recording does not show that it fires)"
    r"(?: before its input has ended, by {end:M})?))?"
)
STRATEGY = r"(?:(?P<split>Split (?:\"[^\"]*\"|\d+)) of )?(?P<op>.+?)"
TIMEOUT = r"its idle timeout is (?P<timeout>[^,.]+?)(?:, and its last record came (?P<ago>.+?) ago)?\."
RESUMED = (
    r"(?: It has read {n:N} records? since {from:M}, but it declares itself active only with its next "
    r"watermark(?:, which must be above "
    r"{above:E})?: (?:the recording shows none|it does so at {does:M})\.)?"
)

HELD: Sequence[Pattern] = (
    event_pattern(
        "window not fired", WINDOW + r" has not fired(?P<again> again)? at {o:O}: it has {n:N} records?\.", not_fired
    ),
    event_pattern(
        "last millisecond",
        r"It fires when the watermark of {o:O} reaches (?:a multiple of {every:S}, and at the latest at )?{w:E}, "
        r"its last millisecond\.(?: Its next timer is {next:E}\.)?",
        last_millisecond,
    ),
    event_pattern(
        "by the clock of the operator",
        r"It fires by the clock of {o:O}, not by a watermark: at (?:{at:N} ms of the processing time, which is "
        r"{m:M} of the run|multiples "
        r"of .+)\.",
        by_clock,
    ),
    event_pattern(
        "clock",
        rf"The clock is at {{m:M}} of the run{FIRES_LATER}\.",
        clock,
    ),
    event_pattern(
        "end before the clock",
        r"The input of {o:O} had ended by {m:M}\. At the end, processing-time timers that are not due are dropped\.",
        lambda claim: claim.moment("m") <= claim.now and claim.moment("m") in ends_of(claim, place_of(claim, "o")[0]),
    ),
    event_pattern(
        "only late records",
        WINDOW + r" got no record in time: {n:N} records? arrived after it had been closed\.",
        only_late,
    ),
    event_pattern(
        "time-out",
        rf"The time-out fires it by the clock, (?P<after>[^,]+) after (?P<which>its last record|the first record) that did "
        rf"not fire it(?:: its timer is due at {{due:M}} of the run{FIRES_LATER})?\.",
        time_out,
    ),
    event_pattern("count", r"It fires when it has {n:N} records?; it has {k:N}\. Time does not fire it\.", of_count),
    event_pattern(
        "triggers",
        r"It fires when one of its triggers fires: (?P<kinds>[a-z_, ]+)\.|The trigger count fires at every {n:N} records? "
        r"that it counts\.|(?P<never>The global window never fires by itself: it needs another trigger\.)",
        triggers,
    ),
    event_pattern(
        "end of event time", r"It fires when event time ends: when the watermark of {o:O} is MAX\.", at_the_end
    ),
    event_pattern(
        "another trigger",
        r"It fires when its trigger, (?P<kind>\w+), decides so; the recording shows only when it did\.",
        unknown_trigger,
    ),
    event_pattern(
        "window has fired",
        WINDOW + r" has fired at {o:O}: {n:N} times?, first at {m:M} with {k:N} records?, at watermark {w:E}\.",
        has_fired,
    ),
    event_pattern("fired last", r"It fired last with {n:N} records?\.", fired_last),
    event_pattern(
        "watermark has come",
        r"{t:T} has this watermark since {m:M}; (?:it fires at {fires:M}|the recording does not show that it "
        r"fires)\.",
        has_this_watermark,
    ),
    event_pattern(
        "more windows",
        r"{n:N} (?:more windows? not fired: (?P<shown>.+)|other windows? fired as well)",
        more_windows,
    ),
    event_pattern(
        "watermark of a task",
        r"{t:T} has {w:W}(?:(?P<idle>, and its (?:only channel is|\d+ channels are all) idle\. Idleness creates "
        r"no watermark: the "
        r"watermark stays where it is\.)|(?P<behind>: it does not decrease, and channel #)|(?P<became>\. Channel "
        r"#)|(?P<only>: that of "
        r"its only channel, from )|: the minimum over the channels that it waits for(?: \({n:N} idle channels? "
        r"not counted\))?\. Channel "
        r"#)(?:{ch:N} from )?{s:T}?(?:, which was idle, is behind it with {own:W}\.| became active with "
        r"(?P<own2>.+?), but becoming "
        r"active emits no watermark: the next watermark of a channel that counts does\.|\.| holds it back with "
        r"(?P<own3>.+?)\.)?",
        holder,
    ),
    event_pattern(
        "watermark sent",
        r"{s:T} has sent watermark {w:E}, but {t:T} has not read it(?:: it reads it at {m:M})?\.",
        under_way,
    ),
    event_pattern(
        "idleness sent",
        r"{s:T} has sent that it is idle, but {t:T} has not read it(?:: it reads it at {m:M})?\.",
        idle_under_way,
    ),
    event_pattern(
        "watermark not forwarded",
        r"{t:T} has watermark {w:E} since {m:M}(?:(?P<idle>, but its output is idle, and an idle output drops "
        r"watermarks)|, and has not "
        r"sent it(?:: it sends it at {sends:M})?\. An operator fires its due timers before it forwards a "
        r"watermark)\.",
        not_forwarded,
    ),
    event_pattern(
        "end without drain",
        r"{t:T} has ended its data without drain: it sent no MAX watermark, so event time did not end\.",
        no_drain,
    ),
    event_pattern(
        "stop without drain",
        r"A stop without drain reached {t:T}\. A source that stops with drain sends MAX\.",
        stopped,
    ),
    event_pattern(
        "ended while idle",
        r"{t:T} was idle when its input ended\. An idle output drops watermarks, and so also the MAX watermark "
        r"that a source sends at "
        r"its end: what is still open stays open\.",
        ended_idle,
    ),
    event_pattern(
        "watermark in a queue",
        r"Watermark {w:E} is in the queue of (?P<op>.+): it leaves after {n:N} records? before it\.",
        in_queue,
    ),
    event_pattern(
        "last watermark of a strategy",
        rf"(?:(?P<split>Split (?:\"[^\"]*\"|\d+)) of )?{{o:O}} (?:(?P<none>has generated no watermark(?: so "
        rf"far\.|(?P<norecord>: it makes its "
        rf"watermark from records, and none has come so far\.)))|generated watermark {{w:E}} after {{n:N}} "
        rf"records?(?:: {HIGHEST})?\.)"
        rf"{LAST_RECORD}",
        last_watermark,
    ),
    event_pattern(
        "needed record",
        rf"To generate watermark {{w:E}}, (?:(?P<split>split (?:\"[^\"]*\"|\d+)) of )?{{o:O}} needs a record of "
        rf"timestamp {{r:E}} or later"
        rf"(?:(?P<none>, and none has come so far)|\. One of timestamp {{one:E}} came at {{came:M}}; {CALLS})?\. "
        rf"The recording shows (?:the "
        rf"first such watermark, {{mark:E}}, at {{m:M}}|no such watermark of it(?:; at the end of its data, at "
        rf"{{max:M}}, it sends MAX)?)\."
        rf"(?: {{own:O}} has watermark {{ownmark:E}} from {{ownat:M}} on, because of other splits\.)?",
        needs_of_source,
    ),
    event_pattern(
        "splits",
        rf"(?P<op>.+?) has {{w:W}}(?:: (?:{MERGED})|: it waits for none of its splits|: it does not decrease, and "
        rf".+, the lowest split that "
        r"it waits for, is behind it|; .+ is the lowest split that it waits for)\.",
        merged_splits,
    ),
    event_pattern(
        "idle",
        rf"{STRATEGY} is idle since {{since:M}}(?:, after its idle timeout of (?P<by>[^.]+?)|(?P<reader>: its "
        rf"reader or its watermark "
        rf"generator declared this))?\. (?:Other channels need|The watermark of the source does) not wait for it, "
        rf"but idleness creates no "
        rf"watermark\.{RESUMED}",
        subtask_agrees(_idle),
    ),
    event_pattern(
        "no idle timeout",
        rf"{STRATEGY} is not idle, and no idle timeout is set(?:: {LATER})?\.",
        subtask_agrees(_without_timeout),
    ),
    event_pattern(
        "no periodic calls",
        rf"{STRATEGY} is not idle: {TIMEOUT} Idleness is declared at periodic calls, and there are none, because "
        rf"auto_watermark_interval "
        r"is 0\.",
        subtask_agrees(_without_calls),
    ),
    event_pattern(
        "countdown",
        rf"{STRATEGY} is not idle: {TIMEOUT} The countdown starts at the first periodic call without a new "
        rf"record, and idleness is "
        rf"declared at the first call more than (?P<more>.+?) after it, and calls come every "
        rf"(?P<every>[^:.]+)(?:: {LATER})?\.(?: Its clock "
        r"has stopped for (?P<stopped>.+) since the last record, while the task waited for output\.)?",
        subtask_agrees(_countdown),
    ),
    event_pattern(
        "paused by alignment",
        r"Watermark alignment has paused {o:O} since {m:M}: the watermark that it compared was {w:E}, above the "
        r"limit of {limit:E}\.",
        paused,
    ),
    event_pattern(
        "limit of alignment",
        r"That limit was the lowest watermark reported in group '.+', {w:E}, plus the allowed drift of "
        r"{drift:S}(?:\. {t:T} had this "
        r"watermark since {since:M})?\. While a source waits for its group, its idle timeout does not run; (?:the "
        r"recording does not show "
        r"that it continues|it continues at {m:M})\.",
        limit,
    ),
    event_pattern("source of the group", r"(?!channel #){t:T}: {w:W}", source_line),
    event_pattern(
        "own watermarks",
        r"{t:T} (?P<none>has sent no watermark, and no watermark strategy is set for its records)?(?:emits its "
        r"own watermarks\. The last one "
        r"was {w:E}, at {m:M})?\.",
        own_watermarks,
    ),
    event_pattern(
        "no such window",
        r"No record of window \[{a:N}, {b:N}\)(?: of key (?P<key>.+))? has arrived: a window exists only from its "
        r"first record on\.",
        no_such_window,
    ),
    event_pattern(
        "not aligned",
        r"(?P<op>.+) has no such window: its windows are {size:S} long, and each starts at a multiple of {slide:S}"
        r"(?:, (?P<sign>plus|minus) {offset:S})?\. The last one that starts by then is window \[{a:N}, {b:N}\)\.",
        not_aligned,
    ),
    event_pattern("windows with records", r"windows with records: (?P<first>.+)", windows_with_records),
)
