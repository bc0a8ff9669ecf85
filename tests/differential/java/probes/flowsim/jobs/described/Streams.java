package flowsim.jobs.described;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.transformations.PartitionTransformation;
import org.apache.flink.streaming.runtime.partitioner.RebalancePartitioner;

/** What stands before the operator of a described job: sources, their watermarks, chained functions, unions. */
final class Streams {
    private final JsonNode given;
    private final List<DataStream<Tuple4<Integer, String, Long, long[]>>> sources = new ArrayList<>();

    Streams(StreamExecutionEnvironment env, JsonNode given) {
        this.given = given;
        for (JsonNode source : given.get("sources")) {
            sources.add(source(env, source));
        }
    }

    /** Input {@code index} of the operator: the union of sources, of which one may come twice. */
    DataStream<Tuple4<Integer, String, Long, long[]>> input(int index) {
        JsonNode numbers = given.get("inputs").get(index);
        DataStream<Tuple4<Integer, String, Long, long[]>> united = sources.get(numbers.get(0).asInt());
        for (int i = 1; i < numbers.size(); i++) {
            united = united.union(sources.get(numbers.get(i).asInt()));
        }
        return united;
    }

    /** The same behind the edge that is described for it, for an operator without keys. */
    DataStream<Tuple4<Integer, String, Long, long[]>> exchanged(int index) {
        return exchanged(input(index), given.get("edges").get(index).asText());
    }

    static DataStream<Tuple4<Integer, String, Long, long[]>> exchanged(
            DataStream<Tuple4<Integer, String, Long, long[]>> stream, String edge) {
        return edge.equals("custom")
                ? stream.partitionCustom((number, channels) -> (number * 7 + 3) % channels, event -> event.f0)
                : exchangedAny(stream, edge);
    }

    /** By a partitioner that does not look into records. */
    static <T> DataStream<T> exchangedAny(DataStream<T> stream, String edge) {
        switch (edge) {
            case "none":
                return stream;
            case "forward":
                return stream.forward();
            case "rebalance":
                // Flink draws the first channel; both sides start with channel 0.
                return new DataStream<>(
                        stream.getExecutionEnvironment(),
                        new PartitionTransformation<>(stream.getTransformation(), new FromFirstChannel<>()));
            case "rescale":
                return stream.rescale();
            case "global":
                return stream.global();
            case "broadcast":
                return stream.broadcast();
            default:
                throw new IllegalArgumentException(edge);
        }
    }

    /** The real one, whose next channel is set once it has drawn it. */
    private static final class FromFirstChannel<T> extends RebalancePartitioner<T> {
        @Override
        public void setup(int channels) {
            super.setup(channels);
            try {
                Field next = RebalancePartitioner.class.getDeclaredField("nextChannelToSendTo");
                next.setAccessible(true);
                next.setInt(this, channels - 1);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> keyed(int index) {
        return (KeyedStream) input(index).keyBy(Event.key(given), (TypeInformation) Event.keyType(given));
    }

    private DataStream<Tuple4<Integer, String, Long, long[]>> source(StreamExecutionEnvironment env, JsonNode source) {
        int parallelism = source.get("scripts").size();
        boolean isFunction = source.get("via").asText().equals("function");
        SingleOutputStreamOperator<Tuple4<Integer, String, Long, long[]>> stream =
                isFunction
                        ? env.addSource(new Script(source.get("scripts")), "script", Event.TYPE)
                        : env.fromSource(
                                new ScriptSource(source.get("scripts")),
                                strategy(source.get("strategy")),
                                "script",
                                Event.TYPE);
        stream.setParallelism(parallelism);
        inSlotOf("sources", stream);
        if (isFunction && !source.get("strategy").isNull()) {
            stream =
                    stream.assignTimestampsAndWatermarks(strategy(source.get("strategy")))
                            .setParallelism(parallelism);
            inSlotOf("sources", stream);
        }
        for (JsonNode function : source.get("before")) {
            stream = before(stream, function.asText()).setParallelism(parallelism);
            inSlotOf("sources", stream);
        }
        if (given.get("manual_time").asBoolean()) {
            stream = stream.transform("end", Event.TYPE, new Probe<>(null, true)).setParallelism(parallelism);
            inSlotOf("sources", stream);
        }
        return stream;
    }

    /** With {@code apart} the sources have slots of their own: no channel from there is local if there are enough slots. */
    private void inSlotOf(String group, SingleOutputStreamOperator<?> stream) {
        if (given.get("network").get("apart").asBoolean()) {
            stream.slotSharingGroup(group);
        }
    }

    private static SingleOutputStreamOperator<Tuple4<Integer, String, Long, long[]>> before(
            DataStream<Tuple4<Integer, String, Long, long[]>> stream, String function) {
        switch (function) {
            case "map":
                return stream.map(event -> Tuple4.of(event.f0, event.f1, event.f2 + 1, event.f3)).returns(Event.TYPE);
            case "filter":
                return stream.filter(event -> event.f0 % 5 != 4);
            case "statuses":
                return stream.transform("statuses", Event.TYPE, new Statuses());
            case "refuse":
                return stream.map(
                                event -> {
                                    if (event.f0 % 13 == 9) {
                                        throw new IllegalStateException("refused " + event.f0);
                                    }
                                    return event;
                                })
                        .returns(Event.TYPE);
            default:
                return stream.<Tuple4<Integer, String, Long, long[]>>flatMap(
                                (event, out) -> {
                                    out.collect(event);
                                    if (event.f0 % 3 == 0) {
                                        out.collect(Tuple4.of(event.f0 + 1000, event.f1, event.f2, event.f3));
                                    }
                                })
                        .returns(Event.TYPE);
        }
    }

    private static WatermarkStrategy<Tuple4<Integer, String, Long, long[]>> strategy(JsonNode given) {
        String kind = given.get("kind").asText();
        long bound = given.get("bound_ms").asLong();
        long shift = given.get("shift_ms").asLong();
        WatermarkStrategy<Tuple4<Integer, String, Long, long[]>> strategy =
                kind.equals("bounded")
                        ? WatermarkStrategy.forBoundedOutOfOrderness(Duration.ofMillis(bound))
                        : kind.equals("monotonous")
                                ? WatermarkStrategy.forMonotonousTimestamps()
                                : WatermarkStrategy.forGenerator(context -> new Generator(kind, bound));
        strategy = strategy.withTimestampAssigner((event, timestamp) -> timestamp + shift);
        if (given.has("idle_ms")) {
            strategy = strategy.withIdleness(Duration.ofMillis(given.get("idle_ms").asLong()));
        }
        return strategy;
    }

    /** {@code per_record}: after each record; {@code punctuated}: as the value says, which may also mark idle or active. */
    private static final class Generator implements WatermarkGenerator<Tuple4<Integer, String, Long, long[]>> {
        private final boolean punctuated;
        private final long bound;
        private long highest;

        Generator(String kind, long bound) {
            this.punctuated = kind.equals("punctuated");
            this.bound = bound;
            this.highest = Long.MIN_VALUE + bound + 1;
        }

        @Override
        public void onEvent(Tuple4<Integer, String, Long, long[]> event, long timestamp, WatermarkOutput output) {
            if (!punctuated) {
                highest = Math.max(highest, timestamp);
                output.emitWatermark(new Watermark(highest - bound - 1));
                return;
            }
            if (Math.floorMod(event.f2, 3L) == 0) {
                output.emitWatermark(new Watermark(Math.max(timestamp, Long.MIN_VALUE + bound) - bound));
            }
            if (Math.floorMod(event.f2, 7L) == 1) {
                output.markIdle();
            }
            if (Math.floorMod(event.f2, 7L) == 2) {
                output.markActive();
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {}
    }
}
