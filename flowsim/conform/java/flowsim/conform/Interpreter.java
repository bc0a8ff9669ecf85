package flowsim.conform;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.Partitioner;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessage;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.streaming.api.operators.StreamGroupedReduceOperator;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.streaming.runtime.operators.TimestampsAndWatermarksOperatorFactory;
import org.apache.flink.streaming.api.transformations.TwoInputTransformation;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;

/**
 * Builds the job of a plan with the DataStream API. Records are numbers: their values, and the functions of the user, are in
 * Python.
 */
final class Interpreter {
    private final StreamExecutionEnvironment env;
    private final JsonNode plan;
    private final Map<Integer, DataStream<Long>> streams = new HashMap<>();
    private final Map<Integer, JsonNode> nodes = new LinkedHashMap<>();

    Interpreter(StreamExecutionEnvironment env, JsonNode plan) {
        this.env = env;
        this.plan = plan;
    }

    void build() {
        for (JsonNode node : plan.get("nodes")) {
            nodes.put(node.get("id").asInt(), node);
        }
        for (JsonNode node : nodes.values()) {
            DataStream<Long> made = operator(node);
            streams.put(node.get("id").asInt(), made);
        }
    }

    /** One case per operator that the plan can describe ({@code flowsim/conform/operators.py}). */
    private DataStream<Long> operator(JsonNode node) {
        JsonNode given = node.get("operator");
        switch (given.get("kind").asText()) {
            case "source":
                return finished(node, source(node, given));
            case "watermarks":
                return watched(
                        node,
                        input(node, 0)
                                .transform(
                                        node.get("name").asText(),
                                        Types.LONG,
                                        new TimestampsAndWatermarksOperatorFactory<>(
                                                Watermarks.strategy(given.get("watermarks")), true)));
            case "map":
                return watched(node, input(node, 0).map(new Functions.Map(function(given)), Types.LONG));
            case "filter":
                return watched(node, input(node, 0).filter(new Functions.Filter(function(given))));
            case "flat_map":
                return watched(node, input(node, 0).flatMap(new Functions.FlatMap(function(given)), Types.LONG));
            case "process":
                return watched(node, input(node, 0).process(new Functions.Process(function(given)), Types.LONG));
            case "keyed_process":
                return watched(node, keyed(node, 0).process(new Functions.KeyedProcess(function(given)), Types.LONG));
            case "reduce":
                return watched(
                        node,
                        keyed(node, 0)
                                .transform(
                                        node.get("name").asText(),
                                        Types.LONG,
                                        new StreamGroupedReduceOperator<>(
                                                new Functions.Reduce(function(given)), LongSerializer.INSTANCE)));
            case "window":
                return watched(node, Windows.keyed(keyed(node, 0), given, function(given)));
            case "window_all":
                return watched(node, Windows.all(input(node, 0), given, function(given)));
            case "async":
                return watched(node, Asynchronous.of(input(node, 0), given, function(given)).returns(Types.LONG));
            case "co_map":
                return watched(
                        node, input(node, 0).connect(input(node, 1)).map(new Functions.CoMap(function(given)), Types.LONG));
            case "co_flat_map":
                return watched(
                        node,
                        input(node, 0).connect(input(node, 1)).flatMap(new Functions.CoFlatMap(function(given)), Types.LONG));
            case "co_process":
                return watched(
                        node,
                        input(node, 0).connect(input(node, 1)).process(new Functions.CoProcess(function(given)), Types.LONG));
            case "keyed_co_process":
                return watched(
                        node,
                        keyed(node, 0).connect(keyed(node, 1)).process(new Functions.KeyedCoProcess(function(given)), Types.LONG));
            case "interval_join":
                return watched(node, intervalJoin(node, given));
            case "broadcast":
                return watched(node, Broadcasts.plain(input(node, 0), input(node, 1), given, function(given)));
            case "keyed_broadcast":
                return watched(node, Broadcasts.keyed(keyed(node, 0), input(node, 1), given, function(given)));
            case "sink":
                if (given.get("commits").asBoolean()) {
                    committing(node, given);
                    return null;
                }
                return watched(node, input(node, 0).map(value -> value).returns(Types.LONG));
            default:
                throw new IllegalArgumentException("unknown operator " + given.get("kind"));
        }
    }

    private SingleOutputStreamOperator<Long> source(JsonNode node, JsonNode given) {
        int id = node.get("id").asInt();
        String name = nameInFlink(node);
        JsonNode scripts = plan.get("run").get("scripts").get(String.valueOf(id));
        if (given.get("legacy").asBoolean()) {
            return env.addSource(new PlayedFunction(id, scripts), name, Types.LONG);
        }
        WatermarkStrategy<Long> strategy = Watermarks.strategy(given.get("watermarks"));
        return env.fromSource(new PlayedSource(id, scripts), strategy, name, Types.LONG);
    }

    private void committing(JsonNode node, JsonNode given) {
        int id = node.get("id").asInt();
        SingleOutputStreamOperator<CommittableMessage<String>> writer = Sinks.writer(input(node, 0), id);
        Seen.watch(writer.getTransformation(), id);
        finished(node, writer);
        Sinks.committer(writer, id, given.get("final_checkpoint").asBoolean())
                .name(node.get("name").asText() + ": Committer")
                .uid("Sink Committer: " + node.get("uid").asText())
                .setParallelism(node.get("parallelism").asInt());
    }

    private SingleOutputStreamOperator<Long> intervalJoin(JsonNode node, JsonNode given) {
        KeyedStream.IntervalJoined<Long, Long, Key> joined =
                keyed(node, 0)
                        .intervalJoin(keyed(node, 1))
                        .between(
                                Duration.ofMillis(given.get("lower_ms").asLong()),
                                Duration.ofMillis(given.get("upper_ms").asLong()));
        if (given.hasNonNull("late_left")) {
            joined = joined.sideOutputLeftLateData(UserFunction.tag(given.get("late_left").asText()));
        }
        if (given.hasNonNull("late_right")) {
            joined = joined.sideOutputRightLateData(UserFunction.tag(given.get("late_right").asText()));
        }
        return joined.process(new Functions.Join(function(given)), Types.LONG);
    }

    private static UserFunction function(JsonNode given) {
        return new UserFunction(given.get("function").asLong(), texts(given.path("tags")).toArray(new String[0]));
    }

    static List<String> texts(JsonNode array) {
        List<String> found = new ArrayList<>();
        array.forEach(each -> found.add(each.asText()));
        return found;
    }

    // Inputs.

    private DataStream<Long> input(JsonNode node, int index) {
        DataStream<Long> united = null;
        for (JsonNode edge : node.get("inputs")) {
            if (edge.get("input").asInt() == index) {
                DataStream<Long> one = partitioned(edge);
                united = united == null ? one : united.union(one);
            }
        }
        if (united == null) {
            throw new IllegalArgumentException(node.get("name") + " has no input " + index);
        }
        return united;
    }

    private KeyedStream<Long, Key> keyed(JsonNode node, int index) {
        return input(node, index).keyBy(new Selector(node.get("operator").get("keys").get(index).asLong()), States.KEY);
    }

    private DataStream<Long> partitioned(JsonNode edge) {
        DataStream<Long> stream = streams.get(edge.get("node").asInt());
        if (edge.hasNonNull("side_output")) {
            stream =
                    ((SingleOutputStreamOperator<Long>) stream)
                            .getSideOutput(UserFunction.tag(edge.get("side_output").asText()));
        }
        switch (edge.path("partitioner").asText("")) {
            case "FORWARD":
                return stream.forward();
            case "REBALANCE":
                return stream.rebalance();
            case "RESCALE":
                return stream.rescale();
            case "SHUFFLE":
                return stream.shuffle();
            case "BROADCAST":
                return stream.broadcast();
            case "GLOBAL":
                return stream.global();
            case "HASH": // also before an operator without keys
                return stream.keyBy(new Selector(edge.get("key").asLong()), States.KEY);
            case "CUSTOM":
                return stream.partitionCustom(
                        new Custom(edge.get("partition").asLong()), new Selector(edge.get("key").asLong()));
            default:
                return stream;
        }
    }

    private static final class Selector implements KeySelector<Long, Key> {
        private final long object;

        Selector(long object) {
            this.object = object;
        }

        @Override
        public Key getKey(Long value) {
            return Key.of(Bridge.call(new Host() {}, object, "key", value, 0, ""));
        }
    }

    private static final class Custom implements Partitioner<Key> {
        private final long object;

        Custom(long object) {
            this.object = object;
        }

        @Override
        public int partition(Key key, int channels) {
            return Integer.parseInt(Bridge.call(new Host() {}, object, "partition", channels, 0, key.text));
        }
    }

    /** Flink puts {@code Source: } before the names of sources itself. */
    private static String nameInFlink(JsonNode node) {
        String name = node.get("name").asText();
        boolean isSource = node.get("operator").get("kind").asText().equals("source");
        return isSource && name.startsWith("Source: ") ? name.substring("Source: ".length()) : name;
    }

    // What every operator has.

    private DataStream<Long> watched(JsonNode node, SingleOutputStreamOperator<Long> stream) {
        Transformation<Long> made = stream.getTransformation();
        if (made instanceof OneInputTransformation || made instanceof TwoInputTransformation) {
            Seen.watch(made, node.get("id").asInt());
        }
        return finished(node, stream);
    }

    private static <T> DataStream<T> finished(JsonNode node, SingleOutputStreamOperator<T> stream) {
        stream.name(nameInFlink(node)).uid(node.get("uid").asText());
        if (!node.get("operator").get("kind").asText().equals("window_all")) {
            stream.setParallelism(node.get("parallelism").asInt());
        }
        if (node.hasNonNull("max_parallelism")) {
            stream.setMaxParallelism(node.get("max_parallelism").asInt());
        }
        switch (node.get("chaining").asText()) {
            case "HEAD":
                stream.startNewChain();
                break;
            case "NEVER":
                stream.disableChaining();
                break;
            default:
        }
        if (node.hasNonNull("slot_sharing_group")) {
            stream.slotSharingGroup(node.get("slot_sharing_group").asText());
        }
        return stream;
    }
}
