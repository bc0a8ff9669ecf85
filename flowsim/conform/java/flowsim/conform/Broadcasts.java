package flowsim.conform;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.co.BaseBroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.streaming.api.operators.co.CoBroadcastWithKeyedOperator;
import org.apache.flink.streaming.api.operators.co.CoBroadcastWithNonKeyedOperator;
import org.apache.flink.streaming.api.transformations.TwoInputTransformation;
import org.apache.flink.util.Collector;

/** The functions with broadcast states. */
final class Broadcasts {
    private Broadcasts() {}

    static SingleOutputStreamOperator<Long> plain(
            DataStream<Long> first, DataStream<Long> second, JsonNode given, UserFunction function) {
        return first.connect(second)
                .transform(
                        "broadcast",
                        Types.LONG,
                        new CoBroadcastWithNonKeyedOperator<>(new Plain(function), states(given)));
    }

    static SingleOutputStreamOperator<Long> keyed(
            KeyedStream<Long, Key> first, DataStream<Long> second, JsonNode given, UserFunction function) {
        SingleOutputStreamOperator<Long> made =
                first.connect(second)
                        .transform(
                                "broadcast",
                                Types.LONG,
                                new CoBroadcastWithKeyedOperator<>(new Keyed(function), states(given)));
        TwoInputTransformation<?, ?, Long> keyed = (TwoInputTransformation<?, ?, Long>) made.getTransformation();
        keyed.setStateKeyType(States.KEY);
        setKeys(keyed, first);
        return made;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void setKeys(TwoInputTransformation keyed, KeyedStream<Long, Key> first) {
        keyed.setStateKeySelectors(first.getKeySelector(), null);
    }

    private static List<MapStateDescriptor<?, ?>> states(JsonNode given) {
        List<MapStateDescriptor<?, ?>> descriptors = new ArrayList<>();
        PlanNode.texts(given.get("states")).forEach(name -> descriptors.add(States.broadcastDescriptor(name)));
        return descriptors;
    }

    static final class Plain extends BroadcastProcessFunction<Long, Long, Long> {
        private final UserFunction function;

        Plain(UserFunction function) {
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
        public void processElement(Long value, ReadOnlyContext context, Collector<Long> out) {
            Host host = new Reading(getRuntimeContext(), context, null);
            function.emit(
                    function.call(host, "process_element", value, context.timestamp(), ""), out, context::output);
        }

        @Override
        public void processBroadcastElement(Long value, Context context, Collector<Long> out) {
            Host host = new Writing(getRuntimeContext(), context, null);
            function.emit(
                    function.call(host, "process_broadcast_element", value, context.timestamp(), ""),
                    out,
                    context::output);
        }
    }

    static final class Keyed extends KeyedBroadcastProcessFunction<Key, Long, Long, Long> {
        private final UserFunction function;

        Keyed(UserFunction function) {
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
        public void processElement(Long value, ReadOnlyContext context, Collector<Long> out) {
            Host host = new Reading(getRuntimeContext(), context, context.timerService());
            String key = context.getCurrentKey().text;
            function.emit(
                    function.call(host, "process_element", value, context.timestamp(), key), out, context::output);
        }

        @Override
        public void processBroadcastElement(Long value, Context context, Collector<Long> out) {
            Host host = new Writing(getRuntimeContext(), context, context);
            function.emit(
                    function.call(host, "process_broadcast_element", value, context.timestamp(), ""),
                    out,
                    context::output);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<Long> out) {
            Host host = new Reading(getRuntimeContext(), context, context.timerService());
            String more = context.timeDomain().name() + "," + context.getCurrentKey().text;
            function.emit(function.call(host, "on_timer", 0, timestamp, more), out, context::output);
        }
    }

    /** Broadcast states to read, and the timers of the key if there is one. */
    private static final class Reading extends Functions.Timed {
        private final BaseBroadcastProcessFunction.ReadOnlyContext context;

        Reading(RuntimeContext runtime, BaseBroadcastProcessFunction.ReadOnlyContext context, TimerService timers) {
            super(runtime, timers);
            this.context = context;
        }

        @Override
        public long watermark() {
            return context.currentWatermark();
        }

        @Override
        public long processingTime() {
            return context.currentProcessingTime();
        }

        @Override
        public String broadcast(String name, String method, String argument) throws Exception {
            return States.ofMap(context.getBroadcastState(States.broadcastDescriptor(name)), method, argument);
        }
    }

    /** Broadcast states to change, and those of all keys. */
    private static final class Writing extends Functions.OfRuntime {
        private final BaseBroadcastProcessFunction.Context context;
        private final KeyedBroadcastProcessFunction<Key, Long, Long, Long>.Context keyed;
        private State visited;

        Writing(
                RuntimeContext runtime,
                BaseBroadcastProcessFunction.Context context,
                KeyedBroadcastProcessFunction<Key, Long, Long, Long>.Context keyed) {
            super(runtime);
            this.context = context;
            this.keyed = keyed;
        }

        @Override
        public long watermark() {
            return context.currentWatermark();
        }

        @Override
        public long processingTime() {
            return context.currentProcessingTime();
        }

        @Override
        public String broadcast(String name, String method, String argument) throws Exception {
            return States.ofMap(context.getBroadcastState(States.broadcastDescriptor(name)), method, argument);
        }

        @Override
        @SuppressWarnings("unchecked")
        public void forEachKey(String kind, String name, long functions, long visitor) throws Exception {
            keyed.applyToKeyedState(
                    (StateDescriptor<State, Object>) States.descriptor(kind, name, functions),
                    (key, state) -> {
                        visited = state;
                        Bridge.call(this, visitor, "visit", 0, 0, key.text);
                    });
        }

        @Override
        public String visited(String method, String argument) throws Exception {
            return States.ofAny(visited, method, argument);
        }
    }
}
