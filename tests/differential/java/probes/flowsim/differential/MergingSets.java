package flowsim.differential;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.operators.windowing.MergingWindowSet;

/** A real MergingWindowSet over a list that stays, and everything that it says, in its own order. */
public final class MergingSets {
    private static final class Kept implements ListState<Tuple2<TimeWindow, TimeWindow>> {
        private List<Tuple2<TimeWindow, TimeWindow>> pairs = new ArrayList<>();
        private int written;

        @Override
        public Iterable<Tuple2<TimeWindow, TimeWindow>> get() {
            return pairs;
        }

        @Override
        public void update(List<Tuple2<TimeWindow, TimeWindow>> values) {
            pairs = new ArrayList<>(values);
            written++;
        }

        @Override
        public void add(Tuple2<TimeWindow, TimeWindow> value) {
            pairs.add(value);
        }

        @Override
        public void addAll(List<Tuple2<TimeWindow, TimeWindow>> values) {
            pairs.addAll(values);
        }

        @Override
        public void clear() {
            pairs.clear();
        }
    }

    private MergingSets() {}

    /**
     * Commands: {@code keep window stateWindow} puts a pair into the list, {@code again} makes the set anew from the list,
     * {@code persist}, {@code retire window}, {@code add window}, {@code where window}.
     */
    public static String run(String script) throws Exception {
        EventTimeSessionWindows assigner = EventTimeSessionWindows.withGap(Duration.ofMillis(1));
        Kept kept = new Kept();
        MergingWindowSet<TimeWindow> set = new MergingWindowSet<>(assigner, kept);
        StringJoiner answers = new StringJoiner("\n");
        for (String line : script.split("\n")) {
            String[] words = line.split(" ");
            TimeWindow window = words.length > 1 ? (TimeWindow) WindowWords.read(words[1]) : null;
            StringBuilder said = new StringBuilder();
            try {
                switch (words[0]) {
                    case "keep":
                        kept.add(new Tuple2<>(window, (TimeWindow) WindowWords.read(words[2])));
                        break;
                    case "again":
                        set = new MergingWindowSet<>(assigner, kept);
                        break;
                    case "persist":
                        set.persist();
                        said.append(kept.written).append(written(kept));
                        break;
                    case "retire":
                        set.retireWindow(window);
                        break;
                    case "where":
                        said.append(WindowWords.write(set.getStateWindow(window)));
                        break;
                    default:
                        TimeWindow actual =
                                set.addWindow(
                                        window,
                                        (result, merged, state, states) ->
                                                said.append(WindowWords.write(result))
                                                        .append(WindowWords.write(merged))
                                                        .append(WindowWords.write(state))
                                                        .append(WindowWords.write(states))
                                                        .append(' '));
                        said.append(WindowWords.write(actual)).append(' ');
                        said.append(WindowWords.write(set.getStateWindow(actual)));
                }
            } catch (IllegalStateException e) {
                said.append("!IllegalStateException");
            }
            answers.add(said);
        }
        return answers.toString();
    }

    /** What {@code TimeWindow.mergeWindows} makes of the windows of each line. */
    public static String merges(String script) {
        StringJoiner answers = new StringJoiner("\n");
        for (String line : script.split("\n")) {
            List<TimeWindow> windows = new ArrayList<>();
            for (String word : line.split(" ")) {
                windows.add((TimeWindow) WindowWords.read(word));
            }
            StringJoiner said = new StringJoiner(" ");
            TimeWindow.mergeWindows(
                    windows, (merged, result) -> said.add(WindowWords.write(result) + WindowWords.write(merged)));
            answers.add(said.toString());
        }
        return answers.toString();
    }

    private static String written(Kept kept) {
        StringBuilder text = new StringBuilder();
        for (Tuple2<TimeWindow, TimeWindow> pair : kept.pairs) {
            text.append(' ').append(WindowWords.write(pair.f0)).append('>').append(WindowWords.write(pair.f1));
        }
        return text.toString();
    }
}
