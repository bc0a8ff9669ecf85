package org.apache.flink.streaming.api.operators;

import flowsim.differential.AnyOf;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.functions.windowing.PassThroughWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.assigners.MergingWindowAssigner;
import org.apache.flink.streaming.api.windowing.assigners.ProcessingTimeSessionWindows;
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
import org.apache.flink.streaming.api.windowing.triggers.TriggerResult;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.streaming.runtime.operators.windowing.WindowOperator;
import org.apache.flink.streaming.runtime.operators.windowing.WindowOperatorBuilder;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/**
 * A real WindowOperator or EvictingWindowOperator with a heap backend, real timers and a clock moved by hand: runs a script
 * of records, watermarks and times, and answers what each of them did. Records are longs; their key is the rest by 3.
 */
public final class WindowOperators extends OperatorWithoutTask {
    private static final ValueStateDescriptor<Long> FIRED = new ValueStateDescriptor<>("fired", Types.LONG);

    private final WindowOperator<Object, Object, ?, Object, Window> operator;

    /** Answers a list of strings per command: what was logged, then timers of both kinds, late records and entries of state. */
    public static String run(String script) throws Exception {
        JsonNode given = read(script);
        return new WindowOperators(given).answers(given.get("commands"));
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private WindowOperators(JsonNode given) throws Exception {
        operator = (WindowOperator) built(given);
        furnish(operator, new Configuration());
        operator.open();
    }

    @Override
    void play(JsonNode command) throws Exception {
        switch (command.get(0).asText()) {
            case "r":
                long value = command.get(1).asLong();
                setCurrentKey(Math.floorMod(value, 3L));
                StreamRecord<Object> record = new StreamRecord<>(value);
                if (!command.get(2).isNull()) {
                    record.setTimestamp(command.get(2).asLong());
                }
                operator.processElement(record);
                return;
            case "w":
                operator.processWatermark(new Watermark(command.get(1).asLong()));
                return;
            case "lateness":
                // As a restore with another allowed lateness does: the timers are those of the old one.
                java.lang.reflect.Field lateness = WindowOperator.class.getDeclaredField("allowedLateness");
                lateness.setAccessible(true);
                lateness.setLong(operator, command.get(1).asLong());
                return;
            default:
                time.advance(command.get(1).asLong());
        }
    }

    @Override
    String state() throws Exception {
        InternalTimerServiceImpl<?, ?> timers = timers("window-timers");
        java.lang.reflect.Field late = WindowOperator.class.getDeclaredField("numLateRecordsDropped");
        late.setAccessible(true);
        return "timers " + timers.numEventTimeTimers() + " " + timers.numProcessingTimeTimers() + ", late "
                + ((org.apache.flink.metrics.Counter) late.get(operator)).getCount() + ", state "
                + backend.numKeyValueStateEntries();
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Object built(JsonNode given) {
        WindowAssigner assigner = assigner(given.get("assigner"));
        WindowOperatorBuilder builder =
                new WindowOperatorBuilder(
                        assigner, assigner.getDefaultTrigger(), new ExecutionConfig(), Types.LONG,
                        value -> Math.floorMod((Long) value, 3L), Types.LONG);
        if (!given.get("trigger").isNull()) {
            builder.trigger(trigger(given.get("trigger")));
        }
        if (!given.get("evictor").isNull()) {
            builder.evictor(evictor(given.get("evictor")));
        }
        builder.allowedLateness(Duration.ofMillis(given.get("lateness").asLong()));
        if (given.get("late_output").asBoolean()) {
            builder.sideOutputLateData(new OutputTag<>("late", Types.LONG));
        }
        Describing function = new Describing(log, !(assigner instanceof MergingWindowAssigner));
        ReduceFunction reduce = (a, b) -> reduced((Long) a, (Long) b, given.get("nulls").asBoolean());
        switch (given.get("function").asText()) {
            case "process":
                return builder.process(function);
            case "reduce":
                return builder.reduce(reduce, new PassThroughWindowFunction());
            case "reduce_process":
                return builder.reduce(reduce, function);
            case "aggregate":
                return builder.aggregate(new Ordered(), new PassThroughWindowFunction(), Types.LIST(Types.LONG));
            default:
                return builder.aggregate(new Ordered(), function, Types.LIST(Types.LONG));
        }
    }

    private static Long reduced(long a, long b, boolean nulls) {
        long result = Math.floorMod(a * 31 + b, 1_000_003L);
        return nulls && result % 4 == 0 ? null : Long.valueOf(result);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static WindowAssigner assigner(JsonNode given) {
        Duration first = Duration.ofMillis(given.path(1).asLong());
        Duration second = Duration.ofMillis(given.path(2).asLong());
        Duration third = Duration.ofMillis(given.path(3).asLong());
        switch (given.get(0).asText()) {
            case "tumbling_event":
                return TumblingEventTimeWindows.of(first, second, WindowStagger.valueOf(given.get(3).asText()));
            case "tumbling_processing":
                return TumblingProcessingTimeWindows.of(first, second, WindowStagger.valueOf(given.get(3).asText()));
            case "sliding_event":
                return SlidingEventTimeWindows.of(first, second, third);
            case "sliding_processing":
                return SlidingProcessingTimeWindows.of(first, second, third);
            case "session_event":
                return EventTimeSessionWindows.withGap(first);
            case "session_processing":
                return ProcessingTimeSessionWindows.withGap(first);
            case "dynamic_event":
                return EventTimeSessionWindows.withDynamicGap(value -> (Long) value % 7 + 1);
            case "dynamic_processing":
                return ProcessingTimeSessionWindows.withDynamicGap(value -> (Long) value % 7 + 1);
            case "shrinking_event":
                return new Shrinking(EventTimeSessionWindows.withGap(first));
            case "global":
                return GlobalWindows.create();
            default:
                return GlobalWindows.createWithEndOfStreamTrigger();
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Trigger trigger(JsonNode given) {
        long number = given.path(1).asLong();
        switch (given.get(0).asText()) {
            case "event":
                return EventTimeTrigger.create();
            case "processing":
                return ProcessingTimeTrigger.create();
            case "count":
                return CountTrigger.of(number);
            case "purging":
                return PurgingTrigger.of(trigger(given.get(1)));
            case "continuous_event":
                return ContinuousEventTimeTrigger.of(Duration.ofMillis(number));
            case "continuous_processing":
                return ContinuousProcessingTimeTrigger.of(Duration.ofMillis(number));
            case "delta":
                return DeltaTrigger.of(number, WindowOperators::delta, (TypeSerializer) LongSerializer.INSTANCE);
            case "timeout":
                return ProcessingTimeoutTrigger.of(
                        trigger(given.get(4)), Duration.ofMillis(number), given.get(2).asBoolean(),
                        given.get(3).asBoolean());
            case "any_of":
                List<Trigger> parts = new ArrayList<>();
                given.get(1).forEach(part -> parts.add(trigger(part)));
                return new AnyOf(parts, false);
            default:
                return new ByValue();
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Evictor evictor(JsonNode given) {
        long number = given.get(1).asLong();
        boolean after = given.get(2).asBoolean();
        switch (given.get(0).asText()) {
            case "count":
                return CountEvictor.of(number, after);
            case "time":
                return TimeEvictor.of(Duration.ofMillis(number), after);
            default:
                return DeltaEvictor.of(number, WindowOperators::delta, after);
        }
    }

    private static double delta(Object older, Object newer) {
        return (Long) newer - (Long) older;
    }

    /** Sessions whose merge ends where the first of them ended: it may end before the watermark. */
    private static final class Shrinking extends MergingWindowAssigner<Object, TimeWindow> {
        private final EventTimeSessionWindows sessions;

        Shrinking(EventTimeSessionWindows sessions) {
            this.sessions = sessions;
        }

        @Override
        public void mergeWindows(Collection<TimeWindow> windows, MergeCallback<TimeWindow> callback) {
            sessions.mergeWindows(
                    windows,
                    (merged, result) ->
                            callback.merge(
                                    merged,
                                    new TimeWindow(
                                            result.getStart(),
                                            merged.stream().mapToLong(TimeWindow::getEnd).min().getAsLong())));
        }

        @Override
        public Collection<TimeWindow> assignWindows(Object element, long timestamp, WindowAssignerContext context) {
            return sessions.assignWindows(element, timestamp, context);
        }

        @Override
        @SuppressWarnings({"unchecked", "rawtypes"})
        public Trigger<Object, TimeWindow> getDefaultTrigger() {
            return (Trigger) EventTimeTrigger.create();
        }

        @Override
        public TypeSerializer<TimeWindow> getWindowSerializer(ExecutionConfig config) {
            return new TimeWindow.Serializer();
        }

        @Override
        public boolean isEventTime() {
            return true;
        }
    }

    /** Does everything that a trigger can, as the records and times say, and never clears its timers. */
    private static final class ByValue extends Trigger<Object, Window> {
        private static final ReducingStateDescriptor<Long> SEEN =
                new ReducingStateDescriptor<>("seen", (a, b) -> a + b, LongSerializer.INSTANCE);

        @Override
        public TriggerResult onElement(Object element, long timestamp, Window window, TriggerContext context)
                throws Exception {
            long value = (Long) element;
            context.getPartitionedState(SEEN).add(value);
            if (value % 5 == 0) {
                context.registerEventTimeTimer(context.getCurrentWatermark() / 2 + value % 40);
            }
            if (value % 7 == 0) {
                context.registerProcessingTimeTimer(context.getCurrentProcessingTime() + value % 20 + 1);
            }
            return TriggerResult.values()[(int) (value / 3 % 4)];
        }

        @Override
        public TriggerResult onEventTime(long time, Window window, TriggerContext context) throws Exception {
            Long seen = context.getPartitionedState(SEEN).get();
            return TriggerResult.values()[(int) ((seen == null ? 0 : seen) % 4)];
        }

        @Override
        public TriggerResult onProcessingTime(long time, Window window, TriggerContext context) throws Exception {
            return onEventTime(time, window, context);
        }

        @Override
        public boolean canMerge() {
            return true;
        }

        @Override
        public void onMerge(Window window, OnMergeContext context) throws Exception {
            context.mergePartitionedState(SEEN);
        }

        @Override
        public void clear(Window window, TriggerContext context) throws Exception {
            context.getPartitionedState(SEEN).clear();
        }
    }

    /** An accumulator that shows in which order records and other accumulators came. */
    private static final class Ordered implements AggregateFunction<Object, List<Long>, Object> {
        @Override
        public List<Long> createAccumulator() {
            return new ArrayList<>(List.of(-1L));
        }

        @Override
        public List<Long> add(Object value, List<Long> accumulator) {
            accumulator.add((Long) value);
            return accumulator;
        }

        @Override
        public Object getResult(List<Long> accumulator) {
            return accumulator.toString();
        }

        @Override
        public List<Long> merge(List<Long> a, List<Long> b) {
            List<Long> both = new ArrayList<>(a);
            both.addAll(b);
            return both;
        }
    }

    /** Tells all it is told, and counts its calls in the state of the window. */
    private static final class Describing extends ProcessWindowFunction<Object, Object, Object, Window> {
        private final transient List<String> log;
        private final boolean hasState;

        Describing(List<String> log, boolean hasState) {
            this.log = log;
            this.hasState = hasState;
        }

        @Override
        public void process(Object key, Context context, Iterable<Object> elements, Collector<Object> out)
                throws Exception {
            List<Object> given = new ArrayList<>();
            elements.forEach(given::add);
            long fired = 0;
            if (hasState) {
                ValueState<Long> state = context.windowState().getState(FIRED);
                fired = state.value() == null ? 1 : state.value() + 1;
                state.update(fired);
            }
            out.collect(
                    key + " " + context.window() + " " + given + " " + fired + " " + context.currentWatermark() + " "
                            + context.currentProcessingTime());
            context.output(new OutputTag<>("side", Types.STRING), "side " + given.size());
        }

        @Override
        public void clear(Context context) throws Exception {
            log.add("clear " + context.window());
            if (hasState) {
                context.windowState().getState(FIRED).clear();
            }
        }
    }
}
