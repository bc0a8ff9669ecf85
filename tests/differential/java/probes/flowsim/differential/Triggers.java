package flowsim.differential;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.MergingState;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousEventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousProcessingTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.CountTrigger;
import org.apache.flink.streaming.api.windowing.triggers.DeltaTrigger;
import org.apache.flink.streaming.api.windowing.triggers.EventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ProcessingTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ProcessingTimeoutTrigger;
import org.apache.flink.streaming.api.windowing.triggers.PurgingTrigger;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.windows.Window;

/** A real trigger in a context that keeps its state in maps and writes down what it is asked to do with timers. */
@SuppressWarnings({"unchecked", "rawtypes"})
public final class Triggers implements Trigger.OnMergeContext {
    private final Map<String, Long> state = new TreeMap<>();
    private List<String> calls = new ArrayList<>();
    private long watermark;
    private long now;
    private String window;
    private List<String> merged = new ArrayList<>();

    private Triggers() {}

    /**
     * @param trigger in words, from the outside in, such as {@code purging count 3}
     * @param script a line per command: watermark, processing time, window, the command and its arguments
     * @return what the trigger can, then a line per command: its result, the calls it made and the state it keeps
     */
    public static String run(String trigger, String script) {
        Triggers context = new Triggers();
        Trigger real = make(new ArrayDeque<>(Arrays.asList(trigger.split(" "))));
        StringJoiner answers = new StringJoiner("\n");
        answers.add("" + real.canMerge());
        for (String line : script.split("\n")) {
            answers.add(context.command(real, line.split(" ")));
        }
        return answers.toString();
    }

    private String command(Trigger real, String[] words) {
        watermark = Long.parseLong(words[0]);
        now = Long.parseLong(words[1]);
        window = words[2];
        calls = new ArrayList<>();
        Window at = WindowWords.read(window);
        String result;
        try {
            switch (words[3]) {
                case "element":
                    result = "" + real.onElement(Long.valueOf(words[4]), Long.parseLong(words[5]), at, this);
                    break;
                case "event_time":
                    result = "" + real.onEventTime(Long.parseLong(words[4]), at, this);
                    break;
                case "processing_time":
                    result = "" + real.onProcessingTime(Long.parseLong(words[4]), at, this);
                    break;
                case "merge":
                    merged = Arrays.asList(words).subList(4, words.length);
                    real.onMerge(at, this);
                    result = "-";
                    break;
                default:
                    real.clear(at, this);
                    result = "-";
            }
        } catch (Exception e) {
            result = "!" + e.getClass().getSimpleName();
        }
        return result + " " + calls + " " + state;
    }

    private static Trigger make(Deque<String> words) {
        switch (words.pop()) {
            case "event_time":
                return EventTimeTrigger.create();
            case "processing_time":
                return ProcessingTimeTrigger.create();
            case "never":
                return GlobalWindows.create().getDefaultTrigger();
            case "end_of_stream":
                return GlobalWindows.createWithEndOfStreamTrigger().getDefaultTrigger();
            case "count":
                return CountTrigger.of(Long.parseLong(words.pop()));
            case "purging":
                return PurgingTrigger.of(make(words));
            case "continuous_event_time":
                return ContinuousEventTimeTrigger.of(Duration.ofMillis(Long.parseLong(words.pop())));
            case "continuous_processing_time":
                return ContinuousProcessingTimeTrigger.of(Duration.ofMillis(Long.parseLong(words.pop())));
            case "delta":
                return DeltaTrigger.of(
                        Double.parseDouble(words.pop()),
                        (Long one, Long other) -> (double) (other - one),
                        LongSerializer.INSTANCE);
            case "timeout":
                Duration interval = Duration.ofMillis(Long.parseLong(words.pop()));
                boolean resets = Boolean.parseBoolean(words.pop());
                boolean clears = Boolean.parseBoolean(words.pop());
                return ProcessingTimeoutTrigger.of(make(words), interval, resets, clears);
            case "any_of":
                return new AnyOf(parts(words), false);
            case "any_of_shared":
                return new AnyOf(parts(words), true);
            default:
                throw new AssertionError(words);
        }
    }

    private static List<Trigger> parts(Deque<String> words) {
        List<Trigger> parts = new ArrayList<>();
        for (int left = Integer.parseInt(words.pop()); left > 0; left--) {
            parts.add(make(words));
        }
        return parts;
    }

    @Override
    public long getCurrentProcessingTime() {
        return now;
    }

    @Override
    public MetricGroup getMetricGroup() {
        return null;
    }

    @Override
    public long getCurrentWatermark() {
        return watermark;
    }

    @Override
    public void registerProcessingTimeTimer(long time) {
        calls.add("+p" + time);
    }

    @Override
    public void registerEventTimeTimer(long time) {
        calls.add("+e" + time);
    }

    @Override
    public void deleteProcessingTimeTimer(long time) {
        calls.add("-p" + time);
    }

    @Override
    public void deleteEventTimeTimer(long time) {
        calls.add("-e" + time);
    }

    @Override
    public <S extends State> S getPartitionedState(StateDescriptor<S, ?> descriptor) {
        Cell cell = new Cell(descriptor, window);
        return (S) (descriptor instanceof ReducingStateDescriptor ? new Reduced(cell) : new Value(cell));
    }

    @Override
    public <S extends MergingState<?, ?>> void mergePartitionedState(StateDescriptor<S, ?> descriptor) {
        Reduced target = new Reduced(new Cell(descriptor, window));
        for (String source : merged) {
            Long held = state.remove(descriptor.getName() + "@" + source);
            if (held != null) {
                target.add(held);
            }
        }
    }

    /** What one window holds in one state. */
    private final class Cell {
        private final StateDescriptor<?, ?> descriptor;
        private final String place;

        private Cell(StateDescriptor<?, ?> descriptor, String window) {
            this.descriptor = descriptor;
            this.place = descriptor.getName() + "@" + window;
        }
    }

    private final class Value implements ValueState<Long> {
        private final Cell cell;

        private Value(Cell cell) {
            this.cell = cell;
        }

        @Override
        public Long value() {
            return state.get(cell.place);
        }

        @Override
        public void update(Long value) {
            state.put(cell.place, value);
        }

        @Override
        public void clear() {
            state.remove(cell.place);
        }
    }

    private final class Reduced implements ReducingState<Long> {
        private final Cell cell;

        private Reduced(Cell cell) {
            this.cell = cell;
        }

        @Override
        public Long get() {
            return state.get(cell.place);
        }

        @Override
        public void add(Long value) {
            ReduceFunction<Long> reduce = ((ReducingStateDescriptor<Long>) cell.descriptor).getReduceFunction();
            Long held = state.get(cell.place);
            try {
                state.put(cell.place, held == null ? value : reduce.reduce(held, value));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void clear() {
            state.remove(cell.place);
        }
    }
}
