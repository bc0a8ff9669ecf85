package flowsim.jobs.described;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReadOnlyBroadcastState;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.ConnectedStreams;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.co.CoFlatMapFunction;
import org.apache.flink.streaming.api.functions.co.CoMapFunction;
import org.apache.flink.streaming.api.functions.co.CoProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;

/** Operators of two inputs that are not joins. */
final class Connections {
    private static final MapStateDescriptor<String, Long> RULES =
            new MapStateDescriptor<>("rules", Types.STRING, Types.LONG);

    private Connections() {}

    static SingleOutputStreamOperator<String> of(Streams streams, JsonNode given) {
        switch (given.get("kind").asText()) {
            case "keyed_co_process":
                return keyedBoth(streams.keyed(0), streams.keyed(1));
            case "broadcast":
                return streams.exchanged(0).connect(streams.input(1).broadcast(RULES)).process(new Looking(), Types.STRING);
            case "keyed_broadcast":
                return keyedBroadcast(streams.keyed(0), streams.input(1));
            default:
        }
        ConnectedStreams<Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>> connected =
                given.get("keyed").asBoolean()
                        ? streams.keyed(0).connect(streams.keyed(1))
                        : streams.exchanged(0).connect(streams.exchanged(1));
        switch (given.get("kind").asText()) {
            case "co_map":
                return connected.map(new Mapping(), Types.STRING);
            case "co_flat_map":
                return connected.flatMap(new FlatMapping(), Types.STRING);
            case "co_process":
                return connected.process(new Both(), Types.STRING);
            default:
                throw new IllegalArgumentException("unknown kind " + given.get("kind"));
        }
    }

    static SingleOutputStreamOperator<String> keyedBoth(
            KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> first,
            KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> second) {
        return first.connect(second).process(new KeyedBoth(), Types.STRING);
    }

    static SingleOutputStreamOperator<String> keyedBroadcast(
            KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> keyed,
            DataStream<Tuple4<Integer, String, Long, long[]>> rules) {
        return keyed.connect(rules.broadcast(RULES)).process(new KeyedLooking(), Types.STRING);
    }

    private static final class Mapping
            implements CoMapFunction<
                    Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>, String> {
        @Override
        public String map1(Tuple4<Integer, String, Long, long[]> event) {
            return Event.text(1, event.f0);
        }

        @Override
        public String map2(Tuple4<Integer, String, Long, long[]> event) {
            return Event.text(2, event.f0, event.f2);
        }
    }

    private static final class FlatMapping
            implements CoFlatMapFunction<
                    Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>, String> {
        @Override
        public void flatMap1(Tuple4<Integer, String, Long, long[]> event, Collector<String> out) {
            for (long i = 0; i < Math.floorMod(event.f2, 3L); i++) {
                out.collect(Event.text(1, event.f0, i));
            }
        }

        @Override
        public void flatMap2(Tuple4<Integer, String, Long, long[]> event, Collector<String> out) {
            if (event.f0 % 2 == 0) {
                out.collect(Event.text(2, event.f0));
            }
        }
    }

    private static final class Both
            extends CoProcessFunction<
                    Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>, String> {
        @Override
        public void processElement1(Tuple4<Integer, String, Long, long[]> event, Context context, Collector<String> out) {
            out.collect(Event.text(1, event.f0, context.timestamp(), context.timerService().currentWatermark()));
        }

        @Override
        public void processElement2(Tuple4<Integer, String, Long, long[]> event, Context context, Collector<String> out) {
            out.collect(Event.text(2, event.f0, context.timestamp(), context.timerService().currentWatermark()));
            if (event.f0 % 2 == 0) {
                context.output(Timers.SIDE, Event.text(2, event.f0));
            }
        }
    }

    /** Both inputs share a sum and the timers of the key. */
    private static final class KeyedBoth
            extends KeyedCoProcessFunction<
                    Object, Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>, String> {
        private transient ValueState<Long> total;

        @Override
        public void open(OpenContext context) {
            total = getRuntimeContext().getState(new ValueStateDescriptor<>("total", Types.LONG));
        }

        @Override
        public void processElement1(Tuple4<Integer, String, Long, long[]> event, Context context, Collector<String> out)
                throws Exception {
            process(1, event, context, out);
        }

        @Override
        public void processElement2(Tuple4<Integer, String, Long, long[]> event, Context context, Collector<String> out)
                throws Exception {
            process(2, event, context, out);
        }

        private void process(int input, Tuple4<Integer, String, Long, long[]> event, Context context, Collector<String> out)
                throws Exception {
            Timers.obey(event.f3, context.timerService());
            long before = total.value() == null ? 0 : total.value();
            total.update(before + event.f2 * input);
            out.collect(
                    Event.text(
                            input,
                            event.f0,
                            context.getCurrentKey(),
                            context.timestamp(),
                            context.timerService().currentWatermark(),
                            total.value()));
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) throws Exception {
            out.collect(
                    Event.text(
                            "timer",
                            context.getCurrentKey(),
                            timestamp,
                            context.timeDomain().name(),
                            context.timestamp(),
                            context.timerService().currentWatermark(),
                            total.value()));
            if (timestamp % 2 == 0) {
                total.clear();
            }
            Timers.followUp(timestamp, context.timeDomain(), context.timerService());
        }
    }

    private static Map<String, Long> sorted(ReadOnlyBroadcastState<String, Long> rules) throws Exception {
        Map<String, Long> sorted = new TreeMap<>();
        rules.immutableEntries().forEach(entry -> sorted.put(entry.getKey(), entry.getValue()));
        return sorted;
    }

    private static final class Looking
            extends BroadcastProcessFunction<
                    Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>, String> {
        @Override
        public void processElement(
                Tuple4<Integer, String, Long, long[]> event, ReadOnlyContext context, Collector<String> out)
                throws Exception {
            ReadOnlyBroadcastState<String, Long> rules = context.getBroadcastState(RULES);
            out.collect(
                    Event.text(
                            event.f0,
                            context.timestamp(),
                            context.currentWatermark(),
                            rules.get(event.f1),
                            rules.contains("k0")));
        }

        @Override
        public void processBroadcastElement(
                Tuple4<Integer, String, Long, long[]> event, Context context, Collector<String> out) throws Exception {
            if (event.f2 % 4 == 0) {
                context.getBroadcastState(RULES).remove(event.f1);
            } else {
                context.getBroadcastState(RULES).put(event.f1, event.f2);
            }
            out.collect(
                    Event.text(
                            "rules",
                            event.f0,
                            context.timestamp(),
                            context.currentWatermark(),
                            sorted(context.getBroadcastState(RULES))));
            if (event.f0 % 2 == 0) {
                context.output(Timers.SIDE, Event.text("rules", event.f0));
            }
        }
    }

    /** Tells of the keys it has seen whenever a rule comes whose value is odd; timers may look up rules, too. */
    private static final class KeyedLooking
            extends KeyedBroadcastProcessFunction<
                    Object, Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>, String> {
        private final ValueStateDescriptor<Long> descriptor = new ValueStateDescriptor<>("total", Types.LONG);
        private transient ValueState<Long> total;

        @Override
        public void open(OpenContext context) {
            total = getRuntimeContext().getState(descriptor);
        }

        @Override
        public void processElement(
                Tuple4<Integer, String, Long, long[]> event, ReadOnlyContext context, Collector<String> out)
                throws Exception {
            Timers.obey(event.f3, context.timerService());
            total.update((total.value() == null ? 0 : total.value()) + event.f2);
            out.collect(
                    Event.text(
                            event.f0,
                            context.getCurrentKey(),
                            context.timestamp(),
                            context.currentWatermark(),
                            context.getBroadcastState(RULES).get(event.f1),
                            total.value()));
        }

        @Override
        public void processBroadcastElement(
                Tuple4<Integer, String, Long, long[]> event, Context context, Collector<String> out) throws Exception {
            context.getBroadcastState(RULES).put(event.f1, event.f2);
            List<List<Object>> keys = new ArrayList<>();
            if (event.f2 % 2 != 0) {
                context.applyToKeyedState(
                        descriptor,
                        (key, state) -> {
                            keys.add(List.of(key, state.value()));
                            if (state.value() % 5 == 0) {
                                state.clear();
                            }
                        });
            }
            keys.sort((a, b) -> a.get(0).toString().compareTo(b.get(0).toString()));
            Map<String, Long> rules = sorted(context.getBroadcastState(RULES));
            out.collect(Event.text("rules", event.f0, context.currentWatermark(), rules, keys));
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) throws Exception {
            out.collect(
                    Event.text(
                            "timer",
                            context.getCurrentKey(),
                            timestamp,
                            context.timeDomain().name(),
                            context.timestamp(),
                            context.currentWatermark(),
                            context.getBroadcastState(RULES).get("k0"),
                            total.value()));
            Timers.followUp(timestamp, context.timeDomain(), context.timerService());
        }
    }
}
