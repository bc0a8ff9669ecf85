package flowsim.conform;

import java.time.Duration;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.AllWindowedStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.datastream.WindowedStream;
import org.apache.flink.streaming.api.functions.windowing.ProcessAllWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.delta.DeltaFunction;
import org.apache.flink.streaming.api.windowing.assigners.DynamicEventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.DynamicProcessingTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.assigners.ProcessingTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SessionWindowTimeGapExtractor;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.assigners.WindowStagger;
import org.apache.flink.streaming.api.windowing.evictors.CountEvictor;
import org.apache.flink.streaming.api.windowing.evictors.DeltaEvictor;
import org.apache.flink.streaming.api.windowing.evictors.Evictor;
import org.apache.flink.streaming.api.windowing.evictors.TimeEvictor;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousEventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousProcessingTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.CountTrigger;
import org.apache.flink.streaming.api.windowing.triggers.DeltaTrigger;
import org.apache.flink.streaming.api.windowing.triggers.EventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ProcessingTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ProcessingTimeoutTrigger;
import org.apache.flink.streaming.api.windowing.triggers.PurgingTrigger;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.util.Collector;

/** Window operators with Flink's own assigners, triggers and evictors. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class Windows {
    private Windows() {}

    static SingleOutputStreamOperator<Long> keyed(KeyedStream<Long, Key> stream, JsonNode given, UserFunction function) {
        WindowedStream windows = stream.window((WindowAssigner) assigner(given.get("assigner")));
        windows.trigger(trigger(given.get("trigger")));
        if (given.hasNonNull("evictor")) {
            windows.evictor(evictor(given.get("evictor")));
        }
        if (given.get("lateness_ms").asLong() > 0) {
            windows.allowedLateness(Duration.ofMillis(given.get("lateness_ms").asLong()));
        }
        if (given.hasNonNull("late_tag")) {
            windows.sideOutputLateData(UserFunction.tag(given.get("late_tag").asText()));
        }
        Contents contents = new Contents(function);
        if (given.hasNonNull("reduce")) {
            return windows.reduce(new States.Reduction(given.get("reduce").asLong()), contents, Types.LONG);
        }
        if (given.hasNonNull("aggregate")) {
            States.Aggregation fold = new States.Aggregation(given.get("aggregate").asLong());
            return windows.aggregate(fold, contents, Types.LONG, Types.LONG, Types.LONG);
        }
        return windows.process(contents, Types.LONG);
    }

    static SingleOutputStreamOperator<Long> all(DataStream<Long> stream, JsonNode given, UserFunction function) {
        AllWindowedStream windows = stream.windowAll((WindowAssigner) assigner(given.get("assigner")));
        windows.trigger(trigger(given.get("trigger")));
        if (given.hasNonNull("evictor")) {
            windows.evictor(evictor(given.get("evictor")));
        }
        if (given.get("lateness_ms").asLong() > 0) {
            windows.allowedLateness(Duration.ofMillis(given.get("lateness_ms").asLong()));
        }
        if (given.hasNonNull("late_tag")) {
            windows.sideOutputLateData(UserFunction.tag(given.get("late_tag").asText()));
        }
        AllContents contents = new AllContents(function);
        if (given.hasNonNull("reduce")) {
            return windows.reduce(new States.Reduction(given.get("reduce").asLong()), contents, Types.LONG);
        }
        if (given.hasNonNull("aggregate")) {
            States.Aggregation fold = new States.Aggregation(given.get("aggregate").asLong());
            return windows.aggregate(fold, contents, Types.LONG, Types.LONG, Types.LONG);
        }
        return windows.process(contents, Types.LONG);
    }

    private static Duration millis(JsonNode given, String name) {
        return Duration.ofMillis(given.get(name).asLong());
    }

    private static WindowAssigner<?, ?> assigner(JsonNode given) {
        switch (given.get("kind").asText()) {
            case "tumbling_event_time":
                return TumblingEventTimeWindows.of(millis(given, "size_ms"), millis(given, "offset_ms"), stagger(given));
            case "tumbling_processing_time":
                return TumblingProcessingTimeWindows.of(
                        millis(given, "size_ms"), millis(given, "offset_ms"), stagger(given));
            case "sliding_event_time":
                return SlidingEventTimeWindows.of(
                        millis(given, "size_ms"), millis(given, "slide_ms"), millis(given, "offset_ms"));
            case "sliding_processing_time":
                return SlidingProcessingTimeWindows.of(
                        millis(given, "size_ms"), millis(given, "slide_ms"), millis(given, "offset_ms"));
            case "session_event_time":
                return EventTimeSessionWindows.withGap(millis(given, "gap_ms"));
            case "session_processing_time":
                return ProcessingTimeSessionWindows.withGap(millis(given, "gap_ms"));
            case "dynamic_session_event_time":
                return DynamicEventTimeSessionWindows.withDynamicGap(new Gap(given.get("gap").asLong()));
            case "dynamic_session_processing_time":
                return DynamicProcessingTimeSessionWindows.withDynamicGap(new Gap(given.get("gap").asLong()));
            case "global":
                return given.path("end_of_stream").asBoolean() ? GlobalWindows.createWithEndOfStreamTrigger() : GlobalWindows.create();
            default:
                throw new IllegalArgumentException(given.toString());
        }
    }

    private static WindowStagger stagger(JsonNode given) {
        return WindowStagger.valueOf(given.path("stagger").asText("ALIGNED").toUpperCase());
    }

    private static Trigger<?, ?> trigger(JsonNode given) {
        switch (given.get("kind").asText()) {
            case "event_time":
                return EventTimeTrigger.create();
            case "processing_time":
                return ProcessingTimeTrigger.create();
            case "count":
                return CountTrigger.of(given.get("count").asLong());
            case "delta":
                return DeltaTrigger.of(
                        given.get("threshold").asDouble(), new Delta(given.get("delta").asLong()), Types.LONG.createSerializer(new org.apache.flink.api.common.serialization.SerializerConfigImpl()));
            case "continuous_event_time":
                return ContinuousEventTimeTrigger.of(millis(given, "interval_ms"));
            case "continuous_processing_time":
                return ContinuousProcessingTimeTrigger.of(millis(given, "interval_ms"));
            case "purging":
                return PurgingTrigger.of((Trigger) trigger(given.get("of")));
            case "timeout":
                return ProcessingTimeoutTrigger.of(
                        (Trigger) trigger(given.get("of")),
                        millis(given, "interval_ms"),
                        given.get("reset_on_element").asBoolean(),
                        given.get("clear_on_timeout").asBoolean());
            case "end_of_stream":
                return GlobalWindows.createWithEndOfStreamTrigger().getDefaultTrigger();
            case "never":
                return GlobalWindows.create().getDefaultTrigger();
            case "called":
                return new CalledTrigger(given);
            default:
                throw new IllegalArgumentException(given.toString());
        }
    }

    private static Evictor<?, ?> evictor(JsonNode given) {
        boolean after = given.get("after").asBoolean();
        switch (given.get("kind").asText()) {
            case "count":
                return CountEvictor.of(given.get("count").asLong(), after);
            case "time":
                return TimeEvictor.of(millis(given, "window_ms"), after);
            default:
                return DeltaEvictor.of(given.get("threshold").asDouble(), new Delta(given.get("delta").asLong()), after);
        }
    }

    private static final class Gap implements SessionWindowTimeGapExtractor<Object> {
        private final long object;

        Gap(long object) {
            this.object = object;
        }

        @Override
        public long extract(Object value) {
            return Long.parseLong(Bridge.call(new Host() {}, object, "gap", (Long) value, 0, ""));
        }
    }

    private static final class Delta implements DeltaFunction<Long> {
        private final long object;

        Delta(long object) {
            this.object = object;
        }

        @Override
        public double getDelta(Long old, Long current) {
            return Double.parseDouble(Bridge.call(new Host() {}, object, "delta", old, current, ""));
        }
    }

    static String bounds(Window window) {
        return window instanceof TimeWindow
                ? ((TimeWindow) window).getStart() + "," + ((TimeWindow) window).getEnd()
                : "global,";
    }

    private static final class Contents extends ProcessWindowFunction<Long, Long, Key, Window> {
        private final UserFunction function;

        Contents(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new Functions.OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public void process(Key key, Context context, Iterable<Long> elements, Collector<Long> out) {
            String more = bounds(context.window()) + "," + Bridge.text(elements).replace(',', ' ') + "," + key.text;
            function.emit(function.call(new InWindow(getRuntimeContext(), context), "process", 0, null, more), out, context::output);
        }

        @Override
        public void clear(Context context) {
            function.call(new InWindow(getRuntimeContext(), context), "clear", 0, null, bounds(context.window()));
        }

        private static final class InWindow extends Functions.OfRuntime {
            private final ProcessWindowFunction<?, ?, ?, ?>.Context context;

            InWindow(RuntimeContext runtime, ProcessWindowFunction<?, ?, ?, ?>.Context context) {
                super(runtime);
                this.context = context;
            }

            @Override
            public KeyedStateStore states(String scope) {
                switch (scope) {
                    case "window":
                        return context.windowState();
                    case "global":
                        return context.globalState();
                    default:
                        return super.states(scope);
                }
            }

            @Override
            public long watermark() {
                return context.currentWatermark();
            }

            @Override
            public long processingTime() {
                return context.currentProcessingTime();
            }
        }
    }

    private static final class AllContents extends ProcessAllWindowFunction<Long, Long, Window> {
        private final UserFunction function;

        AllContents(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new Functions.OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public void process(Context context, Iterable<Long> elements, Collector<Long> out) {
            String more = bounds(context.window()) + "," + Bridge.text(elements).replace(',', ' ') + ",";
            function.emit(function.call(new InAllWindow(getRuntimeContext(), context), "process", 0, null, more), out, context::output);
        }

        @Override
        public void clear(Context context) {
            function.call(new InAllWindow(getRuntimeContext(), context), "clear", 0, null, bounds(context.window()));
        }

        private static final class InAllWindow extends Functions.OfRuntime {
            private final ProcessAllWindowFunction<?, ?, ?>.Context context;

            InAllWindow(RuntimeContext runtime, ProcessAllWindowFunction<?, ?, ?>.Context context) {
                super(runtime);
                this.context = context;
            }

            @Override
            public KeyedStateStore states(String scope) {
                return scope.equals("window") ? context.windowState() : context.globalState();
            }
        }
    }
}
