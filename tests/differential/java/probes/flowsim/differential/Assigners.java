package flowsim.differential;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.StringJoiner;
import org.apache.flink.streaming.api.windowing.assigners.DynamicEventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.DynamicProcessingTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.assigners.ProcessingTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.assigners.WindowStagger;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/** Real window assigners, asked record by record; the element of a dynamic session is its gap. */
public final class Assigners {
    private Assigners() {}

    /**
     * @param words the name of the assigner and its numbers: size or gap, slide, offset; then the stagger
     * @param script a line per record: element, timestamp and processing time
     * @return what it is like, then a line per record: its windows, or {@code !Class} of what was thrown; then its stagger
     */
    public static String run(String words, String script) throws IllegalAccessException {
        WindowAssigner<Object, ?> assigner;
        try {
            assigner = make(words.split(" "));
        } catch (RuntimeException e) {
            return "!" + e.getClass().getSimpleName();
        }
        StringJoiner answers = new StringJoiner("\n");
        answers.add(assigner.isEventTime() + " " + assigner.getDefaultTrigger().getClass().getSimpleName());
        for (String line : script.split("\n")) {
            answers.add(assign(assigner, line.split(" ")));
        }
        return answers.add(stagger(assigner)).toString();
    }

    private static String stagger(WindowAssigner<Object, ?> assigner) throws IllegalAccessException {
        for (Field field : assigner.getClass().getDeclaredFields()) {
            if (field.getName().equals("staggerOffset")) {
                field.setAccessible(true);
                return "" + field.get(assigner);
            }
        }
        return "null";
    }

    /** Starts of windows: a line per question, which is timestamp, offset and size. */
    public static String starts(String script) {
        StringJoiner answers = new StringJoiner("\n");
        for (String line : script.split("\n")) {
            String[] n = line.split(" ");
            long start =
                    TimeWindow.getWindowStartWithOffset(Long.parseLong(n[0]), Long.parseLong(n[1]), Long.parseLong(n[2]));
            answers.add(start + " " + new TimeWindow(start, start + Long.parseLong(n[2])).maxTimestamp());
        }
        return answers.toString();
    }

    private static String assign(WindowAssigner<Object, ?> assigner, String[] n) {
        long now = Long.parseLong(n[2]);
        WindowAssigner.WindowAssignerContext context =
                new WindowAssigner.WindowAssignerContext() {
                    @Override
                    public long getCurrentProcessingTime() {
                        return now;
                    }
                };
        try {
            return WindowWords.write(assigner.assignWindows(Long.parseLong(n[0]), Long.parseLong(n[1]), context));
        } catch (RuntimeException e) {
            return "!" + e.getClass().getSimpleName();
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static WindowAssigner<Object, ?> make(String[] words) {
        Duration[] n = new Duration[3];
        for (int i = 0; i < 3; i++) {
            n[i] = Duration.ofMillis(Long.parseLong(words[i + 1]));
        }
        WindowStagger stagger = WindowStagger.valueOf(words[4].toUpperCase());
        switch (words[0]) {
            case "tumbling_event_time":
                return TumblingEventTimeWindows.of(n[0], n[2], stagger);
            case "tumbling_processing_time":
                return TumblingProcessingTimeWindows.of(n[0], n[2], stagger);
            case "sliding_event_time":
                return SlidingEventTimeWindows.of(n[0], n[1], n[2]);
            case "sliding_processing_time":
                return SlidingProcessingTimeWindows.of(n[0], n[1], n[2]);
            case "session_event_time":
                return EventTimeSessionWindows.withGap(n[0]);
            case "session_processing_time":
                return ProcessingTimeSessionWindows.withGap(n[0]);
            case "dynamic_session_event_time":
                return (WindowAssigner) DynamicEventTimeSessionWindows.withDynamicGap(gap -> (Long) gap);
            case "dynamic_session_processing_time":
                return (WindowAssigner) DynamicProcessingTimeSessionWindows.withDynamicGap(gap -> (Long) gap);
            case "global":
                return (WindowAssigner) GlobalWindows.create();
            case "global_end_of_stream":
                return (WindowAssigner) GlobalWindows.createWithEndOfStreamTrigger();
            default:
                throw new AssertionError(words[0]);
        }
    }
}
