package flowsim.jobs.described;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.functions.windowing.AllWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessAllWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.util.Collector;

/** What becomes of the contents of a window: which records they are, in order, and what the function could see. */
final class WindowFunctions {
    private WindowFunctions() {}

    private static List<Object> bounds(Window window) {
        return window instanceof TimeWindow
                ? List.of(((TimeWindow) window).getStart(), ((TimeWindow) window).getEnd())
                : List.of("global");
    }

    private static List<List<Long>> rows(Iterable<Tuple4<Integer, String, Long, long[]>> events) {
        List<List<Long>> rows = new ArrayList<>();
        events.forEach(event -> rows.add(List.of((long) event.f0, event.f2)));
        return rows;
    }

    /** With {@code states}: counts the firings of the window and of the key. */
    static final class Contents
            extends ProcessWindowFunction<Tuple4<Integer, String, Long, long[]>, String, Object, Window> {
        private final boolean states;
        private final boolean manualTime;

        Contents(JsonNode given) {
            states = given.get("states").asBoolean();
            manualTime = given.get("manual_time").asBoolean();
        }

        @Override
        public void process(
                Object key, Context context, Iterable<Tuple4<Integer, String, Long, long[]>> events, Collector<String> out)
                throws Exception {
            List<Long> firings =
                    states ? List.of(counted(context.windowState()), counted(context.globalState())) : List.of();
            out.collect(
                    Event.text(
                            key,
                            bounds(context.window()),
                            rows(events),
                            context.currentWatermark(),
                            manualTime ? context.currentProcessingTime() : null,
                            firings));
        }

        @Override
        public void clear(Context context) throws Exception {
            if (states) {
                context.windowState().getState(firings()).clear();
            }
        }

        private static long counted(KeyedStateStore store) throws Exception {
            ValueState<Long> count = store.getState(firings());
            count.update(count.value() == null ? 1 : count.value() + 1);
            return count.value();
        }

        private static ValueStateDescriptor<Long> firings() {
            return new ValueStateDescriptor<>("firings", Types.LONG);
        }
    }

    static final class AllContents
            extends ProcessAllWindowFunction<Tuple4<Integer, String, Long, long[]>, String, Window> {
        @Override
        public void process(
                Context context, Iterable<Tuple4<Integer, String, Long, long[]>> events, Collector<String> out) {
            out.collect(Event.text(bounds(context.window()), rows(events)));
        }
    }

    static final class Applied
            implements WindowFunction<Tuple4<Integer, String, Long, long[]>, String, Object, Window> {
        @Override
        public void apply(
                Object key, Window window, Iterable<Tuple4<Integer, String, Long, long[]>> events, Collector<String> out) {
            out.collect(Event.text(key, bounds(window), rows(events)));
        }
    }

    static final class AllApplied implements AllWindowFunction<Tuple4<Integer, String, Long, long[]>, String, Window> {
        @Override
        public void apply(
                Window window, Iterable<Tuple4<Integer, String, Long, long[]>> events, Collector<String> out) {
            out.collect(Event.text(bounds(window), rows(events)));
        }
    }

    /** Sum and number. */
    static final class Total implements AggregateFunction<Tuple4<Integer, String, Long, long[]>, List<Long>, String> {
        @Override
        public List<Long> createAccumulator() {
            return new ArrayList<>(List.of(0L, 0L));
        }

        @Override
        public List<Long> add(Tuple4<Integer, String, Long, long[]> event, List<Long> total) {
            return new ArrayList<>(List.of(total.get(0) + event.f2, total.get(1) + 1));
        }

        @Override
        public String getResult(List<Long> total) {
            return Event.text(total.get(0), total.get(1));
        }

        @Override
        public List<Long> merge(List<Long> a, List<Long> b) {
            return new ArrayList<>(List.of(a.get(0) + b.get(0), a.get(1) + b.get(1)));
        }
    }

    static final class Results extends ProcessWindowFunction<String, String, Object, Window> {
        @Override
        public void process(Object key, Context context, Iterable<String> results, Collector<String> out) {
            for (String result : results) {
                out.collect("[\"of\"," + Event.text(key, bounds(context.window())) + "," + result + "]");
            }
        }
    }

    static final class AllResults extends ProcessAllWindowFunction<String, String, Window> {
        @Override
        public void process(Context context, Iterable<String> results, Collector<String> out) {
            for (String result : results) {
                out.collect("[\"of\"," + Event.text(bounds(context.window())) + "," + result + "]");
            }
        }
    }
}
